"""The shapes of what is told as plain JSON: the catalogue, the records of a drawing, and reports.

They are made elsewhere, and too large to be built as models for every answer; here they are described, so that OpenAPI
and the page's types know them. Tests hold them against what is really told.
"""

from __future__ import annotations

from typing import Any, Literal, NotRequired

from typing_extensions import TypeAliasType, TypedDict

Json = TypeAliasType("Json", bool | int | float | str | list[Any] | dict[str, Any] | None)
"""Any JSON; how deep it goes is not told, because types made from OpenAPI cannot speak of themselves."""
Attributes = dict[str, Json]
Rank = Literal[0, 1, 2, 3]
Point = tuple[float, float]
Size = int | str

# The catalogue -----------------------------------------------------------------------------------------------


class Attribute(TypedDict):
    """An attribute as the inspector shows it."""

    name: str
    kind: Literal["size", "number", "flag", "choice", "dtype", "axes", "shape", "list", "text"]
    help: str
    default: Json
    inferred: bool
    required: bool
    letter: str
    minimum: float | None
    maximum: float | None
    choices: list[str]
    axes: int
    unit: str
    suggested: NotRequired[Json]


class Glyph(TypedDict):
    """The sign of a capsule, as a path in a field of 32 by 32, with its colours."""

    path: str
    ink: str
    wash: str
    filled: bool


class Port(TypedDict):
    """An input of a capsule, with its rank by that of the capsule."""

    name: str
    kind: Literal["sums", "gathers", "single"]
    help: str
    ranks: dict[str, int]


class Face(TypedDict):
    """A capsule symbol at one rank."""

    title: str
    attributes: list[Attribute]


class CapsuleSymbol(TypedDict):
    """A symbol for capsules."""

    id: str
    title: str
    tooltip: str
    formula: str
    family: str
    ranks: list[Rank]
    faces: dict[str, Face]
    glyph: Glyph
    ports: list[Port]
    output_ranks: dict[str, Rank]
    bias: bool
    data: bool
    page: str


class ConnectionSymbol(TypedDict):
    """A symbol for connections."""

    id: str
    title: str
    tooltip: str
    formula: str
    mark: str
    sign: str
    ranks: list[tuple[int, int]]
    attributes: list[Attribute]
    weights: bool
    page: str


class PartSymbol(TypedDict):
    """A symbol for worn parts."""

    id: str
    title: str
    tooltip: str
    formula: str
    place: Literal["before", "after"]
    ranks: list[Rank]
    glyph: Glyph
    attributes: list[Attribute]
    page: str


class Family(TypedDict):
    """A family of capsules in the palette."""

    id: str
    title: str


class Catalogue(TypedDict):
    """All symbols."""

    version: str
    dtypes: list[str]
    families: list[Family]
    capsules: list[CapsuleSymbol]
    connections: list[ConnectionSymbol]
    parts: list[PartSymbol]


# The records of a drawing ------------------------------------------------------------------------------------


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


# Reports -----------------------------------------------------------------------------------------------------


class Structure(TypedDict):
    """The structure of a value, and as people read it."""

    shape: list[Size]
    dtype: str
    text: NotRequired[str]


class CheckedCapsule(TypedDict):
    """What the check found of a capsule."""

    title: NotRequired[str]
    total_input: Structure | None
    output: Structure | None
    bias: list[Size] | None
    parameter_count: NotRequired[int]
    multiply_adds: NotRequired[int]
    inferred: NotRequired[Attributes]
    ports: NotRequired[dict[str, Structure | None]]


class CheckedConnection(TypedDict):
    """What the check found of a connection."""

    back_end: Structure | None
    front_end: Structure | None
    weights: dict[str, list[Size]]
    weight_text: NotRequired[str]
    inferred: NotRequired[Attributes]
    parameters: int
    multiply_adds: int


class CheckedUse(TypedDict):
    """What all that a use stands for comes to."""

    output: Structure | None
    parameters: int
    multiply_adds: int
    capsules: NotRequired[int]


class Diagnostic(TypedDict):
    """What is wrong, where, and the edit that mends it; ``index`` is its number in the report."""

    rule: str
    severity: Literal["error", "note"]
    where: list[str]
    message: str
    fix: Edit | None
    index: NotRequired[int]


class Structures(TypedDict):
    """What the check found of each thing, by its id or its path."""

    capsules: dict[str, CheckedCapsule]
    connections: dict[str, CheckedConnection]
    uses: NotRequired[dict[str, CheckedUse]]


class Gone(TypedDict):
    """What a partial report no longer has."""

    capsules: NotRequired[list[str]]
    connections: NotRequired[list[str]]
    uses: NotRequired[list[str]]


class Steps(TypedDict):
    """How many rules generate the drawing."""

    steps: int


class Report(TypedDict):
    """A checked drawing; a partial one has only what is new or different since the one before."""

    name: str
    well_formed: bool
    kind: Literal["layered", "skip"] | None
    layers: list[list[str]] | list[int] | None
    capsules: int
    connections: int
    inputs: list[str]
    outputs: list[str]
    depth: int
    parameters: int
    frozen_parameters: int
    multiply_adds: int
    structures: Structures
    diagnostics: list[Diagnostic]
    derivation: NotRequired[Steps | None]
    partial: NotRequired[bool]
    gone: NotRequired[Gone]


class Layout(TypedDict):
    """Places on the canvas of what states none, and bends of the lines among them."""

    positions: dict[str, Point]
    bends: NotRequired[dict[str, list[Point]]]
