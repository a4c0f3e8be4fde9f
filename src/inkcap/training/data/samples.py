"""The first samples of a dataset for a page: images as PNG, numbers as the rows of a table."""

import base64
import csv
import io
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.dataset import Dataset
from inkcap.training.data.marks import Marks, true_marks
from inkcap.training.data.preview import limits_of, target_text

MOST_COLUMNS = 12
LARGEST_SIDE = 128
_HEAD_BYTES = 1 << 16
_LONGEST_CELL = 60


@dataclass(frozen=True)
class Samples:
    """What is seen of the first samples: the columns of a table with its rows, and pictures with what they show."""

    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    pictures: tuple[tuple[str, str, Marks | None], ...] = ()
    """Each a caption, a PNG in base64, and what is where on it."""


def samples_of(dataset: Dataset, count: int) -> Samples:
    """Show the first samples of the first input."""
    values = next(iter(dataset.inputs.values()))
    shown = min(count, len(dataset))
    if values.ndim == 4 and values.shape[1] in (1, 3):
        # By the values that are there, not by those that could be: digits from 0 to 16 would be black in bytes.
        lowest, highest = limits_of(values)
        pictures = tuple(
            (target_text(dataset, i), _png(values[i], lowest, highest), true_marks(dataset, i)) for i in range(shown)
        )
        return Samples(pictures=pictures)
    flat = values.reshape(len(values), -1)
    names = _column_names(dataset, flat.shape[1])
    cut = len(names) > MOST_COLUMNS
    columns = (*names[:MOST_COLUMNS], *(("…",) if cut else ()), *dataset.targets)
    rows = tuple(
        (
            *(f"{float(number):.6g}" for number in flat[i, :MOST_COLUMNS]),
            *(("…",) if cut else ()),
            *(target_text(dataset, i, name).partition("=")[2] for name in dataset.targets),
        )
        for i in range(shown)
    )
    return Samples(columns, rows)


def _column_names(dataset: Dataset, count: int) -> list[str]:
    layout: dict[str, Any] = dataset.manifest.get("table", {})
    categories: dict[str, list[str]] = layout.get("categories", {})
    names = [
        column
        for name in layout.get("features", ())
        for column in ([f"{name}={value}" for value in categories[name]] if name in categories else [name])
    ]
    return names if len(names) == count else [f"x{i}" for i in range(1, count + 1)]


def _png(image: NDArray[Any], lowest: float, highest: float) -> str:
    from PIL import Image

    step = max(1, -(-max(image.shape[1:]) // LARGEST_SIDE))
    small = image[:, ::step, ::step].astype(np.float64)
    span = highest - lowest if highest > lowest else 1.0
    bright = np.nan_to_num(np.clip((small - lowest) / span, 0.0, 1.0)) * 255.0
    pixels = np.ascontiguousarray(np.moveaxis(bright, 0, -1).round().astype(np.uint8))
    made = Image.fromarray(pixels[..., 0] if pixels.shape[2] == 1 else pixels)
    stream = io.BytesIO()
    made.save(stream, "PNG")
    return base64.b64encode(stream.getvalue()).decode()


def head_of_table(path: Path, count: int, separator: str = ",") -> Samples:
    """Show the first lines of a CSV file as they are, for one that cannot be read as data."""
    try:
        with path.open("rb") as stream:
            text = stream.read(_HEAD_BYTES).decode("utf-8-sig", errors="replace")
        lines = list(csv.reader(io.StringIO(text), delimiter=separator))[: count + 1]
    except (OSError, csv.Error):
        return Samples()
    cells = [tuple(cell[:_LONGEST_CELL] for cell in line[: MOST_COLUMNS + 1]) for line in lines if line]
    return Samples(cells[0], tuple(cells[1:])) if cells else Samples()
