"""Directions of lines drawn without an arrow: found when exactly one orientation is a network.

An orientation is a network's when it has no cycle and the vertices that nothing enters are exactly the data
neurons. One such orientation is found by growing from the data; it is the only one when no line of it can be
turned round alone.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence, Set
from dataclasses import dataclass

Edge = tuple[str, str]


@dataclass(frozen=True)
class Orientation:
    """The lines with their directions, those that could as well go the other way, and those that reach no data."""

    edges: Mapping[int, Edge]
    ambiguous: tuple[int, ...]
    unreached: tuple[int, ...]


def orient(vertices: Sequence[str], data: Set[str], arrows: Sequence[Edge], lines: Sequence[Edge]) -> Orientation:
    """Give every line (by its place in ``lines``) a direction from its back end to its front end."""
    place = _grow(vertices, data, arrows, lines)
    edges: dict[int, Edge] = {}
    unreached: list[int] = []
    for i, (a, b) in enumerate(lines):
        if a not in place or b not in place or (a in data and b in data):
            unreached.append(i)
            edges[i] = (a, b)
        else:
            edges[i] = (a, b) if place[a] < place[b] else (b, a)
    directed = [*arrows, *edges.values()]
    successors: dict[str, list[str]] = {v: [] for v in vertices}
    entering = dict.fromkeys(vertices, 0)
    for a, b in directed:
        successors[a].append(b)
        entering[b] += 1
    ambiguous = tuple(
        i
        for i, (a, b) in edges.items()
        if i not in unreached and a not in data and entering[b] > 1 and not _another_way(successors, a, b)
    )
    return Orientation(edges, ambiguous, tuple(unreached))


def _grow(vertices: Sequence[str], data: Set[str], arrows: Sequence[Edge], lines: Sequence[Edge]) -> dict[str, int]:
    """Place vertices one by one: the data first, then whatever something placed enters and nothing unplaced must."""
    waiting = dict.fromkeys(vertices, 0)
    forwards: dict[str, list[str]] = {v: [] for v in vertices}
    beside: dict[str, list[str]] = {v: [] for v in vertices}
    for a, b in arrows:
        waiting[b] += 1
        forwards[a].append(b)
    for a, b in lines:
        beside[a].append(b)
        beside[b].append(a)
    place: dict[str, int] = {}
    ready = deque(v for v in vertices if v in data)
    while ready:
        vertex = ready.popleft()
        if vertex in place:
            continue
        place[vertex] = len(place)
        for front in forwards[vertex]:
            waiting[front] -= 1
        ready.extend(v for v in (*forwards[vertex], *beside[vertex]) if v not in place and waiting[v] == 0)
    return place


def _another_way(successors: Mapping[str, Sequence[str]], start: str, end: str) -> bool:
    """Tell whether a path leads from start to end besides one edge between them: then the edge cannot be turned."""
    skipped = False
    stack: list[str] = []
    for vertex in successors[start]:
        if vertex == end and not skipped:
            skipped = True
        else:
            stack.append(vertex)
    seen: set[str] = set()
    while stack:
        vertex = stack.pop()
        if vertex == end:
            return True
        if vertex not in seen:
            seen.add(vertex)
            stack.extend(successors[vertex])
    return False
