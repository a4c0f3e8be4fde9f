"""Rows: a layout that is much wider than high is broken like a line of text, where few connections are cut."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import pairwise
from math import inf

from inkcap.drawing.layout_layers import Wire

Point = tuple[float, float]
Sides = tuple[float, float, float, float]
"""The room of a vertex: left, right, above, below."""

MARGIN = 26.0
"""How far from the row the line runs that leads to the next one."""
GAP = 50.0
"""The least room between two rows, for one such line."""
UNDER = 31.0
"""How far under a row that line runs: a weight is written above it."""
LANE = 9.0
"""How far apart two such lines run."""
CUT = 170.0
"""How much nearer to the even place a break must be to cut what comes from one more capsule."""
MOST_CUT = 4


@dataclass(frozen=True)
class Rows:
    """Places and bends of a layout that was broken into rows."""

    positions: dict[str, Point]
    bends: dict[str, tuple[Point, ...]]


def break_rows(
    positions: Mapping[str, Point],
    bends: Mapping[str, tuple[Point, ...]],
    wires: Sequence[Wire],
    boxes: Mapping[str, Sides],
    widest: float,
    aspect: float,
) -> Rows | None:
    """Break a layout along the flow into as few rows as fit; None where one row fits or nothing can be broken.

    Rows of a high layout may be wider: ``aspect`` times as wide as all are high.
    """
    left = min((x - boxes[v][0] for v, (x, _) in positions.items()), default=0.0)
    right = max((x + boxes[v][1] for v, (x, _) in positions.items()), default=0.0)
    if right - left <= widest or any(positions[w.front][0] <= positions[w.back][0] for w in wires):
        return None
    height = _extent(list(positions), positions, boxes, [p for run in bends.values() for p in run])
    tall = height[1] - height[0] + GAP
    places = _places(positions, wires, boxes)
    for count in range(2, len(places) + 2):
        breaks = _breaks(places, left, right, count)
        row = max((b - a for a, b in pairwise([left, *breaks, right])), default=0.0)
        if row <= max(widest, aspect * tall * count):
            break
    else:
        breaks = _breaks(places, left, right, len(places) + 1)
    return _Breaking(positions, bends, wires, boxes, breaks).rows() if breaks else None


def _places(
    positions: Mapping[str, Point], wires: Sequence[Wire], boxes: Mapping[str, Sides]
) -> list[tuple[float, int]]:
    """Find where no vertex stands, and from how many of them connections pass there."""
    spans = sorted((x - boxes[v][0], x + boxes[v][1]) for v, (x, _) in positions.items())
    found: list[float] = []
    reached = spans[0][1]
    for start, end in spans:
        if start > reached:
            found.append((start + reached) / 2)
        reached = max(reached, end)
    reach: dict[str, float] = {}
    for wire in wires:
        reach[wire.back] = max(reach.get(wire.back, -inf), positions[wire.front][0])
    passing = [0] * len(found)
    for back, far in reach.items():
        for i in range(bisect_right(found, positions[back][0]), bisect_right(found, far)):
            passing[i] += 1
    return [(x, cut) for x, cut in zip(found, passing, strict=True) if cut <= MOST_CUT]


def _breaks(places: Sequence[tuple[float, int]], left: float, right: float, rows: int) -> list[float]:
    chosen: list[float] = []
    last = left
    for i in range(1, rows):
        even = left + (right - left) * i / rows
        best, cost = None, inf
        for x, cut in places:
            price = abs(x - even) + CUT * (cut - 1)
            if x > last and price < cost:
                best, cost = x, price
        if best is None:
            break
        chosen.append(best)
        last = best
    return chosen


def _extent(
    ids: Sequence[str], positions: Mapping[str, Point], boxes: Mapping[str, Sides], bends: Sequence[Point]
) -> tuple[float, float]:
    ys = [y for _, y in bends]
    for v in ids:
        y = positions[v][1]
        ys += [y - boxes[v][2], y + boxes[v][3]]
    return min(ys), max(ys)


@dataclass(frozen=True)
class _Breaking:
    positions: Mapping[str, Point]
    bends: Mapping[str, tuple[Point, ...]]
    wires: Sequence[Wire]
    boxes: Mapping[str, Sides]
    breaks: Sequence[float]

    def rows(self) -> Rows:
        count = len(self.breaks) + 1
        held: list[list[str]] = [[] for _ in range(count)]
        for v, (x, _) in self.positions.items():
            held[self._row(x)].append(v)
        points: list[list[Point]] = [[] for _ in range(count)]
        for run in self.bends.values():
            for point in run:
                points[self._row(point[0])].append(point)
        passing = [
            [w for w in self.wires if self.positions[w.back][0] < x < self.positions[w.front][0]] for x in self.breaks
        ]
        shift: list[Point] = []
        rights: list[float] = []
        lanes: list[float] = []
        top = 0.0
        for i in range(count):
            low, high = _extent(held[i], self.positions, self.boxes, points[i])
            start = min(self.positions[v][0] - self.boxes[v][0] for v in held[i])
            shift.append((MARGIN - start, top - low))
            rights.append(max(self.positions[v][0] + self.boxes[v][1] for v in held[i]) + shift[i][0])
            bottom = top + high - low
            lanes.append(bottom + UNDER)
            top = bottom + GAP + LANE * (len(passing[i]) if i < count - 1 else 0)
        positions = {v: self._moved(p, shift) for v, p in self.positions.items()}
        bends = dict(self.bends)
        for wire in self.wires:
            bends[wire.id] = tuple(self._run(wire, shift, rights, lanes, passing))
        return Rows(positions, bends)

    def _row(self, x: float) -> int:
        return sum(x > cut for cut in self.breaks)

    def _moved(self, point: Point, shift: Sequence[Point]) -> Point:
        dx, dy = shift[self._row(point[0])]
        return point[0] + dx, point[1] + dy

    def _run(
        self,
        wire: Wire,
        shift: Sequence[Point],
        rights: Sequence[float],
        lanes: Sequence[float],
        passing: Sequence[Sequence[Wire]],
    ) -> list[Point]:
        """Lead a connection along its bends, and around the end of each row that it leaves."""
        old = [self.positions[wire.back], *self.bends.get(wire.id, ()), self.positions[wire.front]]
        run: list[Point] = []
        for here, there in pairwise(old):
            for row in range(self._row(here[0]), self._row(there[0])):
                lane = LANE * passing[row].index(wire)
                height = here[1] + shift[row][1]
                below = there[1] + shift[row + 1][1]
                run += [
                    (rights[row] + MARGIN / 2 + lane, height),
                    (rights[row] + MARGIN / 2 + lane, lanes[row] + lane),
                    (MARGIN / 2 - lane, lanes[row] + lane),
                    (MARGIN / 2 - lane, below),
                ]
            run.append(self._moved(there, shift))
        return run[:-1]
