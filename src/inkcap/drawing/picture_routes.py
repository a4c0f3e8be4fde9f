"""Routes: the lines that connections take from border to border."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise

from inkcap.drawing.glyphs import form_of
from inkcap.drawing.layout import Direction, Layout, Point
from inkcap.drawing.picture_scene import WEIGHT_SIZE, Link, Node, Scene
from inkcap.drawing.picture_text import width_of

CLEAR = 2.0
"""How far an arrow ends before a glyph."""
CORNER = 12.0
"""The radius of a corner where a line goes around the end of a row."""

PORT_SHARES = (0.78, 0.66, 0.54, 0.42)
"""The places along the end of a line that are tried for the name of a port, as shares of it."""

Frame = tuple[float, float, float, float]
"""A frame on paper: left, top, right, bottom."""


@dataclass(frozen=True)
class Piece:
    """A piece of a route: straight, or a curve that starts and ends along the flow."""

    start: Point
    end: Point
    curved: bool
    inner: bool
    """Whether it lies between two bends: along a layer that the connection passes."""

    reach: float = 0.0
    """How far a curve goes on along the flow before it turns; half of the way if not stated."""

    bow: tuple[Point, Point] | None = None
    """The control points of a curve that ends otherwise than along the flow."""

    def controls(self, direction: Direction) -> tuple[Point, Point]:
        """Give the two control points of the curve."""
        if self.bow:
            return self.bow
        (x1, y1), (x2, y2) = self.start, self.end
        if direction == "right":
            reach = self.reach or (x2 - x1) / 2
            return (x1 + reach, y1), (x2 - reach, y2)
        reach = self.reach or (y2 - y1) / 2
        return (x1, y1 + reach), (x2, y2 - reach)

    def at(self, share: float, direction: Direction) -> Point:
        """Find the point at a share of the way."""
        (x1, y1), (x2, y2), s, rest = self.start, self.end, share, 1 - share
        if not self.curved:
            return x1 + (x2 - x1) * s, y1 + (y2 - y1) * s
        (ax, ay), (bx, by) = self.controls(direction)
        a, b, c, d = rest**3, 3 * rest * rest * s, 3 * rest * s * s, s**3
        return a * x1 + b * ax + c * bx + d * x2, a * y1 + b * ay + c * by + d * y2


@dataclass(frozen=True)
class Route:
    """A connection on paper: its pieces, and where its badge lies (if anywhere)."""

    link: Link
    pieces: tuple[Piece, ...]
    badge: Point | None = None
    label: Point | None = None
    plate: bool = False
    """Whether the label lies among other lines and needs paper under it."""
    port: Frame | None = None
    """Where the name of the port stands that it enters by, if this line carries it."""


def port_frames(route: Route, direction: Direction) -> Iterator[Frame]:
    """Find where the name of a port may stand: beside the end of its line, or further back. The main has no name."""
    if not route.link.port or not route.pieces:
        return
    width = width_of(route.link.port, WEIGHT_SIZE)
    piece = next((p for p in reversed(route.pieces) if p.curved), route.pieces[-1])
    # Lines meet at the glyph: the name stands outside, on the side from which its own line comes.
    below = piece.start[1] > piece.end[1] + 1
    for share in PORT_SHARES:
        x, y = piece.at(share, direction)
        if direction == "down":
            yield x + 6, y - 12, x + 6 + width, y
            yield x - 6 - width, y - 12, x - 6, y
            continue
        left = min(x + 3, route.pieces[-1].end[0] - 4 - width) if piece.curved else x - width / 2
        yield (left, y + 8, left + width, y + 20) if below else (left, y - 15, left + width, y - 3)
        if piece.curved:
            yield x - 6 - width, y - 6, x - 6, y + 6
            yield x + 6, y - 6, x + 6 + width, y + 6


def routes_of(scene: Scene, layout: Layout, direction: Direction) -> list[Route]:
    """Find the routes of all connections, without their badges yet."""
    return [Route(link, tuple(_pieces(link, scene.nodes, layout, direction))) for link in scene.links]


def _pieces(link: Link, nodes: Mapping[str, Node], layout: Layout, direction: Direction) -> Iterator[Piece]:
    start, end = layout.positions[link.back], layout.positions[link.front]
    bends = layout.bends.get(link.id, ())
    back, front = nodes[link.back], nodes[link.front]
    round_ends = {back.shape, front.shape} <= {"circle", "disc"}
    if round_ends and len(bends) > 1 and link.back != link.front:
        yield from _round_circles(start, end, bends, back, front, direction)
        return
    if round_ends:
        yield from _between_circles(start, end, bends, back, front, direction)
        return
    axis = 1 if direction == "right" else 0
    if not bends and end[1 - axis] < start[1 - axis]:
        yield _backwards(start, end, back, front, direction)
        return
    points = [start, *bends, end]
    leave = _port(start, points[1], back, direction, leaving=True)
    arrive = _port(end, points[-2], front, direction, leaving=False)
    middle = list(bends)
    run = [*leave, *middle, *reversed(arrive)]
    inner = range(len(leave), len(leave) + len(middle) - 1)
    if all(abs(point[axis] - start[axis]) < 0.01 for point in run):
        yield Piece(run[0], run[-1], False, False)
        return
    if direction == "right" and any(abs(p[0] - q[0]) < 0.01 for p, q in pairwise(bends)):
        yield from _around_rows(run)
        return
    for i, (p, q) in enumerate(pairwise(run)):
        if math.dist(p, q) > 0.01:
            yield Piece(p, q, abs(p[axis] - q[axis]) > 0.01, i in inner and abs(p[axis] - q[axis]) <= 0.01)


def _around_rows(run: list[Point]) -> Iterator[Piece]:
    # To the end of a row, down, back and into the next one: straight, with round corners.
    def level(p: Point, q: Point) -> bool:
        return abs(p[0] - q[0]) < 0.01 or abs(p[1] - q[1]) < 0.01

    here = run[0]
    for p, corner, q in zip(run, run[1:], run[2:], strict=False):
        if not (level(p, corner) and level(corner, q)):
            yield Piece(here, corner, not level(here, corner), False)
            here = corner
            continue
        near, far = (_on_rim(corner, end, min(CORNER, math.dist(corner, end) / 2)) for end in (p, q))
        # The way back between two rows is the connection's own: its badge stands there.
        yield Piece(here, near, False, near[0] < here[0])
        yield Piece(near, far, True, False, bow=(corner, corner))
        here = far
    yield Piece(here, run[-1], not level(here, run[-1]), False)


def _backwards(start: Point, end: Point, back: Node, front: Node, direction: Direction) -> Piece:
    # Where a person placed the front behind the back, the line still leaves with the flow and enters with it.
    leave, enter = form_of(back.shape, direction), form_of(front.shape, direction)
    if direction == "right":
        first, last = (start[0] + leave.right, start[1]), (end[0] - enter.half_width - CLEAR, end[1])
    else:
        first, last = (start[0], start[1] + leave.half_height), (end[0], end[1] - enter.above - CLEAR)
    return Piece(first, last, True, False, max(70.0, math.dist(first, last) / 3))


def _port(anchor: Point, towards: Point, node: Node, direction: Direction, *, leaving: bool) -> list[Point]:
    # The border of the glyph, then the border of the room it takes: in between the line runs along the flow.
    (x, y), form, box = anchor, form_of(node.shape, direction), node.box(direction)
    clear = 0.0 if leaving or node.shape == "stub" else CLEAR
    if direction == "right":
        if towards[0] >= x:
            near, far = x + form.right + clear, x + box.right
        else:
            near, far = x - form.half_width - clear, x - box.left
        return [(near, y), (far, y)] if abs(far - near) > 1 and abs(far - x) > abs(near - x) else [(near, y)]
    if towards[1] >= y:
        near, far = y + form.half_height + clear, y + box.below
    else:
        near, far = y - form.above - clear, y - box.above
    return [(x, near), (x, far)] if abs(far - near) > 1 and abs(far - y) > abs(near - y) else [(x, near)]


def _between_circles(
    start: Point, end: Point, bends: tuple[Point, ...], back: Node, front: Node, direction: Direction
) -> Iterator[Piece]:
    # Straight from rim to rim, as networks of neurons are drawn; a loop goes round by its bends.
    points = [start, *bends, end]
    first = _on_rim(start, points[1], form_of(back.shape, direction).half_width)
    last = _on_rim(end, points[-2], form_of(front.shape, direction).half_width + CLEAR)
    run = [first, *bends, last]
    for p, q in pairwise(run):
        yield Piece(p, q, False, False)


def _round_circles(
    start: Point, end: Point, bends: tuple[Point, ...], back: Node, front: Node, direction: Direction
) -> Iterator[Piece]:
    # Out of the rim towards the first bend, along the bends, and into the rim from the last: each end in its own place.
    first = _on_rim(start, bends[0], form_of(back.shape, direction).half_width)
    last = _on_rim(end, bends[-1], form_of(front.shape, direction).half_width + CLEAR)
    forwards = 1.0 if (end[0] > start[0] if direction == "right" else end[1] > start[1]) else -1.0
    yield Piece(first, bends[0], True, False, bow=_bow(first, start, bends[0], -forwards, direction))
    for p, q in pairwise(bends):
        yield Piece(p, q, abs(p[1] - q[1]) > 0.01 if direction == "right" else abs(p[0] - q[0]) > 0.01, True)
    near, far = _bow(last, end, bends[-1], forwards, direction)
    yield Piece(bends[-1], last, True, False, bow=(far, near))


def _bow(rim: Point, centre: Point, bend: Point, sense: float, direction: Direction) -> tuple[Point, Point]:
    # One control point on the ray out of the circle, the other along the flow at the bend.
    reach = 0.45 * math.dist(rim, bend)
    far = math.dist(centre, rim) or 1.0
    out = (rim[0] + (rim[0] - centre[0]) * reach / far, rim[1] + (rim[1] - centre[1]) * reach / far)
    along = (bend[0] + sense * reach, bend[1]) if direction == "right" else (bend[0], bend[1] + sense * reach)
    return out, along


def _on_rim(centre: Point, towards: Point, radius: float) -> Point:
    far = math.dist(centre, towards) or 1.0
    share = min(1.0, radius / far)
    return centre[0] + (towards[0] - centre[0]) * share, centre[1] + (towards[1] - centre[1]) * share
