"""What was found of a drawing before, so that after an edit only what the edit reaches is looked at again.

A capsule is settled when all that enters it comes from settled capsules and all its structures follow from that. What
was found of a settled capsule depends on its own record, on those of the connections that enter it and on the outputs
at their back ends, and on nothing else: while these are the same, so is it. Whatever is not settled, because something
is missing or only what comes after it tells its structure, is inferred anew as a whole. What is new is first looked for
among the capsules that are like it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Mapping, Sequence
from dataclasses import dataclass

from inkcap.drawing import Capsule, Connection, Drawing
from inkcap.network.inference import Inference, Inferred
from inkcap.network.likeness import MOST, Alike, Checked, checked_alike, found_alike, likeness
from inkcap.network.network import CheckedCapsule, CheckedConnection
from inkcap.structures import PartialShape
from inkcap.theory import Graph

Incoming = Mapping[str, Sequence[Connection]]


@dataclass
class _Settled:
    """What was found of a settled capsule and the connections that enter it, and what it was found from."""

    capsule: Capsule
    incoming: tuple[Connection, ...]
    backs: tuple[PartialShape, ...]
    found: Inferred
    alike: Alike
    dtypes: tuple[str, ...] = ()
    checked: Checked | None = None
    """The records that came of it, where there was nothing to complain about with these data types."""

    def holds(self, capsule: Capsule, incoming: Sequence[Connection], backs: tuple[PartialShape, ...]) -> bool:
        """Tell whether it was found from the same."""
        return self.capsule is capsule and self.backs == backs and self.incoming == tuple(incoming)


class Memory:
    """What is remembered from one check of a drawing to the next; not for several threads at once."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._vertices: dict[str, _Settled] = {}
        self._now: dict[str, _Settled] = {}
        self._alike: dict[Hashable, Alike] = {}
        self._graph: Graph | None = None

    def graph(self, vertices: Iterable[str], edges: Sequence[tuple[str, str]]) -> Graph:
        """Give the graph, and with it what is known of it already when it is the one of the last check."""
        found = Graph.of(vertices, edges)
        if self._graph is None or self._graph != found:
            self._graph = found
        return self._graph

    def infer(self, drawing: Drawing, order: Sequence[str], incoming: Incoming) -> Inferred:
        """Infer all structures of a drawing, those of settled capsules from memory where it holds."""
        known = Inferred(drawing)
        self._now = {}
        if len(self._alike) > MOST:
            self._alike = {}
        now = self._now
        for id in order:
            entering = incoming[id]
            if any(connection.back not in now for connection in entering):
                continue
            backs = tuple([known.output[connection.back] for connection in entering])
            settled = self._vertices.get(id)
            if settled is None or not settled.holds(drawing.capsules[id], entering, backs):
                settled = self._settle(drawing, id, entering, backs)
                if settled is None:
                    continue
                # The checks that follow ask for the same traces; later ones ask for nothing of what is settled.
                known.last_traced.update(settled.found.last_traced)
                settled.found.last_traced.clear()
            self._now[id] = settled
            _add(known, settled.found)
        self._vertices = self._now
        rest = [id for id in drawing.capsules if id not in self._now]
        if rest:
            unsettled = set(rest)
            # In the order in which they are drawn, as without a memory.
            entering = [c for c in drawing.connections.values() if c.front in unsettled and c.back in drawing.capsules]
            numbers = {id: i for i, id in enumerate(order)}
            Inference(drawing, numbers, rest, entering, known).run()
        return known

    def _settle(
        self, drawing: Drawing, id: str, incoming: Sequence[Connection], backs: tuple[PartialShape, ...]
    ) -> _Settled | None:
        """Infer a capsule from what enters it, or from one like it; nothing when that does not tell everything."""
        capsule = drawing.capsules[id]
        key = likeness(drawing, capsule, incoming, backs)
        alike = self._alike.get(key)
        if alike is not None:
            return _Settled(capsule, tuple(incoming), backs, found_alike(alike, drawing, capsule, incoming), alike)
        local = Inferred(drawing)
        local.output.update((connection.back, back) for connection, back in zip(incoming, backs, strict=True))
        Inference(drawing, {}, (id,), incoming, local).run()
        if None in local.output[id] or any(None in shape for shape in local.ports_of(id).values()):
            return None
        local.output = {id: local.output[id]}
        self._alike[key] = alike = Alike(capsule, tuple(incoming), local)
        return _Settled(capsule, tuple(incoming), backs, local, alike)

    def checked(self, id: str, dtypes: tuple[str, ...]) -> Checked | None:
        """Give the records of a capsule and what enters it that were made before, if there was no complaint."""
        settled = self._now.get(id)
        if settled is None:
            return None
        if settled.dtypes != dtypes:
            like = settled.alike.checked.get(dtypes)
            if like is None:
                return None
            settled.dtypes, settled.checked = dtypes, checked_alike(like, settled.capsule, settled.incoming)
        return settled.checked

    def keep(
        self, id: str, dtypes: tuple[str, ...], connections: tuple[CheckedConnection, ...], capsule: CheckedCapsule
    ) -> None:
        """Remember the records of a settled capsule that there was no complaint about."""
        settled = self._now.get(id)
        if settled is not None:
            settled.dtypes, settled.checked = dtypes, (connections, capsule)
            settled.alike.checked[dtypes] = settled.checked


def _add(known: Inferred, found: Inferred) -> None:
    known.total_input.update(found.total_input)
    known.output.update(found.output)
    known.attributes.update(found.attributes)
    known.connection_attributes.update(found.connection_attributes)
    known.entered.update(found.entered)
    if found.gathered:
        known.gathered.update(found.gathered)
