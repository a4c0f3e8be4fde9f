"""Path data: what SVG writes in one word, as lines and curves with absolute points."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator
from dataclasses import dataclass

Point = tuple[float, float]
TOKEN = re.compile(r"[A-Za-z]|[-+]?(?:\d+\.?\d*|\.\d+)(?:[eE][-+]?\d+)?")
COUNTS = {"M": 2, "L": 2, "H": 1, "V": 1, "C": 6, "A": 7, "Z": 0}
"""How many numbers each command takes; these are the ones that glyphs and routes are written with."""
KAPPA = 0.5522847498
"""How far the control points of a quarter circle lie."""


@dataclass(frozen=True)
class Segment:
    """A step of a path: ``M`` goes there, ``L`` draws a line, ``C`` a curve by two control points, ``Z`` closes."""

    kind: str
    points: tuple[Point, ...] = ()


def read_path(data: str) -> Iterator[Segment]:
    """Read path data; numbers that follow each other without a command repeat the last one."""
    tokens = TOKEN.findall(data)
    here = start = (0.0, 0.0)
    command, i = "", 0
    while i < len(tokens):
        if tokens[i].isalpha():
            command, i = tokens[i], i + 1
        kind = command.upper()
        numbers = [float(token) for token in tokens[i : i + COUNTS[kind]]]
        i += COUNTS[kind]
        from_here = here if command.islower() else (0.0, 0.0)
        for segment in _segments(kind, numbers, from_here, here):
            yield segment
            here = segment.points[-1] if segment.points else start
        if kind == "M":
            start, command = here, "l" if command.islower() else "L"


def _segments(kind: str, numbers: list[float], base: Point, here: Point) -> Iterator[Segment]:
    x, y = base
    if kind == "Z":
        yield Segment("Z")
    elif kind == "H":
        yield Segment("L", ((x + numbers[0], here[1]),))
    elif kind == "V":
        yield Segment("L", ((here[0], y + numbers[0]),))
    elif kind == "A":
        rx, ry, turn, large, sweep = numbers[:5]
        yield from arc(here, (x + numbers[5], y + numbers[6]), rx, ry, math.radians(turn), bool(large), bool(sweep))
    else:
        points = tuple((x + a, y + b) for a, b in zip(numbers[::2], numbers[1::2], strict=True))
        yield Segment(kind, points)


def arc(start: Point, end: Point, rx: float, ry: float, turn: float, large: bool, sweep: bool) -> Iterator[Segment]:
    """Draw an arc of an ellipse by curves, each of a quarter turn at most (SVG 1.1, appendix F.6)."""
    if not rx or not ry or start == end:
        yield Segment("L", (end,))
        return
    cos, sin = math.cos(turn), math.sin(turn)
    dx, dy = (start[0] - end[0]) / 2, (start[1] - end[1]) / 2
    x, y = cos * dx + sin * dy, -sin * dx + cos * dy
    grow = math.sqrt(max(1.0, (x / rx) ** 2 + (y / ry) ** 2))
    rx, ry = abs(rx) * grow, abs(ry) * grow
    rest = max(0.0, (rx * ry) ** 2 - (rx * y) ** 2 - (ry * x) ** 2) / ((rx * y) ** 2 + (ry * x) ** 2)
    factor = math.sqrt(rest) * (1 if large != sweep else -1)
    cx, cy = factor * rx * y / ry, -factor * ry * x / rx
    first = math.atan2((y - cy) / ry, (x - cx) / rx)
    delta = math.atan2((-y - cy) / ry, (-x - cx) / rx) - first
    if sweep and delta < 0:
        delta += 2 * math.pi
    elif not sweep and delta > 0:
        delta -= 2 * math.pi
    middle = (cos * cx - sin * cy + (start[0] + end[0]) / 2, sin * cx + cos * cy + (start[1] + end[1]) / 2)
    pieces = max(1, math.ceil(abs(delta) / (math.pi / 2) - 1e-9))
    step = delta / pieces
    reach = 4 / 3 * math.tan(step / 4)

    def at(px: float, py: float) -> Point:
        return middle[0] + cos * rx * px - sin * ry * py, middle[1] + sin * rx * px + cos * ry * py

    for i in range(pieces):
        a, b = first + i * step, first + (i + 1) * step
        one = at(math.cos(a) - reach * math.sin(a), math.sin(a) + reach * math.cos(a))
        two = at(math.cos(b) + reach * math.sin(b), math.sin(b) - reach * math.cos(b))
        yield Segment("C", (one, two, end if i == pieces - 1 else at(math.cos(b), math.sin(b))))


def rectangle(x: float, y: float, width: float, height: float, radius: float) -> Iterator[Segment]:
    """Draw a rectangle with round corners."""
    r = min(radius, width / 2, height / 2)
    right, bottom, k = x + width, y + height, r * (1 - KAPPA)
    yield Segment("M", ((x + r, y),))
    corners = (
        ((right - r, y), (right - k, y), (right, y + k), (right, y + r)),
        ((right, bottom - r), (right, bottom - k), (right - k, bottom), (right - r, bottom)),
        ((x + r, bottom), (x + k, bottom), (x, bottom - k), (x, bottom - r)),
        ((x, y + r), (x, y + k), (x + k, y), (x + r, y)),
    )
    for line, one, two, end in corners:
        yield Segment("L", (line,))
        if r:
            yield Segment("C", (one, two, end))
    yield Segment("Z")


def circle(x: float, y: float, radius: float) -> Iterator[Segment]:
    """Draw a circle by four curves."""
    k = radius * KAPPA
    yield Segment("M", ((x + radius, y),))
    yield Segment("C", ((x + radius, y + k), (x + k, y + radius), (x, y + radius)))
    yield Segment("C", ((x - k, y + radius), (x - radius, y + k), (x - radius, y)))
    yield Segment("C", ((x - radius, y - k), (x - k, y - radius), (x, y - radius)))
    yield Segment("C", ((x + k, y - radius), (x + radius, y - k), (x + radius, y)))
    yield Segment("Z")
