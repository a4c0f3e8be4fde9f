"""Turning arrays read from a file into inputs and targets of the usual form."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.errors import DataError
from inkcap.training.data.options import Option

Array = NDArray[Any]
_CHANNEL_COUNTS = (1, 3, 4)
_MOST_CLASSES = 65536

ARRAY_OPTIONS = (
    Option("task", "auto", "classification or regression; auto: whole numbers and texts are classes"),
    Option("classes", "", "the names of the classes 0, 1, 2, … as a;b;c, or how many there are"),
    Option("channels", "auto", "first (n, d, M, N) or last (n, M, N, d), for colour images"),
)


@dataclass(frozen=True)
class InputArray:
    """An input in the usual form, the range its dtype fixes, if any, and what was done to it."""

    values: Array
    value_range: tuple[float, float] | None
    note: str


@dataclass(frozen=True)
class TargetArray:
    """A target in the usual form, its class names (none for regression), and what was done to it."""

    values: Array
    classes: tuple[str, ...]
    note: str


def as_input(values: Array, where: str, channels: str = "auto") -> InputArray:
    """Bring an input into (n, d, M, N) or float32 (n, M)."""
    if values.dtype.kind not in "biuf":
        raise DataError(f"{where} holds {values.dtype}, not numbers. Save it as numbers.")
    if values.size == 0:
        raise DataError(f"{where} is empty, shape {values.shape}. Give it samples.")
    value_range = {"b": (0.0, 1.0)}.get(values.dtype.kind)
    if values.dtype == np.uint8:
        value_range = (0.0, 255.0)
    if values.dtype.kind == "b":
        values = values.astype(np.uint8)
    if values.ndim in (1, 2):
        return InputArray(_as_float32(values.reshape(len(values), -1), where), value_range, "")
    note = ""
    if values.ndim == 3:
        values = values[:, None, :, :]
    elif values.ndim == 4:
        values, note = _channels_first(values, where, channels)
    else:
        raise DataError(
            f"{where} has {values.ndim} dimensions, shape {values.shape}. "
            f"Give vectors (n, M), grey images (n, M, N) or images with channels (n, d, M, N)."
        )
    if values.dtype != np.uint8:
        values = _as_float32(values, where)
    return InputArray(np.ascontiguousarray(values), value_range, note)


def _as_float32(values: Array, where: str) -> Array:
    """Give numbers as float32; one that is too large for it is refused, not turned into infinity."""
    with np.errstate(over="ignore"):
        made = values.astype(np.float32)
    if values.dtype.kind == "f" and values.dtype.itemsize > 4:
        lost = np.flatnonzero(np.isinf(made) & np.isfinite(values))
        if lost.size:
            sample = int(lost[0]) // max(values.size // len(values), 1)
            raise DataError(
                f"{where}, sample {sample}: {values.reshape(-1)[lost[0]]:g} is too large for float32. Rescale the data."
            )
    return made


def _channels_first(values: Array, where: str, channels: str) -> tuple[Array, str]:
    """Move the channels to the second place when they stand last."""
    second, last = int(values.shape[1]), int(values.shape[3])
    looks_first, looks_last = second in _CHANNEL_COUNTS, last in _CHANNEL_COUNTS
    if channels == "auto" and looks_first and looks_last and second != last:
        raise DataError(
            f"{where} has shape {values.shape}: the channels may stand first ({second}) or last ({last}). "
            f"Say which with channels=first or channels=last."
        )
    if channels == "last" or (channels == "auto" and looks_last and not looks_first):
        return np.moveaxis(values, 3, 1), "The channels stood last and were moved first."
    return values, ""


def parse_classes(text: str) -> tuple[str, ...]:
    """Read class names as a;b;c, or a count as numbers from 0."""
    if text.isdecimal():
        count = int(text)
        if not 2 <= count <= _MOST_CLASSES:
            raise DataError(f"classes={text}: the number of classes must lie between 2 and {_MOST_CLASSES}.")
        return tuple(str(number) for number in range(count))
    names = tuple(part.strip() for part in text.split(";") if part.strip())
    if len(set(names)) < len(names):
        raise DataError(f"classes={text}: a class name stands there twice. Give each class its own name.")
    return names


def as_target(values: Array, where: str, task: str = "auto", classes: tuple[str, ...] = ()) -> TargetArray:
    """Bring a target into int64 (n,) for classes or float32 (n, k) for regression."""
    if values.ndim == 2 and values.shape[1] == 1 and values.dtype.kind in "biuU":
        values = values[:, 0]
    kind = values.dtype.kind
    if kind == "U":
        return _text_target(values, where, task, classes)
    if kind not in "biuf":
        raise DataError(f"{where} holds {values.dtype}, not numbers or text. Save it as numbers.")
    if task == "regression" or (task == "auto" and (kind == "f" or values.ndim != 1) and not classes):
        numbers = _as_float32(values, where)
        return TargetArray(numbers[:, None] if numbers.ndim == 1 else numbers, (), "")
    if values.ndim != 1:
        raise DataError(
            f"{where} has shape {values.shape}, where classes need one whole number a sample. "
            f"Save class numbers of shape (n,), or say task=regression."
        )
    if kind == "f" and not _all_whole(values):
        row = int(np.flatnonzero(~np.isfinite(values) | (values != np.floor(values)))[0])
        raise DataError(
            f"{where}, sample {row}: {values[row]} is no class number. Save whole numbers, or say task=regression."
        )
    return _number_target(values.astype(np.int64), where, classes)


def _all_whole(values: Array) -> bool:
    return bool(np.isfinite(values).all() and (values == np.floor(values)).all())


def _text_target(values: Array, where: str, task: str, classes: tuple[str, ...]) -> TargetArray:
    """Turn texts into class numbers, in sorted order, or in the order of the given classes."""
    if task == "regression" or values.ndim != 1:
        raise DataError(f"{where} holds text of shape {values.shape}; only class names of shape (n,) may be text.")
    names = classes or tuple(sorted({str(value) for value in values}))
    numbers = {name: number for number, name in enumerate(names)}
    for row, value in enumerate(values):
        if str(value) not in numbers:
            raise DataError(
                f"{where}, sample {row}: the class {value} is none of {'; '.join(names)}. Correct classes=."
            )
    return TargetArray(np.array([numbers[str(value)] for value in values], dtype=np.int64), names, "")


def _number_target(labels: NDArray[np.int64], where: str, classes: tuple[str, ...]) -> TargetArray:
    """Check class numbers against the given classes, or number the distinct values."""
    if classes:
        check_labels(labels, len(classes), where)
        return TargetArray(labels, classes, "")
    distinct = np.unique(labels)
    if len(distinct) > _MOST_CLASSES:
        raise DataError(f"{where} has {len(distinct)} distinct values. If they are no classes, say task=regression.")
    names = tuple(str(int(value)) for value in distinct)
    if np.array_equal(distinct, np.arange(len(distinct))):
        return TargetArray(labels, names, "")
    note = f"The class numbers run from {distinct[0]} to {distinct[-1]} and were renumbered 0 to {len(distinct) - 1}."
    return TargetArray(np.searchsorted(distinct, labels).astype(np.int64), names, note)


def check_labels(labels: NDArray[np.int64], class_count: int, where: str) -> None:
    """Refuse labels outside 0..class_count-1, naming the first."""
    flat, places = labels.reshape(-1), max(labels.size // max(len(labels), 1), 1)
    wrong = np.flatnonzero((flat < 0) | (flat >= class_count))
    if wrong.size:
        first = int(wrong[0])
        raise DataError(
            f"{where}, sample {first // places}: label {int(flat[first])} lies outside 0 to {class_count - 1} "
            f"({class_count} classes; {wrong.size} such labels). Correct the labels, or the number of classes."
        )


def check_equal_counts(counts: Sequence[tuple[str, int]]) -> None:
    """Refuse parts with different numbers of samples."""
    for where, count in counts[1:]:
        if count != counts[0][1]:
            raise DataError(
                f"{counts[0][0]} has {counts[0][1]} samples but {where} has {count}. "
                f"Check that both belong together and are whole."
            )
