"""What commands print: JSON or words, errors to stderr."""

from __future__ import annotations

import json
import sys
from typing import Any


def print_json(value: dict[str, Any]) -> None:
    """Print one JSON object."""
    sys.stdout.write(json.dumps(value, ensure_ascii=False, allow_nan=False, indent=2) + "\n")


def say(text: str = "") -> None:
    """Print a line for a person."""
    sys.stdout.write(text + "\n")


def complain(text: str) -> None:
    """Print an error."""
    sys.stderr.write(text + "\n")


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
