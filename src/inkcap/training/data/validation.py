"""Checks before training starts: whether the data are sound, and whether they fit the network."""

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.arrays import check_labels
from inkcap.training.data.dataset import Dataset
from inkcap.training.data.errors import DataError
from inkcap.training.data.wording import counted, listing, shape_text

Shape = tuple[int, ...]


def validate(dataset: Dataset, gaps: bool = False) -> list[str]:
    """Refuse data that cannot be trained on, and give notes on what is merely odd; `gaps` lets targets hold NaN."""
    source = str(dataset.manifest.get("source", dataset.name))
    if not dataset.inputs or not dataset.targets:
        missing = "inputs" if not dataset.inputs else "targets"
        raise DataError(f"{source} has no {missing}. Give data with inputs and targets.")
    count = len(dataset)
    for kind, parts in (("input", dataset.inputs), ("target", dataset.targets)):
        for name, values in parts.items():
            if values.ndim == 0 or len(values) != count:
                found = 0 if values.ndim == 0 else len(values)
                raise DataError(
                    f"{source}: the {kind} {name} has {found} samples, but the input {next(iter(dataset.inputs))} "
                    f"has {count}. Give equal numbers."
                )
            if values.size == 0 and count:
                raise DataError(f"{source}: the {kind} {name} is empty, shape {values.shape}. Give it values.")
    if count < 2:
        raise DataError(f"{source} has {counted(count, 'sample')}; at least 2 are needed. Give more data.")
    for name, values in dataset.inputs.items():
        _check_finite(dataset, source, f"input {name}", values, dataset.missing == "mean")
    notes: list[str] = []
    for name, values in dataset.targets.items():
        _check_finite(dataset, source, f"target {name}", values, gaps)
        notes += _check_target(dataset, source, name, values)
    if dataset.test is not None:
        _check_test(dataset, dataset.test, source)
        notes += [f"Test set: {note}" for note in validate(dataset.test, gaps)]
    return notes


def _check_finite(dataset: Dataset, source: str, what: str, values: NDArray[Any], missing_allowed: bool) -> None:
    """Refuse NaN and infinity, naming the first sample that has one."""
    if values.dtype.kind != "f":
        return
    good = np.isfinite(values) | np.isnan(values) if missing_allowed else np.isfinite(values)
    if good.all():
        return
    bad_rows = np.flatnonzero(~good.reshape(len(values), -1).all(axis=1))
    row = int(bad_rows[0])
    flat = values[row].reshape(-1)
    place = int(np.flatnonzero(~good[row].reshape(-1))[0])
    column = f", value {place + 1} of {flat.size}" if flat.size > 1 else ""
    raise DataError(
        f"{source}, {dataset.place(row)}, {what}{column}: {flat[place]} is not a finite number "
        f"({counted(len(bad_rows), 'sample')} in all). Correct or remove it."
    )


def _check_target(dataset: Dataset, source: str, name: str, values: NDArray[Any]) -> list[str]:
    """Check the labels of a class target; tell of classes without samples."""
    classes = dataset.classes_of(name)
    if name in dataset.layouts:
        check_placed(dataset, source, name, values)
    if not classes:
        if values.ndim == 1:
            raise DataError(f"{source}: the target {name} has labels but no classes. Name the classes with classes=.")
        return []
    check_labels(values.astype(np.int64), len(classes), f"{source}, target {name}")
    if len(classes) == 1:
        raise DataError(f"{source}: the target {name} has only the class {classes[0]}. Give samples of two or more.")
    empty = [label for label, count in dataset.histogram(name).items() if count == 0]
    return [f"No samples of {listing(empty)} in the target {name}."] if empty else []


def check_placed(dataset: Dataset, source: str, name: str, values: NDArray[Any]) -> None:
    """Refuse boxes and maps that do not lie on their pictures, naming the first."""
    size = dataset.picture_size()
    if size is None:
        raise DataError(f"{source}: the target {name} tells places of pictures, but no input is one. Give pictures.")
    if dataset.layouts[name] != "boxes":
        if values.shape[1:] != size:
            raise DataError(
                f"{source}: the target {name} has {shape_text(values.shape[1:])} numbers a sample, but the pictures "
                f"are {shape_text(size)}. Give it a number for each pixel."
            )
        return
    if values.ndim != 3 or values.shape[2] != 5:
        raise DataError(
            f"{source}: the target {name} has the shape {values.shape}; boxes are (samples, boxes, 5): a label and "
            "x1, y1, x2, y2 in pixels. Save it like that."
        )
    label, left, top, right, bottom = (values[..., column] for column in range(5))
    real = label != 0
    wrong = real & ((left >= right) | (top >= bottom) | (left < 0) | (top < 0) | (right > size[1]) | (bottom > size[0]))
    wrong |= (label < 0) | (label != np.floor(label))
    if dataset.labels_of(name):
        wrong |= label >= len(dataset.labels_of(name))
    if wrong.any():
        sample, row = (int(place[0]) for place in np.nonzero(wrong))
        numbers = " ".join(f"{number:g}" for number in values[sample, row])
        raise DataError(
            f"{source}, {dataset.place(sample)}, target {name}, box {row + 1}: {numbers} is no label with x1 < x2 and "
            f"y1 < y2 within {shape_text(size)} pixels. Correct it, or fill it with zeros."
        )


