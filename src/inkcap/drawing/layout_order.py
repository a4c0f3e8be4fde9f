"""The order within layers: few crossings, by barycentres and by exchanging neighbours."""

from __future__ import annotations

from bisect import bisect_left, bisect_right
from collections.abc import Sequence

from inkcap.drawing.layout_layers import Layered

WORK = 250_000
"""About how many steps along connections all sweeps may take together."""
SMALL = 4_000
"""Up to how many steps neighbours are exchanged one by one."""


def order(layered: Layered) -> None:
    """Fill the layers in the order that crosses least of those tried; the first drawn comes first among equals."""
    layers = _first_order(layered)
    edges = sum(map(len, layered.down))
    best, fewest = [list(one) for one in layers], crossings(layered, layers)
    stale = 0
    for sweep in range(max(4, min(24, WORK // (edges + 1)))):
        if not fewest or stale >= 6:
            break
        _sweep(layered, layers, upwards=bool(sweep % 2))
        found = crossings(layered, layers)
        stale += 1
        if found < fewest:
            best, fewest, stale = [list(one) for one in layers], found, 0
    if fewest and edges <= SMALL:
        _exchange(layered, best)
    for target, one in zip(layered.layers, best, strict=True):
        target[:] = one


def _first_order(layered: Layered) -> list[list[int]]:
    # As a walk into the depth meets them, in the order of drawing, stops before vertices: they run above.
    layers: list[list[int]] = [[] for _ in layered.layers]
    seen = [False] * layered.count
    for start in sorted(range(layered.count), key=lambda v: (layered.layer[v], v)):
        stack = [start]
        while stack:
            vertex = stack.pop()
            if seen[vertex]:
                continue
            seen[vertex] = True
            layers[layered.layer[vertex]].append(vertex)
            after = sorted(layered.down[vertex], key=lambda v: (not layered.is_stop(v), v))
            stack.extend(reversed(after))
    return layers


def _places(layered: Layered, layers: Sequence[Sequence[int]]) -> list[int]:
    place = [0] * layered.count
    for one in layers:
        for i, vertex in enumerate(one):
            place[vertex] = i
    return place


def _sweep(layered: Layered, layers: list[list[int]], *, upwards: bool) -> None:
    place = _places(layered, layers)
    neighbours = layered.down if upwards else layered.up
    for number in range(len(layers) - 2, -1, -1) if upwards else range(1, len(layers)):
        one = layers[number]
        centre = {
            v: sum(place[n] for n in neighbours[v]) / len(neighbours[v]) if neighbours[v] else float(place[v])
            for v in one
        }
        one.sort(key=lambda v: centre[v])
        for i, vertex in enumerate(one):
            place[vertex] = i


def crossings(layered: Layered, layers: Sequence[Sequence[int]]) -> int:
    """Count the crossings between all neighbouring layers."""
    place = _places(layered, layers)
    total = 0
    for number, one in enumerate(layers[:-1]):
        tree = [0] * (len(layers[number + 1]) + 1)
        size, seen = len(tree), 0
        for vertex in one:
            ends = sorted(place[n] for n in layered.down[vertex])
            for end in ends:
                before, i = 0, end + 1
                while i:
                    before += tree[i]
                    i &= i - 1
                total += seen - before
            for end in ends:
                i = end + 1
                while i < size:
                    tree[i] += 1
                    i += i & -i
            seen += len(ends)
    return total


def _exchange(layered: Layered, layers: list[list[int]]) -> None:
    place = _places(layered, layers)
    for _ in range(4):
        changed = False
        for one in layers:
            for i in range(len(one) - 1):
                u, v = one[i], one[i + 1]
                gain = 0
                for neighbours in (layered.up, layered.down):
                    a = sorted(place[n] for n in neighbours[u])
                    b = sorted(place[n] for n in neighbours[v])
                    gain += sum(bisect_left(b, x) - (len(b) - bisect_right(b, x)) for x in a)
                if gain > 0:
                    one[i], one[i + 1] = v, u
                    place[u], place[v] = i + 1, i
                    changed = True
        if not changed:
            return
