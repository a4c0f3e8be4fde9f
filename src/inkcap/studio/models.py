"""What the studio's API answers and is asked, as models: OpenAPI and the front end's types are made from them."""

from typing import Any

from pydantic import BaseModel, ConfigDict, Field

from inkcap.studio.record_shapes import DrawingFile
from inkcap.studio.record_shapes import Json as AnyJson
from inkcap.studio.shapes import Layout
from inkcap.theory.derivations import Rule

Json = dict[str, Any]
NAME = Field(min_length=1, max_length=200)


class Asked(BaseModel):
    """The body of a request; what is unknown in it is refused."""

    model_config = ConfigDict(extra="forbid")


class Told(BaseModel):
    """An answer."""

    model_config = ConfigDict(frozen=True)


class DrawingId(Told):
    """A drawing by its id."""

    id: str


class Empty(Told):
    """Nothing but that it was done."""


class Listed(Told):
    """A drawing file of the workspace: what its check says in short, or why it cannot be read."""

    id: str
    name: str
    path: str
    modified: str
    capsules: int
    connections: int
    parameters: int | None
    well_formed: bool
    error: str | None
    counted: bool = True
    """Whether it has been checked since it last changed; if not, it soon will be, and the counts are 0 until then."""


class Workspace(Told):
    """The drawings of the workspace; ``more`` when there are more than were looked at."""

    name: str
    drawings: list[Listed]
    recent: list[str]
    more: bool


class ZooEntry(Told):
    """A known network; its counts are null until they have been counted."""

    name: str
    aliases: list[str]
    title: str
    reference: str
    parameters: int | None
    multiply_adds: int | None
    capsules: int | None
    connections: int | None
    kind: str | None


class NewDrawing(Asked):
    """A new drawing: empty, from the zoo, from the text of a drawing file, or from a picture that carries one."""

    name: str = NAME
    zoo: str | None = None
    text: str | None = None
    picture: str | None = None
    """The bytes of an SVG or PNG, in base64."""


class NewName(Asked):
    """Another name."""

    name: str = NAME


class Undo(Told):
    """What takes a deletion back."""

    undo: str


class Undelete(Asked):
    """Take a deletion back."""

    undo: str = Field(pattern=r"^[a-z0-9]{8,64}$")


class Source(Told):
    """The PyTorch module that a drawing becomes."""

    source: str


class Proposal(Told):
    """The connection that fits two capsules, and the others that could join them."""

    symbol: str
    others: list[str]


class Past(Told):
    """One line of a drawing's history."""

    seq: int
    time: str
    label: str
    client: str
    kind: str


class State(Told):
    """A drawing as it was."""

    document: DrawingFile


class Restore(Asked):
    """Go back to a past state, as an edit of a client."""

    seq: int = Field(ge=0)
    client: str = Field(default="history", pattern=r"^[A-Za-z0-9_-]{7,64}$")


class Restored(Told):
    """The number of the edit that restored a state."""

    seq: int


class Changed(Told):
    """A thing that two states have both, and differently."""

    id: str
    kind: str
    before: Json
    after: Json


class Thing(Told):
    """A thing that one of two states has."""

    id: str
    kind: str
    record: Json


class Comparison(Told):
    """The difference of two states by meaning; places on the canvas have none."""

    added: list[Thing]
    removed: list[Thing]
    changed: list[Changed]
    parameters: tuple[int, int]
    multiply_adds: tuple[int, int]
    before: DrawingFile
    """The drawing file of the first state, as of the second."""
    after: DrawingFile
    layout: Layout
    """Places for what either state has."""
    structures: dict[str, tuple[str, str]]
    """By id the structures that are different: of a vertex its output, of a connection its weight."""


class DerivationStep(Told):
    """One application of a rule of generation."""

    rule: Rule
    vertices: list[str]
    edges: list[tuple[str, str]]
    parts: list[list[str]]
    """The vertices that enter, network by network."""
    text: str


class Derivation(Told):
    """The rules that generate a drawing, step by step, or why no rules do."""

    steps: list[DerivationStep]
    counts: dict[Rule, int]
    refused: str = ""


class RulesRequest(Asked):
    """Vertices that a rule shall take."""

    chosen: list[str] = Field(default_factory=list[str], max_length=2_000)


