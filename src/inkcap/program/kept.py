"""What autograd keeps of each operation for the way back, and what it needs for a moment, as bytes of what it takes.

Each entry tells what torch does in the printed form of the operation; a test holds the sums against storages counted
while networks train. What is not here keeps its arguments and its result.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

from inkcap.operations import Step

INDEX = 8
"""Bytes of a whole number that tells a place."""


@dataclass(frozen=True)
class Sized:
    """A step with the bytes of what it makes and takes, for a batch of so many samples."""

    step: Step
    result: int
    arguments: Sequence[int]
    batch: int
    item: int
    """Bytes of one number."""

    @property
    def first(self) -> int:
        """Bytes of the first argument."""
        return self.arguments[0]

    @property
    def taken(self) -> int:
        """Bytes of all arguments."""
        return sum(self.arguments)


Amount = Callable[[Sized], float]


def _nothing(sized: Sized) -> float:
    return 0.0


def results(times: float) -> Amount:
    """Give so many times the result."""
    return lambda sized: times * sized.result


def firsts(times: float, of_result: float = 0.0) -> Amount:
    """Give so many times the first argument, and of the result."""
    return lambda sized: times * sized.first + of_result * sized.result


@dataclass(frozen=True)
class Kept:
    """What one operation keeps: arguments by their places, its result, and more that it makes on the way."""

    arguments: tuple[int, ...] = ()
    result: bool = False
    more: Amount = _nothing
    forward: Amount = _nothing
    """Needed for a moment on the way forward, beside arguments and result."""
    backward: Amount = _nothing
    """Needed for a moment on the way back, beside the gradients that come and go."""
    crossed: bool = False
    """Whether each of two arguments is kept only where the other has a gradient."""
    view: bool = False
    """Whether the result lies in the memory of the first argument."""
    turned: bool = False
    """Whether the result is a view whose numbers lie in another order, so that a reshaping has to copy them."""
    through: bool = False
    """Whether the gradients of the arguments lie in the memory of the result's gradient."""
    flat: bool = False
    """Whether no gradient passes."""
    drawn: bool = False
    """Whether what it makes on the way is drawn at random."""
    once: bool = False
    """Whether all samples share one result."""


_VIEW = Kept(view=True, through=True)
_PASSED = Kept(through=True)
_OWN_RESULT = Kept(result=True)
_FLAT = Kept(flat=True)


def _chosen(sized: Sized) -> float:
    return sized.result / sized.item * INDEX


