"""The IDX format of MNIST: reading and writing, all of its dtypes, plain or compressed by gzip."""

import gzip
import math
import zlib
from pathlib import Path
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data.errors import DataError
from inkcap.training.data.files import replaced_file

_DTYPES = {0x08: ">u1", 0x09: ">i1", 0x0B: ">i2", 0x0C: ">i4", 0x0D: ">f4", 0x0E: ">f8"}
_CODES = {np.dtype(text).newbyteorder("="): code for code, text in _DTYPES.items()}
_GZIP_MAGIC = b"\x1f\x8b"
_LARGEST_CONTENT = 4 << 30
_READ_AT_ONCE = 1 << 24
_MOST_RATIO = 250
# A ratio means nothing for a few bytes: a short array of zeros packs very well.
_RATIO_FREE_BYTES = 64 << 20
_MOST_SURPLUS = 64 << 20


class _Readable(Protocol):
    """What both plain and unpacked files offer."""

    def read(self, size: int = ..., /) -> bytes:
        """Read up to so many bytes."""
        ...


def read_idx(path: Path) -> NDArray[Any]:
    """Read an IDX file into an array in the machine's byte order; gzip is told by its first bytes, not by the name."""
    try:
        with path.open("rb") as stream:
            if is_packed(path):
                with gzip.GzipFile(fileobj=stream) as unpacked:
                    return _read_stream(path, unpacked)
            return _read_stream(path, stream)
    except (gzip.BadGzipFile, zlib.error) as error:
        raise DataError(f"{path}: the gzip data are damaged ({error}). Fetch or pack the file again.") from None
    except EOFError:
        raise DataError(f"{path}: the gzip data end too early. Fetch or pack the file again.") from None
    except OSError as error:
        raise DataError(f"{path} cannot be read: {error.strerror or error}. Check the path and its rights.") from None


def is_packed(path: Path) -> bool:
    """Tell whether a file is packed by gzip."""
    with path.open("rb") as stream:
        return stream.read(2) == _GZIP_MAGIC


def read_idx_header(path: Path, stream: _Readable) -> tuple[np.dtype[Any], tuple[int, ...], int]:
    """Read the dtype, the shape and the header's length."""
    magic = stream.read(4)
    if len(magic) < 4:
        what = "is empty" if not magic else f"has only {len(magic)} of the 4 bytes that start an IDX file"
        raise DataError(f"{path} {what}. Fetch the file again.")
    code, dimensions = magic[2], magic[3]
    if magic[:2] != b"\0\0" or code not in _DTYPES or dimensions == 0:
        raise DataError(
            f"{path} is not an IDX file: it starts with the bytes {magic.hex(' ')}, where IDX has 00 00, "
            f"a type from 08 to 0e and a number of dimensions. Check that this is the right file."
        )
    sizes = stream.read(4 * dimensions)
    if len(sizes) < 4 * dimensions:
        raise DataError(
            f"{path} is cut off in its header: {4 + 4 * dimensions} bytes expected, {4 + len(sizes)} found. "
            f"Fetch the file again."
        )
    shape = tuple(int(size) for size in np.frombuffer(sizes, dtype=">u4"))
    return np.dtype(_DTYPES[code]), shape, 4 + 4 * dimensions


def _read_stream(path: Path, stream: _Readable) -> NDArray[Any]:
    dtype, shape, header_length = read_idx_header(path, stream)
    expected = math.prod(shape) * dtype.itemsize
    if expected > _LARGEST_CONTENT:
        raise DataError(
            f"{path} declares {'×'.join(map(str, shape))} values, {expected} bytes; at most {_LARGEST_CONTENT} bytes "
            f"are read. Split the file."
        )
    held = path.stat().st_size
    if isinstance(stream, gzip.GzipFile) and expected > max(_RATIO_FREE_BYTES, _MOST_RATIO * held):
        raise DataError(
            f"{path} unpacks from {held} to {expected} bytes, more than {_MOST_RATIO} times as many. "
            f"Check that this is the right file, or unpack it first."
        )
    # In pieces, so that a header that promises more than the file holds cannot make us reserve the memory for it.
    content = bytearray()
    while len(content) < expected:
        piece = stream.read(min(_READ_AT_ONCE, expected - len(content)))
        if not piece:
            raise DataError(
                f"{path} is cut off: {header_length + expected} bytes expected, {header_length + len(content)} found. "
                f"Fetch the file again."
            )
        content += piece
    surplus = _count_rest(stream)
    if surplus:
        raise DataError(
            f"{path} is too long: {header_length + expected} bytes expected, {header_length + expected + surplus} "
            f"{'found' if surplus < _MOST_SURPLUS else 'or more found'}. "
            f"Check that the file is whole and not joined with another."
        )
    return np.frombuffer(content, dtype=dtype).reshape(shape).astype(dtype.newbyteorder("="), copy=False)


def _count_rest(stream: _Readable) -> int:
    """Count the bytes left, up to a limit that keeps a bomb of zeros from being unpacked for ever."""
    surplus = 0
    while surplus < _MOST_SURPLUS and (piece := stream.read(_READ_AT_ONCE)):
        surplus += len(piece)
    return surplus


def write_idx(path: Path, array: NDArray[Any]) -> None:
    """Write an array as an IDX file, compressed by gzip when the name ends in .gz."""
    code = _CODES.get(array.dtype.newbyteorder("="))
    if code is None:
        raise DataError(
            f"{path}: IDX cannot hold {array.dtype}. Convert it to uint8, int8, int16, int32, float32 or float64."
        )
    if not 1 <= array.ndim <= 255 or any(size >= 1 << 32 for size in array.shape):
        raise DataError(f"{path}: IDX cannot hold an array of shape {array.shape}. Give it 1 to 255 dimensions.")
    header = bytes([0, 0, code, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
    content = header + array.astype(_DTYPES[code]).tobytes()
    with replaced_file(path) as stream:
        if path.suffix == ".gz":
            # No name and no time in the header: the same array always gives the same file.
            with gzip.GzipFile(filename="", mode="wb", fileobj=stream, mtime=0) as packed:
                packed.write(content)
        else:
            stream.write(content)


def looks_like_idx(path: Path) -> bool:
    """Tell from the name whether a file is meant as IDX."""
    name = path.name.lower()
    return name.endswith(("ubyte", ".idx", ".idx.gz", "ubyte.gz")) or (name.endswith(".gz") and "idx" in name)
