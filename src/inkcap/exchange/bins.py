"""Means over bins of a row as a matrix, which may overlap where a row does not divide."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray


def shares_of_bins(size: int, count: int) -> NDArray[np.float32]:
    """Give the share of each number of a row in each of its bins: times the row, the means."""
    places, bins = np.arange(size), np.arange(count)[:, None]
    inside = (bins * size // count <= places) & (places < -(-(bins + 1) * size // count))
    return (inside / inside.sum(1, keepdims=True)).astype(np.float32)
