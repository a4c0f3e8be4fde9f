"""Painting: scenes as SVG elements. All text goes through the XML writer, nothing is put together by hand."""

from __future__ import annotations

import re
from xml.etree import ElementTree as Xml

from inkcap.drawing.glyphs import COLOURS, HEAVY_SIGNS, SIGNS, Shape, Theme, blend, family, form_of
from inkcap.drawing.layout import Direction, Layout, Point
from inkcap.drawing.picture_badges import BADGE, with_badges
from inkcap.drawing.picture_routes import Piece, Route
from inkcap.drawing.picture_scene import (
    DISC_SIZE,
    LINE,
    NAME_SIZE,
    STRUCTURE_SIZE,
    TITLE_SIZE,
    WEIGHT_SIZE,
    Node,
    Scene,
)
from inkcap.drawing.picture_text import MONO, SANS, clean, width_of

THIN_LINES = 40
"""From how many connections between neurons on lines are drawn finer."""


def _n(number: float) -> str:
    text = f"{number:.1f}"
    return text.removesuffix(".0").replace("-0", "0") if text in ("-0.0", "0.0") else text.removesuffix(".0")


class Painter:
    """Collects the elements of one picture and writes them."""

    def __init__(self, theme: Theme, direction: Direction, font: str = "") -> None:
        self._theme: Theme = theme
        sans, self._mono = (f"'{font}', {SANS}", f"'{font}', {SANS}") if font else (SANS, MONO)
        self._direction: Direction = direction
        self._colours = COLOURS[theme]
        self._defs = Xml.Element("defs")
        self._body = Xml.Element("g", {"font-family": sans, "text-anchor": "middle", "fill": self._colours.ink})
        self._known: set[str] = set()

    def text(self, title: str, description: str, width: float, height: float, scale: float, unit: str = "") -> str:
        """Write the whole picture; ``scale`` gives its size in a unit of length, or in the units of its inside."""
        root = Xml.Element(
            "svg",
            {
                "xmlns": "http://www.w3.org/2000/svg",
                "xmlns:xlink": "http://www.w3.org/1999/xlink",
                "version": "1.1",
                "width": f"{width * scale:.3f}{unit}" if unit else _n(width * scale),
                "height": f"{height * scale:.3f}{unit}" if unit else _n(height * scale),
                "viewBox": f"0 0 {_n(width)} {_n(height)}",
                "role": "img",
            },
        )
        Xml.SubElement(root, "title").text = clean(title)
        Xml.SubElement(root, "desc").text = clean(description)
        if len(self._defs):
            root.append(self._defs)
        Xml.SubElement(root, "rect", {"width": _n(width), "height": _n(height), "fill": self._colours.paper})
        root.append(self._body)
        return Xml.tostring(root, encoding="unicode") + "\n"

    def line(self, text: str, x: float, y: float, size: float) -> None:
        """Write a line of a caption."""
        attributes = {"x": _n(x), "y": _n(y), "font-size": _n(size), "fill": self._colours.soft}
        Xml.SubElement(self._body, "text", attributes).text = clean(text)

    def scene(self, scene: Scene, layout: Layout, x: float, y: float) -> None:
        """Paint a scene: lines first, then glyphs, then badges above both."""
        inside = Xml.SubElement(self._body, "g", {"transform": f"translate({_n(x)} {_n(y)})"})
        names = self._frames(inside, scene, layout)
        routes = with_badges(scene, layout, self._direction)
        fine = sum(link.thin for link in scene.links) > THIN_LINES
        lines = Xml.SubElement(inside, "g", {"fill": "none", "stroke": self._colours.ink, "stroke-width": "1.4"})
        for route in routes:
            self._route(lines, route, fine=fine)
        for id, node in scene.nodes.items():
            self._node(inside, node, layout.positions[id])
        self._frame_names(inside, names)
        for route in routes:
            self._badge(inside, route)

    def _frames(self, parent: Xml.Element, scene: Scene, layout: Layout) -> list[tuple[float, float, str]]:
        """Frame what an opened group stands for, where nothing else lies between it, and give the names to write."""
        labels: list[tuple[float, float, str]] = []
        boxes = {id: _surroundings(node, layout.positions[id], self._direction) for id, node in scene.nodes.items()}
        for path, members in scene.frames.items():
            pad = scene.frame_pad(path)
            own = [boxes[id] for id in members]
            left, top = min(b[0] for b in own) - pad, min(b[1] for b in own) - pad
            right, bottom = max(b[2] for b in own) + pad, max(b[3] for b in own) + pad
            others = (box for id, box in boxes.items() if id not in members)
            if any(a < right and c > left and b < bottom and d > top for a, b, c, d in others):
                continue
            colours = self._colours
            frame = {"x": _n(left), "y": _n(top), "width": _n(right - left), "height": _n(bottom - top), "rx": "10"}
            frame |= {
                "fill": blend(colours.paper, colours.ink, 0.035),
                "stroke": blend(colours.paper, colours.ink, 0.25),
            }
            Xml.SubElement(parent, "rect", frame | {"stroke-width": "1", "stroke-dasharray": "5 4"})
            labels.append((left + 10, top - 4, path))
        return labels

    def _frame_names(self, parent: Xml.Element, labels: list[tuple[float, float, str]]) -> None:
        for x, y, path in labels:
            text = clean(path)
            plate = {"x": _n(x - 2), "y": _n(y - 10), "width": _n(width_of(text, TITLE_SIZE, bold=True) + 4)}
            Xml.SubElement(parent, "rect", plate | {"height": "13", "rx": "3", "fill": self._colours.paper})
            label = {"x": _n(x), "y": _n(y), "font-size": _n(TITLE_SIZE), "text-anchor": "start"}
            Xml.SubElement(parent, "text", label | {"fill": self._colours.soft, "font-weight": "600"}).text = text

    # Connections ---------------------------------------------------------------------------------------------

    def _route(self, parent: Xml.Element, route: Route, *, fine: bool) -> None:
        if not route.pieces:
            return
        link = route.link
        attributes = {"d": self._path(route.pieces)}
        if link.flaw:
            attributes |= {"stroke": self._colours.flaw, "stroke-width": "1.8"}
        elif link.thin and fine:
            attributes |= {"stroke": blend(self._colours.paper, self._colours.ink, 0.5), "stroke-width": "0.7"}
        elif link.thin:
            attributes["stroke-width"] = "1.1"
        if link.arrow:
            thin = "faint" if fine else "fine"
            attributes["marker-end"] = f"url(#{self._arrow('flaw' if link.flaw else thin if link.thin else 'ink')})"
        path = Xml.SubElement(parent, "path", attributes)
        if link.about:
            Xml.SubElement(path, "title").text = link.about

    def _path(self, pieces: tuple[Piece, ...]) -> str:
        words = [f"M{_n(pieces[0].start[0])} {_n(pieces[0].start[1])}"]
        for piece in pieces:
            ends = [piece.end] if not piece.curved else [*piece.controls(self._direction), piece.end]
            words.append(("C" if piece.curved else "L") + " ".join(f"{_n(x)} {_n(y)}" for x, y in ends))
        return "".join(words)

    def _arrow(self, kind: str) -> str:
        id = f"{self._theme}-arrow-{kind}"
        if id not in self._known:
            self._known.add(id)
            side = {"fine": "6.5", "faint": "5"}.get(kind, "9")
            marker = Xml.SubElement(
                self._defs,
                "marker",
                {"id": id, "viewBox": "0 0 9 8", "refX": "8.6", "refY": "4", "markerWidth": side,
                 "markerHeight": side, "markerUnits": "userSpaceOnUse", "orient": "auto"},
            )  # fmt: skip
            faint = blend(self._colours.paper, self._colours.ink, 0.7)
            fill = {"flaw": self._colours.flaw, "faint": faint}.get(kind, self._colours.ink)
            Xml.SubElement(marker, "path", {"d": "M0 .6L9 4L0 7.4Z", "fill": fill})
        return id

    def _badge(self, parent: Xml.Element, route: Route) -> None:
        colours, link = self._colours, route.link
        stroke = colours.flaw if link.flaw else colours.ink
        if route.label:
            x, y = route.label
            if route.plate:
                half = width_of(link.label, WEIGHT_SIZE) / 2 + 1
                plate = {"x": _n(x - half), "y": _n(y - 9.5), "width": _n(2 * half), "height": "12.5", "rx": "3"}
                opacity = {"fill-opacity": ".86"} if link.sign else {}
                Xml.SubElement(parent, "rect", plate | {"fill": colours.paper} | opacity)
            attributes = {"x": _n(x), "y": _n(y), "font-size": _n(WEIGHT_SIZE), "fill": colours.soft}
            Xml.SubElement(parent, "text", attributes).text = link.label
        if frame := route.port:
            middle, base = (frame[0] + frame[2]) / 2, frame[3] - 3
            plate = {"x": _n(frame[0] - 1), "y": _n(frame[1]), "width": _n(frame[2] - frame[0] + 2), "height": "12"}
            Xml.SubElement(parent, "rect", plate | {"rx": "3", "fill": colours.paper, "fill-opacity": ".86"})
            attributes = {"x": _n(middle), "y": _n(base), "font-size": _n(WEIGHT_SIZE), "fill": colours.soft}
            Xml.SubElement(parent, "text", attributes | {"font-style": "italic"}).text = link.port
        if link.sign and route.badge:
            id = self._sign(link.sign, stroke)
            place = {"xlink:href": f"#{id}", "x": _n(route.badge[0]), "y": _n(route.badge[1])}
            Xml.SubElement(parent, "use", place)

    def _sign(self, sign: str, stroke: str) -> str:
        id = f"{self._theme}-sign-{ord(sign):x}-{stroke[1:]}"
        if id not in self._known:
            self._known.add(id)
            group = Xml.SubElement(self._defs, "g", {"id": id})
            disc = {"r": _n(BADGE), "fill": self._colours.panel, "stroke": stroke, "stroke-width": "1.2"}
            Xml.SubElement(group, "circle", disc)
            if sign in SIGNS:
                width = HEAVY_SIGNS.get(sign, 1.4)
                lines = {"stroke-width": _n(width), "stroke-linecap": "round", "stroke-linejoin": "round"}
                Xml.SubElement(group, "path", {"d": SIGNS[sign], "fill": "none", "stroke": stroke} | lines)
            else:
                Xml.SubElement(group, "text", {"y": "4.3", "font-size": "12", "fill": stroke}).text = clean(sign)
        return id

    # Capsules ------------------------------------------------------------------------------------------------

    def _node(self, parent: Xml.Element, node: Node, anchor: Point) -> None:
        if node.shape == "stub":
            return
        x, y = anchor
        group = Xml.SubElement(parent, "g")
        if node.about:
            Xml.SubElement(group, "title").text = node.about
        place = {"xlink:href": f"#{self._face(node)}", "x": _n(x), "y": _n(y)}
        Xml.SubElement(group, "use", place)
        form = form_of(node.shape, self._direction)
        if node.flaw:
            frame = {"x": _n(x - form.half_width - 4.5), "y": _n(y - form.above - 4.5), "rx": "9", "fill": "none"}
            frame |= {"width": _n(form.half_width + form.right + 9), "height": _n(form.above + form.half_height + 9)}
            frame |= {"stroke": self._colours.flaw, "stroke-width": "1.6", "stroke-dasharray": "4 3"}
            Xml.SubElement(group, "rect", frame)
        self._writing(group, node, x, y)

    def _writing(self, parent: Xml.Element, node: Node, x: float, y: float) -> None:
        colours, form = self._colours, form_of(node.shape, self._direction)
        name: dict[str, str] = {"font-size": _n(NAME_SIZE), "font-weight": "600"}
        if node.flaw:
            name["fill"] = colours.flaw
        if node.shape in ("disc", "group") and node.name:
            size = DISC_SIZE if node.shape == "disc" else NAME_SIZE
            weight = {"font-weight": "600"} if node.shape == "group" else {}
            inside = {"x": _n(x), "y": _n(y + size * 0.35), "font-size": _n(size)} | weight
            _with_subscript(Xml.SubElement(parent, "text", inside), node.name, size)
        lines: list[tuple[str, dict[str, str]]] = []
        if node.name and node.shape not in ("disc", "group"):
            lines.append((node.name, name))
        lines += [(line, {"font-size": _n(TITLE_SIZE), "fill": colours.soft}) for line in node.title]
        if node.structure:
            lines.append((node.structure, {"font-size": _n(STRUCTURE_SIZE), "font-family": self._mono}))
        down = self._direction == "down"
        left = x + form.right + 8 if down else x
        top = y - len(lines) * LINE / 2 + 11 if down else y + node.text_top()
        for i, (line, attributes) in enumerate(lines):
            side = {"text-anchor": "start"} if down else {}
            place = {"x": _n(left), "y": _n(top + i * LINE)}
            Xml.SubElement(parent, "text", place | side | attributes).text = line

    def _face(self, node: Node) -> str:
        mark = node.glyph.path + node.glyph.ink + node.glyph.wash if node.glyph else ""
        key = f"{node.shape}|{mark}"
        id = f"{self._theme}-{node.shape}-{_fingerprint(mark)}" if mark else f"{self._theme}-{node.shape}"
        if key not in self._known:
            self._known.add(key)
            group = Xml.SubElement(self._defs, "g", {"id": id})
            self._shape(group, node)
        return id

    def _shape(self, group: Xml.Element, node: Node) -> None:
        colours = self._colours
        ink, wash = colours.ink, colours.panel
        if node.glyph:
            ink, wash = family(node.glyph.ink, node.glyph.wash, self._theme)
        group.attrib |= {"fill": wash, "stroke": ink, "stroke-width": "1.4" if node.shape != "disc" else "1.2"}
        edge = {"stroke-dasharray": "4 3"} if node.glyph and node.glyph.broken else {}
        for body in _bodies(node.shape, self._direction):
            Xml.SubElement(group, "circle" if "r" in body else "rect", body | edge)
        if node.glyph:
            side = form_of(node.shape, self._direction).mark
            style = {"transform": f"scale({_n(side)})", "d": node.glyph.path}
            if node.glyph.filled:
                style |= {"fill": ink, "stroke": "none"}
            else:
                style |= {"fill": "none", "stroke-width": f"{1.9 / side:.4f}", "stroke-linecap": "round",
                          "stroke-linejoin": "round"}  # fmt: skip
            Xml.SubElement(group, "path", style)


