"""Flat pictures: the elements of one of our SVGs as strokes and texts in the order of painting, without references."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from xml.etree import ElementTree as Xml

from inkcap.drawing.picture_paths import Point, Segment, circle, read_path, rectangle

SVG = "{http://www.w3.org/2000/svg}"
HREF = "{http://www.w3.org/1999/xlink}href"
INHERITED = ("fill", "stroke", "stroke-width", "stroke-linecap", "font-family", "text-anchor")


@dataclass(frozen=True)
class Stroke:
    """A path with how it is filled and drawn; an empty colour is none."""

    segments: tuple[Segment, ...]
    fill: str = ""
    stroke: str = ""
    width: float = 1.0
    round: bool = False
    dashes: tuple[float, ...] = ()
    opacity: float = 1.0


@dataclass(frozen=True)
class Writing:
    """A line of text; ``low`` is what stands lower and smaller behind it."""

    text: str
    at: Point
    size: float
    colour: str
    anchor: str = "middle"
    bold: bool = False
    italic: bool = False
    mono: bool = False
    low: str = ""


@dataclass(frozen=True)
class Flat:
    """A picture without structure: its size, its title, and what is painted."""

    width: float
    height: float
    title: str
    items: tuple[Stroke | Writing, ...]


@dataclass(frozen=True)
class _Place:
    """Where the units of an element lie: scaled, then moved."""

    x: float = 0.0
    y: float = 0.0
    scale: float = 1.0

    def of(self, point: Point) -> Point:
        return self.x + self.scale * point[0], self.y + self.scale * point[1]

    def moved(self, x: float, y: float, scale: float = 1.0) -> _Place:
        return _Place(self.x + self.scale * x, self.y + self.scale * y, self.scale * scale)


def flatten_svg(svg: str) -> Flat:
    """Make a flat picture of an SVG that Inkcap drew; its paper is left out."""
    root = Xml.fromstring(svg)  # noqa: S314 - our own text
    _, _, width, height = map(float, root.attrib["viewBox"].split())
    walk = _Walk({element.attrib["id"]: element for element in root.iter() if "id" in element.attrib})
    bodies = [element for element in root if element.tag == f"{SVG}g"]
    items = [item for body in bodies for item in walk.items(body, _Place(), {})]
    return Flat(width, height, root.findtext(f"{SVG}title", ""), tuple(items))


class _Walk:
    """Goes through elements, with what they inherit and where they lie."""

    def __init__(self, known: Mapping[str, Xml.Element]) -> None:
        self.known = known

    def items(self, element: Xml.Element, place: _Place, given: Mapping[str, str]) -> Iterator[Stroke | Writing]:
        own = element.attrib
        style = {**given, **{name: own[name] for name in INHERITED if name in own}}
        place = _placed(place, own.get("transform", ""))
        tag = element.tag.removeprefix(SVG)
        if tag == "g":
            for child in element:
                yield from self.items(child, place, style)
        elif tag == "use":
            moved = place.moved(_number(own, "x"), _number(own, "y"))
            yield from self.items(self.known[own[HREF].removeprefix("#")], moved, style)
        elif tag == "text":
            yield _writing(element, place, style)
        elif tag in ("rect", "circle", "path"):
            stroke = _stroke(_outline(tag, own), own, place, style)
            yield stroke
            if "marker-end" in own:
                yield from self._arrow(own["marker-end"], stroke, place)

    def _arrow(self, reference: str, stroke: Stroke, place: _Place) -> Iterator[Stroke]:
        marker = self.known[reference.removeprefix("url(#").removesuffix(")")]
        head = marker[0].attrib
        side = _number(marker.attrib, "markerWidth") * place.scale / 9
        points = [point for segment in stroke.segments for point in segment.points]
        tip = points[-1]
        before = next((p for p in reversed(points[:-1]) if math.dist(p, tip) > 1e-6), tip)
        angle = math.atan2(tip[1] - before[1], tip[0] - before[0])
        cos, sin = math.cos(angle) * side, math.sin(angle) * side

        def at(point: Point) -> Point:
            x, y = point[0] - 8.6, point[1] - 4
            return tip[0] + cos * x - sin * y, tip[1] + sin * x + cos * y

        yield Stroke(_mapped(read_path(head["d"]), at), fill=head["fill"])


def _placed(place: _Place, transform: str) -> _Place:
    for kind, inside in re.findall(r"(translate|scale)\(([^)]*)\)", transform):
        numbers = [float(word) for word in inside.split()]
        place = place.moved(*numbers) if kind == "translate" else place.moved(0, 0, numbers[0])
    return place


def _number(own: Mapping[str, str], name: str, usual: float = 0.0) -> float:
    return float(own.get(name, usual))


def _mapped(segments: Iterable[Segment], at: Callable[[Point], Point]) -> tuple[Segment, ...]:
    return tuple(Segment(segment.kind, tuple(at(point) for point in segment.points)) for segment in segments)


def _outline(tag: str, own: Mapping[str, str]) -> Iterator[Segment]:
    if tag == "path":
        return read_path(own["d"])
    if tag == "circle":
        return circle(_number(own, "cx"), _number(own, "cy"), _number(own, "r"))
    return rectangle(*(_number(own, name) for name in ("x", "y", "width", "height", "rx")))


def _stroke(outline: Iterable[Segment], own: Mapping[str, str], place: _Place, style: Mapping[str, str]) -> Stroke:
    return Stroke(
        _mapped(outline, place.of),
        _colour(style.get("fill", "#000000")),
        _colour(style.get("stroke", "none")),
        float(style.get("stroke-width", 1)) * place.scale,
        style.get("stroke-linecap") == "round",
        tuple(float(word) * place.scale for word in own.get("stroke-dasharray", "").split()),
        _number(own, "fill-opacity", 1.0),
    )


def _colour(word: str) -> str:
    return "" if word == "none" else word


def _writing(element: Xml.Element, place: _Place, style: Mapping[str, str]) -> Writing:
    own = element.attrib
    return Writing(
        element.text or "",
        place.of((_number(own, "x"), _number(own, "y"))),
        _number(own, "font-size", 12.0) * place.scale,
        style.get("fill", "#000000"),
        style.get("text-anchor", "start"),
        own.get("font-weight") == "600",
        own.get("font-style") == "italic",
        "mono" in style.get("font-family", "").rpartition(",")[2],
        "".join(child.text or "" for child in element if child.tag == f"{SVG}tspan"),
    )