def _check_test(dataset: Dataset, test: Dataset, source: str) -> None:
    """Refuse a test set of another structure."""
    ours, theirs = dataset.structure(), test.structure()
    for part in ("inputs", "targets"):
        if {name: entry["shape"] for name, entry in ours[part].items()} != {
            name: entry["shape"] for name, entry in theirs[part].items()
        }:
            raise DataError(
                f"{source}: the test set's {part} are {_outline(theirs[part])}, but the training set's "
                f"{_outline(ours[part])}. Give a test set of the same structure."
            )


def _outline(parts: Mapping[str, Mapping[str, Any]]) -> str:
    return ", ".join(f"{name} {shape_text(entry['shape'])}" for name, entry in parts.items())


@dataclass(frozen=True)
class Fit:
    """How a dataset feeds a network: which data go to which input and output, which inputs are flattened, and notes."""

    inputs: dict[str, str]
    outputs: dict[str, str]
    flattened: tuple[str, ...]
    notes: tuple[str, ...]


def fit_to(
    dataset: Dataset, inputs: Mapping[str, Shape], outputs: Mapping[str, int | Shape], free: Collection[str] = ()
) -> Fit:
    """Check that samples have the shapes a network expects, and say how they are assigned.

    Shapes are (d, M, N) or (M,). A dataset's and a network's only input belong together whatever their names, and so
    do the only target and the only output; several are matched by name. Outputs that are `free` have losses that look
    at their shapes themselves.
    """
    input_pairs = _pairs(dataset, "input", list(inputs), list(dataset.inputs))
    output_pairs = _pairs(dataset, "output", list(outputs), list(dataset.targets))
    notes: list[str] = []
    flattened: list[str] = []
    for network_name, data_name in input_pairs.items():
        note = _fit_input(dataset, data_name, network_name, tuple(inputs[network_name]))
        if note:
            notes.append(note)
            flattened.append(network_name)
    for network_name, data_name in output_pairs.items():
        expected = outputs[network_name]
        shape = (expected,) if isinstance(expected, int) else tuple(expected)
        if network_name not in free:
            _fit_output(dataset, data_name, network_name, shape)
    return Fit(input_pairs, output_pairs, tuple(flattened), tuple(notes))


def _pairs(dataset: Dataset, kind: str, network: list[str], data: list[str]) -> dict[str, str]:
    """Match the network's names with the data's."""
    if len(network) == len(data) == 1:
        return {network[0]: data[0]}
    if set(network) == set(data):
        return {name: name for name in network}
    word = "inputs" if kind == "input" else "targets"
    raise DataError(
        f"The network has {counted(len(network), kind)} ({listing(network)}), but {dataset.name} has {len(data)} "
        f"{word} ({listing(data)}). Give both the same number, under the same names."
    )


def _fit_input(dataset: Dataset, data_name: str, network_name: str, expected: Shape) -> str:
    """Check one input; give a note when it must be flattened."""
    shape = tuple(int(size) for size in dataset.inputs[data_name].shape[1:])
    if shape == expected:
        return ""
    values = math.prod(shape)
    if len(shape) == 3 and len(expected) == 1 and values == expected[0]:
        order = "row by row" if shape[0] == 1 else "channel by channel, each row by row"
        return f"The images of {shape_text(shape)} are laid out as {values} numbers for {network_name}, {order}."
    raise DataError(
        f"The network's input {network_name} is {shape_text(expected)}, but {dataset.name} has {shape_text(shape)}. "
        f"{_input_advice(shape, expected)}"
    )


def _input_advice(shape: Shape, expected: Shape) -> str:
    """Say what to do about an input of the wrong shape."""
    if len(shape) == 3 and len(expected) == 3:
        steps: list[str] = []
        if shape[1:] != expected[1:]:
            steps.append(f"resize the images with --resize {expected[1]}x{expected[2]}")
        if shape[0] != expected[0]:
            steps.append("load them with grey=yes" if expected[0] == 1 else f"give images with {expected[0]} channels")
        advice = " and ".join(steps)
        return f"{advice[0].upper()}{advice[1:]}, or change the input to {shape_text(shape)}."
    if len(shape) == 3:
        return f"Change the input to {shape_text(shape)}, or to {math.prod(shape)} for flattened images."
    return f"Change the input to {shape_text(shape)}, or give data with {shape_text(expected)}."


def _fit_output(dataset: Dataset, data_name: str, network_name: str, expected: Shape) -> None:
    """Check one output against its target."""
    classes = dataset.classes_of(data_name)
    if dataset.layouts.get(data_name) in ("boxes", "instances"):
        return
    size = math.prod(expected)
    places = math.prod(dataset.targets[data_name].shape[1:])
    if classes and places > 1:
        if size == places * len(classes):
            return
        raise DataError(
            f"The network's output {network_name} is {shape_text(expected)}, the data have one of {len(classes)} "
            f"classes at each of {places} places. Give it {places * len(classes)} numbers, a row for each place."
        )
    if classes:
        if size == len(classes) or (size == 1 and len(classes) == 2):
            return
        raise DataError(
            f"The network's output {network_name} has {counted(size, 'dimension')}, the data have "
            f"{len(classes)} classes. Give the output {len(classes)} dimensions, or choose data with {size} classes."
        )
    shape = tuple(int(length) for length in dataset.targets[data_name].shape[1:])
    if shape != expected and not (len(expected) == 1 and math.prod(shape) == size):
        raise DataError(
            f"The network's output {network_name} is {shape_text(expected)}, but the target {data_name} of "
            f"{dataset.name} is {shape_text(shape)}. Change the output to {shape_text(shape)}, or choose other targets."
        )
