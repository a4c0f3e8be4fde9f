"""What commands print: JSON or words, errors to stderr."""

from __future__ import annotations

import json
import os
import re
import sys
from collections.abc import Sequence
from contextlib import suppress
from typing import Any, TextIO


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object."""
    say(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2))


def say(text: str = "") -> None:
    """Print a line for a person."""
    _write(sys.stdout, text)


def complain(text: str) -> None:
    """Print an error."""
    _write(sys.stderr, text)


UNSEEN = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u2028\u2029\u202a-\u202e\u2066-\u2069]")
"""What steers a terminal or turns the direction of what follows; tabs and ends of lines stay."""


def harmless(text: str) -> str:
    """Write out what no one sees: names of files and classes may come from others, and JSON reads it back the same."""
    return UNSEEN.sub(lambda found: f"\\u{ord(found[0]):04x}", text)


def _write(stream: TextIO | None, text: str) -> None:
    # A reader that went away (`inkcap symbols | head`) or a full disk behind a redirection must not end the work.
    if stream is not None:
        with suppress(OSError, ValueError):
            stream.write(harmless(text) + "\n")


def settle_output() -> bool:
    """Write out what is left; a reader that is gone is no failure, a disk that is full is one."""
    whole = True
    streams: tuple[TextIO | None, ...] = (sys.stdout, sys.stderr)
    for stream in streams:
        if stream is None:
            continue
        try:
            stream.flush()
        except OSError as error:
            whole = whole and isinstance(error, BrokenPipeError)
            # The interpreter flushes once more at its end: into nothing.
            os.dup2(os.open(os.devnull, os.O_WRONLY), stream.fileno())
    return whole


def say_confusion(classes: Sequence[str], counts: Sequence[Sequence[int]], last: Sequence[str] = ()) -> None:
    """Print a confusion matrix; `last` is a further column, its head first."""
    names = [name if len(name) <= 12 else name[:11] + "…" for name in classes]
    width = 1 + max(len(str(max(map(max, counts)))), *(len(name) for name in names))
    ends = [f"   {text}" for text in last] or [""] * (len(names) + 1)
    say(" " * (width + 4) + "".join(f"{name:>{width}}" for name in names) + ends[0])
    for name, row, end in zip(names, counts, ends[1:], strict=True):
        say(f"    {name:>{width}}" + "".join(f"{count or '·':>{width}}" for count in row) + end)


def number(value: int) -> str:
    """Write a whole number with thin groups of three: 582 026."""
    return f"{value:,}".replace(",", " ")


def size(count: int) -> str:
    """Write a number of bytes for a person."""
    amount = float(count)
    for unit in ("B", "kB", "MB", "GB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} TB"
