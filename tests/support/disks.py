"""A disk of its own that is small, and that can be filled to the last byte."""

import errno
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


class Disk:
    """A small disk in memory."""

    def __init__(self, folder: Path) -> None:
        self.folder, self._ballast = folder, folder / "ballast.bin"

    def fill(self) -> None:
        """Leave no room for one more byte."""
        with open(self._ballast, "ab", buffering=0) as file:
            for size in (2**20, 2**16, 2**12, 1):
                while True:
                    try:
                        file.write(b"\0" * size)
                    except OSError as problem:
                        if problem.errno != errno.ENOSPC:
                            raise
                        break

    def free(self) -> None:
        """Make room again."""
        self._ballast.unlink(missing_ok=True)


@contextmanager
def small_disk(folder: Path, size: str) -> Iterator[Disk]:
    """Mount a disk there, or skip the test where that is not allowed."""
    folder.mkdir()
    words = ["mount", "-t", "tmpfs", "-o", f"size={size}", "tmpfs", str(folder)]
    try:
        done = subprocess.run(words, capture_output=True, text=True, check=False)
    except OSError as problem:
        pytest.skip(f"no small disk can be mounted here: {problem}")
    if done.returncode:
        pytest.skip(f"no small disk can be mounted here: {done.stderr.strip()}")
    try:
        yield Disk(folder)
    finally:
        subprocess.run(["umount", "-l", str(folder)], check=False)