class RuleOffer(Told):
    """A rule, the vertices that it would take network by network, and what forbids it, if anything does."""

    rule: Rule
    parts: list[list[str]]
    why: str


class RuleOffers(Told):
    """What can be applied next, or why nothing can."""

    offers: list[RuleOffer]
    refused: str
    functions: list[str]


class StepRequest(Asked):
    """One step of Algorithm 1; what is not given is drawn at random with the seed."""

    inputs: Json = Field(default_factory=dict[str, Any])
    targets: Json = Field(default_factory=dict[str, Any])
    weights: Json = Field(default_factory=dict[str, Any])
    seed: int = Field(default=0, ge=0, le=2**32 - 1)
    rate: float = Field(default=0.01, allow_inf_nan=False)
    most: int | None = Field(default=None, ge=1, le=4096)
    """So many numbers are told of each tensor; of larger ones the shape, the norm and a strip. None: all of them."""


class Mathematics(Told):
    """The formulae of a capsule or a connection, for KaTeX; empty where there is none."""

    U: str = ""
    Y: str = ""
    delta: str = ""
    update: str = ""


class ListedNetwork(Told):
    """One of the networks of a size: its edges, and its picture."""

    inputs: list[str]
    neurons: list[str]
    edges: list[tuple[str, str]]
    svg: str


class Enumeration(Told):
    """All networks with n inputs and m neurons: how many, and those from one place on."""

    count: int
    start: int
    networks: list[ListedNetwork]
    refused: str = ""


class DataSet(Told):
    """Data that can be trained on."""

    name: str
    title: str
    samples: int | None
    shape: str | None
    classes: int | None
    options: list[Json]
    kind: str


class PreviewRequest(Asked):
    """Data to look into: the name of a set, or the path of a file or folder."""

    name: str = Field(min_length=1, max_length=4096)
    options: dict[str, str] = Field(default_factory=dict[str, str])
    rows: int = Field(default=3, ge=0, le=20)
    drawing: str | None = None
    """The drawing that is to learn them; the answer then says whether it can."""


class DataPart(Told):
    """One input or target of data."""

    name: str
    shape: str
    dtype: str
    lowest: float
    highest: float


class MarkedBox(Told):
    """A box on a picture: label, its name, how sure it is where it was found, and x1, y1, x2, y2 in pixels."""

    label: int
    name: str
    score: float | None
    corners: tuple[float, float, float, float]


class Marks(Told):
    """What is where on a picture of so many pixels: boxes, and the class of every pixel, or of blocks of them."""

    height: int
    width: int
    classes: list[str]
    boxes: list[MarkedBox]
    pixels: list[list[int]] | None


class DataPicture(Told):
    """A sample as a picture: what it shows, a PNG in base64, and what is where on it, if that is told."""

    caption: str
    png: str
    marks: Marks | None = None


class DataOption(Told):
    """How data may be read otherwise."""

    name: str
    default: str
    help: str


class DataPreview(Told):
    """A look into data: what is in them, their first samples, and what is wrong with them in words."""

    name: str
    description: str
    count: int | None
    test_count: int
    inputs: list[DataPart]
    targets: list[DataPart]
    class_counts: dict[str, dict[str, int]]
    notes: list[str]
    problem: str | None
    misfit: str | None
    """Why the drawing that was named cannot learn them."""
    options: list[DataOption]
    columns: list[str]
    rows: list[list[str]]
    pictures: list[DataPicture]


class Uploaded(Told):
    """The name under which uploaded data can be trained on."""

    name: str
    bytes: int


class RecipeField(Told):
    """One setting of a recipe."""

    name: str
    kind: str
    default: AnyJson
    help: str
    minimum: float | None
    maximum: float | None
    above: float | None
    below: float | None
    choices: list[str]
    optional: bool
    missing: str = ""
    """The command that installs what it needs; empty where it can be used."""


class Kind(Told):
    """A kind of loss, optimiser or schedule with its own settings."""

    name: str
    help: str
    rate: float
    options: list[RecipeField]


class RecipeFields(Told):
    """Everything that a recipe may say."""

    data: list[RecipeField]
    recipe: list[RecipeField]
    optimisers: list[Kind]
    schedules: list[Kind]
    losses: list[Kind]
