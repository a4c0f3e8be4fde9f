"""Which records of a drawing are others than those of the last check: found by what they are, not by what they say.

Records never change, so one that is the same object says the same. Whole drawings are compared in one sweep without
a step of our own for each record; a drawing of twenty thousand capsules takes a millisecond.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import compress
from operator import is_not
from typing import Generic, TypeVar

from inkcap.drawing import Capsule, Connection

T = TypeVar("T", Capsule, Connection)


@dataclass(frozen=True)
class Difference(Generic[T]):
    """What is new or another record, what is gone, and whether all that stays stands in the same order."""

    put: dict[str, T | None]
    """By id the record that was there before."""
    gone: dict[str, T]
    ordered: bool = True

    @property
    def renamed(self) -> bool:
        """Tell whether there are other ids than before."""
        return bool(self.gone) or None in self.put.values()

    @property
    def size(self) -> int:
        """Count the records that are different."""
        return len(self.put) + len(self.gone)


def differing(old: Mapping[str, T], new: Mapping[str, T]) -> Difference[T]:
    """Compare the records of one kind."""
    names = list(new)
    if list(old) == names:
        others = compress(names, map(is_not, old.values(), new.values()))
        return Difference({id: old[id] for id in others}, {})
    put = {id: old.get(id) for id, record in new.items() if old.get(id) is not record}
    gone = {id: record for id, record in old.items() if id not in new}
    added = {id for id, before in put.items() if before is None}
    kept = [id for id in names if id not in added] if added else names
    return Difference(put, gone, kept == ([id for id in old if id not in gone] if gone else list(old)))


class Watch(Generic[T]):
    """The records of a drawing to which a question is answered with yes; it is asked once of each record."""

    def __init__(self, asks: Callable[[T], bool]) -> None:
        """Watch for what the question is about."""
        self._asks = asks
        self._seen: dict[str, T] = {}
        self._found: set[str] = set()

    def sees(self, records: Mapping[str, T]) -> bool:
        """Tell whether there is any among these records."""
        difference = differing(self._seen, records)
        self._found.difference_update(difference.gone)
        for id in difference.put:
            if self._asks(records[id]):
                self._found.add(id)
            else:
                self._found.discard(id)
        self._seen = dict(records)
        return bool(self._found)
