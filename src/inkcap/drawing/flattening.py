"""Flattening: every use of a group becomes the capsules and connections that it stands for.

Flattened ids are paths: ``stage1.conv`` is ``conv`` inside the use ``stage1``, ``stage1.2.conv`` that of its third
copy. An input of a group is a capsule inside. Where that is a bare identical capsule that one transfer enters, it
stands for the capsule outside and vanishes: groups cost nothing.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any, TypeVar

from inkcap.drawing.document import Drawing
from inkcap.drawing.doors import Doors
from inkcap.drawing.edits import Edit, Remove
from inkcap.drawing.group_sizes import Counts, GroupProblem, refusals
from inkcap.drawing.groups import Group
from inkcap.drawing.pieces import Making, Piece, Scope, problems_in
from inkcap.drawing.records import Capsule, Connection
from inkcap.drawing.trail import Mark, Touched, Trail, touched_between

T = TypeVar("T", Capsule, Connection)


@dataclass(frozen=True)
class Flattened:
    """A drawing without groups, where each of its records comes from, and what stood in the way."""

    drawing: Drawing
    origins: Mapping[str, tuple[str, str]] = field(default_factory=dict[str, tuple[str, str]])
    """By the path of a capsule or connection: its group and its id in there."""
    problems: tuple[GroupProblem, ...] = ()
    ends: Mapping[str, str] = field(default_factory=dict[str, str])
    """By use the capsule that its first output is."""


def flatten(drawing: Drawing) -> Flattened:
    """Give a drawing without groups; what is too large or calls itself is refused before it is made."""
    return Flattener().flatten(drawing)


def open_use(drawing: Drawing, id: str) -> Flattened:
    """Give the drawing with one use opened by one level: groups that are used inside of it stay closed."""
    problems = tuple(refusals(drawing))
    return Flattened(drawing, problems=problems) if problems else Flattener(only=id).flatten(drawing)


def output_ends(drawing: Drawing) -> Mapping[str, str]:
    """Give the flattened capsule that each use's first output is, by the use."""
    return flatten(drawing).ends


def _without_uses(drawing: Drawing) -> Drawing:
    bare = drawing.copy()
    gone = [c for c in drawing.connections.values() if c.back in drawing.uses or c.front in drawing.uses]
    edit = [*(Remove("connection", c.id) for c in gone), *(Remove("use", id) for id in drawing.uses)]
    bare.apply(Edit("leave groups out", tuple(edit)))
    return bare


@dataclass
class _Flat:
    """Capsules and connections of a drawing with its groups opened."""

    capsules: dict[str, Capsule] = field(default_factory=dict[str, Capsule])
    connections: dict[str, Connection] = field(default_factory=dict[str, Connection])


@dataclass
class _Change:
    """What is to be looked at after an edit: ids of what may be different, and pieces in place of others."""

    capsules: set[str]
    connections: set[str]
    uses: set[str]
    groups: set[str]
    reordered: bool
    """Whether there may be other ids than before, or the same in another order."""
    old: list[Piece] = field(default_factory=list[Piece])
    new: list[Piece] = field(default_factory=list[Piece])

    @staticmethod
    def between(before: Drawing, drawing: Drawing, touched: Iterable[Touched] | None) -> _Change:
        """Sort what was touched; everything, if that is not known."""
        if touched is None:
            kinds: list[Mapping[str, Any]] = [drawing.capsules, drawing.connections, drawing.uses, drawing.groups]
            capsules, connections, uses, groups = map(set[str], kinds)
            return _Change(capsules, connections, uses, groups, True)
        known: dict[str, Mapping[str, Any]] = {
            "capsule": before.capsules,
            "connection": before.connections,
            "use": before.uses,
        }
        reordered = any(one.removed or one.id not in known[one.kind] for one in touched if one.kind in known)
        capsules, connections, uses, groups = (
            {one.id for one in touched if one.kind == kind} for kind in (*known, "group")
        )
        return _Change(capsules, connections, uses, groups, reordered)

    def exchange(self, old: Piece | None, new: Piece | None) -> None:
        """Note a piece in place of another one."""
        for piece, pieces in ((old, self.old), (new, self.new)):
            if piece is not None:
                pieces.append(piece)
                self.capsules.update(piece.capsules)
                self.connections.update(piece.connections)
        if old is None or new is None or old.paths != new.paths:
            self.reordered = True


