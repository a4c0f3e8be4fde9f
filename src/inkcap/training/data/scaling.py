"""The numbers by which values are brought to a common scale, and how they are fitted."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.errors import DataError

_SMALLEST_SCALE = 1e-30
"""A spread below this would overflow float32 when divided by; such a column counts as constant."""


@dataclass(frozen=True)
class Scaling:
    """One input's or target's fitted scale: (value - offset) / scale, for each channel or column.

    `shape` is the shape of a sample as the network gets it. `value_range` is the range that the source's format fixes,
    such as 0 to 255. `fill` holds the means that replace missing values; empty when none were missing.
    """

    method: str
    shape: tuple[int, ...]
    offset: tuple[float, ...]
    scale: tuple[float, ...]
    value_range: tuple[float, float] | None = None
    fill: tuple[float, ...] = ()

    def apply(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Bring values to the common scale, in float32."""
        if self.fill:
            values = np.where(np.isnan(values), self._shaped(self.fill, np.float32), values)
        if self.method == "none":
            return values.astype(np.float32)
        # Tables go through float64: their columns may lie far from zero, where float32 would lose the difference.
        dtype = np.float64 if values.ndim < 4 else np.float32
        scaled = values.astype(dtype)
        scaled -= self._shaped(self.offset, dtype)
        scaled /= self._shaped(self.scale, dtype)
        return scaled.astype(np.float32, copy=False)

    def restore(self, values: NDArray[Any]) -> NDArray[np.float32]:
        """Map values from the common scale back to the source's own."""
        restored = values.astype(np.float64) * self._shaped(self.scale, np.float64)
        return (restored + self._shaped(self.offset, np.float64)).astype(np.float32)

    def to_json(self) -> dict[str, Any]:
        """Write the numbers as plain values."""
        return {
            "method": self.method,
            "shape": list(self.shape),
            "offset": list(self.offset),
            "scale": list(self.scale),
            "value_range": None if self.value_range is None else list(self.value_range),
            "fill": list(self.fill),
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> "Scaling":
        """Read the numbers back; anything but finite numbers is refused."""
        value_range = values["value_range"]
        return Scaling(
            method=str(values["method"]),
            shape=tuple(int(size) for size in values["shape"]),
            offset=_finite(values["offset"]),
            scale=_finite(values["scale"]),
            value_range=None if value_range is None else (float(value_range[0]), float(value_range[1])),
            fill=_finite(values["fill"]),
        )

    def _shaped(self, numbers: Sequence[float], dtype: type[np.floating[Any]]) -> NDArray[Any]:
        """Lay numbers out along the channels of images or the columns of tables."""
        after = max(len(self.shape) - 1, 0)
        return np.array(numbers, dtype=dtype).reshape((1, -1) + (1,) * after)


def _finite(numbers: Sequence[Any]) -> tuple[float, ...]:
    values = tuple(float(number) for number in numbers)
    if not all(math.isfinite(value) for value in values):
        raise ValueError("a number is not finite")
    return values


@dataclass(frozen=True)
class Moments:
    """Mean, standard deviation and limits of each channel or column; missing values are left out."""

    mean: NDArray[np.float64]
    deviation: NDArray[np.float64]
    lowest: NDArray[np.float64]
    highest: NDArray[np.float64]
    any_missing: bool


def moments(pieces: Iterable[NDArray[Any]], where: str) -> Moments:
    """Gather the moments piece by piece, so that no float copy of the whole set is needed."""
    count = mean = squares = lowest = highest = np.zeros(1)
    any_missing = False
    for number, piece in enumerate(pieces):
        axes = (0, *range(2, piece.ndim))
        values = piece.astype(np.float64)
        missing = np.isnan(values)
        any_missing = any_missing or bool(missing.any())
        present = (~missing).sum(axis=axes)
        zeroed = np.where(missing, 0.0, values)
        piece_mean = zeroed.sum(axis=axes) / np.maximum(present, 1)
        centre = piece_mean.reshape((1, -1) + (1,) * (piece.ndim - 2))
        piece_squares = np.where(missing, 0.0, (zeroed - centre) ** 2).sum(axis=axes)
        piece_lowest = np.where(missing, np.inf, values).min(axis=axes)
        piece_highest = np.where(missing, -np.inf, values).max(axis=axes)
        if number == 0:
            count, mean, squares, lowest, highest = present, piece_mean, piece_squares, piece_lowest, piece_highest
            continue
        # The means and squares of two parts joined without going through the values again (Chan's formula).
        total = np.maximum(count + present, 1)
        step = piece_mean - mean
        mean = mean + step * present / total
        squares = squares + piece_squares + step**2 * count * present / total
        count = count + present
        lowest, highest = np.minimum(lowest, piece_lowest), np.maximum(highest, piece_highest)
    empty = np.flatnonzero(count == 0)
    if empty.size:
        raise DataError(f"{where}: column {int(empty[0]) + 1} has no value in the training part. Leave it out.")
    return Moments(mean, np.sqrt(squares / count), lowest, highest, any_missing)


def safe_scale(spread: NDArray[np.float64], found: Moments) -> tuple[float, ...]:
    """Give the spread as a divisor, 1 for constant channels or columns, which then become 0."""
    constant = (found.lowest == found.highest) | (spread < _SMALLEST_SCALE)
    return tuple(float(value) for value in np.where(constant, 1.0, spread))


def standard_scaling(found: Moments, shape: tuple[int, ...]) -> Scaling:
    """Make the scaling that gives mean 0 and standard deviation 1."""
    # The rounded mean of equal values may differ from them by a trifle; the value itself makes it exactly 0.
    offset = np.where(found.lowest == found.highest, found.lowest, found.mean)
    fill = tuple(float(value) for value in found.mean) if found.any_missing else ()
    return Scaling(
        "standard", shape, tuple(float(value) for value in offset), safe_scale(found.deviation, found), fill=fill
    )
