"""Writing a file so that it is either whole or absent."""

import contextlib
import os
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import IO

from inkcap.training.data.errors import DataError


@contextlib.contextmanager
def replaced_file(path: Path) -> Generator[IO[bytes], None, None]:
    """Open a temporary file beside the path; it takes the path's name only when everything was written."""
    try:
        path.parent.mkdir(parents=True, exist_ok=True)
        handle, temporary_name = tempfile.mkstemp(prefix=f".{path.name}.", suffix=".part", dir=path.parent)
    except OSError as error:
        raise DataError(
            f"{path} cannot be written: {error.strerror or error}. Choose a folder you may write to."
        ) from None
    temporary = Path(temporary_name)
    try:
        with os.fdopen(handle, "wb") as stream:
            yield stream
            stream.flush()
            os.fsync(stream.fileno())
        os.replace(temporary, path)
    except BaseException:
        # An interrupt too must leave no half-written file behind.
        temporary.unlink(missing_ok=True)
        raise
    _sync_folder(path.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable where the system lets a folder be synced."""
    with contextlib.suppress(OSError):
        handle = os.open(folder, os.O_RDONLY)
        try:
            os.fsync(handle)
        finally:
            os.close(handle)
