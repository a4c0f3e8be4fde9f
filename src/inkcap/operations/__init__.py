"""Operations: the closed vocabulary in which every symbol's forward function is written."""

from inkcap.operations.trace import Operation, ShapeError, Step, Trace, Traced
from inkcap.operations.vocabulary import VOCABULARY, takes_dtype, within_limit
from inkcap.operations.window_shapes import compatible, window_count

__all__ = [
    "VOCABULARY",
    "Operation",
    "ShapeError",
    "Step",
    "Trace",
    "Traced",
    "compatible",
    "takes_dtype",
    "window_count",
    "within_limit",
]
