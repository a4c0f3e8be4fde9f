"""Worn parts: the records of what a capsule puts around its function."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Literal, final

from inkcap.operations import Traced
from inkcap.structures import Shape
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.symbol import (
    CapsuleSymbol,
    ConnectionSymbol,
    Forward,
    Given,
    Glyph,
    Problem,
    Refusal,
    Sample,
    Weight,
)


@final
@dataclass(frozen=True)
class PartSymbol:
    """A part that a capsule wears: cap = dropout ∘ function ∘ normalisation."""

    id: str
    title: str
    glyph: Glyph
    formula: str
    place: Literal["before", "after"]
    """Whether it works on the total input, before the capsule's function, or on what the function gives."""
    ranks: tuple[int, ...]
    forward: Forward
    layer: Callable[[Shape, Attributes], str]
    """The layer of torch.nn that does the same, as an experienced person would write it; or the engine's own."""
    samples: tuple[Sample, ...]
    refusals: tuple[Refusal, ...]
    attributes: tuple[Attribute, ...] = ()
    version: int = 1
    normalises: bool = False
    """A capsule that wears a normalisation has no bias unless it states one: the shift stands for it."""
    weights: Callable[[Shape, Attributes], Mapping[str, Weight]] | None = None
    """The parameters and states that it stores, from the shape that it works on."""
    held: Mapping[str, str] = field(default_factory=dict[str, str])
    """What the layer of torch.nn calls each of them."""
    update: Callable[[Traced, Given, Attributes], Given] | None = None
    """The states after a training step, by name."""
    least_batch: Callable[[Shape], int] | None = None
    """How many samples a training batch needs, where one may be too few."""
    problem: Callable[[Shape, Attributes], Problem | None] | None = None

    @property
    def tooltip(self) -> str:
        """Give the first line of the documentation."""
        return (self.forward.__doc__ or "").strip().splitlines()[0]


Symbol = CapsuleSymbol | ConnectionSymbol | PartSymbol
