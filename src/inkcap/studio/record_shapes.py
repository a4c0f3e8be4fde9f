"""The shapes of a drawing's records and edits, as its file and the live connection have them."""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypeAliasType, TypedDict

Json = TypeAliasType("Json", bool | int | float | str | list[Any] | dict[str, Any] | None)
"""Any JSON; how deep it goes is not told, because types made from OpenAPI cannot speak of themselves."""
Attributes = dict[str, Json]
Rank = Literal[0, 1, 2, 3]
Point = tuple[float, float]


class Worn(TypedDict):
    """A part that a capsule wears."""

    part: str
    attributes: NotRequired[Attributes]


class Capsule(TypedDict):
    """A vertex."""

    id: str
    symbol: str
    rank: Rank
    attributes: NotRequired[Attributes]
    wears: NotRequired[list[Worn]]
    tie: NotRequired[str]
    label: NotRequired[str]


class Connection(TypedDict):
    """An edge."""

    id: str
    symbol: str
    back: str
    front: str
    attributes: NotRequired[Attributes]
    output: NotRequired[str]
    port: NotRequired[str]
    tie: NotRequired[str]
    label: NotRequired[str]


class Use(TypedDict):
    """A vertex that stands for a group."""

    id: str
    group: str
    arguments: NotRequired[Attributes]
    repeat: NotRequired[int]
    tie: NotRequired[str]
    label: NotRequired[str]


class Group(TypedDict):
    """A named sub-drawing."""

    id: str
    arguments: NotRequired[Attributes]
    capsules: NotRequired[list[Capsule]]
    connections: NotRequired[list[Connection]]
    uses: NotRequired[list[Use]]
    inputs: NotRequired[dict[str, str]]
    outputs: NotRequired[dict[str, str]]
    label: NotRequired[str]
    positions: NotRequired[dict[str, Point]]


class Note(TypedDict):
    """A remark."""

    id: str
    text: str


class DrawingFile(TypedDict):
    """A drawing as its file has it."""

    format: NotRequired[int]
    name: str
    dtype: NotRequired[str]
    capsules: NotRequired[list[Capsule]]
    connections: NotRequired[list[Connection]]
    groups: NotRequired[list[Group]]
    uses: NotRequired[list[Use]]
    notes: NotRequired[list[Note]]
    positions: NotRequired[dict[str, Point]]
    plain: NotRequired[dict[str, Json]]


class Meta(TypedDict):
    """What a drawing as a whole states."""

    name: str
    dtype: NotRequired[str]


class PutMeta(TypedDict):
    """Put a record of the kind meta."""

    put: Literal["meta"]
    id: str
    record: Meta
    index: NotRequired[int]


class PutCapsule(TypedDict):
    """Put a record of the kind capsule."""

    put: Literal["capsule"]
    id: str
    record: Capsule
    index: NotRequired[int]


class PutConnection(TypedDict):
    """Put a record of the kind connection."""

    put: Literal["connection"]
    id: str
    record: Connection
    index: NotRequired[int]


class PutGroup(TypedDict):
    """Put a record of the kind group."""

    put: Literal["group"]
    id: str
    record: Group
    index: NotRequired[int]


class PutUse(TypedDict):
    """Put a record of the kind use."""

    put: Literal["use"]
    id: str
    record: Use
    index: NotRequired[int]


class PutNote(TypedDict):
    """Put a record of the kind note."""

    put: Literal["note"]
    id: str
    record: Note
    index: NotRequired[int]


class PutPosition(TypedDict):
    """Put a record of the kind position."""

    put: Literal["position"]
    id: str
    record: Point
    index: NotRequired[int]


class PutPlain(TypedDict):
    """Put a record of the kind plain."""

    put: Literal["plain"]
    id: str
    record: dict[str, Json]
    index: NotRequired[int]


class RemoveRecord(TypedDict):
    """Remove a record."""

    remove: Literal["meta", "capsule", "connection", "group", "use", "note", "position", "plain"]
    id: str


Patch = TypeAliasType(
    "Patch",
    PutMeta | PutCapsule | PutConnection | PutGroup | PutUse | PutNote | PutPosition | PutPlain | RemoveRecord,
)


class Edit(TypedDict):
    """Patches that belong together; each puts a record or removes one."""

    label: str
    patches: list[Patch]
