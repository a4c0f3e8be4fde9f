"""CSV files: reading rows, and turning columns of text into numbers."""

import csv
import math
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any, cast

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.errors import DataError
from inkcap.training.data.wording import counted, listing, near_matches

_MISSING_WORDS = frozenset({"", "na", "n/a", "nan", "null", "none", "?"})
_MOST_BYTES = 1 << 30
_MOST_COLUMNS = 100_000
_MOST_CATEGORIES = 256


@dataclass(frozen=True)
class Table:
    """The rows of a CSV file as text, with the line of the file on which each ends."""

    path: Path
    header: tuple[str, ...]
    rows: list[list[str]]
    lines: list[int]

    @cached_property
    def places(self) -> dict[str, int]:
        """The number of each column, from 0."""
        return {name: number for number, name in enumerate(self.header)}

    def column(self, name: str) -> list[str]:
        """Give the cells of one column."""
        index = self.places[name]
        return [row[index] for row in self.rows]

    def require(self, names: Sequence[str], option: str) -> None:
        """Refuse names that are no columns."""
        for name in names:
            if name not in self.places:
                raise DataError(
                    f"{self.path} has no column {name}, named by {option}.{near_matches(name, self.header)} "
                    f"Its columns: {listing(self.header)}. Correct {option}."
                )

    def without(self, dropped: set[int]) -> "Table":
        """Leave out some rows."""
        kept = [index for index in range(len(self.rows)) if index not in dropped]
        return Table(
            self.path, self.header, [self.rows[index] for index in kept], [self.lines[index] for index in kept]
        )


@dataclass(frozen=True)
class TableLayout:
    """How a table becomes vectors: the columns in order, and the categories of those that are not numbers.

    A run keeps this in its manifest, so that a file given for prediction is read in the same way.
    """

    features: tuple[str, ...]
    categories: dict[str, tuple[str, ...]]
    targets: tuple[str, ...] = ()
    separator: str = ","
    missing: str = "error"

    def to_json(self) -> dict[str, Any]:
        """Write the layout as plain values."""
        return {
            "features": list(self.features),
            "categories": {name: list(values) for name, values in self.categories.items()},
            "targets": list(self.targets),
            "separator": self.separator,
            "missing": self.missing,
        }

    @staticmethod
    def from_json(values: Mapping[str, Any]) -> "TableLayout":
        """Read the layout back from plain values."""
        try:
            categories = cast(Mapping[str, Sequence[str]], values["categories"])
            return TableLayout(
                features=tuple(str(name) for name in values["features"]),
                categories={str(name): tuple(str(word) for word in words) for name, words in categories.items()},
                targets=tuple(str(name) for name in values.get("targets", ())),
                separator=str(values.get("separator", ",")),
                missing=str(values.get("missing", "error")),
            )
        except (KeyError, TypeError, AttributeError) as error:
            raise DataError(f"The stored table layout is damaged: {error}. Load the data and train again.") from None


def is_missing(cell: str) -> bool:
    """Tell whether a cell is empty or holds a word for a missing value."""
    return cell.strip().lower() in _MISSING_WORDS


def number_in(cell: str) -> float | None:
    """Read a finite number, or None when the cell holds something else."""
    # Python's float() takes 1_000 as a number, which no other reader of CSV does.
    if "_" in cell:
        return None
    try:
        value = float(cell)
    except ValueError:
        return None
    return value if math.isfinite(value) else None


@contextmanager
def open_table(path: Path) -> Generator[None]:
    """Say what is wrong with a CSV file while it is read."""
    try:
        yield
    except UnicodeDecodeError as error:
        raise DataError(f"{path} is not UTF-8 text (byte {error.start}). Save it as UTF-8.") from None
    except csv.Error as error:
        raise DataError(f"{path} is not readable as CSV: {error}. Check its quotes.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}. Check the path and its rights.") from None


def read_table(path: Path, separator: str = ",") -> Table:
    """Read a CSV file with a header; every row must have as many cells as the header."""
    with open_table(path):
        if path.stat().st_size > _MOST_BYTES:
            raise DataError(
                f"{path} has {path.stat().st_size} bytes; at most {_MOST_BYTES} are read. Use .npz instead."
            )
        with path.open(newline="", encoding="utf-8-sig") as stream:
            reader = csv.reader(stream, delimiter=separator, strict=True)
            header = checked_header(path, next(reader, None), separator)
            rows: list[list[str]] = []
            lines: list[int] = []
            for row in reader:
                if not row:
                    continue
                check_row(path, reader.line_num, row, header)
                rows.append([cell.strip() for cell in row])
                lines.append(reader.line_num)
    if not rows:
        raise DataError(f"{path} has a header but no rows. Add the data below the header.")
    return Table(path, header, rows, lines)


