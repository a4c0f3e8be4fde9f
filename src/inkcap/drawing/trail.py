"""The trail that edits leave: which records were put or removed, so that nobody need compare whole drawings."""

from __future__ import annotations

import threading
from dataclasses import dataclass

LONGEST = 10_000
"""After so many patches a new trail begins: whoever is further behind compares."""


_FORK = threading.Lock()
"""Copies are edited in several threads; only one of them may go on where they part."""


@dataclass(frozen=True)
class Touched:
    """A record that was put or removed."""

    kind: str
    id: str
    removed: bool


@dataclass(frozen=True, eq=False)
class Mark:
    """How far a drawing had come on its trail."""

    trail: Trail
    length: int


class Trail:
    """What edits touched, one after another; a drawing and its copies share one until they part."""

    def __init__(self) -> None:
        """Begin at nothing."""
        self._touched: list[Touched] = []

    def extended(self, length: int, touched: Touched) -> Mark:
        """Go one step on from some length; who comes second to a fork, or comes too far, begins a trail of its own."""
        with _FORK:
            trail = self if length == len(self._touched) < LONGEST else Trail()
            trail._touched.append(touched)
            return Mark(trail, len(trail._touched))

    def between(self, start: int, end: int) -> list[Touched]:
        """Give what was touched between two lengths."""
        return self._touched[start:end]


def touched_between(old: Mark, new: Mark) -> list[Touched] | None:
    """Give what was touched on the way from one state to another; nothing when the one does not follow the other."""
    if old.trail is not new.trail or old.length > new.length:
        return None
    return new.trail.between(old.length, new.length)
