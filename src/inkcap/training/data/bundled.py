"""The small sets that come with scikit-learn."""

import gzip
import importlib
import importlib.util
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np

from inkcap.training.data.dataset import Dataset, with_manifest
from inkcap.training.data.errors import DataError
from inkcap.training.data.options import OptionValues


def _bunch(function_name: str, **arguments: Any) -> Any:
    """Call one of scikit-learn's loaders; the library is imported only here, since its import is slow."""
    try:
        datasets = importlib.import_module("sklearn.datasets")
    except ImportError:
        raise DataError("This set comes with scikit-learn, which is not installed. Install scikit-learn.") from None
    return getattr(datasets, function_name)(**arguments)


def _file(name: str) -> Path | None:
    """Find a file of scikit-learn without importing it, which takes longer than a short training."""
    found = importlib.util.find_spec("sklearn")
    path = None if found is None or found.origin is None else Path(found.origin).parent / "datasets" / "data" / name
    return path if path is not None and path.is_file() else None


def _digits() -> Any:
    """Read the digits from the file they lie in; where it lies elsewhere, scikit-learn knows where."""
    path = _file("digits.csv.gz")
    if path is None:
        return _bunch("load_digits")
    with gzip.open(path, "rt", encoding="ascii") as lines:
        rows = np.loadtxt(lines, delimiter=",")
    return SimpleNamespace(images=rows[:, :-1].reshape(-1, 8, 8), target=rows[:, -1])


def _iris() -> Any:
    """Read the flowers alike: a line of numbers and names, then a line for each flower."""
    path = _file("iris.csv")
    if path is None:
        return _bunch("load_iris")
    with path.open(encoding="utf-8") as lines:
        names = next(lines).strip().split(",")[2:]
        rows = np.loadtxt(lines, delimiter=",")
    features = [f"{part} {side} (cm)" for part in ("sepal", "petal") for side in ("length", "width")]
    return SimpleNamespace(data=rows[:, :-1], target=rows[:, -1], target_names=names, feature_names=features)


def load_digits(_options: OptionValues) -> Dataset:
    """Load the 8×8 grey images of handwritten digits, with values from 0 to 16."""
    bunch = _digits()
    images = np.asarray(bunch.images).astype(np.uint8)[:, None, :, :]
    dataset = Dataset(
        name="digits",
        inputs={"x": images},
        targets={"y": np.asarray(bunch.target).astype(np.int64)},
        classes=tuple(str(digit) for digit in range(10)),
        description="Handwritten digits, 8×8 grey images with values from 0 to 16, bundled with scikit-learn.",
        kind="images",
        ranges={"x": (0.0, 16.0)},
    )
    return with_manifest(dataset, "digits")


def table_loader(name: str, function_name: str, description: str) -> Callable[[OptionValues], Dataset]:
    """Make the loader of one of the tables."""

    def load_table(_options: OptionValues) -> Dataset:
        bunch = _iris() if function_name == "load_iris" else _bunch(function_name)
        return _table(name, description, bunch, tuple(str(word) for word in bunch.target_names))

    return load_table


def load_diabetes(_options: OptionValues) -> Dataset:
    """Load the diabetes table with its raw measurements.

    scikit-learn's default columns are scaled by all samples together; the raw ones let the preparation be fitted on the
    training part only.
    """
    bunch = _bunch("load_diabetes", scaled=False)
    words = "Progression of diabetes after one year from ten raw measurements, bundled with scikit-learn."
    return _table("diabetes", words, bunch, ())


def _table(name: str, description: str, bunch: Any, classes: tuple[str, ...]) -> Dataset:
    target = np.asarray(bunch.target)
    dataset = Dataset(
        name=name,
        inputs={"x": np.asarray(bunch.data).astype(np.float32)},
        targets={"y": target.astype(np.int64) if classes else target.astype(np.float32)[:, None]},
        classes=classes,
        description=description,
        kind="table",
    )
    features = [str(column) for column in bunch.feature_names]
    table: dict[str, Any] = {
        "features": features,
        "categories": {},
        "targets": ["y"],
        "separator": ",",
        "missing": "error",
    }
    return with_manifest(dataset, name, table=table)
