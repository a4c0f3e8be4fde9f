"""Doors: the inputs of groups. One that is but a wire stands for the capsule outside, and vanishes.

Which doors are wires is followed from one state to the next: only doors of pieces that changed, and those that wires
lead on to from there, are looked at.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from inkcap.drawing.pieces import End, Piece
from inkcap.drawing.records import Capsule, Connection
from inkcap.symbols import MAIN_PORT


class Doors:
    """The doors of a drawing with its groups opened, and what they stand for."""

    def __init__(self) -> None:
        """Know no doors yet."""
        self._entering: dict[str, dict[str, Connection]] = {}
        self._leaving: dict[str, dict[str, Connection]] = {}
        self._wires: dict[str, Connection] = {}
        self.stands_for: dict[str, End] = {}
        """By the doors that vanish the ends that they stand for."""

    def follow(
        self, old: Iterable[Piece], new: Iterable[Piece], capsules: Mapping[str, Capsule]
    ) -> tuple[set[str], set[str]]:
        """Come from some pieces to others; give the doors and the connections that may have become other ones.

        What enters or leaves a door of a piece must be among the pieces.
        """
        affected, dirty = self._exchange(old, new)
        looked: set[str] = set()
        for id in affected:
            before, now = self._wires.pop(id, None), self._wire(id, capsules)
            if now is not None:
                self._wires[id] = now
            if now is not before:
                dirty.add(id)
                looked.update([wire.id for wire in (before, now) if wire is not None])
        fringe = list(dirty)
        while fringe:
            for connection in self._leaving.get(fringe.pop(), {}).values():
                if self._wires.get(connection.front) is connection and connection.front not in dirty:
                    dirty.add(connection.front)
                    fringe.append(connection.front)
        for id in dirty:
            self.stands_for.pop(id, None)
        self._follow_wires(dirty)
        for id in dirty:
            looked.update(self._leaving.get(id, ()))
            if id in self._wires:
                looked.add(self._wires[id].id)
        return dirty, looked

    def outside(self, connection: Connection, known: Connection | None) -> Connection | None:
        """Give what becomes of a connection: none if it is a wire, else from what its back end stands for.

        ``known`` is what it was before; while it is the same, that very record is given.
        """
        if connection.front in self.stands_for and self._wires[connection.front].id == connection.id:
            return None
        end = self.stands_for.get(connection.back)
        if end is not None:
            connection = replace(connection, back=end[0], output=end[1])
        return known if known == connection else connection

    def _exchange(self, old: Iterable[Piece], new: Iterable[Piece]) -> tuple[set[str], set[str]]:
        """Give the doors that something else may enter, and those behind doors that may be none any more."""
        affected: set[str] = set()
        behind: set[str] = set()
        for piece in old:
            for id in piece.doors:
                self._entering.pop(id, None)
                left = self._leaving.pop(id, {})
                behind.update([c.front for c in left.values() if self._wires.get(c.front) is c])
                affected.add(id)
            for connection in piece.connections.values():
                if connection.front in self._entering:
                    self._entering[connection.front].pop(connection.id, None)
                    affected.add(connection.front)
                if connection.back in self._leaving:
                    self._leaving[connection.back].pop(connection.id, None)
        new = list(new)
        for piece in new:
            for id in piece.doors:
                self._entering[id], self._leaving[id] = {}, {}
                affected.add(id)
        for piece in new:
            for connection in piece.connections.values():
                if connection.front in self._entering:
                    self._entering[connection.front][connection.id] = connection
                    affected.add(connection.front)
                if connection.back in self._leaving:
                    self._leaving[connection.back][connection.id] = connection
        return affected, behind

    def _wire(self, id: str, capsules: Mapping[str, Capsule]) -> Connection | None:
        """Give the one transfer that enters a bare input, if that is all there is to it."""
        entering = self._entering.get(id)
        if entering is None or len(entering) != 1:
            return None
        capsule = capsules[id]
        (connection,) = entering.values()
        bare = capsule.symbol == "identical" and not capsule.attributes and not capsule.wears
        return connection if bare and _is_wire(connection, capsule, capsules) else None

    def _follow_wires(self, doors: Iterable[str]) -> None:
        """Follow wires from door to door to what they come from; those that lead in a circle come from nowhere."""
        found, wires = self.stands_for, self._wires
        for first in doors:
            path: dict[str, None] = {}
            id = first
            while id in wires and id not in found and id not in path:
                path[id] = None
                id = wires[id].back
            if id in path:
                continue
            end = found.get(id)
            for passed in reversed(path):
                end = end or (wires[passed].back, wires[passed].output)
                found[passed] = end


def _is_wire(connection: Connection, front: Capsule, capsules: Mapping[str, Capsule]) -> bool:
    plain = connection.symbol == "transfer" and not connection.attributes and connection.port == MAIN_PORT
    back = capsules.get(connection.back)
    return plain and (back is None or back.output_rank == front.rank)
