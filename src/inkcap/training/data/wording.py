"""Small pieces of text that the messages of this package share."""

from collections.abc import Iterable, Sequence

import numpy as np
from numpy.typing import NDArray

from inkcap.structures.errors import nearest, one_line


def shape_text(shape: Sequence[int]) -> str:
    """Write a sample's shape the way people say it: (d, M, N) as height×width×channels, (M,) as M."""
    if len(shape) == 3:
        channels, height, width = shape
        return f"{height}×{width}×{channels}"
    if not shape:
        return "a single value"
    return "×".join(str(size) for size in shape)


def listing(names: Iterable[str], limit: int = 12) -> str:
    """Join names with commas and say how many were left out."""
    every = list(names)
    shown = ", ".join(map(one_line, every[:limit]))
    return shown if len(every) <= limit else f"{shown} and {len(every) - limit} more"


def near_matches(wrong: str, known: Iterable[str]) -> str:
    """Say which known names come near a wrong one, or nothing when none does."""
    near = nearest(wrong, known)
    return f" Did you mean {' or '.join(near)}?" if near else ""


def counted(number: int, noun: str, plural: str | None = None) -> str:
    """Write a number with its noun in the right form."""
    return f"{number} {noun}" if number == 1 else f"{number} {plural or noun + 's'}"


def class_histogram(labels: NDArray[np.int64], classes: Sequence[str]) -> dict[str, int]:
    """Count the samples of each class, in the order of the classes."""
    counts = np.bincount(labels[(labels >= 0) & (labels < len(classes))], minlength=len(classes))
    return {name: int(count) for name, count in zip(classes, counts, strict=True)}
