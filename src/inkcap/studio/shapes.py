"""The shapes of what is told as plain JSON: the catalogue and reports; records have their own module.

They are made elsewhere, and too large to be built as models for every answer; here they are described, so that OpenAPI
and the page's types know them. Tests hold them against what is really told.
"""

from __future__ import annotations

from typing import Literal, NotRequired

from typing_extensions import TypedDict

from inkcap.studio.record_shapes import Attributes, Edit, Json, Point, Rank

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
    broken: NotRequired[bool]
    """Whether the outline around it is broken, as that of something unfinished."""


class Port(TypedDict):
    """An input of a capsule, with its rank by that of the capsule; nothing need enter an open one."""

    name: str
    kind: Literal["sums", "gathers", "keeps", "single"]
    help: str
    open: bool
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


# Reports -----------------------------------------------------------------------------------------------------


class Structure(TypedDict):
    """The structure of a value, as people read it, and what it lists where it is a list: ``list of 100 boxes``."""

    shape: list[Size]
    dtype: str
    text: NotRequired[str]
    listed: NotRequired[str]


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
