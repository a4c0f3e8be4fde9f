"""Coordinates across the flow, after Brandes and Köpf: four alignments, each compact, and their middle."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from itertools import pairwise
from math import inf

from inkcap.drawing.layout_layers import Layered

Separation = Callable[[int, int], float]
ROUNDS = 8
"""How often lines are moved towards what they are joined to."""
SNAP = 8.0
"""A line that comes this near to another one at its end joins it."""


def coordinates(layered: Layered, before: Sequence[float], after: Sequence[float], gap: Separation) -> list[float]:
    """Give every vertex and stop its place across the flow; neighbours of a layer keep their distance."""
    conflicts = _conflicts(layered)
    runs: list[list[float]] = []
    for neighbours, layers in ((layered.up, layered.layers), (layered.down, layered.layers[::-1])):
        anchors = [_anchors(layered, neighbours[v]) for v in range(layered.count)]
        for mirrored in (False, True):
            seen = [one[::-1] for one in layers] if mirrored else layers

            def apart(a: int, b: int, mirrored: bool = mirrored) -> float:
                first, second = (b, a) if mirrored else (a, b)
                return after[first] + gap(first, second) + before[second]

            root = _align(layered.count, seen, anchors, conflicts)
            run = _compact(layered.count, seen, root, apart)
            runs.append([-x for x in run] if mirrored else run)
    places = _middle(runs)
    _tighten(layered, places, lambda a, b: after[a] + gap(a, b) + before[b])
    return places


def _anchors(layered: Layered, neighbours: Sequence[int]) -> list[int]:
    # Where a shortcut joins the main line, the main line stays straight.
    vertices = [n for n in neighbours if not layered.is_stop(n)]
    return vertices if len(neighbours) == 2 and len(vertices) == 1 else list(neighbours)


def _conflicts(layered: Layered) -> set[tuple[int, int]]:
    # A piece between two stops is to be straight: pieces that cross it may not be aligned.
    found: set[tuple[int, int]] = set()
    place = {v: i for one in layered.layers for i, v in enumerate(one)}
    for upper, lower in pairwise(layered.layers):
        left, scanned = 0, 0
        for i, vertex in enumerate(lower):
            inner = (
                next((n for n in layered.up[vertex] if layered.is_stop(n)), None) if layered.is_stop(vertex) else None
            )
            if inner is None and i < len(lower) - 1:
                continue
            right = place[inner] if inner is not None else len(upper)
            for other in lower[scanned : i + 1]:
                for n in layered.up[other]:
                    straight = layered.is_stop(n) and layered.is_stop(other)
                    if not left <= place[n] <= right and not straight:
                        found.add((n, other))
                        found.add((other, n))
            scanned, left = i + 1, right
    return found


def _align(
    count: int, layers: Sequence[Sequence[int]], anchors: Sequence[Sequence[int]], conflicts: set[tuple[int, int]]
) -> list[int]:
    # Each vertex joins the line of a middle neighbour in the layer before, if no line is crossed by that.
    root, taken = list(range(count)), [False] * count
    place = [0] * count
    for one in layers:
        for i, vertex in enumerate(one):
            place[vertex] = i
    for one in layers[1:]:
        reached = -1
        for vertex in one:
            ordered = sorted(anchors[vertex], key=lambda n: place[n])
            if not ordered:
                continue
            low, high = (len(ordered) - 1) // 2, len(ordered) // 2
            for other in ordered[low : high + 1]:
                if taken[other] or place[other] <= reached or (other, vertex) in conflicts:
                    continue
                taken[other] = True
                root[vertex] = root[other]
                reached = place[other]
                break
    return root


def _compact(count: int, layers: Sequence[Sequence[int]], root: Sequence[int], apart: Separation) -> list[float]:
    # Lines as blocks, pushed together as far as their distances allow, then drawn towards what follows them.
    after: list[dict[int, float]] = [{} for _ in range(count)]
    waiting = [0] * count
    for one in layers:
        for a, b in pairwise(one):
            first, second = root[a], root[b]
            if second not in after[first]:
                waiting[second] += 1
            after[first][second] = max(after[first].get(second, 0.0), apart(a, b))
    ready = [v for v in range(count) if root[v] == v and not waiting[v]]
    where = [0.0] * count
    for block in ready:
        for other, distance in after[block].items():
            where[other] = max(where[other], where[block] + distance)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    for block in reversed(ready):
        if after[block]:
            where[block] = max(where[block], min(where[other] - d for other, d in after[block].items()))
    return [where[root[v]] for v in range(count)]


def _middle(runs: Sequence[list[float]]) -> list[float]:
    # All four are set against the narrowest; the middle two of the four decide.
    if not runs[0]:
        return []
    narrowest = min(runs, key=lambda run: max(run) - min(run))
    low, high = min(narrowest), max(narrowest)
    moved: list[list[float]] = []
    for i, run in enumerate(runs):
        shift = high - max(run) if i % 2 else low - min(run)
        moved.append([x + shift for x in run])
    found: list[float] = []
    for places in zip(*moved, strict=True):
        ordered = sorted(places)
        found.append((ordered[1] + ordered[2]) / 2)
    return found


def _tighten(layered: Layered, places: list[float], apart: Separation) -> None:
    # Straight lines move as wholes towards what they are joined to, as far as their neighbours let them.
    lines = _lines(layered, places)
    where = [places[line[0]] for line in lines]
    owner = {v: i for i, line in enumerate(lines) for v in line}
    limits: list[tuple[list[tuple[int, float]], list[tuple[int, float]]]] = [([], []) for _ in lines]
    for one in layered.layers:
        for a, b in pairwise(one):
            distance = apart(a, b)
            limits[owner[a]][1].append((owner[b], distance))
            limits[owner[b]][0].append((owner[a], distance))
    pulls = [
        [owner[n] for v in line for n in (*layered.up[v], *layered.down[v]) if owner[n] != i]
        for i, line in enumerate(lines)
    ]
    for turn in range(ROUNDS):
        moved = 0.0
        for i in sorted(range(len(lines)), key=lambda i: where[i], reverse=bool(turn % 2)):
            if not pulls[i]:
                continue
            low = max((where[j] + distance for j, distance in limits[i][0]), default=-inf)
            high = min((where[j] - distance for j, distance in limits[i][1]), default=inf)
            ends = [where[j] for j in pulls[i]]
            wanted = sum(ends) / len(ends)
            nearest = min(ends, key=lambda end: abs(end - wanted))
            wanted = nearest if abs(nearest - wanted) < SNAP else wanted
            target = min(max(wanted, low), high) if low <= high else where[i]
            moved, where[i] = max(moved, abs(target - where[i])), target
        if moved < 0.5:
            break
    for line, place in zip(lines, where, strict=True):
        for v in line:
            places[v] = place


def _lines(layered: Layered, places: Sequence[float]) -> list[list[int]]:
    # What is joined and lies at one height is one line.
    found: list[list[int]] = []
    seen = [False] * layered.count
    for start in range(layered.count):
        if seen[start]:
            continue
        seen[start] = True
        line = [start]
        for v in line:
            for n in (*layered.up[v], *layered.down[v]):
                if not seen[n] and abs(places[n] - places[v]) < 1e-6:
                    seen[n] = True
                    line.append(n)
        found.append(line)
    return found
