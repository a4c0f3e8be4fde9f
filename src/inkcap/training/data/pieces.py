"""Samples of a set that need not fit into memory: cut into pieces, each read some samples at a time."""

from __future__ import annotations

import csv
import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from contextlib import closing
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.recipes import DataSpec
from inkcap.training.data.errors import DataError
from inkcap.training.data.images import IMAGE_SUFFIXES
from inkcap.training.data.packed import ArrayFile
from inkcap.training.data.single import Raw, batched
from inkcap.training.data.sources import load_named
from inkcap.training.data.tables import Table, check_row, checked_header, open_table
from inkcap.training.data.wording import listing


@dataclass(frozen=True)
class Piece:
    """Some samples in a row, by the number of the first, and where they begin in their file, if that has to be told."""

    first: int
    count: int
    file: int = 0
    at: int = 0
    line: int = 0


class Pieces(ABC):
    """Samples that are read a piece at a time; each process that reads has its own copy of this."""

    @abstractmethod
    def cut(self, size: int) -> list[Piece]:
        """Cut the samples into pieces of so many, the last of what is left."""

    @abstractmethod
    def read(self, piece: Piece, size: int) -> Iterator[Raw]:
        """Read a piece, so many samples at a time."""

    def names(self, piece: Piece) -> tuple[str, ...]:
        """Give the names of the samples of a piece, if they have any."""
        return ()


def even(count: int, size: int) -> list[Piece]:
    """Cut so many samples evenly."""
    return [Piece(first, min(size, count - first)) for first in range(0, count, size)]


def joined_up(pieces: Sequence[Piece], size: int) -> list[Piece]:
    """Join pieces that follow one another in a file, up to so many samples."""
    found: list[Piece] = []
    for piece in pieces:
        if found and found[-1].file == piece.file and found[-1].count + piece.count <= size:
            found[-1] = replace(found[-1], count=found[-1].count + piece.count)
        else:
            found.append(piece)
    return found


def _parts(piece: Piece, size: int) -> Iterator[tuple[int, int]]:
    """Give the first sample of each part of a piece, and the one after its last."""
    end = piece.first + piece.count
    return ((first, min(first + size, end)) for first in range(piece.first, end, size))


@dataclass(frozen=True)
class ArrayPieces(Pieces):
    """Arrays in files, by their names: what is asked for of them is read, and nothing else."""

    where: str
    arrays: Mapping[str, ArrayFile]
    sample: tuple[int, ...]
    """The shape of one sample of the only input; an array of that shape is a single sample."""

    @cached_property
    def _opened(self) -> dict[str, NDArray[Any]]:
        opened = {name: array.open() for name, array in self.arrays.items()}
        return {name: batched(values, self.sample) for name, values in opened.items()} if self.sample else opened

    def cut(self, size: int) -> list[Piece]:
        """Cut by the first axis, which all arrays have to share."""
        counts = {len(values) if values.ndim else 0 for values in self._opened.values()}
        if len(counts) != 1 or counts == {0}:
            shapes = listing([f"{name or 'array'} {values.shape}" for name, values in self._opened.items()])
            raise DataError(
                f"{self.where} has {shapes}, where each needs the same number of samples, at least one. Correct it."
            )
        return even(counts.pop(), size)

    def read(self, piece: Piece, size: int) -> Iterator[Raw]:
        """Read the rows of every array."""
        for first, end in _parts(piece, size):
            rows = {name: values[first:end] for name, values in self._opened.items()}
            native = {name: values.astype(values.dtype.newbyteorder("=")) for name, values in rows.items()}
            yield Raw(self.where, native, first, part=True)

    def __getstate__(self) -> dict[str, Any]:
        """Leave opened files behind."""
        return {"where": self.where, "arrays": self.arrays, "sample": self.sample}


