"""Files that are either the old one or the new one, never half of each."""

import contextlib
import glob
import os
import secrets
import time
from collections.abc import Callable
from pathlib import Path


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a whole file: a temporary one beside it, fsync, rename, fsync of the folder where that is possible."""
    data = content.encode("utf-8") if isinstance(content, str) else content

    def write(temporary: Path) -> None:
        temporary.write_bytes(data)

    write_atomic_with(path, write)


def write_atomic_with(path: Path, write: Callable[[Path], None]) -> None:
    """Give the same for a writer that wants a path of its own, such as one of weights."""
    temporary = path.with_name(f".{path.name}.{secrets.token_hex(4)}.tmp")
    try:
        write(temporary)
        # Opened for writing, since some platforms refuse to fsync a file that is open for reading only.
        with open(temporary, "r+b") as file:
            os.fsync(file.fileno())
        # Some writers make files that only their owner may read; these are ordinary files, to be shared.
        os.chmod(temporary, 0o644)
        os.replace(temporary, path)
    finally:
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
    sync_folder(path.parent)


def remove_temporaries(folder: Path, name: str = "", age: float = 0) -> None:
    """Remove what was half-written, of one name or of any, when a process was killed.

    Where somebody may be writing, what is younger than an age in seconds stays.
    """
    for half in folder.glob(f".{glob.escape(name) or '*'}.*.tmp"):
        with contextlib.suppress(OSError):
            if not age or time.time() - half.stat().st_mtime > age:
                half.unlink()


def make_folder(path: Path) -> None:
    """Make a folder, and those above it that are missing, so that they last: each has a name in the one above it."""
    missing: list[Path] = []
    while not path.is_dir():
        missing.append(path)
        path = path.parent
    for folder in reversed(missing):
        folder.mkdir(exist_ok=True)
        sync_folder(folder.parent)


def sync_folder(folder: Path) -> None:
    """Make a rename last; a platform that cannot open folders has its own way and is left to it."""
    try:
        handle = os.open(folder, os.O_RDONLY)
    except OSError:
        return
    try:
        with contextlib.suppress(OSError):
            os.fsync(handle)
    finally:
        os.close(handle)
