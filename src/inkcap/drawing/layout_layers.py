"""The first half of layout: cycles are opened, every vertex gets a layer, long connections get stops."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True)
class Wire:
    """A connection as layout sees it."""

    id: str
    back: str
    front: str


@dataclass(frozen=True)
class Layered:
    """Vertices by number, then stops: the places where long connections pass a layer."""

    vertices: Sequence[str]
    wires: Sequence[Wire]
    layer: list[int]
    layers: list[list[int]]
    up: list[list[int]]
    """Neighbours in the layer before, by number."""
    down: list[list[int]]
    """Neighbours in the layer after, by number."""
    stops: dict[str, list[int]]
    """The stops of a connection, from the lower layer to the higher."""
    turned: set[str]
    """Connections that run against the flow."""
    outside: dict[str, tuple[int, int]]
    """Connections for which there was no room: they run along the border, between these layers."""

    @property
    def count(self) -> int:
        """How many vertices and stops there are."""
        return len(self.layer)

    def is_stop(self, number: int) -> bool:
        """Tell stops from vertices."""
        return number >= len(self.vertices)


def layer(vertices: Sequence[str], wires: Sequence[Wire]) -> Layered:
    """Give every vertex its layer, and every connection that passes layers its stops."""
    number = {v: i for i, v in enumerate(vertices)}
    ends = [(number[w.back], number[w.front]) for w in wires]
    backwards = _against_the_flow(len(vertices), ends)
    edges = [(b, a) if i in backwards else (a, b) for i, (a, b) in enumerate(ends)]
    levels = _levels(len(vertices), [(a, b) for a, b in edges if a != b])
    depth = max(levels, default=0) + 1
    layered = Layered(
        vertices,
        wires,
        levels,
        [[] for _ in range(depth)],
        [[] for _ in vertices],
        [[] for _ in vertices],
        {},
        {wires[i].id for i in backwards},
        {},
    )
    _add_stops(layered, edges, backwards)
    return layered


def _against_the_flow(count: int, ends: Sequence[tuple[int, int]]) -> set[int]:
    # A walk into the depth: an edge to a vertex that is still being walked closes a cycle.
    leaving: list[list[tuple[int, int]]] = [[] for _ in range(count)]
    entered = [0] * count
    for i, (a, b) in enumerate(ends):
        if a != b:
            leaving[a].append((i, b))
            entered[b] += 1
    state = [0] * count
    found: set[int] = set()
    for start in sorted(range(count), key=lambda v: (entered[v] > 0, v)):
        if state[start]:
            continue
        state[start] = 1
        stack = [(start, iter(leaving[start]))]
        while stack:
            vertex, rest = stack[-1]
            for i, other in rest:
                if state[other] == 1:
                    found.add(i)
                elif state[other] == 0:
                    state[other] = 1
                    stack.append((other, iter(leaving[other])))
                    break
            else:
                state[vertex] = 2
                stack.pop()
    return found


def _levels(count: int, edges: Sequence[tuple[int, int]]) -> list[int]:
    # The longest path from an input; inputs that enter late move up to where they enter.
    after: list[list[int]] = [[] for _ in range(count)]
    waiting = [0] * count
    for a, b in edges:
        after[a].append(b)
        waiting[b] += 1
    inputs = [v for v in range(count) if not waiting[v]]
    level, ready = [0] * count, list(inputs)
    for vertex in ready:
        for other in after[vertex]:
            level[other] = max(level[other], level[vertex] + 1)
            waiting[other] -= 1
            if not waiting[other]:
                ready.append(other)
    for vertex in inputs:
        level[vertex] = max(0, min((level[other] for other in after[vertex]), default=1) - 1)
    lowest = min(level, default=0)
    return [one - lowest for one in level]


def _add_stops(layered: Layered, edges: Sequence[tuple[int, int]], backwards: set[int]) -> None:
    # Connections that leave one vertex share their stops, so that they run as one line as far as they can.
    budget = 8 * (len(layered.vertices) + len(edges)) + 2000
    shared: dict[tuple[int, int, int], int] = {}
    parallel: dict[tuple[int, int], int] = {}
    joined: set[tuple[int, int]] = set()

    def join(a: int, b: int) -> None:
        if (a, b) not in joined:
            joined.add((a, b))
            layered.down[a].append(b)
            layered.up[b].append(a)

    for i in sorted(range(len(edges)), key=lambda i: (layered.layer[edges[i][1]] - layered.layer[edges[i][0]], i)):
        (a, b), id = edges[i], layered.wires[i].id
        low, high = layered.layer[a], layered.layer[b]
        if a == b:
            continue
        if high - low > 1 and high - low - 1 > budget:
            layered.outside[id] = (low, high)
            continue
        lane = parallel[a, b] = parallel.get((a, b), -1) + 1
        lane = -1 - i if i in backwards else lane
        stops: list[int] = []
        last = a
        for column in range(low + 1, high):
            stop = shared.get((a, lane, column))
            if stop is None:
                stop = shared[a, lane, column] = layered.count
                layered.layer.append(column)
                layered.up.append([])
                layered.down.append([])
                budget -= 1
            join(last, stop)
            stops.append(stop)
            last = stop
        join(last, b)
        layered.stops[id] = stops
