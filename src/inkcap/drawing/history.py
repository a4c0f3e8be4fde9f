"""The document: records that change only by edits, with undo and redo."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping

from inkcap.drawing import limits
from inkcap.drawing.codec import DrawingError
from inkcap.drawing.edits import Edit, Meta, Patch, Put, Record, Remove
from inkcap.drawing.groups import Group, Use, check_group
from inkcap.drawing.ordering import Ordered
from inkcap.drawing.plain import Plain
from inkcap.drawing.records import Capsule, Connection, Note, Position
from inkcap.drawing.trail import Mark, Touched, Trail
from inkcap.symbols import suggest


class Document:
    """The records of a drawing by kind and id, and what can be undone; :class:`Drawing` is what a person draws with."""

    def __init__(self, name: str = "untitled", dtype: str = "float32") -> None:
        """Start with nothing drawn; ``dtype`` is the data type of every capsule that states none."""
        self._records: dict[str, dict[str, Record]] = {
            kind: {} for kind in ("meta", "capsule", "connection", "group", "use", "note", "position", "plain")
        }
        self._shared: set[str] = set()
        """Kinds of which the records are those of a copy too, until either of them is edited."""
        self._mark = Mark(Trail(), 0)
        self._undo: list[Edit] = []
        self._redo: list[Edit] = []
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
        if not isinstance(other, Document):
            return NotImplemented
        return [list(r.items()) for r in self._records.values()] == [list(r.items()) for r in other._records.values()]

    def records(self, kind: str) -> Iterator[Record]:
        """Give the records of one kind in order."""
        return iter(self._records[kind].values())

    __hash__ = None  # pyright: ignore[reportAssignmentType]

    def __repr__(self) -> str:
        parts = f"{len(self.capsules)} capsules, {len(self.connections)} connections"
        groups = f", {len(self.uses)} uses of groups" if self.uses else ""
        return f"<{type(self).__name__} {self.name!r}: {parts}{groups}>"

    @property
    def mark(self) -> Mark:
        """How far the drawing has come on the trail of its edits."""
        return self._mark

    # Edits ---------------------------------------------------------------------------------------------------

    def apply(self, edit: Edit) -> None:
        """Apply an edit whole, or refuse it and leave the drawing as it was."""
        inverse = self.perform(edit)
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
        target.append(self.perform(edit))
        return edit.label

    def _join(self, depth: int, label: str) -> None:
        inverses = self._undo[depth:]
        del self._undo[depth:]
        self._undo.append(Edit(label, tuple(patch for edit in reversed(inverses) for patch in edit.patches)))

    def perform(self, edit: Edit) -> Edit:
        """Apply an edit whole or not at all, and give its inverse to whoever keeps a history of their own."""
        inverse: list[Patch] = []
        try:
            self._patch(edit.patches, inverse)
            self._check_references(edit)
        except DrawingError:
            self._patch(inverse[::-1], [])
            raise
        return Edit(edit.label, tuple(reversed(inverse)))

    def _patch(self, patches: Iterable[Patch], inverse: list[Patch]) -> None:
        """Make changes one after another, and note how each is taken back."""
        orders: dict[str, Ordered] = {}
        try:
            for patch in patches:
                kind, id = (patch.record.kind, patch.record.id) if isinstance(patch, Put) else (patch.kind, patch.id)
                if isinstance(patch, Remove) and (id not in self._records[kind] or kind == "meta"):
                    raise DrawingError(f"there is no {kind} {id!r} to remove")
                records = self._to_write(kind, id, removed=isinstance(patch, Remove))
                if kind not in orders:
                    orders[kind] = Ordered(records)
                if isinstance(patch, Put):
                    old = orders[kind].put(patch.record, patch.index)
                    inverse.append(Remove(kind, id) if old is None else Put(old))
                else:
                    inverse.append(Put(*orders[kind].take(id)))
        finally:
            for order in orders.values():
                order.close()

    def _to_write(self, kind: str, id: str, *, removed: bool = False) -> dict[str, Record]:
        """Give the records of a kind, one of which is about to change."""
        self._mark = self._mark.trail.extended(self._mark.length, Touched(kind, id, removed))
        if kind in self._shared:
            self._records[kind] = dict(self._records[kind])
            self._shared.discard(kind)
        return self._records[kind]

    def share_records(self, other: Document) -> None:
        """Let another document have the same records; whichever is edited first makes a copy of that kind."""
        other._records = dict(self._records)
        other._shared, self._shared = set(self._records), set(self._records)
        other._mark = self._mark

    def _check_references(self, edit: Edit) -> None:
        gone = {p.kind for p in edit.patches if isinstance(p, Remove)}
        put = [p.record for p in edit.patches if isinstance(p, Put)]
        capsules, uses = self.capsules, self.uses
        went = {p.id for p in edit.patches if isinstance(p, Remove) and p.kind in ("capsule", "use")}
        went = {id for id in went if id not in capsules and id not in uses}
        touched = [c for c in self.connections.values() if c.back in went or c.front in went] if went else []
        lines = [r for r in put if isinstance(r, Connection) and self.connections.get(r.id) is r]
        for connection in (*touched, *lines):
            for role, end in (("back", connection.back), ("front", connection.front)):
                if end not in capsules and end not in uses:
                    known = [*self.capsules, *self.uses]
                    raise DrawingError(f"connection {connection.id}: its {role} end {end!r} is no capsule; "
                                       f"{suggest(end, known) if known else 'there are none'}")  # fmt: skip
        for record in put:
            if isinstance(record, Group):
                check_group(record)
            if isinstance(record, Use) and record.id in self.capsules:
                raise DrawingError(f"use {record.id}: the id is taken by a capsule")
            if isinstance(record, Capsule) and record.id in self.uses:
                raise DrawingError(f"capsule {record.id}: the id is taken by a use of a group")
        self._check_uses(put, "group" in gone)
        for what, count, most in (
            ("capsules", len(self.capsules) + len(self.uses), limits.CAPSULES),
            ("connections", len(self.connections), limits.CONNECTIONS),
        ):
            if count > most:
                raise DrawingError(
                    f"a drawing may have {most} {what}, not {count}; larger ones go to 'plain' or groups"
                )

    def _check_uses(self, put: list[Record], groups_went: bool) -> None:
        records = [*self.uses.values(), *self.groups.values()] if groups_went else put
        uses = [r for r in records if isinstance(r, Use)]
        uses += [use for r in records if isinstance(r, Group) for use in r.uses]
        for use in uses:
            if use.group not in self.groups:
                known = suggest(use.group, self.groups) if self.groups else "the drawing has none"
                raise DrawingError(f"use {use.id}: there is no group {use.group!r}; {known}")

    def replace_graph(
        self,
        capsules: Mapping[str, Capsule],
        connections: Mapping[str, Connection],
        uses: Mapping[str, Use] | None = None,
        mark: Mark | None = None,
    ) -> None:
        """Let a copy of a drawing have these vertices and connections instead; it has no history.

        With a ``mark`` it is known how far they have come on a trail of their own.
        """
        # They stay whoever's they are: the first edit makes a copy.
        self._records |= {"capsule": capsules, "connection": connections, "use": uses or {}}  # pyright: ignore[reportAttributeAccessIssue]
        self._shared |= {"capsule", "connection", "use"}
        if not uses:
            self._records["group"] = {}
        self._mark = mark or Mark(Trail(), 0)
        self._undo.clear()
        self._redo.clear()
