"""Records by their ids, of which the order is found out only when someone walks through all of them."""

from __future__ import annotations

from collections.abc import Callable, ItemsView, Iterable, Iterator, KeysView, Mapping, ValuesView
from typing import TypeVar

T = TypeVar("T")
Order = Iterable[str] | Callable[[], Iterable[str]]


class InOrder(Mapping[str, T]):
    """What a check found, by id. Records never change; what an edit makes of them is another one of these."""

    def __init__(self, records: dict[str, T], order: Order | None = None) -> None:
        """Hold records that stand in order, or that are to come into an order once that is asked for."""
        self._records, self._order = records, order

    def after(self, put: Mapping[str, T], gone: Iterable[str], order: Order | None) -> InOrder[T]:
        """Give the records with some of them put and others gone; without an order they stand as they stood."""
        records = dict(self._records)
        for id in gone:
            records.pop(id, None)
        records.update(put)
        return InOrder(records, self._order if order is None else order)

    @property
    def _ordered(self) -> dict[str, T]:
        order = self._order
        if order is not None:
            names = order() if callable(order) else order
            # Whoever asks at the same time finds the same.
            self._records, self._order = {id: self._records[id] for id in names}, None
        return self._records

    def __getitem__(self, id: str) -> T:
        return self._records[id]

    def __contains__(self, id: object) -> bool:
        return id in self._records

    def __iter__(self) -> Iterator[str]:
        return iter(self._ordered)

    def keys(self) -> KeysView[str]:
        """Give the ids in order."""
        return self._ordered.keys()

    def values(self) -> ValuesView[T]:
        """Give the records in order."""
        return self._ordered.values()

    def items(self) -> ItemsView[str, T]:
        """Give the ids and their records in order."""
        return self._ordered.items()

    def __len__(self) -> int:
        return len(self._records)

    def __repr__(self) -> str:
        return repr(self._ordered)
