"""The closed vocabulary: every operation that a symbol may use, with its shape rule and its cost.

Axes are counted from the end, so that a rule means the same with and without a batch axis in front.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inkcap.operations import shapes
from inkcap.operations import window_shapes as windows
from inkcap.operations.trace import Operation, ShapeError
from inkcap.operations.window_shapes import compatible, window_count
from inkcap.structures import (
    ELEMENT_LIMIT,
    FLOATING,
    Shape,
    Size,
    known,
    product,
    show_shape,
)

VOCABULARY: dict[str, Operation] = {}


def _operation(name: str, meaning: str, **rules: Any) -> Operation:
    operation = Operation(name, meaning, **rules)
    VOCABULARY[name] = operation
    return operation


def _same(x: Shape, **_: Any) -> Shape:
    return x


def _sum(x: Shape, y: Shape) -> Shape:
    if not compatible(x, y):
        raise ShapeError(f"{show_shape(x)} and {show_shape(y)} cannot be added")
    return tuple(a if isinstance(a, int) else b for a, b in zip(x, y, strict=True))


def _spread(x: Shape, w: Shape, *, per: str) -> Shape:
    expected = {"one": (), "channel": x[:1], "item": x[-1:], "element": x}[per]
    if not compatible(w, expected):
        raise ShapeError(f"{show_shape(x)} needs {show_shape(expected)} numbers per {per}, not {show_shape(w)}")
    return x


def _scale_cost(x: Shape, w: Shape, *, per: str) -> Size:
    return product(x)


def _matmul(w: Shape, x: Shape) -> Shape:
    if len(w) != 2 or not compatible(w[1:], x[-1:]):
        raise ShapeError(f"a matrix {'×'.join(map(str, w))} cannot multiply a vector {show_shape(x[-1:])}")
    return (*x[:-1], w[0])


def _matmul_cost(w: Shape, x: Shape) -> Size:
    return product(x[:-1]) * w[0] * w[1]


def _flip(x: Shape, *, axes: int) -> Shape:
    return x


def _reshape(x: Shape, *, shape: Shape) -> Shape:
    if known(x) is not None and known(shape) is not None and product(x) != product(shape):
        raise ShapeError(
            f"{show_shape(x)} has {product(x)} numbers, {show_shape(shape)} has {product(shape)}: "
            "reshaping keeps their count"
        )
    return tuple(shape)


def _cast(x: Shape, *, dtype: str) -> Shape:
    return x


def _take(x: Shape, *, index: Sequence[int]) -> Shape:
    windows.index_within(index, x[-1], "cannot take number")
    return (*x[:-1], len(index))


def _place(x: Shape, *, index: Sequence[int], size: Size) -> Shape:
    if isinstance(x[-1], int) and x[-1] != len(index):
        raise ShapeError(f"{x[-1]} numbers need as many places, not {len(index)}")
    windows.index_within(index, size, "there is no place number")
    return (*x[:-1], size)


def _equal(x: Shape, y: Shape) -> Shape:
    if not compatible(x, y):
        raise ShapeError(f"{show_shape(x)} and {show_shape(y)} cannot be multiplied element by element")
    return tuple(a if isinstance(a, int) else b for a, b in zip(x, y, strict=True))


def _concatenate(*parts: Shape, axis: int) -> Shape:
    first, *others = parts
    sizes: Shape = (*first[:axis], *first[axis + 1 :])
    total: Size = first[axis]
    for other in others:
        rest = (*other[:axis], *other[axis + 1 :])
        if len(other) != len(first) or not compatible(sizes, rest):
            raise ShapeError(f"{show_shape(first)} and {show_shape(other)} cannot be laid one behind another")
        sizes = tuple(a if isinstance(a, int) else b for a, b in zip(sizes, rest, strict=True))
        total = total + other[axis]
    return (*sizes[:axis], total, *sizes[axis:])


def _repeat(x: Shape, *, before: Shape, after: Shape) -> Shape:
    return (*before, *x, *after)


def _groups(x: Shape, *, groups: Size, epsilon: float) -> Shape:
    if isinstance(x[0], int) and isinstance(groups, int) and x[0] % groups:
        raise ShapeError(f"{x[0]} channels do not divide into {groups} groups")
    return x


def _batch(x: Shape, mean: Shape, variance: Shape, **_: Any) -> Shape:
    for state in (mean, variance):
        if not compatible(state, x[:1]):
            raise ShapeError(f"{show_shape(x)} needs {show_shape(x[:1])} running numbers, not {show_shape(state)}")
    return x


def _running(state: Shape, x: Shape, **_: Any) -> Shape:
    return state


def _transpose(x: Shape) -> Shape:
    return (*x[:-2], x[-1], x[-2])


def _norm(x: Shape, *, axes: tuple[int, ...]) -> Shape:
    return tuple(size for i, size in enumerate(x) if i - len(x) not in axes)


def _vote(w: Shape, x: Shape) -> Shape:
    parents, atoms, width = w[1:]
    if isinstance(x[0], int) and x[0] != 1:
        raise ShapeError(f"{show_shape(x)} has {x[0]} channels, but capsules that vote are the rows of one")
    if not compatible((width,), x[2:]) or (w[0] != 1 and not compatible(w[:1], x[1:2])):
        raise ShapeError(f"{w[0]} matrices {atoms}×{width} a parent cannot weigh the rows of {show_shape(x)}")
    return (x[1], parents, atoms)


def _vote_cost(w: Shape, x: Shape) -> Size:
    return x[1] * product(w[1:])


def _couple(votes: Shape, bias: Shape | None = None, *, iterations: int, axis: int) -> Shape:
    if bias is not None and not compatible(bias, (1, *votes[1:])):
        raise ShapeError(f"a bias {show_shape(bias)} cannot be added to parents of votes {show_shape(votes)}")
    return votes[:2]


def _combine(coefficients: Shape, votes: Shape) -> Shape:
    if not compatible(coefficients, votes[:2]):
        raise ShapeError(f"{coefficients[0]}×{coefficients[1]} coefficients cannot weigh votes {show_shape(votes)}")
    return (1, *votes[1:])


def _channels(x: Shape, *, first: Size, count: Size) -> Shape:
    if isinstance(x[0], int) and isinstance(first, int) and isinstance(count, int) and first + count > x[0]:
        raise ShapeError(f"{x[0]} channels have no channel {first + count - 1}, counted from 0")
    return (count, *x[1:])


def _matrix_vote(x: Shape, w: Shape, *, kernel: Shape, stride: Shape, padding: Shape) -> Shape:
    positions = (window_count(size, m, s, p) for size, m, s, p in zip(x[1:], kernel, stride, padding, strict=True))
    return (w[0], 16 * w[1] + 1, *positions)


def _matrix_vote_cost(x: Shape, w: Shape, **attributes: Any) -> Size:
    return 4 * product(w) * product(_matrix_vote(x, w, **attributes)[2:])


def _class_vote(x: Shape, w: Shape) -> Shape:
    return (w[0] * product(x[1:]), 16 * w[1] + 1, 1)


def _class_vote_cost(x: Shape, w: Shape) -> Size:
    return 4 * product(w) * product(x[1:])


def _em_coefficients(u: Shape, beta_u: Shape, beta_a: Shape, **_: Any) -> Shape:
    return (u[0], beta_u[0], *u[2:])


def _em_parents(u: Shape, coefficients: Shape, beta_u: Shape, beta_a: Shape, **_: Any) -> Shape:
    return (u[1] - 1 + beta_u[0], *u[2:])


def within_limit(shape: Shape) -> bool:
    """Tell whether a known shape has no more elements than any structure may have."""
    total = product(shape)
    return not isinstance(total, int) or total <= ELEMENT_LIMIT


add = _operation("add", "x + y", shape=_sum)
bias = _operation("bias", "x + b, one number per channel, per element, or per element of an item", shape=_spread)
scale = _operation(
    "scale", "w·x, one number for all, per channel or per element", shape=_spread, multiply_adds=_scale_cost
)
matmul = _operation("matmul", "W × x, for every vector along the last axis", shape=_matmul, multiply_adds=_matmul_cost)
convolve = _operation(
    "convolve", "W ⋆ x, cross-correlation", shape=windows.convolve, multiply_adds=windows.convolve_cost
)
flip = _operation("flip", "the last axes reversed: a kernel turned by 180°", shape=_flip)
window_max = _operation("window_max", "the largest of each window; the first in row order wins", shape=windows.windows)
window_sum = _operation("window_sum", "the sum of each window", shape=windows.windows)
window_mean = _operation(
    "window_mean", "the mean of each window, of its padding too if that counts", shape=windows.windows
)
bins_max = _operation(
    "bins_max", "the largest of each of n bins an axis, from ⌊ia/n⌋ to ⌈(i+1)a/n⌉", shape=windows.bins
)
bins_mean = _operation("bins_mean", "the mean of each of n bins an axis, from ⌊ia/n⌋ to ⌈(i+1)a/n⌉", shape=windows.bins)
block = _operation("block", "a block of x: along every axis all, or so many from the first on", shape=windows.block)
pad = _operation("pad", "x with zeros before and after it along every axis", shape=windows.pad)
root = _operation("root", "√x; its slope at zero is zero", shape=_same, elementwise=True)
reshape = _operation("reshape", "the same numbers in the same order, in another shape", shape=_reshape)
take = _operation("take", "the numbers at some places of the last axis", shape=_take)
place = _operation("place", "each number added at its place of a last axis of zeros", shape=_place)
deconvolve = _operation(
    "deconvolve",
    "W ⋆ᵀ x, the way back of a cross-correlation",
    shape=windows.deconvolve,
    multiply_adds=windows.deconvolve_cost,
)
convolve_local = _operation(
    "convolve_local",
    "a kernel of its own for every position of x",
    shape=windows.local,
    multiply_adds=windows.local_cost,
)
resample = _operation("resample", "x at other positions: of the nearest, or between neighbours", shape=windows.resample)
permute = _operation("permute", "x with its axes in another order, 0 the first", shape=windows.permute)
place_kernels = _operation(
    "place_kernels", "kernels at their pairs of channels, zeros where there is none", shape=windows.place_kernels
)
difference = _operation(
    "difference", "what numbers some places apart along an axis differ by", shape=windows.difference
)
relu = _operation("relu", "max(0, x)", shape=_same, elementwise=True)
sigmoid = _operation("sigmoid", "1/(1+e^(−x))", shape=_same, elementwise=True)
tanh = _operation("tanh", "tanh x", shape=_same, elementwise=True)
step = _operation("step", "1 where x ≥ a threshold, else 0", shape=_same, elementwise=True)
curve = _operation("curve", "a function f(x), known by its name, of every element", shape=_same, elementwise=True)
softmax = _operation("softmax", "e^x / Σ e^x along an axis", shape=_same)
same = _operation("same", "x itself, as a value of its own", shape=_same, elementwise=True)
cast = _operation("cast", "x in another data type", shape=_cast, elementwise=True)
multiply = _operation("multiply", "x·y, element by element", shape=_equal, elementwise=True)
concatenate = _operation("concatenate", "x, y, … one behind another along an axis, 0 the first", shape=_concatenate)
repeat = _operation("repeat", "x over and over along new axes before and after its own", shape=_repeat)
largest = _operation("largest", "1 at the largest number of a vector, the first if equal, else 0", shape=_same)
normalise = _operation("normalise", "(x − mean)/√(variance + ε) over each group of channels of a sample", shape=_groups)
normalise_batch = _operation(
    "normalise_batch",
    "(x − mean)/√(variance + ε) for each channel: over the batch in training, by running numbers else",
    shape=_batch,
    moded=True,
)
move_mean = _operation("move_mean", "a running mean after one more training batch x", shape=_running, moded=True)
move_variance = _operation(
    "move_variance", "a running variance after one more training batch x", shape=_running, moded=True
)
random_mask = _operation(
    "random_mask",
    "zeros and ones drawn at random in the shape of x; a constant in evaluation",
    shape=_same,
    moded=True,
    drawn=True,
)
sampling_noise = _operation(
    "sampling_noise",
    "what is to be added to probabilities x for zeros and ones drawn by them; 0 in evaluation",
    shape=_same,
    moded=True,
    drawn=True,
)
transpose = _operation("transpose", "x with its last two axes exchanged", shape=_transpose)
norm = _operation("norm", "√Σx² over some axes; its slope at zero is zero", shape=_norm)
squash = _operation("squash", "x·‖x‖/(1+‖x‖²) for every vector along the last axis; zero at zero", shape=_same)
vote = _operation("vote", "W_ij × x_i for every row i and every parent j", shape=_vote, multiply_adds=_vote_cost)
couple = _operation(
    "couple", "coupling coefficients of votes, by some rounds of routing by agreement from equal ones", shape=_couple
)
combine = _operation("combine", "Σ_i c_ij·x_ij for every parent j", shape=_combine)
otherwise = _operation("otherwise", "x, or y for a sample whose x is all zeros", shape=_equal)
channels = _operation("channels", "some channels in a row: count of them from the first on", shape=_channels)
matrix_vote = _operation(
    "matrix_vote",
    "4×4 poses under a kernel times one 4×4 matrix for every parent, and their activations",
    shape=_matrix_vote,
    multiply_adds=_matrix_vote_cost,
)
class_vote = _operation(
    "class_vote",
    "all 4×4 poses of a map times the matrices of their types, their places added, and their activations",
    shape=_class_vote,
    multiply_adds=_class_vote_cost,
)
em_coefficients = _operation(
    "em_coefficients", "how much of each child every parent takes, by rounds of EM", shape=_em_coefficients
)
em_parents = _operation("em_parents", "the poses and activations that parents have by their votes", shape=_em_parents)
prelu = _operation("prelu", "x where x > 0, else w·x, with one w for all or one per channel", shape=shapes.slopes)
piece_max = _operation("piece_max", "the largest of each few channels in a row; the first wins", shape=shapes.pieces_of)
local_response = _operation("local_response", "x/(k + α·Σx²)^β, the sum over near channels or positions", shape=_same)
unit = _operation("unit", "x/‖x‖ along the channels; zero at zero", shape=_same)
subtract = _operation("subtract", "x − y", shape=_sum, elementwise=True)
matrix_product = _operation(
    "matrix_product", "x·y, matrix by matrix", shape=shapes.matrices, multiply_adds=shapes.matrices_cost
)
embed = _operation("embed", "the rows of a table that whole numbers pick", shape=shapes.picked, mixed=True)
lay_before = _operation("lay_before", "rows that are the same for all samples, then those of x", shape=shapes.preceded)
add_positions = _operation("add_positions", "x + sines and cosines that tell every row its number", shape=_same)
attend = _operation(
    "attend",
    "softmax(q·kᵀ/√d)·v, head by head, d the numbers of a head",
    shape=shapes.attended,
    multiply_adds=shapes.attended_cost,
)
divide = _operation("divide", "x/y, element by element", shape=_equal, elementwise=True)
maximum = _operation("maximum", "the larger of x and y; the first if equal", shape=_equal, elementwise=True)
total = _operation("total", "Σx over some axes", shape=shapes.summed)
indicate = _operation("indicate", "1 at the place whose number is nearest to x, else 0", shape=shapes.places)
code_distance = _operation(
    "code_distance",
    "Σ_i (x_i − w_ji)² for every code j",
    shape=shapes.distances,
    multiply_adds=shapes.distances_cost,
)
boxes = _operation("boxes", "the last four numbers of every row: a box, as it is", shape=shapes.last_four, still=True)
anchors = _operation("anchors", "the same boxes about every place of a map, place by place", shape=shapes.anchored)
select = _operation(
    "select",
    "the best of corrected boxes that do not overlap a better one of their kind: label, score, box",
    shape=shapes.selected,
    still=True,
)
region_align = _operation(
    "region_align", "the mean of each of n×n bins of every box, between neighbours", shape=shapes.regions
)
region_max = _operation("region_max", "the largest of each of n×n bins of every box", shape=shapes.regions)

FLOATING_ONLY = frozenset(VOCABULARY) - {
    "add",
    "concatenate",
    "flip",
    "multiply",
    "reshape",
    "same",
    "take",
    "cast",
    "transpose",
    "channels",
    "block",
    "pad",
    "difference",
    "permute",
    "embed",
}


def takes_dtype(operation: Operation, dtype: str) -> bool:
    """Tell whether an operation computes in this data type."""
    return dtype in FLOATING or operation.name not in FLOATING_ONLY
