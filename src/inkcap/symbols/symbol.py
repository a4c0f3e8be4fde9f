"""Symbols: the records of the catalogue, each complete in itself."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Literal, final

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import AXES, PartialShape, Shape
from inkcap.symbols.attributes import Attribute, Attributes

BiasKind = Literal["none", "channel", "full"]

Given = Mapping[str, Traced]
"""What a forward function is given by name beside what enters it: weights, parameters, states, other ports."""
Forward = Callable[[Traced, Given, Attributes], Traced]
"""The one signature of the catalogue: what enters, what is given by name, the attributes."""


@dataclass(frozen=True)
class Glyph:
    """A mark in a unit box (−0.5 … 0.5, y downwards) as SVG path data, with the colours of its family."""

    path: str
    ink: str
    wash: str
    filled: bool = False


@dataclass(frozen=True)
class Weight:
    """A weight that a connection, a capsule or a worn part stores: its shape and how it starts."""

    shape: Shape
    fan_in: Any = 1
    fan_out: Any = 1
    initialiser: str = ""
    """How it starts; empty where the connection's attribute says it."""
    state: bool = False
    """A state is stored with the run but never trained: the running numbers of a normalisation."""


@dataclass(frozen=True)
class Sample:
    """A case that works: attributes and the structures that come in."""

    attributes: Attributes
    shape: tuple[int, ...]
    front: tuple[int, ...] | None = None
    """The front end's shape, for connections whose weight is solved from it."""
    dtype: str = "float64"


@dataclass(frozen=True)
class Refusal:
    """A case that must be refused, with the rule that refuses it."""

    attributes: Attributes
    shape: tuple[int, ...]
    rule: str
    front: tuple[int, ...] | None = None
    front_rank: int | None = None
    dtype: str = "float64"


def keep_shape(front: PartialShape, attributes: Attributes) -> PartialShape:
    """Solve backwards for symbols that keep the structure: what comes out is what went in."""
    return front


SIZE_HELP = {
    "dimension": ("M", "Number of elements of the vector (dimension M)."),
    "depth": ("D", "Number of layers of the volume (depth D)."),
    "height": ("M", "Number of rows of each matrix (height M)."),
    "width": ("N", "Number of columns of each matrix (width N)."),
    "channels": ("d", "Number of matrices in the array (channel number d)."),
}


def size_attributes(rank: int) -> tuple[Attribute, ...]:
    """Give the attributes that state the size of a capsule's total input, by rank; the paper's M, N, d."""
    return tuple(
        Attribute(name, "size", SIZE_HELP[name][1], inferred=True, letter=SIZE_HELP[name][0]) for name in AXES[rank]
    )


DTYPE_ATTRIBUTE = Attribute(
    "dtype", "dtype", "Data type T of the numbers; the drawing's own when left empty.", inferred=True, letter="T"
)
BIAS_ATTRIBUTE = Attribute(
    "bias",
    "choice",
    "Bias B: none, one number per channel, or one per element. Left empty, a capsule that some weighted "
    "connection enters gets one per channel (2D, 3D) or per element (neuron, 1D); any other gets none.",
    inferred=True,
    letter="B",
    choices=("none", "channel", "full"),
)
NEURON_BIAS_ATTRIBUTE = Attribute("b", "number", "Bias b with which the neuron starts.", default=0, letter="b")


@final
@dataclass(frozen=True)
class CapsuleSymbol:
    """A capsule symbol: Y = cap(U), one function with a face for every rank."""

    id: str
    title: str
    family: str
    ranks: tuple[int, ...]
    glyph: Glyph
    formula: str
    forward: Forward
    samples: tuple[Sample, ...]
    refusals: tuple[Refusal, ...]
    own_attributes: tuple[Attribute, ...] = ()
    version: int = 1
    is_data: bool = False
    """A data capsule is an input: nothing may enter it, and it has no bias."""
    scores_from_input: bool = False
    """A loss that reads logits takes this capsule's U, because the function only turns them into probabilities."""
    back: Callable[[PartialShape, Attributes], PartialShape] | None = None
    problem: Callable[[Shape, Attributes], Problem | None] | None = None
    """Find what is wrong with a total input of this shape, beyond what the operations refuse."""

    @property
    def tooltip(self) -> str:
        """Give the first line of the documentation."""
        return (self.forward.__doc__ or "").strip().splitlines()[0]

    def attributes(self, rank: int) -> tuple[Attribute, ...]:
        """Give all attributes of the face of this rank, the paper's first."""
        bias: tuple[Attribute, ...] = () if self.is_data else (BIAS_ATTRIBUTE,)
        if rank == 0 and not self.is_data:
            bias = (BIAS_ATTRIBUTE, NEURON_BIAS_ATTRIBUTE)
        return (*size_attributes(rank), *self.own_attributes, DTYPE_ATTRIBUTE, *bias)

    def title_of(self, rank: int) -> str:
        """Give the title as the paper prints it: ``2D-ReLU``, ``ReLU neuron``."""
        return f"{self.title} neuron" if rank == 0 else f"{rank}D-{self.title}"


