"""Structures: shapes, data types and sizes that are numbers or formulae."""

from inkcap.structures.errors import InkcapError, RunFailure
from inkcap.structures.sizes import (
    Formula,
    PartialShape,
    Shape,
    Size,
    ceiling_quotient,
    known,
    named,
    partial,
    product,
)
from inkcap.structures.structure import (
    AXES,
    BYTES,
    DTYPES,
    ELEMENT_LIMIT,
    FLOATING,
    DType,
    Structure,
    axes_count,
    rank_of,
    show_shape,
    to_reading_order,
)

__all__ = [
    "AXES",
    "BYTES",
    "DTYPES",
    "ELEMENT_LIMIT",
    "FLOATING",
    "DType",
    "Formula",
    "InkcapError",
    "PartialShape",
    "RunFailure",
    "Shape",
    "Size",
    "Structure",
    "axes_count",
    "ceiling_quotient",
    "known",
    "named",
    "partial",
    "product",
    "rank_of",
    "show_shape",
    "to_reading_order",
]
