"""The data of a run: named inputs, named targets, and where they came from."""

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.preview import Preview, make_preview
from inkcap.training.data.wording import class_histogram
from inkcap.training.data.world import World

Array = NDArray[Any]
Kind = Literal["images", "table", "toy", "text"]
Layout = Literal["boxes", "classes", "instances"]
_HASHED_AT_ONCE = 1 << 22


@dataclass(frozen=True, eq=False)
class Dataset:
    """Samples with their targets.

    Images are (n, d, M, N), channels first, in uint8 when their files are; vectors are (n, M) in float32. Class targets
    are int64 (n,), or (n, …) for a class at each of several places, which `class_names` names; regression targets are
    float32 (n, k). The usual case has one input, "x", and one target, "y".

    `classes` names the classes of the one class target; a set with several class targets names those of each in
    `class_names`. `ranges` holds the range of an input's values where the format fixes it. `positions` holds each
    sample's number in its source (a line of a CSV file, for example), so that messages can point at it.
    `layouts` marks the targets that tell places of a picture and move with it: "boxes" are float32 (n, m, 5), rows of
    a label (0 = no box) and x1, y1, x2, y2; "classes" and "instances" are whole numbers (n, M, N), 0 the background, i
    for the pixels of the i-th box. `class_names` names the labels of boxes too.
    With `missing` at "mean" inputs may hold NaN, which the fitted preparation fills with the training part's means.
    With a `world` the samples are positions of a game: a training plays from them and learns from what it has played.
    """

    name: str
    inputs: dict[str, Array]
    targets: dict[str, Array]
    classes: tuple[str, ...] = ()
    description: str = ""
    test: "Dataset | None" = None
    manifest: dict[str, Any] = field(default_factory=dict[str, Any])
    kind: Kind = "table"
    ranges: dict[str, tuple[float, float]] = field(default_factory=dict[str, tuple[float, float]])
    class_names: dict[str, tuple[str, ...]] = field(default_factory=dict[str, tuple[str, ...]])
    positions: NDArray[np.int64] | None = None
    position_word: str = "sample"
    missing: Literal["error", "mean"] = "error"
    world: World | None = None
    layouts: dict[str, Layout] = field(default_factory=dict[str, Layout])

    def __len__(self) -> int:
        """Count the samples."""
        first = next(iter(self.inputs.values()), None)
        return 0 if first is None or first.ndim == 0 else int(first.shape[0])

    def classes_of(self, target: str) -> tuple[str, ...]:
        """Give the class names of one target; none for regression, and none for boxes, which are no classes."""
        if self.layouts.get(target) == "boxes":
            return ()
        if target in self.class_names:
            return self.class_names[target]
        values = self.targets[target]
        return self.classes if values.ndim == 1 and values.dtype.kind in "iu" else ()

    def labels_of(self, target: str) -> tuple[str, ...]:
        """Give the names of the classes, or of the labels of boxes, of one target."""
        return self.class_names.get(target, ()) if self.layouts.get(target) == "boxes" else self.classes_of(target)

    def subset(self, indices: Sequence[int] | Array) -> "Dataset":
        """Take some samples, in the order given; the test set stays behind."""
        chosen = np.asarray(indices, dtype=np.int64)
        positions = chosen if self.positions is None else self.positions[chosen]
        return replace(
            self,
            inputs={name: values[chosen] for name, values in self.inputs.items()},
            targets={name: values[chosen] for name, values in self.targets.items()},
            positions=positions,
            test=None,
        )

    def structure(self) -> dict[str, dict[str, dict[str, Any]]]:
        """Give the shape and dtype of one sample of every input and target, and the class count of class targets."""
        inputs = {
            name: {"shape": tuple(int(size) for size in values.shape[1:]), "dtype": str(values.dtype)}
            for name, values in self.inputs.items()
        }
        targets: dict[str, dict[str, Any]] = {}
        for name, values in self.targets.items():
            targets[name] = {"shape": tuple(int(size) for size in values.shape[1:]), "dtype": str(values.dtype)}
            if self.classes_of(name):
                targets[name]["classes"] = len(self.classes_of(name))
        return {"inputs": inputs, "targets": targets}

    def histogram(self, target: str) -> dict[str, int]:
        """Count the samples of each class of one target; empty for regression."""
        classes = self.classes_of(target)
        return class_histogram(self.targets[target], classes) if classes else {}

    def picture_size(self) -> tuple[int, int] | None:
        """Give height and width of the first input that holds pictures; boxes and maps tell of those."""
        sizes = [values.shape[2:] for values in self.inputs.values() if values.ndim == 4]
        return (int(sizes[0][0]), int(sizes[0][1])) if sizes else None

    def place(self, index: int) -> str:
        """Say where a sample stands in its source, such as `line 17`."""
        number = int(self.positions[index]) if self.positions is not None else index
        return f"{self.position_word} {number}"

    def preview(self, rows: int = 3, pictures: int = 3, unicode: bool = True) -> Preview:
        """Gather what the command line shows of the data: shapes, classes, ranges, a few rows and pictures."""
        return make_preview(self, rows, pictures, unicode)


def file_digest(path: Path) -> str:
    """Give the sha256 of a file."""
    digest = hashlib.sha256()
    with path.open("rb") as stream:
        while chunk := stream.read(_HASHED_AT_ONCE):
            digest.update(chunk)
    return digest.hexdigest()


def array_digest(arrays: dict[str, Array]) -> str:
    """Give the sha256 of arrays: their names, dtypes, shapes and contents, in little-endian order."""
    digest = hashlib.sha256()
    for name in sorted(arrays):
        values = np.ascontiguousarray(arrays[name])
        little = values.astype(values.dtype.newbyteorder("<"), copy=False)
        digest.update(f"{name}|{little.dtype.str}|{little.shape}|".encode())
        digest.update(little.data if little.size else b"")
    return digest.hexdigest()


def with_manifest(dataset: Dataset, source: str, files: Sequence[Path] = (), **more: Any) -> Dataset:
    """Write the manifest: the source, the count, the class histogram and digests of the files or of the arrays."""
    manifest: dict[str, Any] = {"source": source, "count": len(dataset)}
    if dataset.test is not None:
        manifest["test_count"] = len(dataset.test)
    histograms = {name: dataset.histogram(name) for name in dataset.targets if dataset.classes_of(name)}
    if histograms:
        manifest["classes"] = histograms
    if files:
        manifest["sha256"] = {path.name: file_digest(path) for path in files}
    else:
        arrays = {f"inputs/{name}": values for name, values in dataset.inputs.items()}
        arrays |= {f"targets/{name}": values for name, values in dataset.targets.items()}
        manifest["sha256"] = {"arrays": array_digest(arrays)}
    return replace(dataset, manifest=manifest | more)