@dataclass(frozen=True)
class TablePieces(Pieces):
    """The rows of a CSV file. It is read through once to find where pieces begin, for a row may have several lines."""

    path: Path
    separator: str

    def cut(self, size: int) -> list[Piece]:
        """Find the place in the file and the line of each piece's first row."""
        pieces: list[Piece] = []
        count = 0
        with open_table(self.path), closing(_Lines(self.path)) as lines:
            reader = csv.reader(lines, delimiter=self.separator, strict=True)
            header = checked_header(self.path, next(reader, None), self.separator)
            at, line, begun = lines.at, reader.line_num, 0
            for row in reader:
                if row:
                    check_row(self.path, reader.line_num, row, header)
                    count += 1
                if count - begun == size:
                    pieces.append(Piece(begun, size, 0, at, line))
                    at, line, begun = lines.at, reader.line_num, count
        if count > begun:
            pieces.append(Piece(begun, count - begun, 0, at, line))
        if not pieces:
            raise DataError(f"{self.path} has a header but no rows. Add the data below the header.")
        return pieces

    def read(self, piece: Piece, size: int) -> Iterator[Raw]:
        """Read the rows from the place of a piece on."""
        with open_table(self.path), closing(_Lines(self.path, piece.at)) as lines:
            header = self._header
            reader = csv.reader(lines, delimiter=self.separator, strict=True)
            full = ((row, piece.line + reader.line_num) for row in reader if row)
            for first, end in _parts(piece, size):
                told = [([cell.strip() for cell in row], line) for row, line in itertools.islice(full, end - first)]
                if len(told) < end - first:
                    raise DataError(f"{self.path} has become shorter since it was first read. Leave it as it is.")
                table = Table(self.path, header, [row for row, _ in told], [line for _, line in told])
                yield Raw(str(self.path), table, first, part=True)

    @cached_property
    def _header(self) -> tuple[str, ...]:
        with closing(_Lines(self.path)) as lines:
            first = next(csv.reader(lines, delimiter=self.separator, strict=True), None)
        return checked_header(self.path, first, self.separator)


class _Lines:
    """The lines of a file as texts, with the place after the last one that was read."""

    def __init__(self, path: Path, at: int = 0) -> None:
        """Begin at a place of the file; the mark of the encoding at its very start is no text."""
        self._file = path.open("rb")
        self._file.seek(at)
        if at == 0 and self._file.read(3) != b"\xef\xbb\xbf":
            self._file.seek(0)
        self.at = self._file.tell()

    def __iter__(self) -> Iterator[str]:
        """Be read line by line."""
        return self

    def __next__(self) -> str:
        """Give the next line, with its end."""
        line = self._file.readline()
        if not line:
            raise StopIteration
        self.at += len(line)
        return line.decode("utf-8")

    def close(self) -> None:
        """Read no more."""
        self._file.close()


@dataclass(frozen=True)
class ImagePieces(Pieces):
    """Image files below a folder, in the order of their names."""

    folder: Path
    files: tuple[str, ...]

    def cut(self, size: int) -> list[Piece]:
        """Cut the list of files."""
        return even(len(self.files), size)

    def read(self, piece: Piece, size: int) -> Iterator[Raw]:
        """Name the files; whoever needs their pixels opens them."""
        for first, end in _parts(piece, size):
            yield Raw(str(self.folder), tuple(self.folder / name for name in self.files[first:end]), first, part=True)

    def names(self, piece: Piece) -> tuple[str, ...]:
        """Give the paths of the images from their folder on."""
        return self.files[piece.first : piece.first + piece.count]


def find_images(folder: Path) -> ImagePieces:
    """Find the images in a folder and in those inside it."""
    found = sorted(
        path.relative_to(folder).as_posix()
        for path in folder.rglob("*")
        if path.suffix.lower() in IMAGE_SUFFIXES and not path.name.startswith(".") and path.is_file()
    )
    if not found:
        raise DataError(f"{folder} has no images ({', '.join(IMAGE_SUFFIXES)}) in it. Give another folder.")
    return ImagePieces(folder, tuple(found))


@dataclass(frozen=True)
class SetPieces(Pieces):
    """A set that is loaded whole, by every process that reads it; the named sets are small enough."""

    spec: DataSpec
    folder: Path

    @cached_property
    def _inputs(self) -> dict[str, NDArray[Any]]:
        return load_named(self.spec, self.folder).inputs

    def cut(self, size: int) -> list[Piece]:
        """Cut the samples."""
        return even(len(next(iter(self._inputs.values()))), size)

    def read(self, piece: Piece, size: int) -> Iterator[Raw]:
        """Give the rows of every input."""
        for first, end in _parts(piece, size):
            rows = {name: np.ascontiguousarray(values[first:end]) for name, values in self._inputs.items()}
            yield Raw(self.spec.name, rows, first, part=True)

    def __getstate__(self) -> dict[str, Any]:
        """Leave what was loaded behind."""
        return {"spec": self.spec, "folder": self.folder}
