"""Reading what is given for a prediction: one image, a file of samples, or typed numbers."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.archives import read_archive, read_npy
from inkcap.training.data.arrays import as_input
from inkcap.training.data.errors import DataError
from inkcap.training.data.files import path_of
from inkcap.training.data.idx import looks_like_idx, read_idx
from inkcap.training.data.images import IMAGE_SUFFIXES, image_head, read_image, resize_images
from inkcap.training.data.preparation import Preparation
from inkcap.training.data.scaling import Scaling
from inkcap.training.data.tables import Table, TableLayout, encode, find_missing, number_in, read_table
from inkcap.training.data.wording import listing, shape_text

_FILE_SUFFIXES = (*IMAGE_SUFFIXES, ".npy", ".npz", ".csv")


@dataclass(frozen=True)
class Raw:
    """Samples as their source holds them: rows of a table, arrays by their names, or image files.

    `where` is the source in messages, and `first` the number of the first sample in it. A lone array has no name, and
    may be a single sample unless it is a `part`, cut out of more samples.
    """

    where: str
    content: Table | Mapping[str, NDArray[Any]] | tuple[Path, ...]
    first: int = 0
    part: bool = False


def load_one_input(
    source: str | Path,
    preparation: Preparation,
    *,
    folder: Path | None = None,
    name: str | None = None,
    resize: bool = False,
    table: Mapping[str, Any] | None = None,
    key: str = "",
) -> NDArray[Any]:
    """Read samples for one input into an array that the run's stored preparation can take.

    `source` is a path (relative to `folder`) or numbers such as `1.0,2.0`. Images of another size are resized only
    with `resize`, or when the run itself resized its data. `table` is the layout in the manifest of a run on a CSV
    file; `key` names the array of an .npz file. The result is (n, d, M, N) or (n, M), not yet normalised.
    """
    raw = read_raw(source, folder=folder, table=table)
    return shaped_input(raw, preparation, name=name, resize=resize, table=table, key=key)


def read_raw(source: str | Path, *, folder: Path | None = None, table: Mapping[str, Any] | None = None) -> Raw:
    """Read samples as their source holds them, all at once."""
    if isinstance(source, str):
        numbers = _typed_numbers(source)
        if numbers is not None:
            return Raw("The numbers given", {"": numbers[None, :]}, part=True)
    path = path_of(str(source), folder or Path())
    if not path.is_file():
        raise DataError(
            f"{path} is no file, and {str(source)!r} is no list of numbers. Correct the path or the numbers."
        )
    suffix = path.suffix.lower()
    if suffix in IMAGE_SUFFIXES:
        return Raw(str(path), (path,))
    if suffix == ".csv":
        return Raw(str(path), read_table(path, _separator(table)))
    if suffix == ".npz":
        return Raw(str(path), read_archive(path))
    if suffix == ".npy":
        return Raw(str(path), {"": read_npy(path)})
    if looks_like_idx(path):
        return Raw(str(path), {"": read_idx(path)})
    raise DataError(f"{path}: the ending is not known. Give {listing(_FILE_SUFFIXES)}, IDX, or numbers.")


def shaped_input(
    raw: Raw,
    preparation: Preparation,
    *,
    name: str | None = None,
    resize: bool = False,
    table: Mapping[str, Any] | None = None,
    key: str = "",
) -> NDArray[Any]:
    """Bring samples into the form in which the run's stored preparation can take them."""
    scaling = preparation.scaling_of(name)
    may_resize = resize or preparation.resize is not None
    if isinstance(raw.content, Table):
        return _table_rows(raw, raw.content, scaling, table)
    if isinstance(raw.content, tuple):
        return np.concatenate([_image(path, scaling, may_resize) for path in raw.content])
    values = raw.content[archive_key(raw.where, raw.content, key, name)]
    return _reshaped(values if raw.part else batched(values, scaling.shape), scaling, raw, may_resize)


def layout_of(table: Mapping[str, Any] | None, header: tuple[str, ...]) -> TableLayout:
    """Give how rows become vectors: as the run knows it, else all columns in order."""
    return TableLayout(features=header, categories={}) if table is None else TableLayout.from_json(table)


def _separator(table: Mapping[str, Any] | None) -> str:
    return layout_of(table, ()).separator


