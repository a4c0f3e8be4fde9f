"""Scenes: what a picture shows, free of coordinates. Drawings and graphs become scenes, scenes become SVG."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any

from inkcap.drawing.document import Drawing
from inkcap.drawing.glyphs import FORMS, SHAPES, Shape, form_of
from inkcap.drawing.layout import Box, Direction
from inkcap.drawing.picture_text import clean, shorten, width_of, wrap
from inkcap.drawing.plain import Plain
from inkcap.drawing.records import Capsule, Connection
from inkcap.structures import InkcapError
from inkcap.symbols import CAPSULES, CONNECTIONS, MAIN_PORT, PARTS, socket
from inkcap.symbols.symbol import Glyph
from inkcap.theory import Graph

NAME_SIZE, TITLE_SIZE, STRUCTURE_SIZE, WEIGHT_SIZE, DISC_SIZE = 12.0, 10.5, 10.5, 10.0, 12.5
FRAME = 9.0
"""How far the innermost frame of a group stands off what is inside."""
LINE = 14.5
TEXT_TOP = FORMS["pill"].half_height + 15.5
TEXT_WIDTH = 108.0
FULL_DETAIL, SOME_DETAIL, NAMES_ONLY = 90, 300, 700
"""Up to how many vertices everything is written, then no titles and weights, then only names, then nothing."""
MANY_LINES = 30
"""From how many connections between neurons on their strengths are left out."""
PLAIN_NEURONS, PLAIN_CONNECTIONS = 2_000, 20_000


class PictureError(InkcapError):
    """A drawing that cannot be made a picture, or a picture that cannot be written."""


@dataclass(frozen=True)
class Node:
    """A vertex of a scene: its shape and what is written at it."""

    id: str
    shape: Shape
    name: str = ""
    title: tuple[str, ...] = ()
    structure: str = ""
    glyph: Glyph | None = None
    about: str = ""
    flaw: str = ""

    def lines(self) -> int:
        """Count the lines of text beside the glyph."""
        inside = self.shape in ("disc", "group")
        return bool(self.name and not inside) + len(self.title) + bool(self.structure)

    def text_width(self) -> float:
        """Measure the widest line beside the glyph."""
        widths = [width_of(line, TITLE_SIZE) for line in self.title]
        widths.append(width_of(self.structure, STRUCTURE_SIZE, mono=True))
        if self.shape not in ("disc", "group"):
            widths.append(width_of(self.name, NAME_SIZE, bold=True))
        return max(widths)

    def box(self, direction: Direction) -> Box:
        """Give the room it takes: text stands below the glyph, or right of it when the flow goes down."""
        form, lines = form_of(self.shape, direction), self.lines()
        if direction == "down":
            height = max(form.half_height, lines * LINE / 2)
            text = self.text_width() + 10 if lines else 0.0
            return Box(form.half_width, form.right + text, max(form.above, height), height)
        half = self.text_width() / 2
        below = self.text_top() + lines * LINE - 9 if lines else form.half_height
        return Box(max(form.half_width, half), max(form.right, half), form.above, below)

    def text_top(self) -> float:
        """Give the height of the first line of text below the anchor: one for all capsules, whatever their shape."""
        return FORMS[self.shape].half_height + 15 if self.shape in ("circle", "disc", "group") else TEXT_TOP


@dataclass(frozen=True)
class Link:
    """A connection of a scene: its sign in a badge, the text of its weight, with or without an arrow."""

    id: str
    back: str
    front: str
    sign: str = ""
    label: str = ""
    arrow: bool = True
    thin: bool = False
    about: str = ""
    flaw: str = ""
    port: str = ""
    """The port that it enters, written at its end; empty for the main one."""


@dataclass(frozen=True)
class Scene:
    """What a picture shows."""

    title: str
    description: str
    nodes: Mapping[str, Node]
    links: tuple[Link, ...]
    frames: Mapping[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    """By the path of an opened group: the nodes inside."""

    def frame_level(self, path: str) -> int:
        """Count the frames around a frame."""
        return sum(path.startswith(f"{other}.") for other in self.frames)

    def frame_pad(self, path: str) -> float:
        """Tell how far a frame stands off what is inside: the outer ones farther than the inner ones."""
        return FRAME * (1 + self._deepest - self.frame_level(path))

    @property
    def frame_room(self) -> float:
        """Tell how much room frames need around everything."""
        return FRAME * (1 + self._deepest) if self.frames else 0.0

    @cached_property
    def _deepest(self) -> int:
        return max(map(self.frame_level, self.frames), default=0)

    @property
    def graph(self) -> Graph:
        """The graph behind it."""
        return Graph(tuple(self.nodes), tuple((link.back, link.front) for link in self.links))


@dataclass(frozen=True)
class Shown:
    """What is written in a picture."""

    labels: bool = True
    structures: bool = True
    badges: bool = True


def scene_of_drawing(
    drawing: Drawing,
    structures: Mapping[str, str],
    weights: Mapping[str, str],
    flaws: Mapping[str, str],
    shown: Shown,
) -> Scene:
    """Make a scene of a drawing: capsules, uses of groups, connections, and the plain block."""
    nodes = {
        id: _capsule(capsule, structures.get(id, ""), flaws.get(id, "")) for id, capsule in drawing.capsules.items()
    }
    for id, use in drawing.uses.items():
        times = f" ×{use.repeat}" if use.repeat > 1 else ""
        name = shorten((clean(use.label) or use.group) + times, 72, NAME_SIZE, bold=True)
        given = clean(", ".join(f"{argument} {value}" for argument, value in use.arguments.items()))
        about = clean(f"{id}: group {use.group}{times}") + (f", {given}" if given else "")
        told = wrap(given, TEXT_WIDTH, TITLE_SIZE)
        # Arguments that do not fit are in the hover text: half of them would tell nothing.
        title = (shorten(clean(id), TEXT_WIDTH, TITLE_SIZE), *(() if told and told[-1].endswith("…") else told))
        nodes[id] = Node(id, "group", name, title, structures.get(id, ""), about=about, flaw=flaws.get(id, ""))
    links = [
        _link(connection, weights.get(id, ""), flaws.get(id, "")) for id, connection in drawing.connections.items()
    ]
    if drawing.plain:
        _add_plain(drawing.plain, nodes, links)
    nodes, links = _in_detail(nodes, links, shown)
    count = f"{len(nodes)} capsules, {len(links)} connections"
    return Scene(
        clean(drawing.name) or "drawing", count, nodes, tuple(links), _frames(nodes) if len(nodes) <= NAMES_ONLY else {}
    )


def _frames(nodes: Mapping[str, Node]) -> dict[str, tuple[str, ...]]:
    """Find the groups that flattened ids tell of; the copies of a repeated one have a frame each."""
    members: dict[str, list[str]] = {}
    for id in nodes:
        steps = id.split(".")[:-1]
        for i in range(1, len(steps) + 1):
            members.setdefault(".".join(steps[:i]), []).append(id)
    copies: dict[str, list[str]] = {}
    for id in (*members, *nodes):
        row, _, step = id.rpartition(".")
        copies.setdefault(row, []).append(step)
    # Copies are numbered from 0 and have nothing beside them; anything else that is called by a number is no copy.
    rows = {row for row, steps in copies.items() if set(steps) == set(map(str, range(len(steps)))) and len(steps) > 1}
    return {path: tuple(inside) for path, inside in members.items() if path not in rows}


def scene_of_graph(graph: Graph, title: str = "graph", description: str = "") -> Scene:
    """Make a scene of a graph: discs with the names of its vertices, and arrows."""
    nodes = {v: Node(v, "disc", shorten(clean(v), 30, DISC_SIZE), about=clean(v)) for v in graph.vertices}
    links = tuple(Link(f"{a}→{b}", a, b, about=clean(f"{a} → {b}")) for a, b in graph.edges)
    return Scene(title, description or f"{len(nodes)} vertices, {len(links)} edges", nodes, links)


def capsule_node(id: str, symbol: str, rank: int, name: str = "", structure: str = "") -> Node:
    """Make the node of a symbol's face."""
    return replace(_capsule(Capsule(id, symbol, rank), structure, ""), name=name)


