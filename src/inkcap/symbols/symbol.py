"""Symbols: the records of the catalogue, each complete in itself."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, final

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape
from inkcap.symbols.asked import once_per_rank
from inkcap.symbols.attributes import Attribute, Attributes, over_axes
from inkcap.symbols.cases import Refusal, Sample
from inkcap.symbols.port import MAIN, MAIN_PORT, Port, level_of
from inkcap.symbols.stated import (
    BIAS_ATTRIBUTE,
    DROPCONNECT_ATTRIBUTE,
    DTYPE_ATTRIBUTE,
    NEURON_BIAS_ATTRIBUTE,
    size_attributes,
)

BiasKind = Literal["none", "channel", "item", "full"]

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
    broken: bool = False
    """Whether the outline around the mark is broken, as that of something unfinished."""


@dataclass(frozen=True)
class Weight:
    """A weight that a connection, a capsule or a worn part stores: its shape and how it starts."""

    shape: Shape
    fan_in: Any = 1
    fan_out: Any = 1
    initialiser: str = ""
    """How it starts; empty where the connection's attribute says it."""
    start: float | None = None
    """One number with which every element starts, instead of the initialiser."""
    starts: tuple[float, ...] = ()
    """A number for each element to start with, in the weight's order."""
    state: bool = False
    """A state is stored with the run but never trained: the running numbers of a normalisation."""


def keep_shape(front: PartialShape, attributes: Attributes) -> PartialShape:
    """Solve backwards for symbols that keep the structure: what comes out is what went in."""
    return front


