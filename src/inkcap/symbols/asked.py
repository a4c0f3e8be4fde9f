"""What is asked of a symbol again and again, and is the same every time."""

from __future__ import annotations

from collections.abc import Callable
from functools import wraps
from typing import Any

from inkcap.symbols.attributes import Attribute

Given = Callable[[Any, int], tuple[Attribute, ...]]


def once_per_rank(give: Given) -> Given:
    """Let a symbol find its attributes once for each rank."""
    place = f"_{give.__name__}_by_rank"

    @wraps(give)
    def given(self: Any, rank: int) -> tuple[Attribute, ...]:
        known: dict[int, tuple[Attribute, ...]] = self.__dict__.setdefault(place, {})
        if rank not in known:
            known[rank] = give(self, rank)
        return known[rank]

    return given