class Flattener:
    """Opens the groups of a drawing again and again: after an edit only those that the edit reaches."""

    def __init__(self, only: str | None = None) -> None:
        """Know no drawing yet; ``only`` one use may be opened."""
        self._only = only
        self.made = 0
        """How many capsules and connections the last flattening made; all others were known."""
        self._forget()

    def _forget(self) -> None:
        self._drawn: Drawing | None = None
        self._counts: Counts | None = None
        self._versions: dict[str, object] = {}
        self._pieces: dict[str, Piece] = {}
        self._lines: dict[str, Piece] = {}
        """What the connections become that begin or end at a use."""
        self._closed, self._opened = _Flat(), _Flat()
        """With all doors, and without those that vanish."""
        self._doors = Doors()
        self._origins: dict[str, tuple[str, str]] = {}
        self._mark = Mark(Trail(), 0)

    def flatten(self, drawing: Drawing) -> Flattened:
        """Give a drawing without groups; what is too large or calls itself is refused before it is made."""
        self.made = 0
        if not drawing.uses and not drawing.groups:
            self._forget()
            return Flattened(drawing)
        try:
            return self._flatten(drawing)
        except BaseException:
            # Half of what was made is worse than nothing.
            self._forget()
            raise

    def _flatten(self, drawing: Drawing) -> Flattened:
        touched = touched_between(self._drawn.mark, drawing.mark) if self._drawn is not None else None
        if touched is None:
            self._forget()
        before = self._drawn or Drawing()
        change = _Change.between(before, drawing, touched)
        if problems := self._refusals(before, drawing, change):
            self._forget()
            return Flattened(_without_uses(drawing), problems=problems)
        making = Making(drawing.groups, self._versions, self._only)
        ends, lines = set(change.capsules), set(change.connections)
        ends |= self._make_pieces(before, drawing, making, change)
        self._make_lines(drawing, making, lines | self._at(ends, before, drawing), change)
        self.made = making.made
        unlike = self._put_together(drawing, change)
        self._open_doors(change)
        # Paths that stand twice are told apart by their order alone, which is not followed.
        self._drawn = drawing.copy() if unlike else None
        return self._flattened(drawing)

    def _flattened(self, drawing: Drawing) -> Flattened:
        flat = drawing.copy()
        uses = {id: use for piece in self._pieces.values() for id, use in piece.uses.items()}
        flat.replace_graph(self._opened.capsules, self._opened.connections, uses, self._mark)
        pieces = [piece for piece in self._pieces.values() if piece.found]
        if any(line.found for line in self._lines.values()):
            pieces += [self._lines[id] for id in drawing.connections if id in self._lines]
        ends = {id: next(iter(p.ports.outputs.values()))[0] for id, p in self._pieces.items() if p.ports.outputs}
        return Flattened(flat, self._origins, problems_in(pieces), ends)

    def _refusals(self, before: Drawing, drawing: Drawing, change: _Change) -> tuple[GroupProblem, ...]:
        """Find what must not be flattened; while groups and uses are the same, by what the rest has grown."""
        if self._counts is not None and not change.uses and not change.groups:
            gone = [before.connections[id] for id in change.connections if id in before.connections]
            come = [drawing.connections[id] for id in change.connections if id in drawing.connections]
            more = len(drawing.capsules) - len(before.capsules)
            self._counts = self._counts.changed(drawing, more, gone, come)
            if self._counts.fit:
                return ()
        problems = tuple(refusals(drawing))
        self._counts = None if problems else Counts.of(drawing)
        return problems

    def _make_pieces(self, before: Drawing, drawing: Drawing, making: Making, change: _Change) -> set[str]:
        """Make the pieces that are others now, and give their uses."""
        if not change.groups and not change.uses:
            return set()
        _renew(self._versions, before.groups, drawing.groups, change.groups)
        scope, old = Scope(), self._pieces
        self._pieces = {use.id: making.use(use, scope, old.get(use.id)) for use in drawing.uses.values()}
        others = {id for id in (*old, *self._pieces) if old.get(id) is not self._pieces.get(id)}
        moved = False
        for id in others:
            left, come = old.get(id), self._pieces.get(id)
            moved = moved or left is None or come is None or left.origins != come.origins
            if come is not None:
                self._keep(come)
            change.exchange(left, come)
        if moved:
            self._origins = {path: of for piece in self._pieces.values() for path, of in piece.origins.items()}
        return others

    def _keep(self, piece: Piece) -> None:
        """Let what is equal to what was there be the very same."""
        _keep(piece.capsules, self._closed.capsules)
        _keep(piece.connections, self._closed.connections)

    def _at(self, ends: set[str], before: Drawing, drawing: Drawing) -> set[str]:
        """Find what is to be connected anew at capsules and uses: ports are elsewhere, a capsule has another rank."""
        if not ends:
            return set()
        drawn = before.connections
        found = {id for id in self._lines if drawn[id].back in ends or drawn[id].front in ends}
        if fresh := {id for id in ends if id in drawing.uses and id not in before.uses}:
            found.update([c.id for c in drawing.connections.values() if c.back in fresh or c.front in fresh])
        return found

    def _make_lines(self, drawing: Drawing, making: Making, again: set[str], change: _Change) -> None:
        """Connect anew what begins or ends at uses."""
        change.connections |= again
        ports = {id: piece.ports for id, piece in self._pieces.items()} if again else {}
        scope = Scope()
        for id in again:
            connection, old, made = drawing.connections.get(id), self._lines.pop(id, None), None
            if connection is not None and _is_line(connection, drawing):
                made = self._lines[id] = Piece()
                making.connect(made, connection, scope, ports)
                self._keep(made)
            if old is not None or made is not None:
                change.exchange(old, made)

    def _put_together(self, drawing: Drawing, change: _Change) -> bool:
        """Put all together, with its doors; tell whether no path stands twice."""
        closed, pieces = self._closed, self._pieces.values()
        if not change.reordered:
            closed.capsules.update([(id, drawing.capsules[id]) for id in change.capsules if id in drawing.capsules])
            plain = [id for id in change.connections if id in drawing.connections and id not in self._lines]
            closed.connections.update([(id, drawing.connections[id]) for id in plain])
            for piece in change.new:
                closed.capsules.update(piece.capsules)
                closed.connections.update(piece.connections)
            return True
        closed.capsules, closed.connections = dict(drawing.capsules), {}
        for piece in pieces:
            closed.capsules.update(piece.capsules)
            closed.connections.update(piece.connections)
        for id, connection in drawing.connections.items():
            if id in self._lines:
                closed.connections.update(self._lines[id].connections)
            else:
                closed.connections[id] = connection
        lines = self._lines.values()
        capsules = len(drawing.capsules) + sum([len(piece.capsules) for piece in pieces])
        connections = len(drawing.connections) - len(lines) + sum([len(p.connections) for p in (*pieces, *lines)])
        return (capsules, connections) == (len(closed.capsules), len(closed.connections))

    def _open_doors(self, change: _Change) -> None:
        """Let every bare input that one transfer enters be the capsule outside."""
        closed, old, doors = self._closed, self._opened, self._doors
        dirty, looked = doors.follow(change.old, change.new, closed.capsules)
        capsules: dict[str, Capsule | None] = {}
        for id in change.capsules | dirty:
            now = None if id in doors.stands_for else closed.capsules.get(id)
            if now is not old.capsules.get(id):
                capsules[id] = now
        connections: dict[str, Connection | None] = {}
        for id in change.connections | looked:
            known, line = old.connections.get(id), closed.connections.get(id)
            now = doors.outside(line, known) if line is not None else None
            if now is not known:
                connections[id] = now
        new = _Flat(
            _come_to(old.capsules, capsules, closed.capsules, change.reordered),
            _come_to(old.connections, connections, closed.connections, change.reordered),
        )
        self._opened = new
        followed = _in_order(old.capsules, new.capsules) and _in_order(old.connections, new.connections)
        if not old.capsules or not followed:
            self._mark = Mark(Trail(), 0)
            return
        for kind, changed in (("capsule", capsules), ("connection", connections)):
            for id, now in changed.items():
                self._mark = self._mark.trail.extended(self._mark.length, Touched(kind, id, now is None))


