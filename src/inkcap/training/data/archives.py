"""NumPy's .npz and .npy files, read without trusting what they say of themselves."""

import math
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.lib import format as npy_format
from numpy.typing import NDArray

from inkcap.structures.errors import one_line
from inkcap.training.data.arrays import (
    ARRAY_OPTIONS,
    TargetArray,
    as_input,
    as_target,
    check_equal_counts,
    parse_classes,
)
from inkcap.training.data.dataset import Dataset, Layout, with_manifest
from inkcap.training.data.errors import DataError
from inkcap.training.data.options import Option, OptionValues
from inkcap.training.data.wording import listing, near_matches

_MOST_BYTES = 4 << 30
_MOST_RATIO = 1000
_MOST_MEMBERS = 1000
# A ratio means nothing for a handful of bytes: a short array of zeros packs very well.
_RATIO_FREE_BYTES = 1 << 20

ARCHIVE_OPTIONS = (
    Option("inputs", "", "the keys of the inputs, as a;b (default: x, or x_train and x_test)"),
    Option(
        "targets",
        "",
        "the keys of the targets, as a;b (default: y, or y_train and y_test); boxes, classes and instances tell places",
    ),
    *ARRAY_OPTIONS,
)


PLACED: dict[str, Layout] = {"boxes": "boxes", "classes": "classes", "instances": "instances"}
"""Keys of targets that tell places of the pictures, and how they do."""


def read_archive(path: Path) -> dict[str, NDArray[Any]]:
    """Read all arrays of an .npz file; object arrays, bombs and damaged members are refused."""
    try:
        with zipfile.ZipFile(path) as archive:
            check_members(path, archive.infolist())
            arrays: dict[str, NDArray[Any]] = {}
            for info in archive.infolist():
                with archive.open(info) as member:
                    arrays[info.filename.removesuffix(".npy")] = _read_npy(
                        member, info.file_size, f"{path}, array {info.filename.removesuffix('.npy')}"
                    )
    except (zipfile.BadZipFile, zipfile.LargeZipFile, EOFError) as error:
        raise DataError(f"{path} is not a whole .npz file: {error}. Save it again with numpy.savez.") from None
    except (RuntimeError, NotImplementedError) as error:
        raise DataError(f"{path} is packed in an unusual way: {error}. Save it again with numpy.savez.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}. Check the path and its rights.") from None
    if not arrays:
        raise DataError(f"{path} holds no arrays. Save x and y into it with numpy.savez.")
    return arrays


def read_npy(path: Path) -> NDArray[Any]:
    """Read one .npy file."""
    try:
        with path.open("rb") as stream:
            return _read_npy(stream, path.stat().st_size, str(path))
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}. Check the path and its rights.") from None


def check_members(path: Path, members: Sequence[zipfile.ZipInfo], most: int | None = _MOST_BYTES) -> None:
    """Refuse an archive that would unpack to too much, or that names an array twice."""
    names = [info.filename for info in members]
    if len(names) > _MOST_MEMBERS or len(set(names)) < len(names):
        raise DataError(f"{path} has {len(names)} members, some under one name or too many. Save it again.")
    total = sum(info.file_size for info in members)
    if most is not None and total > most:
        raise DataError(f"{path} unpacks to {total} bytes; at most {most} are read. Save fewer samples.")
    for info in members:
        if info.file_size > _RATIO_FREE_BYTES and info.file_size > _MOST_RATIO * max(info.compress_size, 1):
            raise DataError(
                f"{path}: {info.filename} unpacks from {info.compress_size} to {info.file_size} bytes, more than "
                f"{_MOST_RATIO} times as much. Save it uncompressed with numpy.savez."
            )
        if not info.filename.endswith(".npy"):
            raise DataError(f"{path}: {info.filename} is not an array. Save the file again with numpy.savez.")


