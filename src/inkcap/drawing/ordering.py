"""Records in their order while one edit puts many of them in and takes many out: each in the time that one takes."""

from __future__ import annotations

from bisect import bisect_left, insort

from inkcap.drawing.edits import Record


class Ordered:
    """The records of one kind; until it is closed their order is kept beside them, and only who is there is in them."""

    def __init__(self, records: dict[str, Record]) -> None:
        """Take up records, which are changed in place."""
        self._records = records
        self._ids: list[str] | None = None
        """The order, where some were put between others."""
        self._places: dict[str, int] | None = None
        """Where each was before the first was taken out."""
        self._gone: list[int] = []
        """The places of those that were taken out, sorted."""

    def put(self, record: Record, index: int | None) -> Record | None:
        """Put a record in the place of the one with its id, or where it belongs in the order; give what was there."""
        id = record.id
        old = self._records.get(id)
        if old is None and index is not None and index < len(self._records):
            self._order().insert(index, id)
        elif old is None and self._ids is not None:
            self._ids.append(id)
        elif old is None and self._places is not None:
            self._places[id] = len(self._records) + len(self._gone)
        self._records[id] = record
        return old

    def take(self, id: str) -> tuple[Record, int]:
        """Take a record out that is there; give it and its place in the order."""
        if self._places is None:
            self.close()
            self._places = {id: place for place, id in enumerate(self._records)}
        place = self._places.pop(id)
        index = place - bisect_left(self._gone, place)
        insort(self._gone, place)
        return self._records.pop(id), index

    def close(self) -> None:
        """Bring the records into their order."""
        if self._ids is not None:
            ordered = {id: self._records[id] for id in self._ids}
            self._records.clear()
            self._records.update(ordered)
        self._ids, self._places, self._gone = None, None, []

    def _order(self) -> list[str]:
        if self._ids is None:
            self.close()
            self._ids = list(self._records)
        return self._ids