@final
@dataclass(frozen=True)
class CapsuleSymbol:
    """A capsule symbol: Y = cap(U¹, …, Uᵖ; θ), with a face for every rank; the paper's is Y = cap(U)."""

    id: str
    title: str
    family: str
    ranks: tuple[int, ...]
    glyph: Glyph
    formula: str
    forward: Forward
    samples: tuple[Sample, ...]
    refusals: tuple[Refusal, ...]
    candidates: Forward | None = None
    """What the function chooses from, made of its ports: forward is applied to it in place of U, and so is a loss."""
    derivative: str = ""
    """What the function's δ is multiplied by, element by element, where that is short to write."""
    own_attributes: tuple[Attribute, ...] = ()
    version: int = 1
    is_data: bool = False
    """A data capsule is an input: nothing may enter it, and it has no bias."""
    loss_from_input: str = ""
    """The loss that takes this capsule's U as logits, because the function only turns them into probabilities."""
    classes_last: bool = False
    """Its classes compete along the last axis, each row for itself; those of any other along the first."""
    halves: bool = False
    """A rectifier loses about half of what enters, so weights into it start wider."""
    multiplies: bool = False
    """It multiplies what enters it with one another: multiply-adds of its own are counted, as those of connections."""
    usual_loss: str = ""
    """The loss that classes usually have at an output of this symbol, where it is not cross-entropy."""
    ports: tuple[Port, ...] = (MAIN,)
    """Where connections enter, the main port first. The others' total inputs are given to forward by their names."""
    parameters: Callable[[Mapping[str, Shape], Attributes], Mapping[str, Weight]] | None = None
    """The parameters θ that it stores, from the shapes of all ports; forward is given them by their names."""
    output_ranks: Mapping[int, int] = field(default_factory=dict[int, int])
    """The rank of the output by the capsule's rank, where the function changes it."""
    back: Callable[[PartialShape, Attributes], PartialShape] | None = None
    """Find the main port's total input from the output, as far as it can be solved."""
    meet: Callable[[Mapping[str, PartialShape], Attributes], Mapping[str, PartialShape]] | None = None
    """Find what the total inputs of several ports tell of one another."""
    problem: Callable[[Shape, Attributes], Problem | None] | None = None
    """Find what is wrong with a total input of this shape, beyond what the operations refuse."""
    titled: Callable[[Attributes], str] | None = None
    """The title by the attributes that are stated, where they name the function."""
    items: str = ""
    """What each row of its output is, or of a volume each slice, where it gives a list."""

    @property
    def tooltip(self) -> str:
        """Give the first line of the documentation."""
        return (self.forward.__doc__ or "").strip().splitlines()[0]

    @property
    def has_bias(self) -> bool:
        """Tell whether a bias can be added to the total input: it is a sum, and does not come from outside."""
        return not self.is_data and self.ports[0].kind == "sums"

    @once_per_rank
    def attributes(self, rank: int) -> tuple[Attribute, ...]:
        """Give all attributes of the face of this rank, the paper's first."""
        bias: tuple[Attribute, ...] = (BIAS_ATTRIBUTE,) if self.has_bias else ()
        if rank == 0 and self.has_bias:
            bias = (BIAS_ATTRIBUTE, NEURON_BIAS_ATTRIBUTE)
        return (*size_attributes(rank), *over_axes(self.own_attributes, rank), DTYPE_ATTRIBUTE, *bias)

    def is_plain(self, attributes: Attributes) -> bool:
        """Tell whether its own attributes leave the function as it is without them."""
        return all(attributes.get(a.name, a.default) == a.default for a in self.own_attributes)

    def port(self, name: str) -> Port | None:
        """Find a port by its name; what one of several connections brings to a port that keeps them is ``scores.1``."""
        if name == MAIN_PORT:
            # Each has it, in front.
            return self.ports[0]
        base, _, level = name.partition(".")
        found = next((port for port in self.ports if port.name == base), None)
        if not level or found is None:
            return found
        return replace(found, name=name) if found.kind == "keeps" else None

    @cached_property
    def fixed_ports(self) -> bool:
        """Tell whether its ports are the same whatever enters it."""
        return not any(port.open or port.kind == "keeps" for port in self.ports)

    def entered(self, entering: Collection[str]) -> tuple[str, ...]:
        """Name the ports of a capsule that these connections enter, by what each brings where a port keeps them."""
        names: list[str] = []
        for port in self.ports:
            found = [name for name in entering if name.partition(".")[0] == port.name]
            if port.kind == "keeps" and found:
                names += [level_of(port.name, number) for number in range(len(set(found)))]
            elif found or not port.open:
                names.append(port.name)
        return tuple(names)

    def apply(self, u: Traced, given: Given, attributes: Attributes) -> Traced:
        """Trace the whole function of the main port's total input and what is given by name."""
        return self.forward(self.candidates(u, given, attributes) if self.candidates else u, given, attributes)

    def list_text(self, shape: Shape) -> str:
        """Tell of an output of this shape what it lists, e.g. ``list of 100 boxes``; nothing where it is no list."""
        return f"list of {shape[1]} {self.items}" if self.items and len(shape) > 2 else ""

    def output_rank(self, rank: int) -> int:
        """Give the rank of what a capsule of this rank gives."""
        return self.output_ranks.get(rank, rank)

    def title_of(self, rank: int, attributes: Attributes | None = None) -> str:
        """Give the title as the paper prints it: ``2D-ReLU``, ``ReLU neuron``."""
        title = self.titled(attributes) if self.titled and attributes else self.title
        return f"{title} neuron" if rank == 0 else f"{rank}D-{title}"


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
    picks: bool = False
    """Its back end holds whole numbers that pick what is stored: front end and weights have the drawing's data type."""
    measures: bool = False
    """It measures instead of weighing: what it alone enters has no bias, unless one is stated."""
    lays_along: Callable[[Shape, Attributes], int] | None = None
    """The axis along which it lays its back end at ``offset`` into a front end of ``size``, beside other blocks."""

    @property
    def tooltip(self) -> str:
        """Give the first line of the documentation."""
        return (self.forward.__doc__ or "").strip().splitlines()[0]

    def joins(self, back_rank: int, front_rank: int) -> bool:
        """Tell whether it can join ends of these ranks."""
        return (back_rank, front_rank) in self.ranks

    @once_per_rank
    def declared(self, back_rank: int) -> tuple[Attribute, ...]:
        """Give the attributes for a back end of this rank: what slides over it has a number for each of its axes."""
        return over_axes(self.attributes, back_rank)

    def weigh(self, y: Traced, weights: Given, attributes: Attributes) -> Traced:
        """Trace W⊗Y, the weights under their random masks where dropconnect asks for them."""
        if probability := attributes.get(DROPCONNECT_ATTRIBUTE.name):
            drawn: dict[str, Any] = {"probability": probability, "per": "element", "inverted": False}
            weights = {name: op.multiply(weight, op.random_mask(weight, **drawn)) for name, weight in weights.items()}
        return self.forward(y, weights, attributes)


SAME_RANKS = ((0, 0), (1, 1), (2, 2), (3, 3))
