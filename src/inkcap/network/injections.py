"""Injections: where several blocks lie in one front end, one behind another as they are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from inkcap.drawing import Connection, Drawing
from inkcap.structures import PartialShape
from inkcap.symbols import CAPSULES, CONNECTIONS, socket


class Injections:
    """The injections of a drawing by the port that they enter and the axis that they lie along.

    Each is settled once, and wakes the next one then; so all together take time linear in their number.
    """

    def __init__(
        self, drawing: Drawing, connections: Sequence[Connection], attributes: Mapping[str, dict[str, Any]]
    ) -> None:
        """Group connections as they are drawn; ``attributes`` are those of all of them, which settling fills in."""
        self._drawing, self._attributes = drawing, attributes
        self._groups: dict[tuple[str, int], list[Connection]] = {}
        self._keys: dict[str, tuple[str, int]] = {}
        self._places: dict[str, int] = {}
        self._ends: dict[str, int] = {}
        self._settled: dict[tuple[str, int], int] = {}
        self._totals: dict[tuple[str, int], int] = {}
        for connection in connections:
            if CONNECTIONS[connection.symbol].lays_along:
                key = self._keys[connection.id] = self._key(connection)
                group = self._groups.setdefault(key, [])
                self._places[connection.id] = len(group)
                group.append(connection)

    def _axis(self, connection: Connection) -> int:
        along = CONNECTIONS[connection.symbol].lays_along
        assert along is not None
        rank = self._drawing.capsules[connection.back].output_rank
        return along((0,) * (rank + 1 if rank > 1 else 1), self._attributes[connection.id])

    def _key(self, connection: Connection) -> tuple[str, int]:
        port = CAPSULES[self._drawing.capsules[connection.front].symbol].port(connection.port)
        name = socket(connection.front, connection.port)
        # Only a sum lets blocks lie beside one another.
        return (name if port and port.kind == "sums" else connection.id, self._axis(connection))

    def settle(self, connection: Connection, back: PartialShape, wanted: PartialShape) -> Sequence[Connection]:
        """Find a block's offset and its front end's size as far as they are known; give what to look at again."""
        key, place = self._keys[connection.id], self._places[connection.id]
        axis, attributes = key[1], self._attributes[connection.id]
        group = self._groups[key]
        woken: list[Connection] = []
        if attributes["offset"] is None:
            attributes["offset"] = 0 if place == 0 else self._ends.get(group[place - 1].id)
        length, offset = back[axis], attributes["offset"]
        if length is not None and offset is not None and connection.id not in self._ends:
            self._ends[connection.id] = offset + length
            self._settled[key] = self._settled.get(key, 0) + 1
            woken += group[place + 1 : place + 2]
            if self._settled[key] == len(group):
                self._totals[key] = max(self._ends[c.id] for c in group)
                woken += group
        if attributes["size"] is None:
            attributes["size"] = wanted[axis] if wanted[axis] is not None else self._totals.get(key)
        return woken
