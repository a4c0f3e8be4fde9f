"""Samples in Parquet files: columns of numbers and words as in a table, or lists of numbers as arrays."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.errors import DataError
from inkcap.training.data.pieces import Piece, Pieces
from inkcap.training.data.single import Raw
from inkcap.training.data.tables import Table

SUFFIX = ".parquet"


def parquet_files(folder: Path) -> tuple[Path, ...]:
    """List the Parquet files of a folder in the order of their names; hidden ones, and those of `_`, are none."""
    found = (path for path in folder.iterdir() if path.suffix.lower() == SUFFIX and path.is_file())
    return tuple(sorted(path for path in found if not path.name.startswith((".", "_"))))


@dataclass(frozen=True)
class ParquetPieces(Pieces):
    """The rows of Parquet files, one file after the other; `inputs` are what the run calls its inputs."""

    files: tuple[Path, ...]
    inputs: tuple[str, ...]

    def cut(self, size: int) -> list[Piece]:
        """Cut between groups of rows, which are read as a whole: a piece has at least one, so maybe more samples."""
        pieces: list[Piece] = []
        first = 0
        for number in range(len(self.files)):
            begin, count = 0, 0
            groups = self._groups(number)
            for group, rows in enumerate(groups):
                count += rows
                if count >= size or group == len(groups) - 1:
                    if count:
                        pieces.append(Piece(first, count, number, begin))
                    first, begin, count = first + count, group + 1, 0
        if not pieces:
            raise DataError(f"{self.files[0].parent}: the Parquet files have no rows. Give some that have.")
        return pieces

    def read(self, piece: Piece, size: int) -> Iterator[Raw]:
        """Read the groups of rows of a piece."""
        path, groups = self.files[piece.file], self._groups(piece.file)
        wanted, count = [piece.at], groups[piece.at]
        while count < piece.count:
            wanted.append(wanted[-1] + 1)
            count += groups[wanted[-1]]
        first = piece.first
        for batch in _opened(path).iter_batches(batch_size=size, row_groups=wanted):
            yield Raw(str(path), self._content(path, batch, first), first, part=True)
            first += batch.num_rows

    def _groups(self, number: int) -> list[int]:
        found = _opened(self.files[number]).metadata
        return [int(found.row_group(group).num_rows) for group in range(found.num_row_groups)]

    def _content(self, path: Path, batch: Any, first: int) -> Table | dict[str, NDArray[Any]]:
        """Give lists of numbers as arrays, where the inputs have some, and all else as the rows of a table."""
        types: Any = import_module("pyarrow").types
        columns: dict[str, Any] = dict(zip(batch.schema.names, batch.columns, strict=True))
        of_lists = {
            name: _array(path, name, column)
            for name, column in columns.items()
            if (name in self.inputs or name == "x") and types.is_nested(column.type)
        }
        if of_lists:
            return of_lists
        plain = [name for name, column in columns.items() if not types.is_nested(column.type)]
        cells = [["" if cell is None else str(cell) for cell in columns[name].to_pylist()] for name in plain]
        rows = [list(row) for row in zip(*cells, strict=True)]
        return Table(path, tuple(plain), rows, list(range(first + 1, first + 1 + len(rows))))


def _array(path: Path, name: str, column: Any) -> NDArray[Any]:
    try:
        return np.array(column.to_pylist())
    except ValueError:
        raise DataError(f"{path}, column {name}: the lists have different lengths. Make them alike.") from None


def _opened(path: Path) -> Any:
    try:
        arrow: Any = import_module("pyarrow")
        parquet: Any = import_module("pyarrow.parquet")
    except ImportError:
        raise DataError(
            f"{path}: Parquet files need pyarrow, which is not installed: pip install 'inkcap[cluster]'"
        ) from None
    mistakes: tuple[type[Exception], ...] = (OSError, arrow.ArrowException)
    try:
        return parquet.ParquetFile(path)
    except mistakes as error:
        words = str(error).splitlines()[0]
        raise DataError(f"{path} is not a readable Parquet file: {words}. Write it again.") from None