def _surroundings(node: Node, anchor: Point, direction: Direction) -> tuple[float, float, float, float]:
    """Give left, top, right and bottom of a node with its writing."""
    box, (x, y) = node.box(direction), anchor
    return x - box.left, y - box.above, x + box.right, y + box.below


def _bodies(shape: Shape, direction: Direction) -> list[dict[str, str]]:
    form = form_of(shape, direction)
    if shape in ("circle", "disc"):
        return [{"r": _n(form.half_width)}]
    width, height = 2 * form.half_width, 2 * form.half_height
    radius = min(form.half_width, form.half_height) if shape == "pill" else 5.0 if shape != "group" else 9.0
    steps = {"stack": 2, "volume": 3}.get(shape, 0)
    offsets = [form.sheets * i / steps for i in range(steps, 0, -1)] if steps else []
    found: list[dict[str, str]] = []
    for offset in (*offsets, 0.0):
        corner = {"x": _n(offset - form.half_width), "y": _n(-offset - form.half_height)}
        found.append(corner | {"width": _n(width), "height": _n(height), "rx": _n(radius)})
    return found


def _with_subscript(element: Xml.Element, name: str, size: float) -> None:
    # x1 is written as mathematics writes it.
    parts = re.fullmatch(r"([A-Za-z])([0-9]+)", name)
    element.text = parts[1] if parts else name
    if parts:
        element.attrib |= {"font-style": "italic"}
        low = {"dy": _n(size * 0.22), "font-size": _n(size * 0.72), "font-style": "normal"}
        Xml.SubElement(element, "tspan", low).text = parts[2]


def _fingerprint(text: str) -> str:
    # A short name for a mark, the same everywhere.
    value = 0
    for character in text:
        value = (value * 131 + ord(character)) % 0xFFFFFF
    return f"{value:06x}"
