"""Loading IDX files as a dataset: a folder with MNIST's names, or images and labels given together."""

import re
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.arrays import (
    ARRAY_OPTIONS,
    as_input,
    as_target,
    check_equal_counts,
    check_labels,
    parse_classes,
)
from inkcap.training.data.dataset import Dataset, with_manifest
from inkcap.training.data.errors import DataError
from inkcap.training.data.idx import read_idx
from inkcap.training.data.options import OptionValues
from inkcap.training.data.wording import shape_text

IDX_OPTIONS = ARRAY_OPTIONS
_MNIST_NAME = re.compile(r"(train|t10k|test)-(images|labels)[-.]idx\d-ubyte(\.gz)?")
_MOST_CLASSES = 10_000


def mnist_files(folder: Path) -> dict[str, Path]:
    """Find files with MNIST's names in a folder: keys such as train-images; plain files go before compressed ones."""
    found: dict[str, Path] = {}
    for entry in sorted(folder.iterdir(), key=lambda path: path.name, reverse=True):
        match = _MNIST_NAME.fullmatch(entry.name)
        if match is not None and entry.is_file():
            # In reverse order the compressed name comes first, so that the plain one, if there, replaces it.
            found[f"{'train' if match[1] == 'train' else 't10k'}-{match[2]}"] = entry
    return found


def load_idx_folder(folder: Path, options: OptionValues) -> Dataset:
    """Load a folder with train-images, train-labels and perhaps t10k-images, t10k-labels."""
    return load_idx_set(folder.name, str(folder), mnist_files(folder), options)


def load_idx_set(name: str, source: str, files: Mapping[str, Path], options: OptionValues) -> Dataset:
    """Load the training and, when there, the test part from files named by role."""
    for part in ("train-images", "train-labels"):
        if part not in files:
            ending = "idx3-ubyte" if part.endswith("images") else "idx1-ubyte"
            raise DataError(f"{source} lacks {part}-{ending} (or the same with .gz). Put it there.")
    if ("t10k-images" in files) != ("t10k-labels" in files):
        raise DataError(f"{source} has only one of t10k-images and t10k-labels. Add the other or remove it.")
    dataset = load_idx_pair(files["train-images"], files["train-labels"], options)
    used = [files["train-images"], files["train-labels"]]
    if "t10k-images" in files:
        test = load_idx_pair(files["t10k-images"], files["t10k-labels"], options, dataset)
        dataset = replace(dataset, test=replace(test, name=f"{name} (test)"))
        used += [files["t10k-images"], files["t10k-labels"]]
    return with_manifest(replace(dataset, name=name), source, used)


def load_idx_pair(images: Path, labels: Path, options: OptionValues, training: Dataset | None = None) -> Dataset:
    """Load one file of images (or vectors) and one of labels; a test part must fit its training part."""
    task = options.choice("task", ("auto", "classification", "regression"))
    part = as_input(read_idx(images), str(images), options.choice("channels", ("auto", "first", "last")))
    raw_labels = read_idx(labels)
    check_equal_counts([(str(images), len(part.values)), (str(labels), len(raw_labels))])
    if len(part.values) == 0:
        raise DataError(f"{images} holds no samples. Give a file with data.")
    classes = training.classes if training is not None else parse_classes(options.text("classes"))
    if not classes and task != "regression" and raw_labels.ndim == 1 and raw_labels.dtype.kind in "iu":
        classes = _counted_classes(raw_labels, str(labels))
    target = as_target(raw_labels, str(labels), task, classes)
    if training is not None and part.values.shape[1:] != training.inputs["x"].shape[1:]:
        raise DataError(
            f"{images} holds {shape_text(part.values.shape[1:])}, but the training part "
            f"{shape_text(training.inputs['x'].shape[1:])}. Give files that belong together."
        )
    dataset = Dataset(
        name=images.name,
        inputs={"x": part.values},
        targets={"y": target.values},
        classes=target.classes,
        description=" ".join(
            [f"{len(part.values)} samples of {shape_text(part.values.shape[1:])}.", part.note]
        ).strip(),
        kind="images" if part.values.ndim == 4 else "table",
        ranges={} if part.value_range is None else {"x": part.value_range},
    )
    return with_manifest(dataset, f"{images},{labels}", [images, labels])


def _counted_classes(labels: NDArray[Any], where: str) -> tuple[str, ...]:
    """Name the classes 0 to the largest label: IDX labels are codes, and a small file may lack some of them."""
    if not labels.size:
        return ()
    count = int(labels.max()) + 1
    check_labels(labels.astype(np.int64), max(count, 1), where)
    if count > _MOST_CLASSES:
        raise DataError(f"{where} has labels up to {count - 1}. If they are no classes, say task=regression.")
    return tuple(str(number) for number in range(count))
