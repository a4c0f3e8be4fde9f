"""Values on their way into a drawing: capsules that still grow, and views of what they give."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import IntEnum
from typing import Any

from inkcap.exchange.importing.graph import BATCH, Constant, Sizes


class Stage(IntEnum):
    """How far a capsule has grown: cap = dropout ∘ function ∘ normalisation of a sum."""

    SUM = 0
    NORM = 1
    FUNCTION = 2
    AFTER = 3


@dataclass
class Line:
    """A connection that enters a growing capsule."""

    symbol: str
    back: Growing
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    weights: dict[str, Constant] = field(default_factory=dict[str, Constant])
    port: str = "in"


@dataclass
class Worn:
    """A part that a growing capsule wears, with what it stores."""

    part: str
    attributes: dict[str, Any]
    weights: dict[str, Constant] = field(default_factory=dict[str, Constant])


@dataclass(eq=False)
class Growing:
    """A capsule that takes up what follows it, until something else must read it: then it is sealed."""

    name: str
    drawn: Sizes
    """The structure of its output, channels first."""
    lines: list[Line] = field(default_factory=list[Line])
    bias: Constant | None = None
    bias_kind: str = "none"
    worn: list[Worn] = field(default_factory=list[Worn])
    symbol: str = "identical"
    attributes: dict[str, Any] = field(default_factory=dict[str, Any])
    parameters: dict[str, Constant] = field(default_factory=dict[str, Constant])
    stage: Stage = Stage.SUM
    sealed: bool = False
    label: str = ""
    dtype: str = "float32"
    rank: int = -1
    """The rank of the capsule where it is not that of its output."""
    scope: tuple[tuple[str, str], ...] = ()
    read: int = 0
    """How many connections leave it."""

    def wears_norm(self) -> Worn | None:
        """Give the normalisation that it wears."""
        return next((worn for worn in self.worn if worn.part not in ("dropout", "channel-dropout")), None)


@dataclass(frozen=True)
class Value:
    """A tensor of the model as a view of what a capsule gives: its axes read in another order, then reshaped."""

    shape: Sizes
    """As the model has it, with the batch."""
    of: Growing
    order: tuple[int, ...] | None = None
    name: str = ""
    """What a capsule that lays it out so would be called."""
    scope: tuple[tuple[str, str], ...] | None = None
    """The modules around the node that reads it so; unknown, those around its capsule."""

    @property
    def sizes(self) -> Sizes:
        """The shape of one sample."""
        apart = apart_from_batch(self.shape)
        return self.shape[1:] if apart is None else apart[0]

    @property
    def batched(self) -> bool:
        """Tell whether the batch is its first axis, and in no other."""
        return bool(self.shape) and self.shape[0] == BATCH and all(size % BATCH for size in self.shape[1:])

    @property
    def laid(self) -> bool:
        """Tell whether the batch is in one axis, wherever that stands, alone or together with what follows it."""
        return apart_from_batch(self.shape) is not None


def apart_from_batch(shape: Sizes) -> tuple[Sizes, int, bool] | None:
    """Take the batch out of a shape: the sizes of a sample, where the batch stood, and whether it was multiplied in."""
    places = [place for place, size in enumerate(shape) if size % BATCH == 0]
    if len(places) != 1:
        return None
    place = places[0]
    held = shape[place] // BATCH
    rest = (held,) if held > 1 else ()
    return (*shape[:place], *rest, *shape[place + 1 :]), place, held > 1


def with_batch(sizes: Sizes, place: int, fused: bool) -> Sizes:
    """Put the batch back into the sizes of a sample."""
    if fused:
        return (*sizes[:place], BATCH * sizes[place], *sizes[place + 1 :])
    return (*sizes[:place], BATCH, *sizes[place:])


def natural(sizes: Sizes) -> Sizes | None:
    """Give the structure in which a sample of these sizes is drawn; a matrix becomes one of a single channel."""
    if len(sizes) > 4:
        return None
    return (1, *sizes) if len(sizes) == 2 else sizes


def along_line(sizes: Sizes) -> Sizes:
    """Give the structure in which what slides over a line, or works channel by channel, has its channels."""
    return (sizes[0], 1, sizes[1]) if len(sizes) == 2 else sizes


def rank_of(drawn: Sizes) -> int:
    """Give the rank of a structure."""
    return max(len(drawn) - 1, min(len(drawn), 1))