def read_npy_header(stream: IO[bytes], where: str) -> tuple[tuple[int, ...], bool, np.dtype[Any]]:
    """Read shape, order and type of an array; anything but plain numbers and text is refused."""
    try:
        version = npy_format.read_magic(stream)
        if version not in ((1, 0), (2, 0), (3, 0)):
            raise ValueError(f"version {version[0]}.{version[1]} is unknown")
        # Version 3 differs from 2 only in how field names are encoded, and fields are refused anyway.
        reader = npy_format.read_array_header_1_0 if version == (1, 0) else npy_format.read_array_header_2_0
        shape, fortran, dtype = reader(stream)
    except (ValueError, EOFError) as error:
        # NumPy's second line would advise to trust the file.
        told = one_line(str(error).partition("\n")[0].rstrip("."))
        raise DataError(f"{where} is not a readable NumPy array: {told}. Save it again with numpy.save.") from None
    if dtype.hasobject or dtype.fields is not None or dtype.kind not in "biufU":
        raise DataError(
            f"{where} holds {dtype} instead of plain numbers or text, which is not read for safety. "
            f"Convert it, for example with array.astype('float32')."
        )
    return shape, fortran, dtype


def _read_npy(stream: IO[bytes], length: int, where: str) -> NDArray[Any]:
    """Read an array after checking that its header and its length agree."""
    shape, fortran, dtype = read_npy_header(stream, where)
    start = stream.tell()
    expected = math.prod(shape) * dtype.itemsize
    if length - start != expected:
        raise DataError(
            f"{where} should have {expected} bytes of data for shape {shape} in {dtype}, but has {length - start}. "
            f"Save it again."
        )
    content = stream.read(expected)
    if len(content) != expected:
        raise DataError(f"{where} is cut off: {expected} bytes expected, {len(content)} found. Save it again.")
    flat = np.frombuffer(content, dtype=dtype)
    values = flat.reshape(shape[::-1]).transpose() if fortran else flat.reshape(shape)
    return np.ascontiguousarray(values.astype(dtype.newbyteorder("=")))


def load_archive(path: Path, options: OptionValues) -> Dataset:
    """Load an .npz file: x and y, x_train … y_test, or the keys that the options name."""
    arrays = read_archive(path)
    inputs, targets, test_inputs, test_targets = _keys(path, arrays, options)
    dataset = _build(path, arrays, inputs, targets, options, None)
    if test_inputs:
        test = _build(path, arrays, test_inputs, test_targets, options, dataset)
        dataset = replace(dataset, test=with_manifest(test, str(path)))
    return with_manifest(dataset, str(path), [path])


_Keys = dict[str, str]


def _keys(path: Path, arrays: Mapping[str, NDArray[Any]], options: OptionValues) -> tuple[_Keys, _Keys, _Keys, _Keys]:
    """Decide which key feeds which input and target, for the training and the test part."""
    if options.was_given("inputs") or options.was_given("targets"):
        inputs, targets = options.names("inputs") or ["x"], options.names("targets") or ["y"]
        for key in inputs + targets:
            if key not in arrays:
                raise DataError(f"{path} has no array {key}.{near_matches(key, arrays)} It has: {listing(arrays)}.")
        return _named(inputs, "x"), _named(targets, "y"), {}, {}
    if "x" in arrays and "y" in arrays:
        return {"x": "x"}, {"y": "y"}, {}, {}
    if "x_train" in arrays and "y_train" in arrays:
        if ("x_test" in arrays) != ("y_test" in arrays):
            raise DataError(f"{path} has only one of x_test and y_test. Save both or none.")
        tests = "x_test" in arrays
        return {"x": "x_train"}, {"y": "y_train"}, {"x": "x_test"} if tests else {}, {"y": "y_test"} if tests else {}
    raise DataError(
        f"{path} has the arrays {listing(arrays)}, but neither x and y nor x_train and y_train. "
        f"Name them, for example inputs={next(iter(arrays))} and targets=…"
    )


