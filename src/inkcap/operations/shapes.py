"""Shape rules and costs of the operations that capsule functions use beside the elementwise ones."""

from __future__ import annotations

from inkcap.operations.trace import ShapeError
from inkcap.structures import Shape, Size, partial, product, show_shape


def slopes(x: Shape, w: Shape) -> Shape:
    """Keep x; w has one number, or one a channel."""
    if isinstance(w[0], int) and w[0] != 1 and x and isinstance(x[0], int) and w[0] != x[0]:
        raise ShapeError(f"{show_shape(x)} needs one slope or {x[0]}, not {w[0]}")
    return x


def pieces_of(x: Shape, *, pieces: Size) -> Shape:
    """Leave one channel of each few in a row."""
    if isinstance(x[0], int) and isinstance(pieces, int) and x[0] % pieces:
        raise ShapeError(f"{x[0]} do not divide into pieces of {pieces}")
    return (x[0] // pieces, *x[1:])


def distances(w: Shape, x: Shape) -> Shape:
    """Give one number for each row of w, which is as long as x."""
    if any(a is not None and b is not None and a != b for a, b in zip(partial(w[1:]), partial(x), strict=True)):
        raise ShapeError(f"codes of {w[1]} numbers cannot be compared with a vector {show_shape(x)}")
    return (w[0],)


def distances_cost(w: Shape, x: Shape) -> Size:
    """Count one multiply-add for each number of a code."""
    return product(w)


def places(x: Shape, *, size: Size) -> Shape:
    """Give as many places as are asked for, in place of one number."""
    if isinstance(x[0], int) and x[0] != 1:
        raise ShapeError(f"an index is one number, not {x[0]}")
    return (size,)


def matrices(x: Shape, y: Shape) -> Shape:
    """Multiply matrices of as many channels, the columns of the first meeting the rows of the second."""
    left, right = partial(x), partial(y)
    pairs = ((left[0], right[0]), (left[2], right[1]))
    if any(a is not None and b is not None and a != b for a, b in pairs):
        raise ShapeError(f"{show_shape(x)} and {show_shape(y)} cannot be multiplied, matrix by matrix")
    return (x[0] if isinstance(x[0], int) else y[0], x[1], y[2])


def summed(x: Shape, *, axes: tuple[int, ...], keep: bool) -> Shape:
    """Leave the axes out that are summed, or keep them with one number each."""
    if keep:
        return tuple(1 if i - len(x) in axes else size for i, size in enumerate(x))
    return tuple(size for i, size in enumerate(x) if i - len(x) not in axes)