def _is_line(connection: Connection, drawing: Drawing) -> bool:
    """Tell whether a connection becomes another one: any other stays the record that it is, as checks know it."""
    return bool(connection.output) or connection.back in drawing.uses or connection.front in drawing.uses


def _renew(
    versions: dict[str, object], old: Mapping[str, Group], new: Mapping[str, Group], touched: Iterable[str]
) -> None:
    """Give another version to groups that mean something else, and to all that use them."""
    users: dict[str, list[str]] = {}
    for group in new.values():
        for use in group.uses:
            users.setdefault(use.group, []).append(group.id)
    fringe = [id for id in touched if id not in old or id not in new or not old[id].means_the_same(new[id])]
    renewed: set[str] = set()
    while fringe:
        id = fringe.pop()
        if id not in renewed:
            renewed.add(id)
            versions[id] = object()
            fringe.extend(users.get(id, ()))


def _keep(new: dict[str, T], old: Mapping[str, T]) -> None:
    if old:
        for id, record in new.items():
            known = old.get(id)
            if known is not None and known is not record and known == record:
                new[id] = known


def _come_to(old: dict[str, T], changed: Mapping[str, T | None], order: Iterable[str], reordered: bool) -> dict[str, T]:
    """Give the old records with what has changed; those that come or go stand where the order has them."""
    put = {id: now for id, now in changed.items() if now is not None}
    if not reordered and len(put) == len(changed) and all(id in old for id in put):
        return {**old, **put} if put else old
    kept = {**old, **put}
    return {id: kept[id] for id in order if id in kept and (id in put or id not in changed)}


def _in_order(old: Mapping[str, T], new: Mapping[str, T]) -> bool:
    """Tell whether all that stays stands in the same order."""
    if old is new or list(old) == list(new):
        return True
    return [id for id in old if id in new] == [id for id in new if id in old]
