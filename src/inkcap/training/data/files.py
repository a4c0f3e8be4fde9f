"""Finding a file by what a person wrote, and writing one so that it is either whole or absent."""

import contextlib
import os
import tempfile
from collections.abc import Generator
from pathlib import Path
from typing import IO

from inkcap.training.data.errors import DataError


def path_of(spec: str, folder: Path) -> Path:
    """Give the path that a text means, relative to a folder; `~` is a home where the text begins with it, alone.

    `./~/x` lies in a folder of that name, and so does `~who/x` where nobody is called who.
    """
    text = spec.strip()
    return folder / (os.path.expanduser(text) if "\0" not in text else text)


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
