"""Structures: the shape and the data type of what a capsule holds or a connection takes, weighs and gives."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import Literal, get_args

from inkcap.structures.sizes import PartialShape, Shape, known, product

DType = Literal["float16", "float32", "float64", "uint8", "int8", "int16", "int32", "int64", "bool"]
DTYPES: tuple[DType, ...] = get_args(DType)
FLOATING: tuple[DType, ...] = ("float16", "float32", "float64")
BYTES: dict[str, int] = {
    "float16": 2,
    "float32": 4,
    "float64": 8,
    "uint8": 1,
    "int8": 1,
    "int16": 2,
    "int32": 4,
    "int64": 8,
    "bool": 1,
}

ELEMENT_LIMIT = 2**40
"""No structure may have more elements: larger ones are slips of the pen, and their products must stay exact."""

AXES: dict[int, tuple[str, ...]] = {
    0: (),
    1: ("dimension",),
    2: ("height", "width", "channels"),
    3: ("depth", "height", "width", "channels"),
}
"""The names of a structure's sizes by rank, in the order in which a person reads them."""


def rank_of(shape: Shape | PartialShape) -> int:
    """Tell the rank: the number of axes without the channels."""
    return len(shape) - 1 if len(shape) > 1 else len(shape)


def axes_count(rank: int) -> int:
    """Tell how many sizes a structure of this rank has."""
    return len(AXES[rank])


def to_reading_order(shape: tuple[object, ...]) -> tuple[object, ...]:
    """Move the channels from the front, where tensors keep them, to the back, where people read them."""
    return (*shape[1:], shape[0]) if len(shape) > 1 else shape


def show_shape(shape: Shape | PartialShape) -> str:
    """Write a shape as the paper does, ``28×28×1``; unknown sizes are written ``?``."""
    if not shape:
        return "scalar"
    return "×".join("?" if size is None else str(size) for size in to_reading_order(tuple(shape)))


@dataclass(frozen=True)
class Structure:
    """A shape, channels first, with a data type."""

    shape: Shape
    dtype: str

    @property
    def rank(self) -> int:
        """Tell the rank: 0 for a scalar, 1 for a vector, 2 for a matrix array, 3 for a volume array."""
        return rank_of(self.shape)

    @property
    def sizes(self) -> tuple[int, ...]:
        """Give the sizes as numbers; only for structures that are known."""
        sizes = known(self.shape)
        if sizes is None:
            raise ValueError(f"the structure {self} has named sizes")
        return sizes

    @cached_property
    def elements(self) -> int:
        """Count the numbers that it holds."""
        total = product(self.sizes)
        assert isinstance(total, int)
        return total

    @property
    def bytes(self) -> int:
        """Count the bytes that it takes."""
        return self.elements * BYTES[self.dtype]

    def to_json(self) -> dict[str, object]:
        """Describe it for JSON: sizes by name, as a person reads them."""
        names = AXES[self.rank]
        sizes = to_reading_order(tuple(s if isinstance(s, int) else str(s) for s in self.shape))
        return {**dict(zip(names, sizes, strict=True)), "shape": list(self.shape), "dtype": self.dtype}

    def __str__(self) -> str:
        return f"{show_shape(self.shape)} {self.dtype}"
