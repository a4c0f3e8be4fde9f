"""The drawing: a document, and the ways in which a person draws it."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from typing import Any, ClassVar, cast

from inkcap.drawing import limits
from inkcap.drawing.codec import DrawingError
from inkcap.drawing.edits import Edit, Put, Record, Remove
from inkcap.drawing.fields import fresh_id, read_attributes, read_id
from inkcap.drawing.groups import Group, Use
from inkcap.drawing.history import Document
from inkcap.drawing.records import Capsule, Connection, Position, Worn, read_tie
from inkcap.symbols import (
    CAPSULES,
    CONNECTIONS,
    MAIN_PORT,
    Attribute,
    ConnectionSymbol,
    capsule_symbol,
    connection_symbol,
    parse_face,
    part_symbol,
    suggest,
    worn_in_face,
)
from inkcap.theory.errors import some


class Drawing(Document):
    """What a person makes: capsules, connections, groups, notes and positions, with undo and redo."""

    def __init__(
        self, name: str = "untitled", dtype: str = "float32", arguments: Mapping[str, Any] | None = None
    ) -> None:
        """Start an empty drawing; ``dtype`` is the data type of every capsule that states none.

        With ``arguments`` and their defaults it is the body of a group, for :meth:`define`: attributes may then be
        expressions such as ``"=2*width"``.
        """
        super().__init__(name, dtype)
        self.arguments = None if arguments is None else dict(arguments)
        self._last = ""

    painted_by: ClassVar[Callable[[Drawing], str] | None] = None
    """What draws it in notebooks with all that is known of it: checks set it, which this layer does not see."""

    def _repr_svg_(self) -> str | None:
        """Show the drawing in a notebook, as SVG; none where it is too large to be drawn."""
        from inkcap.drawing.picture import draw_svg
        from inkcap.drawing.picture_scene import PictureError

        try:
            return draw_svg(self) if Drawing.painted_by is None else Drawing.painted_by(self)
        except PictureError:
            return None

    def add(self, id: str, face: str, *, repeat: int = 1, tie: str = "", **attributes: Any) -> str:
        """Add a capsule, e.g. ``add("a", "2D-data", height=28, width=28, channels=1)``, and give its id.

        A group's name in place of a face adds a use of it; the attributes are then its arguments.
        """
        if id in self.capsules or id in self.uses:
            raise DrawingError(f"there is a capsule {id!r} already; choose another id")
        if face in self.groups:
            record: Record = Use.from_json(
                {"id": id, "group": face, "arguments": attributes, "repeat": repeat, "tie": tie}, f"use {id}"
            )
        elif repeat != 1:
            raise DrawingError(f"{id}: only a group can be repeated, {face} is none; define one first")
        else:
            record = self._new_capsule(id, face, tie, attributes)
        self.apply(Edit(f"add {id}", (Put(record),)))
        self._last = id
        return id

    def _new_capsule(self, id: str, face: str, tie: str, attributes: dict[str, Any]) -> Capsule:
        symbol, rank = parse_face(face)
        declared = capsule_symbol(symbol).attributes(rank)
        wears: tuple[Worn, ...] = ()
        if part := worn_in_face(face):
            own = {a.name for a in part_symbol(part).attributes} & attributes.keys()
            wears = (self._worn(id, symbol, rank, part, {name: attributes.pop(name) for name in own}),)
        read = self._read(attributes, declared, f"capsule {id}")
        return Capsule(read_id(id, "capsule"), symbol, rank, read, wears, tie=read_tie({"tie": tie}, f"capsule {id}"))

    def define(
        self,
        name: str,
        body: Drawing,
        inputs: Mapping[str, str] | None = None,
        outputs: Mapping[str, str] | None = None,
    ) -> str:
        """Define a group from a drawing of its inside, or put it in place of the one of that name, and give its name.

        Ports name capsules inside. Left out, they are those of the group that was there, as far as their capsules are;
        in a new group what nothing enters is the input ``in``, what nothing leaves the output ``out``.
        """
        entered = {c.front for c in body.connections.values()}
        left = {c.back for c in body.connections.values()}
        vertices = (*body.capsules, *body.uses)
        ins = [id for id in vertices if id not in entered]
        outs = [id for id in vertices if id not in left]
        old = self.groups.get(name)
        group = Group(
            read_id(name, "group"),
            dict(body.arguments or {}),
            tuple(body.capsules.values()),
            tuple(body.connections.values()),
            tuple(body.uses.values()),
            dict(inputs) if inputs is not None else _kept(old.inputs, vertices) if old else _named(ins, "in"),
            dict(outputs) if outputs is not None else _kept(old.outputs, vertices) if old else _named(outs, "out"),
            old.label if old else "",
            {id: place for id, place in body.positions.items() if id in vertices},
        )
        group = Group.from_json(group.to_json(), f"group {name}")
        brought = [Put(inner) for id, inner in body.groups.items() if id not in self.groups]
        self.apply(Edit(f"define {name}", (*brought, Put(group))))
        return name

    def connect(
        self,
        back: str,
        front: str,
        symbol: str | None = None,
        *,
        id: str = "",
        tie: str = "",
        port: str = MAIN_PORT,
        output: str = "",
        **attributes: Any,
    ) -> str:
        """Connect two capsules and give the connection's id; without a symbol, the one that fits is taken.

        ``port`` is the input that it enters, ``output`` the one that it leaves where the back end is a group's use.
        """
        for end in (back, front):
            self.check_vertex(end)
        chosen = connection_symbol(symbol or self.propose(back, front, port, output))
        name = id or fresh_id(f"{back}-{front}", self.connections)
        if name in self.connections:
            raise DrawingError(f"there is a connection {name!r} already; choose another id")
        read = self._read(attributes, chosen.attributes, f"connection {name}")
        knot = read_tie({"tie": tie}, f"connection {name}")
        entered = read_id(port, f"connection {name}.port")
        left = read_id(output, f"connection {name}.output") if output else ""
        connection = Connection(read_id(name, "connection"), chosen.id, back, front, read, entered, knot, output=left)
        self.apply(Edit(f"connect {back} to {front}", (Put(connection),)))
        return name

    def then(self, id: str, face: str, by: str | None = None, *, repeat: int = 1, **attributes: Any) -> str:
        """Add a capsule and connect it to the one added last; each attribute goes to the one that has it."""
        vertices = [*self.capsules, *self.uses]
        back = self._last if self._last in vertices else vertices[-1] if vertices else ""
        if not back:
            raise DrawingError(f"there is nothing to connect {id!r} to; add a first capsule with add()")
        if face in self.groups:
            chosen, vertex = connection_symbol(by or "transfer"), set(attributes)
        else:
            chosen, vertex = self._sort_attributes(back, face, by, attributes)
        depth = len(self._undo)
        self.add(id, face, repeat=repeat, **{k: v for k, v in attributes.items() if k in vertex})
        try:
            self.connect(back, id, chosen.id, **{k: v for k, v in attributes.items() if k not in vertex})
        except DrawingError:
            self.undo()
            self._redo.clear()
            self._last = back
            raise
        self._join(depth, f"add {id} after {back}")
        return id

    def _sort_attributes(
        self, back: str, face: str, by: str | None, attributes: dict[str, Any]
    ) -> tuple[ConnectionSymbol, set[str]]:
        """Choose the connection, and tell which attributes are the capsule's."""
        symbol, rank = parse_face(face)
        capsule = {a.name for a in capsule_symbol(symbol).attributes(rank)}
        if part := worn_in_face(face):
            capsule |= {a.name for a in part_symbol(part).attributes}
        chosen = connection_symbol(by or self._propose(self.giver(back), symbol, rank))
        connection = {a.name for a in chosen.attributes}
        own = {a.name for a in capsule_symbol(symbol).own_attributes} & connection
        if clash := sorted(own & attributes.keys()):
            raise DrawingError(f"{clash[0]!r} could mean {face} or {chosen.id}; use add() and connect() instead")
        for name in attributes.keys() - capsule - connection:
            raise DrawingError(f"neither {face} nor {chosen.id} has {name!r}; {suggest(name, capsule | connection)}")
        return chosen, capsule

    def giver(self, id: str, output: str = "") -> Capsule | None:
        """Give the capsule whose output leaves a vertex: itself, or the one inside a group."""
        if id in self.capsules:
            return self.capsules[id]
        vertices: dict[str, Capsule | Use] = dict(self.uses)
        for _ in range(limits.GROUP_DEPTH):
            vertex = vertices.get(id)
            if not isinstance(vertex, Use):
                return vertex
            group = self.groups[vertex.group]
            id = group.outputs.get(output) or next(iter(group.outputs.values()), "")
            vertices = {part.id: part for part in (*group.capsules, *group.uses)}
        return None

    def _read(self, given: Any, declared: tuple[Attribute, ...], place: str) -> dict[str, Any]:
        return read_attributes(given, declared, place, expressions=self.arguments is not None)

    def wear(self, id: str, part: str, **attributes: Any) -> None:
        """Let a capsule wear a part, e.g. ``wear("b", "batch-norm")``; one that it wears already is changed."""
        capsule = self._capsule(id)
        worn = self._worn(id, capsule.symbol, capsule.rank, part, attributes)
        there = any(old.part == part for old in capsule.wears)
        parts = tuple(worn if old.part == part else old for old in capsule.wears)
        self.apply(Edit(f"wear {part} at {id}", (Put(replace(capsule, wears=parts if there else (*parts, worn))),)))

    def take_off(self, id: str, part: str) -> None:
        """Take a part off a capsule."""
        capsule = self._capsule(id)
        worn = [old.part for old in capsule.wears]
        if part not in worn:
            has = f"it wears {', '.join(worn)}" if worn else "it wears nothing"
            raise DrawingError(f"the capsule {id} wears no {part!r}; {has}")
        kept = tuple(old for old in capsule.wears if old.part != part)
        self.apply(Edit(f"take {part} off {id}", (Put(replace(capsule, wears=kept)),)))

    def _capsule(self, id: str) -> Capsule:
        if id not in self.capsules:
            self.check_vertex(id)
            raise DrawingError(f"{id!r} is the use of a group, which wears no parts")
        return self.capsules[id]

    def _worn(self, id: str, symbol: str, rank: int, part: str, attributes: dict[str, Any]) -> Worn:
        record = {"part": part, "attributes": attributes}
        return Worn.from_json(record, f"capsule {id}", symbol, rank, expressions=self.arguments is not None)

    def change(self, id: str, **attributes: Any) -> None:
        """Change attributes of a capsule or a connection, or arguments of a group's use; None empties one."""
        if id in self.connections:
            old = self.connections[id]
            declared = connection_symbol(old.symbol).attributes
            new: Record = replace(
                old, attributes=self._read({**old.attributes, **attributes}, declared, f"connection {id}")
            )
        elif id in self.capsules:
            capsule = self.capsules[id]
            faces = capsule_symbol(capsule.symbol).attributes(capsule.rank)
            read = self._read({**capsule.attributes, **attributes}, faces, f"capsule {id}")
            new = replace(capsule, attributes=read)
        else:
            self.check_vertex(id)
            use = self.uses[id]
            known = self.groups[use.group].arguments
            for name in attributes.keys() - known.keys():
                there = suggest(name, known) if known else "it has none"
                raise DrawingError(f"the group {use.group} has no argument {name!r}; {there}")
            arguments = {k: v for k, v in {**use.arguments, **attributes}.items() if v is not None}
            new = Use.from_json(replace(use, arguments=arguments).to_json(), f"use {id}")
        self.apply(Edit(f"change {id}", (Put(new),)))

    def remove(self, *ids: str) -> None:
        """Remove connections, notes, and capsules with all their connections, in one edit."""
        named = dict.fromkeys(ids)
        notes = [id for id in named if id in self.notes]
        lines = {id: None for id in named if id in self.connections and id not in self.notes}
        vertices = {id: None for id in named if id not in self.notes and id not in lines}
        for id in vertices:
            self.check_vertex(id)
        lines |= {c.id: None for c in self.connections.values() if c.back in vertices or c.front in vertices}
        patches = [
            *(Remove("connection", id) for id in lines),
            *(Remove("note", id) for id in notes),
            *(Remove("capsule" if id in self.capsules else "use", id) for id in vertices),
            *(Remove("position", id) for id in named if id in self.positions),
        ]
        self.apply(Edit(f"remove {some(list(named))}", tuple(patches)))

    def move(self, id: str, x: Any, y: Any) -> None:
        """Place a capsule or a note on the canvas."""
        if id not in self.notes:
            self.check_vertex(id)
        if not all(isinstance(n, (int, float)) and math.isfinite(n) for n in (x, y)):
            raise DrawingError(f"the place of {id} must be two finite numbers, not {x!r} and {y!r}")
        self.apply(Edit(f"move {id}", (Put(Position.from_json(id, [x, y], f"the place of {id}")),)))

    def propose(self, back: str, front: str, port: str = MAIN_PORT, output: str = "") -> str:
        """Choose the connection symbol that fits two capsules."""
        capsule = self.capsules.get(front)
        if capsule is None:
            return "transfer"
        entered = capsule_symbol(capsule.symbol).port(port)
        rank = entered.rank(capsule.rank) if entered else capsule.rank
        return self._propose(self.giver(back, output), capsule.symbol, rank)

    @staticmethod
    def _propose(back: Capsule | None, symbol: str, rank: int) -> str:
        record = CAPSULES[symbol]
        if back is None or (back.output_rank == rank and (record.family == "downsampling" or len(record.ports) > 1)):
            return "transfer"
        fitting = {(0, 0): "amplifying", (1, 1): "full", (2, 2): "convolution", (3, 3): "transfer"}
        return fitting.get(
            (back.output_rank, rank),
            "reshaping" if CONNECTIONS["reshaping"].joins(back.output_rank, rank) else "full",
        )

    def check_vertex(self, id: str) -> None:
        """Refuse an id that neither a capsule nor a use of a group has."""
        if id not in self.capsules and id not in self.uses:
            known = [*self.capsules, *self.uses, *self.connections]
            raise DrawingError(f"there is no {id!r}; {suggest(id, known) if known else 'the drawing is empty'}")

    def tie_of(self, id: str) -> str:
        """Give the tie of a capsule or of a group's use."""
        return (self.capsules[id] if id in self.capsules else self.uses[id]).tie

    def fresh_vertex(self, stem: str) -> str:
        """Give an id like this one that no capsule and no use has yet."""
        return fresh_id(stem, {**self.capsules, **self.uses})

    def copy(self) -> Drawing:
        """Copy the drawing, without its history."""
        other = Drawing(arguments=self.arguments)
        self.share_records(other)
        other.start_history_here()
        return other

    def to_text(self) -> str:
        """Write the drawing as canonical JSON text."""
        if self.arguments is not None:
            raise DrawingError(f"{self.name!r} has arguments: it is the inside of a group; define() it in a drawing")
        from inkcap.drawing.files import to_text

        return to_text(self)

    def save(self, path: Any) -> None:
        """Write the drawing to a file, whole or not at all."""
        from inkcap.drawing.files import save_drawing

        save_drawing(self, path)

    def start_history_here(self) -> None:
        """Forget what can be undone, e.g. after a file was opened."""
        self._undo.clear()
        self._redo.clear()
        self._last = next(reversed(cast("dict[str, object]", self.uses or self.capsules)), "")


def _named(ids: list[str], name: str) -> dict[str, str]:
    """Name ports: the only one plainly, several by their capsules."""
    return {name: ids[0]} if len(ids) == 1 else {id: id for id in ids}


def _kept(ports: Mapping[str, str], vertices: tuple[str, ...]) -> dict[str, str]:
    return {port: inner for port, inner in ports.items() if inner in vertices}
