"""The drawing: a document of records that changes only by edits."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from inkcap.drawing import limits
from inkcap.drawing.codec import DrawingError
from inkcap.drawing.edits import Edit, Meta, Patch, Put, Record, Remove
from inkcap.drawing.fields import read_attributes, read_id
from inkcap.drawing.groups import Group, Use
from inkcap.drawing.plain import Plain
from inkcap.drawing.records import Capsule, Connection, Note, Position, Worn
from inkcap.symbols import (
    CAPSULES,
    CONNECTIONS,
    MAIN_PORT,
    capsule_symbol,
    connection_symbol,
    parse_face,
    part_symbol,
    suggest,
    worn_in_face,
)


class Drawing:
    """What a person makes: capsules, connections, groups, notes and positions, with undo and redo."""

    def __init__(self, name: str = "untitled", dtype: str = "float32") -> None:
        """Start an empty drawing; ``dtype`` is the data type of every capsule that states none."""
        self._records: dict[str, dict[str, Record]] = {
            kind: {} for kind in ("meta", "capsule", "connection", "group", "use", "note", "position", "plain")
        }
        self._undo: list[Edit] = []
        self._redo: list[Edit] = []
        self._last = ""
        meta = Meta.from_json({"name": name, "dtype": dtype}, "")
        self._records["meta"]["meta"] = meta

    # What it holds -------------------------------------------------------------------------------------------

    @property
    def meta(self) -> Meta:
        """The name and the default data type."""
        meta = self._records["meta"]["meta"]
        assert isinstance(meta, Meta)
        return meta

    @property
    def name(self) -> str:
        """The drawing's name."""
        return self.meta.name

    @property
    def dtype(self) -> str:
        """The data type of every capsule that states none."""
        return self.meta.dtype

    @property
    def capsules(self) -> Mapping[str, Capsule]:
        """The capsules by id, in the order in which they were drawn."""
        return self._records["capsule"]  # pyright: ignore[reportReturnType]

    @property
    def connections(self) -> Mapping[str, Connection]:
        """The connections by id, in the order in which they were drawn."""
        return self._records["connection"]  # pyright: ignore[reportReturnType]

    @property
    def groups(self) -> Mapping[str, Group]:
        """The groups by id."""
        return self._records["group"]  # pyright: ignore[reportReturnType]

    @property
    def uses(self) -> Mapping[str, Use]:
        """The vertices that stand for groups."""
        return self._records["use"]  # pyright: ignore[reportReturnType]

    @property
    def notes(self) -> Mapping[str, Note]:
        """The notes by id."""
        return self._records["note"]  # pyright: ignore[reportReturnType]

    @property
    def positions(self) -> Mapping[str, Position]:
        """Where things lie on the canvas."""
        return self._records["position"]  # pyright: ignore[reportReturnType]

    @property
    def plain(self) -> Plain | None:
        """The columnar block of neurons, when there is one."""
        return self._records["plain"].get("plain")  # pyright: ignore[reportReturnType]

    def __eq__(self, other: object) -> bool:
        """Equal drawings have equal records in equal order."""
        if not isinstance(other, Drawing):
            return NotImplemented
        return [list(r.items()) for r in self._records.values()] == [list(r.items()) for r in other._records.values()]

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        return f"<Drawing {self.name!r}: {len(self.capsules)} capsules, {len(self.connections)} connections>"

    # Drawing by hand -----------------------------------------------------------------------------------------

    def add(self, id: str, face: str, **attributes: Any) -> str:
        """Add a capsule, e.g. ``add("a", "2D-data", height=28, width=28, channels=1)``, and give its id."""
        if id in self.capsules or id in self.uses:
            raise DrawingError(f"there is a capsule {id!r} already; choose another id")
        symbol, rank = parse_face(face)
        declared = capsule_symbol(symbol).attributes(rank)
        wears: tuple[Worn, ...] = ()
        if part := worn_in_face(face):
            own = {a.name for a in part_symbol(part).attributes} & attributes.keys()
            wears = (self._worn(id, symbol, rank, part, {name: attributes.pop(name) for name in own}),)
        read = read_attributes(attributes, declared, f"capsule {id}")
        capsule = Capsule(read_id(id, "capsule"), symbol, rank, read, wears)
        self.apply(Edit(f"add {id}", (Put(capsule),)))
        self._last = id
        return id

    def connect(
        self,
        back: str,
        front: str,
        symbol: str | None = None,
        *,
        id: str = "",
        tie: str = "",
        port: str = MAIN_PORT,
        **attributes: Any,
    ) -> str:
        """Connect two capsules and give the connection's id; without a symbol, the one that fits is taken."""
        for end in (back, front):
            self._vertex(end)
        chosen = connection_symbol(symbol or self.propose(back, front, port))
        name = id or self._fresh(f"{back}-{front}", self.connections)
        if name in self.connections:
            raise DrawingError(f"there is a connection {name!r} already; choose another id")
        read = read_attributes(attributes, chosen.attributes, f"connection {name}")
        knot = read_id(tie, f"connection {name}.tie") if tie else ""
        entered = read_id(port, f"connection {name}.port")
        connection = Connection(read_id(name, "connection"), chosen.id, back, front, read, entered, knot)
        self.apply(Edit(f"connect {back} to {front}", (Put(connection),)))
        return name

    def then(self, id: str, face: str, by: str | None = None, **attributes: Any) -> str:
        """Add a capsule and connect it to the one added last; each attribute goes to the one that has it."""
        back = self._last if self._last in self.capsules else next(reversed(list(self.capsules)), "")
        if not back:
            raise DrawingError(f"there is nothing to connect {id!r} to; add a first capsule with add()")
        symbol, rank = parse_face(face)
        capsule = {a.name for a in capsule_symbol(symbol).attributes(rank)}
        if part := worn_in_face(face):
            capsule |= {a.name for a in part_symbol(part).attributes}
        chosen = connection_symbol(by or self._propose(self.capsules.get(back), symbol, rank))
        connection = {a.name for a in chosen.attributes}
        own = {a.name for a in capsule_symbol(symbol).own_attributes} & connection
        if clash := sorted(own & attributes.keys()):
            raise DrawingError(f"{clash[0]!r} could mean {face} or {chosen.id}; use add() and connect() instead")
        for name in attributes.keys() - capsule - connection:
            raise DrawingError(f"neither {face} nor {chosen.id} has {name!r}; {suggest(name, capsule | connection)}")
        depth = len(self._undo)
        self.add(id, face, **{k: v for k, v in attributes.items() if k in capsule})
        try:
            self.connect(back, id, chosen.id, **{k: v for k, v in attributes.items() if k not in capsule})
        except DrawingError:
            self.undo()
            self._redo.clear()
            self._last = back
            raise
        self._join(depth, f"add {id} after {back}")
        return id

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
            self._vertex(id)
            raise DrawingError(f"{id!r} is the use of a group, which wears no parts")
        return self.capsules[id]

    @staticmethod
    def _worn(id: str, symbol: str, rank: int, part: str, attributes: dict[str, Any]) -> Worn:
        return Worn.from_json({"part": part, "attributes": attributes}, f"capsule {id}", symbol, rank)

    def change(self, id: str, **attributes: Any) -> None:
        """Change attributes of a capsule or a connection; None empties one."""
        if id in self.connections:
            old = self.connections[id]
            declared = connection_symbol(old.symbol).attributes
            read = read_attributes({**old.attributes, **attributes}, declared, f"connection {id}")
            new: Record = Connection(id, old.symbol, old.back, old.front, read, old.port, old.tie, old.label)
        elif id in self.capsules:
            capsule = self.capsules[id]
            faces = capsule_symbol(capsule.symbol).attributes(capsule.rank)
            read = read_attributes({**capsule.attributes, **attributes}, faces, f"capsule {id}")
            new = Capsule(id, capsule.symbol, capsule.rank, read, capsule.wears, capsule.label)
        else:
            self._vertex(id)
            raise DrawingError(f"{id!r} is the use of a group; put a new record instead")
        self.apply(Edit(f"change {id}", (Put(new),)))

    def remove(self, id: str) -> None:
        """Remove a connection, a note, or a capsule with all its connections."""
        patches: list[Patch] = []
        for kind in ("connection", "note"):
            if id in self._records[kind]:
                patches = [Remove(kind, id)]
        if not patches:
            self._vertex(id)
            touching = (c.id for c in self.connections.values() if id in (c.back, c.front))
            patches = [*(Remove("connection", c) for c in touching)]
            patches.append(Remove("capsule" if id in self.capsules else "use", id))
        if id in self.positions:
            patches.append(Remove("position", id))
        self.apply(Edit(f"remove {id}", tuple(patches)))

    def move(self, id: str, x: Any, y: Any) -> None:
        """Place a capsule or a note on the canvas."""
        if id not in self.notes:
            self._vertex(id)
        if not all(isinstance(n, (int, float)) and math.isfinite(n) for n in (x, y)):
            raise DrawingError(f"the place of {id} must be two finite numbers, not {x!r} and {y!r}")
        self.apply(Edit(f"move {id}", (Put(Position(id, x, y)),)))

    def propose(self, back: str, front: str, port: str = MAIN_PORT) -> str:
        """Choose the connection symbol that fits two capsules."""
        capsule = self.capsules.get(front)
        if capsule is None:
            return "transfer"
        entered = capsule_symbol(capsule.symbol).port(port)
        rank = entered.rank(capsule.rank) if entered else capsule.rank
        return self._propose(self.capsules.get(back), capsule.symbol, rank)

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

    # Edits ---------------------------------------------------------------------------------------------------

    def apply(self, edit: Edit) -> None:
        """Apply an edit whole, or refuse it and leave the drawing as it was."""
        inverse = self._perform(edit)
        self._undo.append(inverse)
        self._redo.clear()

    def undo(self) -> str | None:
        """Take back the last edit; give its label, or nothing when there is none."""
        return self._move_history(self._undo, self._redo)

    def redo(self) -> str | None:
        """Do again what was taken back; give its label, or nothing when there is nothing."""
        return self._move_history(self._redo, self._undo)

    def _move_history(self, source: list[Edit], target: list[Edit]) -> str | None:
        if not source:
            return None
        edit = source.pop()
        target.append(self._perform(edit))
        return edit.label

    def _join(self, depth: int, label: str) -> None:
        inverses = self._undo[depth:]
        del self._undo[depth:]
        self._undo.append(Edit(label, tuple(patch for edit in reversed(inverses) for patch in edit.patches)))

    def _perform(self, edit: Edit) -> Edit:
        inverse: list[Patch] = []
        try:
            for patch in edit.patches:
                inverse.append(self._patch(patch))
            self._check_references(edit)
        except DrawingError:
            for patch in reversed(inverse):
                self._patch(patch)
            raise
        return Edit(edit.label, tuple(reversed(inverse)))

    def _patch(self, patch: Patch) -> Patch:
        if isinstance(patch, Put):
            records = self._records[patch.record.kind]
            old = records.get(patch.record.id)
            if old is None and patch.index is not None and patch.index < len(records):
                items = list(records.items())
                items.insert(patch.index, (patch.record.id, patch.record))
                records.clear()
                records.update(items)
            else:
                records[patch.record.id] = patch.record
            return Remove(patch.record.kind, patch.record.id) if old is None else Put(old)
        records = self._records[patch.kind]
        if patch.id not in records or patch.kind == "meta":
            raise DrawingError(f"there is no {patch.kind} {patch.id!r} to remove")
        index = list(records).index(patch.id)
        return Put(records.pop(patch.id), index)

    def _check_references(self, edit: Edit) -> None:
        vertices_went = any(isinstance(p, Remove) and p.kind in ("capsule", "use") for p in edit.patches)
        put = [p.record for p in edit.patches if isinstance(p, Put)]
        touched = self.connections.values() if vertices_went else (r for r in put if isinstance(r, Connection))
        for connection in touched:
            for role, end in (("back", connection.back), ("front", connection.front)):
                if end not in self.capsules and end not in self.uses:
                    known = [*self.capsules, *self.uses]
                    raise DrawingError(f"connection {connection.id}: its {role} end {end!r} is no capsule; "
                                       f"{suggest(end, known) if known else 'there are none'}")  # fmt: skip
        for record in put:
            if isinstance(record, Use) and (record.group not in self.groups or record.id in self.capsules):
                raise DrawingError(f"use {record.id}: there is no group {record.group!r}, or the id is taken")
            if isinstance(record, Capsule) and record.id in self.uses:
                raise DrawingError(f"capsule {record.id}: the id is taken by a use of a group")
        for what, count, most in (
            ("capsules", len(self.capsules) + len(self.uses), limits.CAPSULES),
            ("connections", len(self.connections), limits.CONNECTIONS),
        ):
            if count > most:
                raise DrawingError(
                    f"a drawing may have {most} {what}, not {count}; larger ones go to 'plain' or groups"
                )

    def _vertex(self, id: str) -> None:
        if id not in self.capsules and id not in self.uses:
            known = [*self.capsules, *self.uses, *self.connections]
            raise DrawingError(f"there is no {id!r}; {suggest(id, known) if known else 'the drawing is empty'}")

    @staticmethod
    def _fresh(stem: str, taken: Mapping[str, object]) -> str:
        stem = stem[:58]
        name, number = stem, 2
        while name in taken:
            name, number = f"{stem}-{number}", number + 1
        return name

    # Files ---------------------------------------------------------------------------------------------------

    def copy(self) -> Drawing:
        """Copy the drawing, without its history."""
        other = Drawing()
        other._records = {kind: dict(records) for kind, records in self._records.items()}
        other.start_history_here()
        return other

    def records(self, kind: str) -> Iterator[Record]:
        """Give the records of one kind in order."""
        return iter(self._records[kind].values())

    def to_text(self) -> str:
        """Write the drawing as canonical JSON text."""
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
        self._last = next(reversed(list(self.capsules)), "")
