"""The mark of the last edit, beside the studio's file: a log that is cut off right where a change ends looks whole.

It is written after the edit is on the disk, and not waited for: so it never says more than there was, and where it
says more than there is, something was lost.
"""

from __future__ import annotations

from contextlib import suppress
from pathlib import Path

from inkcap.studio.seals import seal_of

FILE = "studio.last"
_SIZE = 64
"""Always as long, so that a full disk has room for it once it is there."""


class Watermark:
    """The file with the last edit: its drawing, its number there, and a check sum of both."""

    def __init__(self, folder: Path, *, fresh: bool = False) -> None:
        """Look after the one in a folder; a `fresh` file of the studio's has none of the edits before it."""
        self._path = folder / FILE
        if fresh:
            with suppress(OSError):
                self._path.unlink(missing_ok=True)

    def read(self) -> tuple[str, int] | None:
        """Give the drawing and the number of the last edit; nothing where that is not surely known."""
        with suppress(OSError, ValueError):
            drawing, number, seal = self._path.read_bytes()[:_SIZE].decode("ascii").split()
            if seal == seal_of(drawing, int(number)):
                return drawing, int(number)
        return None

    def write(self, drawing: str, number: int) -> None:
        """Note that an edit is on the disk; one that cannot be noted is there all the same."""
        content = f"{drawing} {number} {seal_of(drawing, number)}".ljust(_SIZE - 1).encode() + b"\n"
        with suppress(OSError), open(self._path, "r+b" if self._path.exists() else "xb", buffering=0) as file:
            file.write(content)
