"""Layout: where capsules lie and how connections run, layered along the flow, the same every time.

The method is Sugiyama's: cycles are opened, every vertex gets a layer, connections that pass layers get a stop in each,
the stops and vertices of a layer are ordered so that few lines cross, and coordinates make long lines straight.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

from inkcap.drawing.document import Drawing
from inkcap.drawing.layout_coordinates import coordinates
from inkcap.drawing.layout_layers import Layered, Wire, layer
from inkcap.drawing.layout_order import order
from inkcap.drawing.layout_rows import break_rows
from inkcap.theory import Graph

Direction = Literal["right", "down"]
Point = tuple[float, float]


@dataclass(frozen=True)
class Box:
    """The room that a vertex takes around its anchor, the middle of its glyph; lines end at the anchor's height."""

    left: float
    right: float
    above: float
    below: float

    @staticmethod
    def of(width: float, height: float) -> Box:
        """Make a box with its anchor in the middle."""
        return Box(width / 2, width / 2, height / 2, height / 2)


@dataclass(frozen=True)
class Layout:
    """Anchors by vertex, bends by connection (from its back to its front), and the extent from the origin."""

    positions: Mapping[str, Point]
    bends: Mapping[str, tuple[Point, ...]]
    width: float
    height: float


@dataclass(frozen=True)
class Spacing:
    """Distances: between neighbours of a layer, between layers, between lines, between parts."""

    neighbours: float = 26.0
    layers: float = 54.0
    lines: float = 14.0
    parts: float = 48.0
    widest: float = math.inf
    """What is wider is broken into rows where it runs to the right."""
    aspect: float = 1.5
    """Rows of a high layout may be wider than that: about so many times as wide as all are high."""


SQUARE = Box.of(56.0, 56.0)
LOOP = 22.0
"""How far a connection from a capsule to itself rises above it."""
PARALLEL = 24.0
"""How far apart two connections between the same capsules run."""
EVEN = 1.45
"""Layers whose distances differ by less than this ratio get one distance."""


def layout(
    thing: Drawing | Graph,
    sizes: Mapping[str, Box] | None = None,
    direction: Direction = "right",
    *,
    stored: bool = True,
    lengths: Mapping[str, float] | None = None,
    spacing: Spacing | None = None,
) -> Layout:
    """Lay out a drawing or a graph.

    A drawing's connections go by their ids, a graph's edges by ``back→front``. ``stored`` keeps the positions that a
    drawing states; capsules without one come below. ``lengths`` asks for room from anchor to anchor, by connection.
    """
    vertices, wires = parts_of(thing)
    placed: dict[str, Point] = {}
    if stored and isinstance(thing, Drawing):
        placed = {v: (thing.positions[v].x, thing.positions[v].y) for v in vertices if v in thing.positions}
    return arrange(vertices, wires, sizes or {}, direction, placed=placed, lengths=lengths, spacing=spacing)


def arrange(
    vertices: Sequence[str],
    wires: Sequence[Wire],
    sizes: Mapping[str, Box],
    direction: Direction = "right",
    *,
    placed: Mapping[str, Point] | None = None,
    lengths: Mapping[str, float] | None = None,
    spacing: Spacing | None = None,
) -> Layout:
    """Lay out vertices and wires; what is placed stays, the rest comes below it."""
    boxes = {v: sizes.get(v, SQUARE) for v in vertices}
    for wire in wires:
        if wire.back == wire.front:
            box = boxes[wire.back]
            boxes[wire.back] = Box(box.left, box.right, box.above + LOOP, box.below)
    engine = _Engine(boxes, direction, lengths or {}, spacing or Spacing())
    return engine.around(placed, vertices, wires) if placed else engine.whole(vertices, wires)


def parts_of(thing: Drawing | Graph) -> tuple[tuple[str, ...], tuple[Wire, ...]]:
    """Give the vertices and the wires of a drawing or a graph."""
    if isinstance(thing, Graph):
        return thing.vertices, tuple(Wire(f"{back}→{front}", back, front) for back, front in thing.edges)
    vertices = (*thing.capsules, *thing.uses)
    return vertices, tuple(Wire(c.id, c.back, c.front) for c in thing.connections.values())


