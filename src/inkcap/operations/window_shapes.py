"""Shape rules of what slides over axes, cuts, pads and lays down: written once, for numbers and for names."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from inkcap.operations.trace import ShapeError
from inkcap.structures import Shape, Size, ceiling_quotient, partial, product, show_shape


def compatible(left: Shape, right: Shape) -> bool:
    """Tell whether two shapes may be equal: known sizes agree."""
    return len(left) == len(right) and all(
        a is None or b is None or a == b for a, b in zip(partial(left), partial(right), strict=True)
    )


def window_count(size: Size, window: Size, stride: Size, padding: Size, dilation: Size = 1) -> Size:
    """Count the positions of a window: ``⌊(M+2p−δ(m−1)−1)/s⌋+1``."""
    room = size + 2 * padding - dilation * (window - 1) - 1
    if isinstance(room, int) and room < 0:
        raise ShapeError(
            f"a window of {window}{f' dilated by {dilation}' if dilation != 1 else ''} does not fit into "
            f"{size}{f' padded by {padding}' if padding else ''}"
        )
    return room // stride + 1


def convolve(
    x: Shape, w: Shape, *, stride: Shape, padding: Shape, dilation: Shape, groups: Size, pairs: Size | None = None
) -> Shape:
    """Slide kernels over what they weigh."""
    if isinstance(x[0], int) and isinstance(groups, int) and isinstance(w[1], int) and w[1] * groups != x[0]:
        raise ShapeError(f"kernels of {w[1]}·{groups} channels cannot weigh {x[0]} channels")
    axes = zip(x[1:], w[2:], stride, padding, dilation, strict=True)
    return (w[0], *(window_count(size, m, s, p, d) for size, m, s, p, d in axes))


def convolve_cost(x: Shape, w: Shape, **attributes: Any) -> Size:
    """Count the multiply-adds of kernels at all positions."""
    # Of a kernel that a table fills, only the listed pairs of channels are multiplied.
    pairs = attributes.get("pairs")
    weights = product(w) if pairs is None else pairs * product(w[2:])
    return product(convolve(x, w, **attributes)[1:]) * weights


def windows(x: Shape, *, window: Shape, stride: Shape, padding: Shape, edge: str, **_: Any) -> Shape:
    """Count windows along every axis."""
    sizes: list[Size] = []
    for size, m, s, p in zip(x[1:], window, stride, padding, strict=True):
        count = window_count(size, m, s, p)
        if edge == "ceil":
            count = ceiling_quotient(size + 2 * p - m, s) + 1
            # A last window that would start beyond the data and its left padding sees nothing.
            beyond = (count - 1) * s - size - p
            if isinstance(beyond, int) and beyond >= 0:
                count = count - 1
        sizes.append(count)
    return (x[0], *sizes)


def bins(x: Shape, *, bins: Shape) -> Shape:
    """Give the bins along every axis."""
    return (x[0], *bins)


def block(x: Shape, *, first: Shape, sizes: tuple[Size | None, ...]) -> Shape:
    """Cut a block out."""
    kept = tuple(size if count is None else count for size, count in zip(x, sizes, strict=True))
    for size, begin, count in zip(x, first, kept, strict=True):
        if isinstance(size, int) and isinstance(begin, int) and isinstance(count, int) and begin + count > size:
            raise ShapeError(f"{show_shape(x)} has no block of {show_shape(kept)} that starts at {show_shape(first)}")
    return kept


def pad(x: Shape, *, before: Shape, after: Shape) -> Shape:
    """Add zeros around."""
    sizes = tuple(size + first + last for size, first, last in zip(x, before, after, strict=True))
    if any(isinstance(last, int) and last < 0 for last in after):
        raise ShapeError(f"{show_shape(x)} from {show_shape(before)} on does not fit into {show_shape(sizes)}")
    return sizes


def deconvolve(
    x: Shape, w: Shape, *, stride: Shape, padding: Shape, output_padding: Shape, dilation: Shape, groups: Size
) -> Shape:
    """Lay kernels down at every position."""
    if isinstance(x[0], int) and isinstance(w[0], int) and w[0] != x[0]:
        raise ShapeError(f"kernels of {w[0]} channels cannot weigh {x[0]} channels")
    axes = zip(x[1:], w[2:], stride, padding, output_padding, dilation, strict=True)
    sizes = tuple((size - 1) * s - 2 * p + d * (m - 1) + o + 1 for size, m, s, p, o, d in axes)
    if any(isinstance(size, int) and size < 1 for size in sizes):
        raise ShapeError(f"the padding leaves nothing of {show_shape((w[1] * groups, *sizes))}")
    return (w[1] * groups, *sizes)


def deconvolve_cost(x: Shape, w: Shape, **_: Any) -> Size:
    """Count the multiply-adds of kernels laid down."""
    return product(x[1:]) * product(w)


def local(x: Shape, w: Shape, *, stride: Shape, padding: Shape, dilation: Shape) -> Shape:
    """Slide kernels that differ from position to position."""
    counts = convolve(x, w[:4], stride=stride, padding=padding, dilation=dilation, groups=1)
    if not compatible(counts[1:], w[4:]):
        raise ShapeError(f"weights for {w[4]}×{w[5]} positions cannot weigh {counts[1]}×{counts[2]}")
    return counts


def local_cost(x: Shape, w: Shape, **_: Any) -> Size:
    """Count the multiply-adds of kernels used once."""
    return product(w)


def resample(x: Shape, *, size: Shape, mode: str, align: bool) -> Shape:
    """Give other positions."""
    return (x[0], *size)


def permute(x: Shape, *, order: Sequence[int]) -> Shape:
    """Exchange axes."""
    if sorted(order) != list(range(len(x))):
        raise ShapeError(f"{show_shape(x)} has the axes 0 to {len(x) - 1}, each once; not {', '.join(map(str, order))}")
    return tuple(x[axis] for axis in order)


def place_kernels(w: Shape, *, index: Sequence[int], kernels: Size, channels: Size) -> Shape:
    """Fill a kernel for all channels."""
    index_within(index, kernels * channels, "there is no pair number")
    return (kernels, channels, *w[1:])


def difference(x: Shape, *, axis: int, apart: int) -> Shape:
    """Take what lies apart from one another."""
    size = x[axis] - apart
    if isinstance(size, int) and size < 1:
        raise ShapeError(f"{show_shape(x)} has no two numbers {apart} apart along the axis")
    return tuple(size if i == axis + len(x) else old for i, old in enumerate(x))


def index_within(index: Sequence[int], size: Size, what: str) -> None:
    """Refuse places beyond the last one."""
    if isinstance(size, int) and index and max(index) >= size:
        raise ShapeError(f"{what} {max(index)} of {size}, which are numbered from 0 to {size - 1}")
