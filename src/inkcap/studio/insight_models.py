"""What is told of the inside of a run, and asked about it. What is not finite is null."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from inkcap.studio.models import Asked, Marks, Told

Numbers = list[float | None]
PartName = Literal["training", "validation", "test"]
LARGEST_SIDE = 512
MOST_VALUES = 65_536


class CapsuleSignals(Told):
    """A capsule's signals, one number for each of the epochs; the last three are of the weights that it owns itself."""

    output: Numbers
    delta: Numbers
    dead: Numbers
    milliseconds: Numbers
    megabytes: Numbers
    weight: Numbers
    update: Numbers
    gradient: Numbers


class ConnectionSignals(Told):
    """A connection's signals, one number for each of the epochs."""

    weight: Numbers
    update: Numbers
    gradient: Numbers


class RunSignals(Told):
    """The signals of a run over its epochs, 0 being the start, and the epochs whose weights can be looked at."""

    epochs: list[int]
    frames: list[int]
    batch: int
    """How many samples were measured."""
    capsules: dict[str, CapsuleSignals]
    connections: dict[str, ConnectionSignals]
    why: str | None
    """Why there are no signals, and what to do."""
    note: str
    """What of them was left out, because it is damaged."""


class Histogram(Told):
    """How many numbers lie between one edge and the next; there is one edge more than counts."""

    edges: list[float]
    counts: list[int]


class Picture(Told):
    """A picture of one number a cell, or of three channels: then a row has red, green and blue of each cell in turn."""

    rows: list[Numbers]
    channels: Literal[1, 3] = 1


class Matrix(Told):
    """A matrix, or the means of its blocks where it is too large to be told whole."""

    rows: list[Numbers]
    whole: bool


class WeightValues(Told):
    """One stored weight: what its numbers are like, and as kernels or as a matrix where it has such a form."""

    name: str
    shape: list[int]
    norm: float | None
    mean: float | None
    deviation: float | None
    minimum: float | None
    maximum: float | None
    histogram: Histogram | None
    kernels: list[Picture] | None
    matrix: Matrix | None


class OutputValues(Told):
    """Y of a capsule over the fixed batch."""

    histogram: Histogram | None
    mean: float | None
    deviation: float | None
    norm: float | None
    dead: float | None


class SlopeValues(Told):
    """δ of a capsule, of a sample's own loss, or the gradient of weights, over the fixed batch."""

    histogram: Histogram | None
    norm: float | None


class Values(Told):
    """What a capsule or a connection holds after an epoch."""

    id: str
    kind: Literal["capsule", "connection"]
    title: str
    epoch: int
    samples: int
    """How many samples of the fixed batch Y, δ and the gradient are of."""
    weights: list[WeightValues]
    output: OutputValues | None
    delta: SlopeValues | None
    gradient: SlopeValues | None


class Example(Told):
    """One sample of a run's data."""

    number: int
    label: str | None
    thumbnail: Picture | None
    """Pictures of 0 to 1."""
    text: str
    there: Marks | None = None
    """What is where, of runs that tell places."""
    found: Marks | None = None
    """What the run finds, where that was asked for, with its loss."""
    loss: float | None = None


class Examples(Told):
    """Samples of one part of a run's data."""

    part: PartName
    count: int
    """How many there are in all, of those that were asked for."""
    examples: list[Example]


class ExampleChoice(Asked):
    """A sample by its part and number."""

    part: PartName
    number: Annotated[int, Field(ge=0)]


class DrawnPicture(Asked):
    """A picture that was drawn by hand: ink from 0, which is paper, to 1."""

    rows: Annotated[
        list[Annotated[list[Annotated[float, Field(ge=0, le=1)]], Field(min_length=1, max_length=LARGEST_SIDE)]],
        Field(min_length=1, max_length=LARGEST_SIDE),
    ]


class AnswerRequest(Asked):
    """Ask a run about a sample of its data, a drawn picture, the base64 of a picture file, or numbers: one of them."""

    epoch: int | None = None
    example: ExampleChoice | None = None
    picture: DrawnPicture | None = None
    image: str | None = None
    values: Annotated[list[float], Field(min_length=1, max_length=MOST_VALUES)] | None = None


class ClassShare(Told):
    """A class with its probability, or its score."""

    name: str
    share: float | None


class OutputAnswer(Told):
    """What one output answers: classes, best first, numbers in the target's own scale, or what it finds where."""

    output: str
    meaning: Literal["probabilities", "scores", "numbers", "detections", "instances"]
    classes: list[ClassShare] | None
    values: Numbers | None
    truth: str | None
    loss: float | None
    found: Marks | None
    there: Marks | None
    """What the data say of the same."""


class Activation(Told):
    """Y of a capsule for one sample: maps, means of blocks where they are large, or a row of numbers."""

    shape: list[int]
    maps: list[Picture] | None
    row: Numbers | None
    minimum: float | None
    maximum: float | None
    units: int


class Coupling(Told):
    """How much of each child's vote goes to each parent, after the last round of the routing."""

    rows: list[Numbers]
    children: list[str] = Field(alias="from")
    parents: list[str] = Field(alias="to")
    iterations: int


class RunAnswer(Told):
    """What a run answers to one sample, and what every capsule does meanwhile."""

    epoch: int
    fed: Picture | None
    """What the network was really fed, where that is a picture, as 0 to 1."""
    text: str
    """The numbers that were fed, in short."""
    answers: list[OutputAnswer]
    activations: dict[str, Activation]
    couplings: dict[str, Coupling]
    why: str | None
    """Why there are no activations."""


class WorstExample(Told):
    """A sample that the run is most wrong about."""

    number: int
    truth: str | None
    answer: str | None
    share: float | None
    """The probability or score of the answer."""
    loss: float | None
    thumbnail: Picture | None
    text: str


class Confusion(Told):
    """True classes (rows) by predicted ones (columns), and the samples of the largest loss; no classes for numbers."""

    part: PartName
    epoch: int
    output: str
    classes: list[str]
    counts: list[list[int]]
    accuracy: float | None
    samples: int
    places: bool
    """Whether the output tells what is where: boxes, or the class of every pixel."""
    worst: list[WorstExample]


class SurfacePoint(Told):
    """A sample on the surface: a class by its number, or a value."""

    x: float
    y: float
    label: int | None = Field(alias="class")
    value: float | None


class Surface(Told):
    """What a network of two input numbers answers over the plane; rows go from the lower end of y upwards."""

    epoch: int
    x: tuple[float, float]
    y: tuple[float, float]
    names: list[str]
    classes: list[str]
    winner: list[list[int]] | None
    share: list[Numbers] | None
    value: list[Numbers] | None
    points: list[SurfacePoint]