@dataclass(frozen=True)
class _Engine:
    boxes: Mapping[str, Box]
    direction: Direction
    lengths: Mapping[str, float]
    spacing: Spacing

    def whole(self, vertices: Sequence[str], wires: Sequence[Wire]) -> Layout:
        """Lay out every part by itself and set the parts side by side."""
        graph = Graph(tuple(vertices), tuple((w.back, w.front) for w in wires))
        parts = graph.parts()
        number = {v: i for i, part in enumerate(parts) for v in part}
        own: list[list[Wire]] = [[] for _ in parts]
        for wire in wires:
            own[number[wire.back]].append(wire)
        return self._pack([self._part(part, own[i]) for i, part in enumerate(parts)])

    def around(self, placed: Mapping[str, Point], vertices: Sequence[str], wires: Sequence[Wire]) -> Layout:
        """Keep what is placed; lay out the rest below it."""
        rest = [v for v in vertices if v not in placed]
        inner = [w for w in wires if w.back not in placed and w.front not in placed]
        below = self.whole(rest, inner) if rest else Layout({}, {}, 0.0, 0.0)
        left = min(x - self.boxes[v].left for v, (x, _) in placed.items())
        top = min(y - self.boxes[v].above for v, (_, y) in placed.items())
        bottom = max(y + self.boxes[v].below for v, (_, y) in placed.items()) - top
        drop = bottom + self.spacing.parts if rest else bottom
        positions = {v: (x - left, y - top) for v, (x, y) in placed.items()}
        positions |= {v: (x, y + drop) for v, (x, y) in below.positions.items()}
        bends = {id: tuple((x, y + drop) for x, y in run) for id, run in below.bends.items()}
        bends |= self._specials([w for w in wires if w.id not in bends], positions)
        right = max(x + self.boxes[v].right for v, (x, _) in positions.items())
        return Layout({v: positions[v] for v in vertices}, bends, right, drop + below.height)

    def _pack(self, parts: Sequence[Layout]) -> Layout:
        # Rows of parts, about three times as wide as high.
        if not parts:
            return Layout({}, {}, 0.0, 0.0)
        gap = self.spacing.parts
        area = sum((part.width + gap) * (part.height + gap) for part in parts)
        widest = max(*(part.width for part in parts), math.sqrt(3 * area), 0.0)
        positions: dict[str, Point] = {}
        bends: dict[str, tuple[Point, ...]] = {}
        x = y = row = width = 0.0
        for part in parts:
            if x and x + part.width > widest:
                x, y, row = 0.0, y + row + gap, 0.0
            positions |= {v: (px + x, py + y) for v, (px, py) in part.positions.items()}
            bends |= {id: tuple((px + x, py + y) for px, py in run) for id, run in part.bends.items()}
            width, row = max(width, x + part.width), max(row, part.height)
            x += part.width + gap
        return Layout(positions, bends, width, y + row)

    def _part(self, vertices: Sequence[str], wires: Sequence[Wire]) -> Layout:
        layered = layer(vertices, wires)
        order(layered)
        cross = self._cross(layered)
        flow, before, after = self._flow(layered)
        ends: dict[str, Point] = {v: (flow[layered.layer[i]], cross[i]) for i, v in enumerate(vertices)}
        runs: dict[str, tuple[Point, ...]] = {}
        top = min((cross[i] - self._sides(v)[2] for i, v in enumerate(vertices)), default=0.0) - self.spacing.lines
        for wire in wires:
            run: list[Point] = []
            for stop in layered.stops.get(wire.id, ()):
                column, height = layered.layer[stop], cross[stop]
                if run and abs(run[-1][1] - height) < 0.01:
                    run[-1] = (flow[column] + after[column], run[-1][1])
                else:
                    run += [(flow[column] - before[column], height), (flow[column] + after[column], height)]
            if wire.id in layered.outside:
                low, high = layered.outside[wire.id]
                run = [(flow[low] + after[low] + 6, top), (flow[high] - before[high] - 6, top)]
            if wire.id in layered.turned:
                run.reverse()
            runs[wire.id] = tuple(_without_repeats(run))
        turned = self.direction == "down"
        positions = {v: (y, x) if turned else (x, y) for v, (x, y) in ends.items()}
        bends = {id: tuple((y, x) if turned else (x, y) for x, y in run) for id, run in runs.items()}
        bends |= {id: run for id, run in self._specials(wires, positions).items() if not bends[id]}
        if not turned:
            sides = {v: self._sides(v) for v in vertices}
            rows = break_rows(positions, bends, wires, sides, self.spacing.widest, self.spacing.aspect)
            positions, bends = (rows.positions, rows.bends) if rows else (positions, bends)
        return self._from_origin(positions, bends)

    def _cross(self, layered: Layered) -> list[float]:
        sides = [self._sides(v) for v in layered.vertices]
        stops = layered.count - len(sides)
        space = self.spacing
        return coordinates(
            layered,
            [s[2] for s in sides] + [0.0] * stops,
            [s[3] for s in sides] + [0.0] * stops,
            lambda a, b: space.neighbours if max(a, b) < len(sides) else space.lines,
        )

    def _flow(self, layered: Layered) -> tuple[list[float], list[float], list[float]]:
        depth = len(layered.layers)
        before, after = [0.0] * depth, [0.0] * depth
        for i, v in enumerate(layered.vertices):
            sides, column = self._sides(v), layered.layer[i]
            before[column] = max(before[column], sides[0])
            after[column] = max(after[column], sides[1])
        steps = [after[i] + self.spacing.layers + before[i + 1] for i in range(depth - 1)]
        number = {v: layered.layer[i] for i, v in enumerate(layered.vertices)}
        for wire in layered.wires:
            low, high = sorted((number[wire.back], number[wire.front]))
            if high == low + 1:
                steps[low] = max(steps[low], self.lengths.get(wire.id, 0.0))
        if steps and max(steps) <= EVEN * min(steps):
            steps = [max(steps)] * len(steps)
        flow = [0.0]
        for step in steps:
            flow.append(flow[-1] + step)
        return flow, before, after

    def _sides(self, vertex: str) -> tuple[float, float, float, float]:
        """Give the room before and after along the flow, then across it."""
        box = self.boxes[vertex]
        if self.direction == "down":
            return box.above, box.below, box.left, box.right
        return box.left, box.right, box.above, box.below

    def _specials(self, wires: Sequence[Wire], positions: Mapping[str, Point]) -> dict[str, tuple[Point, ...]]:
        # Loops, and connections between two capsules that are joined already.
        found: dict[str, tuple[Point, ...]] = {}
        seen: dict[tuple[str, str], int] = {}
        for wire in wires:
            (x1, y1), (x2, y2) = positions[wire.back], positions[wire.front]
            pair = (min(wire.back, wire.front), max(wire.back, wire.front))
            number = seen[pair] = seen.get(pair, -1) + 1
            if wire.back == wire.front:
                box = self.boxes[wire.back]
                up, side = y1 - box.above + LOOP / 2 - 5 * number, 12.0 + 3 * number
                found[wire.id] = ((x1 + side, up), (x1 - side, up))
            elif number:
                push = PARALLEL * ((number + 1) // 2) * (-1 if number % 2 else 1)
                middle = ((x1 + x2) / 2, (y1 + y2) / 2)
                across = abs(x2 - x1) < abs(y2 - y1)
                found[wire.id] = ((middle[0] + push, middle[1]) if across else (middle[0], middle[1] + push),)
        return found

    def _from_origin(self, positions: dict[str, Point], bends: dict[str, tuple[Point, ...]]) -> Layout:
        points = [point for run in bends.values() for point in run]
        xs, ys = [x for x, _ in points], [y for _, y in points]
        for v, (x, y) in positions.items():
            box = self.boxes[v]
            xs += [x - box.left, x + box.right]
            ys += [y - box.above, y + box.below]
        left, top = min(xs), min(ys)
        return Layout(
            {v: (x - left, y - top) for v, (x, y) in positions.items()},
            {id: tuple((x - left, y - top) for x, y in run) for id, run in bends.items()},
            max(xs) - left,
            max(ys) - top,
        )


def _without_repeats(run: Sequence[Point]) -> list[Point]:
    return [point for i, point in enumerate(run) if i == 0 or point != run[i - 1]]
