"""Thousands of vertices in columns: a block for each layer along the flow, as high as makes the whole a page."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

Places = list[tuple[float, float]]
PAGE = 1.7
"""How wide the whole is to be for its height."""
MOST_ACROSS = 400
"""How many columns a block may have at most."""
GAPS = (90.0, 900.0)
"""The least and the widest room between two layers."""


def in_columns(levels: Sequence[int], pitch: float, keys: Sequence[float] | None = None) -> Places:
    """Place vertices by their layers; within a layer in the order of ``keys``, else in their own.

    A layer of many vertices is folded into a block of rows, read like a text. Layers below 0 come last.
    """
    last = max(levels, default=0) + 1
    layers: dict[int, list[int]] = {}
    for vertex, level in enumerate(levels):
        layers.setdefault(level if level >= 0 else last, []).append(vertex)
    blocks = [layers[level] for level in sorted(layers)]
    if keys is not None:
        blocks = [sorted(block, key=keys.__getitem__) for block in blocks]
    rows = _rows([len(block) for block in blocks], pitch)
    gap = _gap(rows, len(blocks), pitch)
    places: Places = [(0.0, 0.0)] * len(levels)
    left = 0.0
    for block in blocks:
        across = math.ceil(len(block) / rows)
        high = math.ceil(len(block) / across)
        top = -(high - 1) * pitch / 2
        for i, vertex in enumerate(block):
            # One column is filled downwards; several are filled row by row, as pixels are counted.
            places[vertex] = (left + i % across * pitch, top + i // across * pitch)
        left += (across - 1) * pitch + gap
    return places


def _gap(rows: int, layers: int, pitch: float) -> float:
    """Leave room for lines: more between high layers, less between many."""
    return min(max(rows * pitch * 1.2 / max(layers, 1), GAPS[0] + pitch), GAPS[1])


def _rows(sizes: Sequence[int], pitch: float) -> int:
    """Choose how many rows the highest block has, so that the whole comes nearest to a page."""
    largest = max(sizes, default=1)

    def off(rows: int) -> float:
        width = sum((math.ceil(size / rows) - 1) * pitch + _gap(rows, len(sizes), pitch) for size in sizes)
        return abs(math.log(width / (rows * pitch) / PAGE))

    return min((math.ceil(largest / across) for across in range(1, min(largest, MOST_ACROSS) + 1)), key=off)


def layer_by_layer(
    vertices: Sequence[str], ends: Sequence[tuple[str, str]], pitch: float
) -> Mapping[str, tuple[float, float]]:
    """Lay out a large graph in time linear in it: by layers, each vertex near the middle of what enters it."""
    number = {id: i for i, id in enumerate(vertices)}
    edges = [(number[a], number[b]) for a, b in ends if a in number and b in number and a != b]
    levels, entering = _levels(len(vertices), edges)
    layers: dict[int, list[int]] = {}
    for vertex, level in enumerate(levels):
        layers.setdefault(level, []).append(vertex)
    keys = [0.0] * len(vertices)
    for level in sorted(layers):
        block = layers[level]
        wanted = {v: sum(keys[b] for b in entering[v]) / len(entering[v]) if entering[v] else 0.5 for v in block}
        for place, vertex in enumerate(sorted(block, key=lambda v: wanted[v])):
            keys[vertex] = (place + 0.5) / len(block)
    return dict(zip(vertices, in_columns(levels, pitch, keys), strict=True))


def _levels(count: int, edges: Sequence[tuple[int, int]]) -> tuple[list[int], list[list[int]]]:
    """Give the longest way to each vertex, and what enters it; what lies on or behind a cycle has the level −1."""
    leaving: list[list[int]] = [[] for _ in range(count)]
    entering: list[list[int]] = [[] for _ in range(count)]
    for back, front in edges:
        leaving[back].append(front)
        entering[front].append(back)
    waiting = [len(backs) for backs in entering]
    levels = [-1] * count
    ready = [vertex for vertex in range(count) if not waiting[vertex]]
    reach = [0] * count
    for vertex in ready:
        levels[vertex] = reach[vertex]
        for front in leaving[vertex]:
            reach[front] = max(reach[front], reach[vertex] + 1)
            waiting[front] -= 1
            if not waiting[front]:
                ready.append(front)
    return levels, entering
