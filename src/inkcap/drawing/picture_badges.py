"""Badges: where the signs and weights of connections stand, so that none covers another, a capsule or its text."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import replace
from itertools import pairwise

from inkcap.drawing.glyphs import form_of
from inkcap.drawing.layout import Direction, Layout, Point
from inkcap.drawing.picture_routes import Frame, Route, port_frames, routes_of
from inkcap.drawing.picture_scene import WEIGHT_SIZE, Link, Scene
from inkcap.drawing.picture_text import width_of

BADGE = 9.0
SHARES = (0.5, 0.36, 0.64, 0.24, 0.76, 0.3, 0.7, 0.42, 0.58, 0.18, 0.82)
"""The places along a line that are tried, as shares of it."""
SAMPLE = 5.0
"""How far apart the points of a line lie that a text keeps away from."""
MOST_SAMPLES, OF_EACH = 20_000, 200
"""So many points at the most, and so many more for each piece of a line: on a sheet that is nearly empty, and very
large, they lie further apart."""
EDGE = 1.5
"""How far from a glyph a text keeps, so that no plate cuts its border."""


def with_badges(scene: Scene, layout: Layout, direction: Direction) -> list[Route]:
    """Find the routes of all connections and places for their badges."""
    routes = routes_of(scene, layout, direction)
    search = _Search(scene, layout, direction, routes)
    leaving = Counter(link.back for link in scene.links)
    entering = Counter(link.front for link in scene.links)
    placed: list[Route] = []
    for route in search.name_ports(routes):
        # Where lines part or meet, the badge keeps away from there.
        parts, meets = leaving[route.link.back] > 1, entering[route.link.front] > 1
        share = 0.3 if parts and meets else 0.64 if parts else 0.36 if meets else 0.5
        placed.append(search.place(route, share, among=parts or meets))
    return placed


class _Squares:
    """Frames on paper, found by the squares that they touch."""

    SIDE = 64.0

    def __init__(self) -> None:
        self._squares: dict[tuple[int, int], list[tuple[Frame, str]]] = {}

    def _keys(self, frame: Frame) -> Iterator[tuple[int, int]]:
        for i in range(int(frame[0] // self.SIDE), int(frame[2] // self.SIDE) + 1):
            for j in range(int(frame[1] // self.SIDE), int(frame[3] // self.SIDE) + 1):
                yield i, j

    def add(self, frame: Frame, owner: str = "") -> None:
        for key in self._keys(frame):
            self._squares.setdefault(key, []).append((frame, owner))

    def free(self, frame: Frame, owner: str = "") -> bool:
        """Tell whether nothing lies there but what the owner put there itself."""
        left, top, right, bottom = frame
        return not any(
            left < f[2] and f[0] < right and top < f[3] and f[1] < bottom and not (owner and whose == owner)
            for key in self._keys(frame)
            for f, whose in self._squares.get(key, ())
        )


class _Search:
    """Looks for places and remembers what is taken."""

    def __init__(self, scene: Scene, layout: Layout, direction: Direction, routes: Sequence[Route]) -> None:
        self._direction: Direction = direction
        self._shared = Counter(point for run in layout.bends.values() for point in run)
        self._taken = _Squares()
        for id, node in scene.nodes.items():
            (x, y), form, box = layout.positions[id], form_of(node.shape, direction), node.box(direction)
            near = (x - form.half_width - EDGE, y - form.above - EDGE)
            self._taken.add((*near, x + form.right + EDGE, y + form.half_height + EDGE))
            if node.lines() and direction == "right":
                self._taken.add((x - box.left, y + form.half_height, x + box.right, y + box.below))
            elif node.lines():
                self._taken.add((x, y - box.below, x + box.right, y + box.below))
        self._lines = _Squares()
        if any(route.link.label or route.link.port for route in routes):
            self._note_lines(routes)

    def _note_lines(self, routes: Sequence[Route]) -> None:
        pieces = [
            (piece, math.dist(piece.start, piece.end), route.link.id) for route in routes for piece in route.pieces
        ]
        apart = max(SAMPLE, sum(length for _, length, _ in pieces) / (MOST_SAMPLES + OF_EACH * len(pieces)))
        for piece, length, id in pieces:
            steps = max(1, int(length / apart))
            for x, y in (piece.at(i / steps, self._direction) for i in range(steps + 1)):
                self._lines.add((x - 1, y - 1, x + 1, y + 1), id)

    def name_ports(self, routes: Sequence[Route]) -> list[Route]:
        """Write the name of each port once, at a line where nothing else stands, if there is one."""
        entering: dict[tuple[str, str], list[int]] = {}
        for number, route in enumerate(routes):
            if route.link.port:
                entering.setdefault((route.link.front, route.link.port), []).append(number)
        named = list(routes)
        for numbers in entering.values():
            frames = [(frame, number) for number in numbers for frame in port_frames(routes[number], self._direction)]
            if not frames:
                continue
            clear = [found for found in frames if self._taken.free(found[0])]
            frame, number = next((found for found in clear if self._lines.free(found[0])), (clear or frames)[0])
            self._taken.add(frame)
            named[number] = replace(routes[number], port=frame)
        return named

    def place(self, route: Route, share: float, *, among: bool) -> Route:
        """Give a route its badge and its text, away from other lines if that can be."""
        link = route.link
        if not (link.sign or link.label) or not route.pieces:
            return route
        plate = among or not link.sign or any(piece.curved for piece in route.pieces)
        width = width_of(link.label, WEIGHT_SIZE) if link.label else 0.0
        points = list(self._candidates(route, share))
        for strict in (2, 1, 0) if link.label else (0,):
            for x, y in points:
                badge = [(x - BADGE, y - BADGE, x + BADGE, y + BADGE)] if link.sign else []
                if not all(self._taken.free(frame) for frame in badge):
                    continue
                for label in self._labels((x, y), link, width, beside=strict == 2):
                    frame = (label[0] - width / 2, label[1] - 9, label[0] + width / 2, label[1] + 3)
                    if link.label and not self._fits(frame, link, strict):
                        continue
                    for taken in (*badge, frame) if link.label else badge:
                        self._taken.add(taken)
                    return replace(route, badge=(x, y), label=label if link.label else None, plate=plate)
        # There is no free place: the sign stays, the text goes to the hover text.
        return replace(route, badge=points[0] if link.sign else None)

    def _candidates(self, route: Route, share: float) -> Iterator[Point]:
        # First the middle of a run along a passed layer, or a bend, if it is this connection's own; then its gaps.
        direction, shared = self._direction, self._shared
        own = [p for p in route.pieces if p.inner and shared[p.start] < 2 and shared[p.end] < 2]
        if own:
            yield own[len(own) // 2].at(0.5, direction)
        for piece, after in pairwise(route.pieces):
            if piece.curved and after.curved and shared[piece.end] < 2:
                yield piece.end
        free = [p for p in route.pieces if not p.inner] or list(route.pieces)
        alone = [p for p in free if shared[p.end] < 2] or free
        longest = max(alone, key=lambda p: (p.curved, math.dist(p.start, p.end)))
        if len(route.pieces) == 1 and not longest.curved and route.link.sign:
            # The arrowhead takes a little of a straight line.
            x, y = longest.at(share, direction)
            yield (x - 2, y) if direction == "right" else (x, y - 2)
        for place in (share, *SHARES):
            yield longest.at(place, direction)

    def _fits(self, frame: Frame, link: Link, strict: int) -> bool:
        # Strictly, a text stands on no line at all; less strictly, on its own; at last, on any.
        if not self._taken.free(frame):
            return False
        return not strict or self._lines.free(frame, "" if strict == 2 and link.sign else link.id)

    def _labels(self, badge: Point, link: Link, width: float, *, beside: bool) -> Iterator[Point]:
        x, y = badge
        if not link.sign:
            yield x, y + 3.5
            return
        above, right = (x, y - BADGE - 5), (x + BADGE + 5 + width / 2, y + 3.5)
        left, below = (x - BADGE - 5 - width / 2, y + 3.5), (x, y + BADGE + 12)
        places = (above, right, left, below) if self._direction == "right" else (right, left)
        yield from places if beside else places[:1]