def _capsule(capsule: Capsule, structure: str, flaw: str) -> Node:
    record = CAPSULES[capsule.symbol]
    title = record.title_of(capsule.rank, capsule.attributes)
    windows = [
        _sizes(capsule.attributes[a.name])
        for a in record.own_attributes
        if a.kind == "axes" and a.letter and a.name in capsule.attributes
    ]
    title = " + ".join((title, *(PARTS[worn.part].title for worn in capsule.wears)))
    written = " ".join((title, *windows))
    lines = wrap(written, TEXT_WIDTH, TITLE_SIZE)
    full = clean(capsule.label) or capsule.id
    # Inside the frame of a group the path before a name says nothing new.
    name = clean(capsule.label) or capsule.id.rpartition(".")[2]
    said = ", ".join(part for part in (f"{full}: {title}", *windows, clean(structure), clean(flaw)) if part)
    return Node(
        capsule.id,
        SHAPES[capsule.rank],
        shorten(name, TEXT_WIDTH, NAME_SIZE, bold=True),
        wrap(written, TEXT_WIDTH, TITLE_SIZE, 3) if lines and lines[-1].endswith("…") else lines,
        shorten(clean(structure), TEXT_WIDTH, STRUCTURE_SIZE, mono=True),
        record.glyph,
        said,
        flaw,
    )


