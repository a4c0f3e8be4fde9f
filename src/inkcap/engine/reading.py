"""What the way back of an operation reads: numbers of some arguments, of the result, or of neither.

A value that only its shape is asked of is not kept for it: a blank of that shape, without memory of its own, stands in.
An operation that is not here reads everything.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from torch import Tensor

from inkcap.operations import Step


@dataclass(frozen=True)
class Reads:
    """The places of the arguments that are read, all without places, and whether the result is."""

    places: tuple[int, ...] | None = None
    result: bool = False

    def of(self, place: int) -> bool:
        """Tell whether an argument is read."""
        return self.places is None or place in self.places


_SHAPES = Reads(())
_ARGUMENTS = Reads()
_ALL = Reads(result=True)
_CURVES = {
    "affine": _SHAPES,
    "sign": _SHAPES,
    "exp": Reads((), result=True),
    **dict.fromkeys(("over", "elu", "silu", "sqrt"), _ALL),
}

READS: dict[str, Reads] = {
    **dict.fromkeys(("permute", "transpose", "repeat", "take", "channels", "block", "pad", "place"), _SHAPES),
    **dict.fromkeys(("window_sum", "window_mean", "bins_mean", "difference", "total", "subtract"), _SHAPES),
    **dict.fromkeys(("add_positions", "lay_before", "resample", "place_kernels"), _SHAPES),
    **dict.fromkeys(("prelu", "piece_max", "local_response", "matrix_product", "maximum", "multiply"), _ARGUMENTS),
    **dict.fromkeys(("norm", "squash", "vote", "combine", "otherwise", "embed", "code_distance"), _ARGUMENTS),
    **dict.fromkeys(("convolve_local", "bins_max", "region_max", "matrix_vote", "class_vote"), _ARGUMENTS),
    **dict.fromkeys(("em_coefficients", "em_parents"), _ARGUMENTS),
    "divide": Reads((1,), result=True),
    "root": Reads((), result=True),
}


def reads_of(step: Step, wanted: Sequence[bool]) -> Reads:
    """Give what the way back of a step reads, where gradients by some of its arguments are wanted."""
    name = step.operation.name
    if name == "curve":
        return _CURVES.get(step.attributes["of"], _ARGUMENTS)
    if name == "multiply":
        return Reads(tuple(place for place in (0, 1) if wanted[1 - place]))
    if name == "region_align":
        return Reads((len(step.arguments) - 1,))
    return READS.get(name, _ALL)


def blank(like: Tensor, shape: tuple[int, ...]) -> Tensor:
    """Give zeros of a shape for as many samples as another tensor has, all of them in the memory of one."""
    return like.new_zeros(()).expand(like.shape[0], *shape)