def _named(keys: list[str], usual: str) -> _Keys:
    """Call a single array by the usual name, several by their own."""
    return {usual: keys[0]} if len(keys) == 1 else {key: key for key in keys}


def _build(
    path: Path,
    arrays: Mapping[str, NDArray[Any]],
    inputs: _Keys,
    targets: _Keys,
    options: OptionValues,
    training: Dataset | None,
) -> Dataset:
    """Make a dataset of the named arrays; a test part takes the classes of the training part."""
    task = options.choice("task", ("auto", "classification", "regression"))
    channels = options.choice("channels", ("auto", "first", "last"))
    given = parse_classes(options.text("classes"))
    for key in [*inputs.values(), *targets.values()]:
        if arrays[key].ndim == 0:
            raise DataError(f"{path}, array {key} is a single value. Save one row a sample.")
    check_equal_counts([(f"{path}, array {key}", len(arrays[key])) for key in [*inputs.values(), *targets.values()]])
    read_inputs = {name: as_input(arrays[key], f"{path}, array {key}", channels) for name, key in inputs.items()}
    read_targets: dict[str, TargetArray] = {}
    for name, key in targets.items():
        known = training.classes_of(name) if training is not None else given
        where, values = f"{path}, array {key}", arrays[key]
        if training is not None and known and key not in PLACED and values.dtype.kind in "biu":
            values = _as_training_numbers(values, known, where, bool(given))
        placed = _placed(key, values, where, training.labels_of(name) if training is not None else given)
        read_targets[name] = placed or as_target(values, where, task, known)
    notes = [part.note for part in read_inputs.values() if part.note]
    notes += [target.note for target in read_targets.values() if target.note]
    class_names = {name: target.classes for name, target in read_targets.items() if target.classes}
    layouts: dict[str, Layout] = {name: PLACED[key] for name, key in targets.items() if key in PLACED}
    images = any(part.values.ndim == 4 for part in read_inputs.values())
    count = len(next(iter(read_inputs.values())).values)
    return Dataset(
        name=path.stem,
        inputs={name: part.values for name, part in read_inputs.items()},
        targets={name: target.values for name, target in read_targets.items()},
        classes=next(iter(class_names.values()), ()),
        class_names=class_names,
        description=" ".join([f"{count} samples from {path.name}.", *notes]),
        kind="images" if images else "table",
        ranges={name: part.value_range for name, part in read_inputs.items() if part.value_range is not None},
        layouts=layouts,
    )


def _placed(key: str, values: NDArray[Any], where: str, classes: tuple[str, ...]) -> TargetArray | None:
    """Read a target that tells places of pictures, by its key; anything else is none."""
    layout = PLACED.get(key)
    if layout is None:
        return None
    if values.dtype.kind not in ("biuf" if layout == "boxes" else "biu"):
        raise DataError(f"{where} holds {values.dtype}; {layout} are numbers, for maps whole ones. Save it as those.")
    if layout == "boxes":
        return TargetArray(values.astype(np.float32), classes, "")
    count = int(values.max(initial=0)) + 1
    names = classes or tuple(str(number) for number in range(count))
    return TargetArray(values, names if layout == "classes" else (), "")


def _as_training_numbers(values: NDArray[Any], known: tuple[str, ...], where: str, given: bool) -> NDArray[Any]:
    """Give the labels of a test part the numbers that the training part gave them."""
    if given:
        return values
    flat = values.astype(np.int64).reshape(-1)
    index = {int(name): number for number, name in enumerate(known)}
    numbered = np.empty(len(flat), dtype=np.int64)
    for row, label in enumerate(flat.tolist()):
        if label not in index:
            raise DataError(
                f"{where}, sample {row}: the class {label} does not occur in the training part, whose classes are "
                f"{listing(known)}. Correct the labels, or give classes= with all of them."
            )
        numbered[row] = index[label]
    return numbered