def _sizes(value: Any) -> str:
    """Write a window; inside of a group it may be an expression of the group's arguments."""
    return value.removeprefix("=") if isinstance(value, str) else "×".join(map(str, value))


def _number(value: float) -> str:
    return f"{value:.3g}".replace("-", "−")


def _link(connection: Connection, weight: str, flaw: str) -> Link:
    record = CONNECTIONS[connection.symbol]
    neural = record.ranks == ((0, 0),)
    strength = connection.attributes.get("strength")
    label = _number(strength) if neural and strength is not None else weight
    port = "" if connection.port == MAIN_PORT else connection.port
    said = f"{connection.back} → {socket(connection.front, connection.port)}: {record.title} connection"
    parts = (said, clean(connection.label), clean(label), clean(flaw))
    return Link(
        connection.id,
        connection.back,
        connection.front,
        "" if neural else record.mark,
        shorten(clean(label), TEXT_WIDTH, WEIGHT_SIZE),
        bool(connection.attributes.get("arrow", True)),
        neural,
        ", ".join(part for part in parts if part),
        flaw,
        port,
    )


def _add_plain(plain: Plain, nodes: dict[str, Node], links: list[Link]) -> None:
    if len(plain.symbol) > PLAIN_NEURONS or len(plain.back) > PLAIN_CONNECTIONS:
        raise PictureError(
            f"a picture shows at most {PLAIN_NEURONS} plain neurons and {PLAIN_CONNECTIONS} connections between them, "
            f"the drawing has {len(plain.symbol)} and {len(plain.back)}; draw their layers as capsules"
        )
    # A neuron that reads an element of a capsule is that element: its lines leave the capsule.
    known = {id: span for id, span in plain.reads.items() if id in nodes}
    reading = {i: id for id, (first, count) in known.items() for i in range(first, first + count)}
    gathered: dict[tuple[str, int], list[float]] = defaultdict(list)
    for i, symbol in enumerate(plain.symbol):
        if i in reading:
            continue
        nodes[f"plain:{i}"] = replace(_capsule(Capsule(f"n{i}", symbol, 0), "", ""), id=f"plain:{i}")
    for i, (back, front, weight) in enumerate(zip(plain.back, plain.front, plain.weight, strict=True)):
        if back in reading:
            gathered[reading[back], front].append(weight)
            continue
        said = f"n{back} → n{front}, {weight:g}"
        # Nothing may enter what only reads, but a drawing that is not finished may show it.
        entered = reading.get(front, f"plain:{front}")
        links.append(Link(f"plain:{i}", f"plain:{back}", entered, "", _number(weight), thin=True, about=said))
    for (id, front), weights in gathered.items():
        # However many elements of a capsule enter a neuron, one line is enough to see it.
        label = _number(weights[0]) if len(weights) == 1 else f"{len(weights)}"
        said = f"{id} → n{front}, {len(weights)} connections"
        entered = reading.get(front, f"plain:{front}")
        links.append(Link(f"plain:{id}:{front}", id, entered, "", label, thin=True, about=said))
    for id, (first, count) in plain.writes.items():
        if id not in nodes:
            continue
        links += [
            Link(f"plain:{i}:{id}", reading.get(i, f"plain:{i}"), id, thin=True, about=f"n{i} → {id}")
            for i in range(first, first + count)
        ]


def _in_detail(nodes: dict[str, Node], links: list[Link], shown: Shown) -> tuple[dict[str, Node], list[Link]]:
    # What a reader could not make out is left out; it stays in the hover text.
    count = len(nodes)
    labels = shown.labels and count <= NAMES_ONLY
    thin = sum(link.thin for link in links)
    written: dict[str, Node] = {}
    for id, node in nodes.items():
        titled = labels and count <= FULL_DETAIL and node.shape != "circle"
        structured = shown.structures and count <= SOME_DETAIL and node.shape != "circle"
        written[id] = replace(
            node,
            name=node.name if labels or node.shape == "group" else "",
            title=node.title if titled else (),
            structure=node.structure if structured else "",
        )
    weighed = shown.labels and shown.structures and count <= FULL_DETAIL
    drawn = [
        replace(
            link,
            sign=link.sign if shown.badges and count <= SOME_DETAIL else "",
            label=link.label if weighed and (not link.thin or (thin <= MANY_LINES and link.label)) else "",
            port=link.port if shown.labels and count <= FULL_DETAIL else "",
        )
        for link in links
    ]
    return written, drawn
