"""Numbers of foreign models as a person would write them."""

from __future__ import annotations

import numpy as np


def plain(number: float) -> float:
    """Give a float32 as the shortest decimal that means it: 0.1, not 0.10000000149."""
    return float(str(np.float32(number)))


def written(number: float) -> str:
    """Write a number for an expression."""
    short = plain(number)
    text = str(int(short)) if short == int(short) and abs(short) < 1e9 else repr(short)
    return f"({text})" if short < 0 else text
