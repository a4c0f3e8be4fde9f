"""Edits are data: every change of a drawing is a list of patches that can be stored, sent, undone."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, ClassVar, cast

from inkcap.drawing.codec import DrawingError
from inkcap.drawing.fields import read_id, read_list, read_object, read_text, show
from inkcap.drawing.groups import Group, Use
from inkcap.drawing.plain import Plain
from inkcap.drawing.records import Capsule, Connection, Note, Position
from inkcap.structures import DTYPES


@dataclass(frozen=True)
class Meta:
    """What the drawing as a whole states: its name and the data type of what states none."""

    kind: ClassVar[str] = "meta"
    id: ClassVar[str] = "meta"
    name: str
    dtype: str = "float32"

    def to_json(self) -> dict[str, Any]:
        """Describe it for the file."""
        return {"name": self.name, "dtype": self.dtype}

    @staticmethod
    def from_json(value: Any, place: str) -> Meta:
        """Read and check it."""
        record = read_object(value, place, ("name", "dtype"), ("name",))
        dtype = record.get("dtype", "float32")
        if dtype not in DTYPES:
            raise DrawingError(f"must be one of {', '.join(DTYPES)}, not {dtype!r}", f"{place}.dtype".strip("."))
        return Meta(read_text(record["name"], f"{place}.name".strip(".")), dtype)


Record = Meta | Capsule | Connection | Group | Use | Note | Position | Plain
LONGEST_PLACE = 80
KINDS: tuple[type[Record], ...] = (Meta, Capsule, Connection, Group, Use, Note, Position, Plain)


@dataclass(frozen=True)
class Put:
    """Set a record, new or in place of the one with its id; ``index`` is its place in the order when new."""

    record: Record
    index: int | None = None

    def to_json(self) -> dict[str, Any]:
        """Describe it as data."""
        body: dict[str, Any] = {"put": self.record.kind, "id": self.record.id, "record": self.record.to_json()}
        return body if self.index is None else {**body, "index": self.index}


@dataclass(frozen=True)
class Remove:
    """Take a record away."""

    kind: str
    id: str

    def to_json(self) -> dict[str, Any]:
        """Describe it as data."""
        return {"remove": self.kind, "id": self.id}


Patch = Put | Remove


@dataclass(frozen=True)
class Edit:
    """Patches that belong together: applied whole or not at all, undone as one."""

    label: str
    patches: tuple[Patch, ...]

    def to_json(self) -> dict[str, Any]:
        """Describe it as data."""
        return {"label": self.label, "patches": [patch.to_json() for patch in self.patches]}

    @staticmethod
    def from_json(value: Any) -> Edit:
        """Read an edit that was stored or sent."""
        record = read_object(value, "edit", ("label", "patches"), ("label", "patches"))
        patches = read_list(record["patches"], "edit.patches", 200_000)
        label = read_text(record["label"], "edit.label")
        return Edit(label, tuple(_read_patch(patch, f"edit.patches[{i}]") for i, patch in enumerate(patches)))


def _read_patch(value: Any, place: str) -> Patch:
    fields = ("put", "remove", "id", "record", "index")
    patch = read_object(value, place, fields, ("id",))
    kinds = {kind.kind: kind for kind in KINDS}
    name = patch.get("put", patch.get("remove"))
    if not isinstance(name, str) or name not in kinds or ("put" in patch) == ("remove" in patch):
        raise DrawingError(f"must put or remove one of {', '.join(kinds)}", place)
    if "remove" in patch:
        return Remove(name, read_id(patch["id"], f"{place}.id"))
    index = patch.get("index")
    if index is not None and (type(index) is not int or index < 0):
        raise DrawingError("must be a whole number from 0", f"{place}.index")
    # What is wrong with a record is told of the thing that a person sees, not of its place among the patches.
    thing = f"{name} {patch['id'] if isinstance(patch['id'], str) else show(patch['id'])}"[:LONGEST_PLACE].strip()
    return Put(read_record(name, patch["id"], patch.get("record"), thing), index)


def read_record(kind: str, id: Any, value: Any, place: str) -> Record:
    """Read a record of a kind as it stands in a patch, and check that it has the patch's id."""
    reader: Any = {record.kind: record for record in KINDS}[kind]
    if reader is Position:
        return Position.from_json(id, value, place)
    record = cast("Record", reader.from_json(value, place))
    if record.id != id:
        raise DrawingError(f"the record's id {record.id!r} is not {id!r}", place)
    return record
