"""Check sums of what the studio keeps: SQLite sees that pages hang together, not that they hold what was written."""

from __future__ import annotations

import struct
import zlib
from pathlib import Path
from typing import Any

_HEADER, _FRAME = 32, 24
_LITTLE, _BIG = 0x377F0682, 0x377F0683
_ROUNDS = 2**20
"""A frame whose mark lies further back is of no round that a log ever had."""


def seal_of(*values: Any) -> str:
    """Give the check sum of the values of a row."""
    return f"{zlib.crc32(repr(values).encode()):08x}"


def seal_of_line(head: tuple[Any, ...], body: tuple[Any, ...]) -> str:
    """Give that of a line of a log: first of what tells about the edit, so that it can be read alone, then of all."""
    return seal_of(*head) + seal_of(*head, *body)


def lines_behind(path: Path, read: int) -> str:
    """Say what is in a log of SQLite (-wal) behind the frames that it could read, when it can be missed.

    Frames of an earlier round of the log have earlier marks, and those of a change that was never finished hang
    together: neither is missed. Any other frame was damaged, or cut off with the power.
    """
    try:
        with open(path, "rb") as file:
            header = file.read(_HEADER)
            if not header:
                return ""
            if len(header) < _HEADER:
                return f"{path.name}: its first bytes are cut off, so nothing of it was read"
            magic, _, page, _, *marks = struct.unpack(">6I", header[:24])
            if magic not in (_LITTLE, _BIG) or _summed(magic, header[:24]) != struct.unpack(">2I", header[24:]):
                return f"{path.name}: its first bytes are damaged, so nothing of it was read"
            if (path.stat().st_size - _HEADER) % (_FRAME + page):
                return f"{path.name}: it does not end with a whole frame, so its last changes may be cut off"
            sums = struct.unpack(">2I", header[24:])
            place = _HEADER + read * (_FRAME + page)
            if read:
                file.seek(place - page - 8)
                sums = struct.unpack(">2I", file.read(8))
            file.seek(place)
            while frame := file.read(_FRAME + page):
                *_, mark, other = struct.unpack(">4I", frame[:16])
                if [mark, other] == marks:
                    sums = _summed(magic, frame[:8] + frame[_FRAME:], *sums)
                    missed = sums != struct.unpack(">2I", frame[16:_FRAME])
                else:
                    # The first mark counts the rounds.
                    missed = not 0 < (marks[0] - mark) % 2**32 < _ROUNDS
                if missed:
                    return f"{path.name}: the change at byte {place} and what came after it could not be read"
                place += len(frame)
    except OSError:
        pass
    return ""


def _summed(magic: int, content: bytes, one: int = 0, two: int = 0) -> tuple[int, int]:
    """Go on with a check sum as SQLite computes it for its logs."""
    words = struct.unpack(f"{'<' if magic == _LITTLE else '>'}{len(content) // 4}I", content)
    for first, second in zip(words[::2], words[1::2], strict=True):
        one = (one + first + two) & 0xFFFFFFFF
        two = (two + second + one) & 0xFFFFFFFF
    return one, two