def _typed_numbers(text: str) -> NDArray[np.float32] | None:
    """Read numbers separated by commas, or None when the text is something else."""
    cells = [cell.strip() for cell in text.split(",")]
    numbers = [number_in(cell) for cell in cells]
    if any(number is None for number in numbers):
        if sum(number is not None for number in numbers) * 2 > len(cells):
            wrong = next(cell for cell, number in zip(cells, numbers, strict=True) if number is None)
            raise DataError(f"{wrong!r} among the numbers given is not a finite number. Correct it.")
        return None
    return np.array(numbers, dtype=np.float32)


def _image(path: Path, scaling: Scaling, may_resize: bool) -> NDArray[Any]:
    """Read one image file in the size and channels that the network was trained on."""
    if len(scaling.shape) != 3 or scaling.shape[0] not in (1, 3):
        raise DataError(f"{path} is an image, but the input takes {shape_text(scaling.shape)}. Give such values.")
    channels, height, width = scaling.shape
    head = image_head(path)
    if (head.height, head.width) != (height, width) and not may_resize:
        raise _wrong_size(str(path), (channels, head.height, head.width), scaling.shape)
    pixels = read_image(path, channels, (height, width))[None]
    if scaling.value_range is None or scaling.value_range == (0.0, 255.0):
        return pixels
    # The data had another range than image files have, such as 0 to 16: bring the pixels to that range.
    low, high = scaling.value_range
    return (pixels.astype(np.float32) / np.float32(255.0) * np.float32(high - low) + np.float32(low)).astype(np.float32)


def _wrong_size(where: str, found: tuple[int, ...], expected: tuple[int, ...]) -> DataError:
    return DataError(
        f"{where}: {shape_text(found)} found, but the network takes {shape_text(expected)}. "
        "Resize it with --resize, or give an image of that size."
    )


def _table_rows(raw: Raw, rows: Table, scaling: Scaling, table: Mapping[str, Any] | None) -> NDArray[Any]:
    """Take the columns by their names, when the run knows them, else all in order."""
    layout = layout_of(table, rows.header)
    rows.require(layout.features, "the run's data")
    missing = find_missing(rows, layout.features)
    if missing and not scaling.fill:
        row, column = next(iter(missing.items()))
        raise DataError(f"{rows.path}, line {rows.lines[row]}, column {column}: the value is missing. Fill it in.")
    return _reshaped(encode(rows, layout), scaling, raw, False)


def archive_key(where: str, names: Collection[str], key: str, name: str | None) -> str:
    """Choose the array of several: the named one, the input's, x, or the only one."""
    for candidate in filter(None, (key, name if not key else "", "x" if not key else "")):
        if candidate in names:
            return candidate
    if len(names) == 1 and not key:
        return next(iter(names))
    raise DataError(f"{where} has the arrays {listing(names)}, not {key or name or 'x'}. Name one of them.")


def batched(values: NDArray[Any], sample: tuple[int, ...]) -> NDArray[Any]:
    """Add the axis of samples when the array is a single sample."""
    grey_sample = len(sample) == 3 and sample[0] == 1 and values.ndim == 2
    if values.shape == sample or (grey_sample and values.shape == sample[1:]):
        return values[None]
    return values


def _reshaped(values: NDArray[Any], scaling: Scaling, raw: Raw, may_resize: bool) -> NDArray[Any]:
    """Bring samples to the expected shape, resize images when allowed, and refuse anything else."""
    expected, where = scaling.shape, raw.where
    if values.ndim == 0 or len(values) == 0:
        raise DataError(f"{where}: no samples. Give at least one of {shape_text(expected)}.")
    if (
        values.shape[1:] != expected
        and values.ndim == 2
        and len(expected) == 3
        and values.shape[1] == np.prod(expected)
    ):
        values = values.reshape(-1, *expected)
    found = as_input(values, where, "first" if values.shape[1:] == expected else "auto").values
    if found.shape[1:] != expected and found.ndim == 4 and len(expected) == 3 and found.shape[1] == expected[0]:
        if not may_resize:
            raise _wrong_size(where, found.shape[1:], expected)
        found = resize_images(found, (expected[1], expected[2]))
    if found.shape[1:] != expected:
        raise DataError(
            f"{where}: {shape_text(found.shape[1:])} found, but the input takes {shape_text(expected)}. "
            f"Give samples of that shape."
        )
    finite = np.isfinite(found) | (np.isnan(found) & bool(scaling.fill))
    if not finite.all():
        row = int(np.flatnonzero(~finite.reshape(len(found), -1).all(axis=1))[0])
        raise DataError(f"{where}, sample {raw.first + row}: a value is not a finite number. Correct it.")
    return found
