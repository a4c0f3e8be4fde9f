"""Which records of a drawing are others than those of the last check: found by what they are, not by what they say.

Records never change, so one that is the same object says the same. Where a drawing follows the one of the last check,
its edits tell which records they touched; any other is compared whole.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from itertools import compress
from operator import is_not
from typing import Generic, TypeVar

from inkcap.drawing import Capsule, Connection, Touched

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


def differing(old: Mapping[str, T], new: Mapping[str, T], touched: Iterable[Touched] | None = None) -> Difference[T]:
    """Compare the records of one kind: those that were touched in between, or all where that is not known."""
    if touched is not None:
        ids = {one.id for one in touched}
        put = {id: old.get(id) for id in ids if id in new and old.get(id) is not new[id]}
        gone = {id: old[id] for id in ids if id in old and id not in new}
        if not any(one.removed and one.id in old and one.id in new for one in touched):
            return Difference(put, gone)
    names = list(new)
    if list(old) == names:
        others = compress(names, map(is_not, old.values(), new.values()))
        return Difference({id: old[id] for id in others}, {})
    put = {id: old.get(id) for id, record in new.items() if old.get(id) is not record}
    gone = {id: record for id, record in old.items() if id not in new}
    added = {id for id, before in put.items() if before is None}
    kept = [id for id in names if id not in added] if added else names
    return Difference(put, gone, kept == ([id for id in old if id not in gone] if gone else list(old)))


def come_to(old: dict[str, T], new: Mapping[str, T], difference: Difference[T]) -> dict[str, T]:
    """Give the old records with the difference made, in the new order."""
    if None in difference.put.values() or not difference.ordered:
        return dict(new)
    for id in difference.gone:
        del old[id]
    for id in difference.put:
        old[id] = new[id]
    return old


class Watch(Generic[T]):
    """The records of a drawing to which a question is answered with yes; it is asked once of each record."""

    def __init__(self, asks: Callable[[T], bool]) -> None:
        """Watch for what the question is about."""
        self._asks = asks
        self._found: set[str] = set()

    def sees(self, records: Mapping[str, T], touched: Iterable[Touched] | None) -> bool:
        """Tell whether there is any among these records, of which only some may have been touched since."""
        if touched is None:
            self._found = {id for id, record in records.items() if self._asks(record)}
            return bool(self._found)
        for id in {one.id for one in touched}:
            if id in records and self._asks(records[id]):
                self._found.add(id)
            else:
                self._found.discard(id)
        return bool(self._found)