def check_row(path: Path, line: int, row: Sequence[str], header: Sequence[str]) -> None:
    """Refuse a row that has more or fewer cells than the header."""
    if len(row) != len(header):
        raise DataError(
            f"{path}, line {line}: {counted(len(row), 'cell')}, but the header has {len(header)}. "
            "Add or remove cells, or quote cells that contain the separator."
        )


def checked_header(path: Path, header: list[str] | None, separator: str) -> tuple[str, ...]:
    """Refuse a missing header, empty names, repeated names, and a first line that is data."""
    if not header:
        raise DataError(f"{path} is empty. Give a CSV file with a header line and rows.")
    if len(header) > _MOST_COLUMNS:
        raise DataError(f"{path}, line 1: {len(header)} columns; at most {_MOST_COLUMNS} are read. Use .npz instead.")
    names = tuple(name.strip() for name in header)
    if all(number_in(name) is not None for name in names):
        raise DataError(
            f"{path}, line 1: the header is missing, there are only numbers ({listing(names, 4)}). "
            f"Add a first line with the names of the columns."
        )
    seen: set[str] = set()
    for position, name in enumerate(names):
        if not name:
            raise DataError(f"{path}, line 1: column {position + 1} has no name. Name it in the header.")
        if name in seen:
            raise DataError(f"{path}, line 1: the column name {name} stands there twice. Rename one of them.")
        seen.add(name)
    if len(names) == 1 and separator == "," and any(mark in names[0] for mark in ";\t"):
        raise DataError(f"{path}, line 1: no comma in the header. Name the separator, for example separator=semicolon.")
    return names


def find_missing(table: Table, columns: Sequence[str]) -> dict[int, str]:
    """Give the rows with a missing value in one of the columns, and the first such column of each."""
    found: dict[int, str] = {}
    for name in columns:
        for row, cell in enumerate(table.column(name)):
            if is_missing(cell):
                found.setdefault(row, name)
    return dict(sorted(found.items()))


def numeric_column(table: Table, name: str) -> NDArray[np.float64]:
    """Read a column of numbers; missing cells become NaN, anything else is refused."""
    values = np.empty(len(table.rows), dtype=np.float64)
    for row, cell in enumerate(table.column(name)):
        number = number_in(cell)
        if number is None and not is_missing(cell):
            if cell.lower().lstrip("+-") in ("inf", "infinity"):
                advice = "Replace it by a finite number, or remove the row"
            else:
                advice = f"Correct it, or say categorical={name} (a column of words) or ignore={name} (leave it out)"
            raise DataError(
                f"{table.path}, line {table.lines[row]}, column {name}: {cell!r} is not a number. {advice}."
            )
        values[row] = math.nan if number is None else number
    too_large = np.flatnonzero(np.abs(values) > np.finfo(np.float32).max)
    if too_large.size:
        row = int(too_large[0])
        raise DataError(
            f"{table.path}, line {table.lines[row]}, column {name}: {values[row]:g} is too large. Rescale the column."
        )
    return values


def categories_of(table: Table, name: str) -> tuple[str, ...]:
    """Give the distinct words of a column in sorted order."""
    words = sorted({cell for cell in table.column(name) if not is_missing(cell)})
    if len(words) > _MOST_CATEGORIES:
        raise DataError(
            f"{table.path}: the categorical column {name} has {len(words)} distinct values; at most {_MOST_CATEGORIES} "
            f"are taken. Leave it out with ignore={name}."
        )
    return tuple(words)


def encode(table: Table, layout: TableLayout) -> NDArray[np.float32]:
    """Turn the rows into vectors: numbers as they are, categories one-hot (a missing one has no mark at all)."""
    blocks: list[NDArray[np.float64]] = []
    for name in layout.features:
        words = layout.categories.get(name)
        if words is None:
            blocks.append(numeric_column(table, name)[:, None])
            continue
        block = np.zeros((len(table.rows), len(words)), dtype=np.float64)
        for row, cell in enumerate(table.column(name)):
            if cell in words:
                block[row, words.index(cell)] = 1.0
            elif not is_missing(cell):
                raise DataError(
                    f"{table.path}, line {table.lines[row]}, column {name}: {cell!r} is none of the known categories "
                    f"{listing(words)}. Correct it."
                )
        blocks.append(block)
    return np.concatenate(blocks, axis=1).astype(np.float32)