def _response(sized: Sized) -> float:
    """The squares with zeros beside them, their scaled sums, and the sums' power."""
    channels = sized.step.shape[0]
    beside = 2 * (sized.step.attributes["size"] // 2) / channels if isinstance(channels, int) else 0.0
    return (3 + beside) * sized.result


def _windows(sized: Sized) -> float:
    """What lies under a kernel of its own at every position."""
    kernels = sized.step.shape[0]
    return sized.batch * sized.arguments[1] / (kernels if isinstance(kernels, int) else 1)


def _samples(sized: Sized) -> float:
    """The places and shares of all samples that bins are read by, for every box, and the maps as a table."""
    at = sized.step.attributes
    boxes = sized.arguments[-1] / sized.item / 4
    places = boxes * math.prod(at["bins"]) * 4 * at["samples"] ** 2
    return places * (INDEX + sized.item) + sum(sized.arguments[:-1])


def _pairs(sized: Sized) -> float:
    """What comparing every box with every better one needs: of 512 with all, and who is outdone by whom."""
    at = sized.step.attributes
    kinds = max(at["scores"] - 1, 1)
    boxes = sum(min(at["before"], length * kinds) for length in at["levels"])
    part = min(boxes, 512) * boxes
    return sized.batch * (part * 6 * sized.item + boxes * boxes)


_CURVES: Mapping[str, Kept] = {
    "affine": Kept(forward=results(1)),
    "power": Kept((0,), backward=results(2)),
    "abs": Kept((0,), backward=results(1)),
}


def kept_of(step: Step) -> Kept:
    """Give what a step keeps."""
    name = step.operation.name
    if name == "curve":
        return _CURVES.get(step.attributes["of"], Kept((0,), backward=results(1)))
    if name == "bins_mean" and all(size == 1 for size in step.attributes["bins"]):
        return Kept()
    found = KEPT.get(name)
    if found is None:
        return Kept(tuple(range(len(step.arguments))), result=True, flat=step.operation.still)
    return found


KEPT: dict[str, Kept] = {
    **dict.fromkeys(("add", "bias", "concatenate", "same"), _PASSED),
    **dict.fromkeys(("relu", "sigmoid", "tanh", "softmax"), _OWN_RESULT),
    **dict.fromkeys(("step", "largest", "random_mask", "indicate", "sampling_noise", "boxes"), _FLAT),
    **dict.fromkeys(("move_mean", "move_variance"), _FLAT),
    **dict.fromkeys(("window_sum", "window_mean", "bins_mean"), Kept((0,))),
    **dict.fromkeys(("matmul", "convolve", "deconvolve"), Kept((0, 1), crossed=True)),
    **dict.fromkeys(("multiply", "divide", "matrix_product"), Kept((0, 1), crossed=True, backward=results(1))),
    **dict.fromkeys(("window_max", "bins_max"), Kept((0,), more=_chosen)),
    **dict.fromkeys(("channels", "block"), Kept(view=True)),
    "anchors": Kept(flat=True, once=True),
    "reshape": _VIEW,
    "cast": Kept(),
    "permute": Kept(view=True, turned=True, through=True),
    "transpose": Kept(view=True, turned=True, through=True),
    "repeat": Kept(view=True),
    "scale": Kept((0, 1), crossed=True, backward=results(1)),
    "subtract": Kept(),
    "flip": Kept(),
    "pad": Kept(),
    "total": Kept(),
    "resample": Kept(),
    "take": Kept(),
    "place": Kept(),
    "lay_before": Kept(),
    "add_positions": Kept(),
    "difference": Kept(backward=results(2)),
    "place_kernels": Kept(forward=results(1)),
    "embed": Kept((1,)),
    "prelu": Kept((0, 1)),
    "maximum": Kept((0, 1)),
    "piece_max": Kept(more=_chosen, backward=results(2)),
    "otherwise": Kept(more=results(0.1)),
    "code_distance": Kept(
        more=lambda s: s.batch * s.first,
        forward=lambda s: s.batch * s.first,
        backward=lambda s: 3 * s.batch * s.first,
    ),
    "local_response": Kept((0,), more=_response, backward=results(3)),
    "normalise_batch": Kept((0,)),
    "normalise": Kept((0,)),
    "unit": Kept(more=results(2), backward=results(3)),
    "root": Kept(more=results(1.25), backward=results(2)),
    "norm": Kept(more=firsts(1, 2), backward=firsts(1)),
    "squash": Kept((0,), more=results(2.4), backward=results(3)),
    "vote": Kept((0, 1), backward=results(2)),
    "couple": Kept(
        (0,),
        result=True,
        # Each round keeps its coefficients, the agreement and their sum.
        more=lambda s: max(s.step.attributes["iterations"] - 1, 0) * 3.2 * s.result,
        forward=results(1),
        # The gradients of the votes by two rounds are added.
        backward=firsts(1, 1),
    ),
    "combine": Kept((0, 1)),
    "attend": Kept((0, 1, 2), result=True, more=results(0.1)),
    "convolve_local": Kept((1,), more=_windows),
    "matrix_vote": Kept(more=firsts(1), forward=results(1.2), backward=results(1)),
    "class_vote": Kept(more=firsts(1), forward=results(2), backward=results(1)),
    "em_coefficients": Kept(
        (0,),
        result=True,
        more=lambda s: 2.8 * len(s.step.attributes["inverse_temperatures"]) * s.first,
        forward=results(4),
        backward=firsts(2),
    ),
    "em_parents": Kept((0, 1), more=firsts(3.2), backward=firsts(2)),
    "region_align": Kept(more=_samples, backward=lambda s: sum(s.arguments[:-1]) * 2),
    "region_max": Kept(more=lambda s: 2 * s.result + s.taken, forward=results(6), backward=results(1)),
    "select": Kept(forward=_pairs, flat=True),
}
"""By the name of an operation."""

PARTS: dict[str, Kept] = {
    "batch-norm": Kept((0,)),
    "layer-norm": Kept((0,)),
    "row-norm": Kept((0,)),
    "group-norm": Kept((0,)),
    "instance-norm": Kept((0,)),
    "frozen-norm": Kept((0,)),
    "dropout": Kept(more=results(1), drawn=True),
    "channel-dropout": Kept(),
}
"""By the name of a worn part, which is one layer of torch."""
