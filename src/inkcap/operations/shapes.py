"""Shape rules and costs of the operations that capsule functions use beside the elementwise ones."""

from __future__ import annotations

from typing import Any

from inkcap.operations.trace import ShapeError
from inkcap.operations.window_shapes import compatible
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


def matrices_cost(x: Shape, y: Shape) -> Size:
    """Count one multiply-add for each number of a column, for every number of every product."""
    return product(x) * y[2]


def picked(table: Shape, x: Shape) -> Shape:
    """Give a row of the table for every whole number."""
    return (*x, table[1])


def preceded(x: Shape, rows: Shape) -> Shape:
    """Lay as many rows before those of x, each as long."""
    if not compatible((rows[0], rows[2]), (x[0], x[2])):
        raise ShapeError(f"{show_shape(rows)} cannot be laid before the rows of {show_shape(x)}")
    return (x[0], rows[1] + x[1], x[2])


def attended(queries: Shape, keys: Shape, values: Shape, *, heads: int, causal: bool) -> Shape:
    """Give a row of values for every query; queries and keys are as long, keys and values as many."""
    for name, shape in (("queries", queries), ("keys", keys), ("values", values)):
        if isinstance(shape[0], int) and shape[0] != 1:
            raise ShapeError(f"{name} {show_shape(shape)} have {shape[0]} channels, but are the rows of one")
    if not compatible(queries[2:], keys[2:]):
        raise ShapeError(f"queries of {queries[2]} numbers cannot meet keys of {keys[2]}")
    if not compatible(keys[1:2], values[1:2]):
        raise ShapeError(f"{keys[1]} keys need as many values, not {values[1]}")
    if isinstance(values[2], int) and isinstance(queries[2], int) and values[2] % heads and queries[2] % heads == 0:
        raise ShapeError(f"values of {values[2]} numbers do not divide into {heads} heads")
    return (1, queries[1], values[2])


def attended_cost(queries: Shape, keys: Shape, values: Shape, **_: Any) -> Size:
    """Count both products, of queries and keys and of scores and values; what a causal mask hides counts too."""
    return queries[1] * keys[1] * (queries[2] + values[2])


def summed(x: Shape, *, axes: tuple[int, ...], keep: bool) -> Shape:
    """Leave the axes out that are summed, or keep them with one number each."""
    if keep:
        return tuple(1 if i - len(x) in axes else size for i, size in enumerate(x))
    return tuple(size for i, size in enumerate(x) if i - len(x) not in axes)


def last_four(rows: Shape) -> Shape:
    """Give the box at the end of every row."""
    if isinstance(rows[0], int) and rows[0] != 1:
        raise ShapeError(f"{show_shape(rows)} has {rows[0]} channels, but boxes are the rows of one")
    if isinstance(rows[2], int) and rows[2] < 4:
        raise ShapeError(f"rows of {rows[2]} numbers have no box at their end, which is four: x1, y1, x2, y2")
    return (1, rows[1], 4)


def anchored(x: Shape, *, boxes: tuple[Any, ...], **_: Any) -> Shape:
    """Give so many boxes for every place."""
    return (1, x[1] * x[2] * len(boxes), 4)


def selected(rows: Shape, image: Shape | None = None, *, count: Size, **_: Any) -> Shape:
    """Give a label, a score and a box for each of so many places."""
    if image is not None and isinstance(image[0], int) and image[0] != 3:
        raise ShapeError(f"an image is told by three numbers, its height, width and scale, not by {image[0]}")
    return (1, count, 6)


def regions(*given: Shape, bins: Shape, strides: tuple[float, ...], **_: Any) -> Shape:
    """Give the bins of every box, with the channels of the maps, which all have as many."""
    *maps, boxes = given
    for other in maps[1:]:
        if not compatible(maps[0][:1], other[:1]):
            raise ShapeError(f"levels of {maps[0][0]} and of {other[0]} channels cannot be looked at alike")
    if len(strides) != len(maps):
        raise ShapeError(f"{len(maps)} levels need as many strides, not {len(strides)}")
    return (maps[0][0], boxes[1], *bins)
