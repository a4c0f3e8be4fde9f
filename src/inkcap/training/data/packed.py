"""Arrays in files, found without reading them: where their numbers begin, in what shape and type."""

from __future__ import annotations

import gzip
import math
import shutil
import struct
import zipfile
import zlib
from collections.abc import Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.archives import check_members, read_npy_header
from inkcap.training.data.errors import DataError
from inkcap.training.data.idx import is_packed, read_idx_header

_AT_ONCE = 1 << 24
_LOCAL_HEADER = struct.Struct("<4s5H3L2H")
"""What stands before the content of a member of an archive, but for its name and what may follow it."""


@dataclass(frozen=True)
class ArrayFile:
    """An array that lies in a file as it is, from a place on."""

    path: Path
    at: int
    shape: tuple[int, ...]
    dtype: str
    fortran: bool = False

    def open(self) -> NDArray[Any]:
        """Give the array, whose parts are read from the file when they are asked for."""
        try:
            order = "F" if self.fortran else "C"
            return np.memmap(self.path, np.dtype(self.dtype), "r", self.at, self.shape, order)
        except (OSError, ValueError) as error:
            raise DataError(f"{self.path} cannot be read: {error}. Check that it is there and whole.") from None


def find_npy(path: Path) -> ArrayFile:
    """Find the array of an .npy file."""
    with _reading(path), path.open("rb") as stream:
        return _found(path, stream, 0, path.stat().st_size, str(path))


def find_idx(path: Path, room: Path) -> ArrayFile:
    """Find the array of an IDX file; one that is packed is unpacked into a folder first."""
    with _reading(path):
        if is_packed(path):
            plain = room / f"{path.name}.unpacked"
            with gzip.open(path, "rb") as stream:
                _unpack(stream, plain, _expected(path), str(path))
        else:
            plain = path
        with plain.open("rb") as stream:
            dtype, shape, at = read_idx_header(path, stream)
        expected, there = at + math.prod(shape) * dtype.itemsize, plain.stat().st_size
        if there != expected:
            raise DataError(f"{path} should have {expected} bytes and has {there}. Fetch the file again.")
        return ArrayFile(plain, at, shape, dtype.str)


def _expected(path: Path) -> int:
    with gzip.open(path, "rb") as stream:
        dtype, shape, at = read_idx_header(path, stream)
    return at + math.prod(shape) * dtype.itemsize


def archive_names(path: Path) -> list[str]:
    """Give the names of the arrays of an .npz file."""
    with _reading(path), zipfile.ZipFile(path) as archive:
        check_members(path, archive.infolist(), most=None)
        return [info.filename.removesuffix(".npy") for info in archive.infolist()]


def find_in_archive(path: Path, names: Mapping[str, str], room: Path) -> dict[str, ArrayFile]:
    """Find arrays of an .npz file by their names; what is packed is unpacked into a folder first."""
    found: dict[str, ArrayFile] = {}
    with _reading(path), zipfile.ZipFile(path) as archive:
        for called, name in names.items():
            info, where = archive.getinfo(f"{name}.npy"), f"{path}, array {name}"
            if info.compress_type == zipfile.ZIP_STORED and not info.flag_bits & 1:
                with path.open("rb") as stream:
                    stream.seek(info.header_offset)
                    head = _LOCAL_HEADER.unpack(stream.read(_LOCAL_HEADER.size))
                    begin = info.header_offset + _LOCAL_HEADER.size + head[-2] + head[-1]
                    found[called] = _found(path, stream, begin, info.file_size, where)
                continue
            plain = room / f"{len(found)}.npy"
            with archive.open(info) as stream:
                _unpack(stream, plain, info.file_size, where)
            with plain.open("rb") as stream:
                found[called] = _found(plain, stream, 0, info.file_size, where)
    return found


def _found(path: Path, stream: IO[bytes], begin: int, length: int, where: str) -> ArrayFile:
    stream.seek(begin)
    shape, fortran, dtype = read_npy_header(stream, where)
    at = stream.tell()
    expected = math.prod(shape) * dtype.itemsize
    if begin + length - at != expected:
        raise DataError(
            f"{where} should have {expected} bytes of data for shape {shape} in {dtype}, but has "
            f"{begin + length - at}. Save it again."
        )
    return ArrayFile(path, at, shape, dtype.str, fortran)


def _unpack(stream: IO[bytes] | gzip.GzipFile, path: Path, length: int, where: str) -> None:
    """Write what a packed file holds into a plain one: no more than it tells of itself, and there is room for."""
    path.parent.mkdir(parents=True, exist_ok=True)
    free = shutil.disk_usage(path.parent).free
    if length > free:
        raise DataError(f"{where} unpacks to {length} bytes, and {path.parent} has room for {free}. Make room for it.")
    with path.open("wb") as plain:
        left = length + 1
        while left and (content := stream.read(min(_AT_ONCE, left))):
            plain.write(content)
            left -= len(content)
    if left != 1:
        raise DataError(f"{where} does not unpack to the {length} bytes that it tells of. Save or fetch it again.")


@contextmanager
def _reading(path: Path) -> Generator[None]:
    try:
        yield
    except (zipfile.BadZipFile, zipfile.LargeZipFile, struct.error, EOFError, KeyError) as error:
        raise DataError(f"{path} is not whole: {error}. Save or fetch it again.") from None
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}: the gzip data are damaged ({error}). Fetch or pack the file again.") from None
    except (RuntimeError, NotImplementedError) as error:
        raise DataError(f"{path} is packed in an unusual way: {error}. Save it again with numpy.savez.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}. Check the path and its rights.") from None