@dataclass(frozen=True)
class Problem:
    """What a symbol finds wrong with its structure, in words and numbers, with the attributes that would do."""

    rule: str
    message: str
    numbers: Mapping[str, Any]
    fix: Attributes | None = None
    severity: Literal["error", "note"] = "error"


@final
@dataclass(frozen=True)
class ConnectionSymbol:
    """A connection symbol: W⊗Y, an operation with its back end, weight and front end."""

    id: str
    title: str
    mark: str
    """The sign on the line: ∗ → ◁ × ·"""
    formula: str
    forward: Forward
    samples: tuple[Sample, ...]
    refusals: tuple[Refusal, ...]
    attributes: tuple[Attribute, ...] = ()
    version: int = 1
    ranks: tuple[tuple[int, int], ...] = ()
    """The pairs of back-end and front-end rank that it joins."""
    weights: Callable[[Shape, Attributes], Mapping[str, Weight]] | None = None
    """The weights it stores, from the back end's shape; none for transfer and reshaping."""
    solve: Callable[[Attributes, PartialShape, PartialShape], Attributes] | None = None
    """Find attributes that were left empty from what is known of both ends."""
    back: Callable[[PartialShape, Attributes], PartialShape] | None = None
    """Find the back end from the front end, as far as it can be solved."""
    problem: Callable[[Shape, Attributes], Problem | None] | None = None
    structure_preserving: bool = False

    @property
    def tooltip(self) -> str:
        """Give the first line of the documentation."""
        return (self.forward.__doc__ or "").strip().splitlines()[0]

    def joins(self, back_rank: int, front_rank: int) -> bool:
        """Tell whether it can join ends of these ranks."""
        return (back_rank, front_rank) in self.ranks

    def weigh(self, y: Traced, weights: Given, attributes: Attributes) -> Traced:
        """Trace W⊗Y, the weights under their random masks where dropconnect asks for them."""
        probability = attributes.get(DROPCONNECT_ATTRIBUTE.name)
        if probability:
            weights = {name: _masked(weight, probability) for name, weight in weights.items()}
        return self.forward(y, weights, attributes)


def _masked(weight: Traced, probability: float) -> Traced:
    mask = op.random_mask(weight, probability=probability, per="element", inverted=False)
    return op.multiply(weight, mask)


SAME_RANKS = ((0, 0), (1, 1), (2, 2), (3, 3))

INITIALISER_ATTRIBUTE = Attribute(
    "initialiser",
    "choice",
    "How the weight starts: 'auto' is 'he' into a ReLU capsule and 'uniform' into any other; 'he' is normal with "
    "variance 2/inputs, 'glorot' is uniform by inputs and outputs, 'uniform' is ±1/√inputs, 'normal' has "
    "deviation 0.01.",
    default="auto",
    choices=("auto", "uniform", "he", "glorot", "normal", "zeros", "ones"),
)
TRAINABLE_ATTRIBUTE = Attribute("trainable", "flag", "Whether training changes the weight.", default=True)
DROPCONNECT_ATTRIBUTE = Attribute(
    "dropconnect",
    "number",
    "Probability p with which dropconnect sets a number of the weight to zero, drawn anew for every batch in training; "
    "in evaluation the weight counts 1−p.",
    default=0,
    minimum=0,
    maximum=0.99,
    letter="p",
)
WEIGHT_ATTRIBUTES = (TRAINABLE_ATTRIBUTE, DROPCONNECT_ATTRIBUTE)
"""What every connection with a weight states of it."""
