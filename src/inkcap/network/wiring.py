"""What enters and leaves each capsule, and the graph of it, followed from one check of a drawing to the next."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import islice
from operator import is_not

from inkcap.drawing import Capsule, Connection, Drawing, Touched
from inkcap.network.differing import Difference, come_to, differing
from inkcap.theory import Graph
from inkcap.theory.changing import changed

MANY = 4
"""When more than one record in so many is different, the drawing is looked at as if it were a new one."""


@dataclass(frozen=True)
class Change:
    """What is different in a drawing since it was looked at last; everything, if it is looked at as a new one."""

    whole: bool = False
    capsules: dict[str, Capsule | None] = field(default_factory=dict[str, "Capsule | None"])
    """Capsules that are new or changed, with what they were."""
    gone: dict[str, Capsule] = field(default_factory=dict[str, Capsule])
    connections: frozenset[str] = frozenset()
    """Connections that are new or changed."""
    gone_connections: frozenset[str] = frozenset()
    entered: frozenset[str] = frozenset()
    """Capsules that other connections enter than before, or changed ones."""
    ends: frozenset[str] = frozenset()
    """Both ends of all connections that are new, changed or gone."""
    names: frozenset[str] = frozenset()
    """Ids that were given or taken away."""
    moved: frozenset[str] = frozenset()
    """Capsules that stand in another order among one another."""
    reordered: bool = False
    """Whether anything stands elsewhere in the order, or other connections are there."""


class Wiring:
    """The capsules and connections of a drawing as the last check saw them."""

    def __init__(self) -> None:
        """Know no drawing yet."""
        self.capsules: dict[str, Capsule] = {}
        self.connections: dict[str, Connection] = {}
        self.incoming: dict[str, tuple[Connection, ...]] = {}
        self.outgoing: dict[str, tuple[Connection, ...]] = {}
        self.graph = Graph((), ())
        self.order: tuple[str, ...] = ()
        """All capsules: in topological order, then those on or behind a cycle as they are drawn."""
        self.positions: dict[str, int] = {}
        self._ends: dict[str, tuple[str, str]] = {}
        self._loose = True

    def follow(self, drawing: Drawing, touched: Sequence[Touched] | None = None) -> Change:
        """Come to a drawing, and tell what is different in it; ``touched`` is all that can be, if that is known."""
        capsules, connections = drawing.capsules, drawing.connections
        vertices = differing(self.capsules, capsules, of_kind(touched, "capsule"))
        lines = differing(self.connections, connections, of_kind(touched, "connection"))
        if not self._followable(drawing, vertices, lines):
            return self._begin(drawing)
        before = self.order
        ends: set[str] = set()
        entered: set[str] = set()
        for old in (*lines.put.values(), *lines.gone.values(), *(connections[id] for id in lines.put)):
            if old is not None:
                ends |= {old.back, old.front}
                entered.add(old.front)
        rewired = [id for id, old in lines.put.items() if old is None or _ends(old) != _ends(connections[id])]
        rebuilt = bool(rewired or lines.gone or vertices.renamed)
        self.capsules = come_to(self.capsules, capsules, vertices)
        self.connections = come_to(self.connections, connections, lines)
        if rebuilt:
            self._rewire(vertices, lines, ends | {id for id, old in vertices.put.items() if old is None})
        else:
            for id in lines.put:
                self._exchange(connections[id])
        return Change(
            False,
            vertices.put,
            vertices.gone,
            frozenset(lines.put),
            frozenset(lines.gone),
            frozenset([id for id in entered if id in capsules]),
            frozenset([id for id in ends if id in capsules]),
            frozenset(_names(vertices)) | frozenset(_names(lines)),
            _moved(before, self.order) if rebuilt else frozenset(),
            rebuilt,
        )

    def _followable(self, drawing: Drawing, vertices: Difference[Capsule], lines: Difference[Connection]) -> bool:
        if self._loose or not (vertices.ordered and lines.ordered):
            return False
        if (vertices.size + lines.size) * MANY > len(self.capsules) + len(self.connections):
            return False
        for id in lines.put:
            connection = drawing.connections[id]
            if connection.back not in drawing.capsules or connection.front not in drawing.capsules:
                return False
        left = (c for id in vertices.gone for c in (*self.incoming[id], *self.outgoing[id]))
        return all(c.id in lines.gone or c.id in lines.put for c in left)

    def _begin(self, drawing: Drawing) -> Change:
        self.capsules, self.connections = dict(drawing.capsules), dict(drawing.connections)
        incoming: dict[str, list[Connection]] = {id: [] for id in self.capsules}
        outgoing: dict[str, list[Connection]] = {id: [] for id in self.capsules}
        self._ends = {}
        for id, connection in self.connections.items():
            if connection.back in incoming and connection.front in incoming:
                incoming[connection.front].append(connection)
                outgoing[connection.back].append(connection)
                self._ends[id] = _ends(connection)
        self._loose = len(self._ends) < len(self.connections)
        self.incoming = {id: tuple(entering) for id, entering in incoming.items()}
        self.outgoing = {id: tuple(leaving) for id, leaving in outgoing.items()}
        self._order(Graph(tuple(self.capsules), tuple(self._ends.values())))
        return Change(True, reordered=True)

    def _order(self, graph: Graph) -> None:
        self.graph, self.order = graph, graph.order
        self.positions = graph.positions
        if len(self.order) < len(graph.vertices):
            self.order = (*self.order, *(id for id in graph.vertices if id not in graph.positions))
            self.positions = {id: i for i, id in enumerate(self.order)}

    def _exchange(self, connection: Connection) -> None:
        """Put a connection in the place of the one with its id, between the same ends."""
        for lists, end in ((self.incoming, connection.front), (self.outgoing, connection.back)):
            lists[end] = tuple([connection if old.id == connection.id else old for old in lists[end]])

    def _rewire(self, vertices: Difference[Capsule], lines: Difference[Connection], touched: set[str]) -> None:
        for id in vertices.gone:
            del self.incoming[id], self.outgoing[id]
            touched.discard(id)
        added = self._added_last(lines)
        entering, leaving = self._joined(touched, lines, added)
        self.incoming.update([(id, tuple(found)) for id, found in entering.items()])
        self.outgoing.update([(id, tuple(found)) for id, found in leaving.items()])
        for id in lines.gone:
            del self._ends[id]
        for id in lines.put if added is None else added:
            self._ends[id] = _ends(self.connections[id])
        if added is None:
            # One that was taken back stands where it stood.
            self._ends = dict(zip(self.connections, map(self._ends.__getitem__, self.connections), strict=True))
        before = {id: [c.back for c in found] for id, found in entering.items()}
        after = {id: [c.front for c in found] for id, found in leaving.items()}
        self._order(changed(self.graph, tuple(self.capsules), tuple(self._ends.values()), before, after))

    def _added_last(self, lines: Difference[Connection]) -> list[str] | None:
        """Give the connections that are new, in order, if they stand behind all others and none has other ends."""
        added = {id for id, old in lines.put.items() if old is None}
        last = list(islice(reversed(self.connections), len(added)))
        if not added.issuperset(last):
            return None
        changed = [(old, self.connections[id]) for id, old in lines.put.items() if old is not None]
        return last[::-1] if all(_ends(old) == _ends(new) for old, new in changed) else None

    def _joined(
        self, touched: Iterable[str], lines: Difference[Connection], added: list[str] | None
    ) -> tuple[dict[str, list[Connection]], dict[str, list[Connection]]]:
        """Find in order what enters and what leaves some capsules; ``added`` stands behind all that was there."""
        entering: dict[str, list[Connection]] = {id: [] for id in touched}
        leaving: dict[str, list[Connection]] = {id: [] for id in touched}
        if added is not None:
            for lists, found in ((self.incoming, entering), (self.outgoing, leaving)):
                for id, kept in found.items():
                    kept.extend([self.connections[c.id] for c in lists.get(id, ()) if c.id not in lines.gone])
        for connection in self.connections.values() if added is None else [self.connections[id] for id in added]:
            if connection.front in entering:
                entering[connection.front].append(connection)
            if connection.back in leaving:
                leaving[connection.back].append(connection)
        return entering, leaving

    def fronts(self, ids: Iterable[str]) -> set[str]:
        """Give the capsules that the connections from some capsules enter."""
        return {connection.front for id in ids for connection in self.outgoing[id]}


def of_kind(touched: Sequence[Touched] | None, kind: str) -> list[Touched] | None:
    """Give what was touched of one kind, if that is known."""
    return None if touched is None else [one for one in touched if one.kind == kind]


def _ends(connection: Connection) -> tuple[str, str]:
    return connection.back, connection.front


def _names(difference: Difference[Capsule] | Difference[Connection]) -> list[str]:
    return [*difference.gone, *(id for id, old in difference.put.items() if old is None)]


def _moved(old: Sequence[str], new: Sequence[str]) -> frozenset[str]:
    """Give what stands between the beginning and the end that two orders share."""
    if old is new:
        return frozenset()
    start = _shared(old, new)
    end = min(_shared(old[::-1], new[::-1]), len(new) - start, len(old) - start)
    return frozenset(new[start : len(new) - end])


def _shared(old: Sequence[str], new: Sequence[str]) -> int:
    others = list(map(is_not, old, new))
    return others.index(True) if True in others else len(others)
