"""Many numbers told by few: histograms, means of blocks, pictures. Everything comes out as strict JSON holds it."""

import math
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

Floats = NDArray[np.float64]
Plain = dict[str, Any]
BINS = 40
DIGITS = 4
"""The significant digits of the cells of a picture, a matrix or a row."""


def finite(value: float | None) -> float | None:
    """Give a number, or None where it is no finite one."""
    return float(value) if value is not None and math.isfinite(value) else None


def rounded(values: NDArray[Any], digits: int = DIGITS) -> Floats:
    """Round to so many significant digits."""
    given = np.asarray(values, np.float64)
    with np.errstate(all="ignore"):
        power = np.floor(np.log10(np.abs(given)))
        unit = 10.0 ** (digits - 1 - power)
        made = np.round(given * unit) / unit
    return np.where(np.isfinite(made), made, given)


def cells(values: NDArray[Any]) -> list[Any]:
    """Give an array as lists of rounded numbers, None where one is not finite."""
    made = rounded(values)
    if bool(np.isfinite(made).all()):
        return cast("list[Any]", made.tolist())
    told: NDArray[Any] = made.astype(object)
    told[~np.isfinite(made)] = None
    return cast("list[Any]", told.tolist())


def histogram(values: NDArray[Any], bins: int = BINS) -> Plain | None:
    """Count the finite numbers in bins of equal width; None where there is none, one bin where all are alike."""
    flat: Floats = np.asarray(values, np.float64).ravel()
    flat = flat[np.isfinite(flat)]
    if not flat.size:
        return None
    low, high = float(flat.min()), float(flat.max())
    share = np.linspace(0.0, 1.0, bins + 1)
    # Weighted ends, since the width of the widest ranges is beyond what a number can hold.
    edges: Floats = low * (1.0 - share) + high * share
    edges[0], edges[-1] = low, high
    if not bool((np.diff(edges) > 0).all()):
        margin = max(abs(low), abs(high), 1e-12) / 100 if low == high else 0.0
        return {"edges": [low - margin, high + margin], "counts": [int(flat.size)]}
    places = np.clip(np.searchsorted(edges, flat, side="right") - 1, 0, bins - 1)
    return {"edges": edges.tolist(), "counts": np.bincount(places, minlength=bins).tolist()}


def block_means(values: NDArray[Any], most: tuple[int, ...]) -> Floats:
    """Bring the last axes of an array to at most so many cells: each is the mean of a block as even as it can be."""
    made = np.asarray(values, np.float64)
    for axis, limit in zip(range(made.ndim - len(most), made.ndim), most, strict=True):
        size = made.shape[axis]
        if size > limit:
            edges = np.arange(limit + 1) * size // limit
            sums: Floats = np.add.reduceat(made, edges[:-1], axis=axis)
            shape = [1] * made.ndim
            shape[axis] = limit
            made = sums / np.diff(edges).reshape(shape)
    return made


def picture(values: NDArray[Any], most: int) -> Plain:
    """Give channels of rows of cells, one channel or three, as a picture of at most so many cells a side."""
    small = block_means(values, (most, most))
    channels = small.shape[0]
    laid = np.moveaxis(small, 0, -1).reshape(small.shape[1], -1)
    return {"rows": cells(laid), "channels": channels}


def matrix(values: NDArray[Any], most: int) -> Plain:
    """Give a matrix, or the means of its blocks where it has too many cells."""
    small = block_means(values, (most, most))
    return {"rows": cells(small), "whole": small.shape == values.shape}


def statistics(values: NDArray[Any]) -> Plain:
    """Tell norm, mean, deviation and limits."""
    wide = np.asarray(values, np.float64)
    if not wide.size:
        return dict.fromkeys(("norm", "mean", "deviation", "minimum", "maximum"))
    with np.errstate(all="ignore"):
        found = {
            "norm": float(np.sqrt(np.square(wide).sum())),
            "mean": float(wide.mean()),
            "deviation": float(wide.std()),
            "minimum": float(wide.min()),
            "maximum": float(wide.max()),
        }
    return {name: finite(value) for name, value in found.items()}
