"""Structures after an edit: only what the edit reaches is inferred again.

A capsule is settled when all that enters it comes from settled capsules and all its structures follow from that. What
is found of a settled capsule depends on its own record, on those of the connections that enter it and on the outputs at
their back ends, and on nothing else: while these are the same, so is it, and where its output stays the same, nothing
behind it is looked at. Among the others knowledge goes both ways, so all of them that hang together are inferred anew
when one of them is touched. What is new is first looked for among the capsules that are like it.
"""

from __future__ import annotations

from collections.abc import Hashable, Iterable, Sequence
from dataclasses import dataclass
from heapq import heapify, heappop, heappush

from inkcap.drawing import Capsule, Connection, Drawing
from inkcap.network.inference import Inference, Inferred
from inkcap.network.likeness import MOST, Alike, kind_of, likeness, write_alike
from inkcap.network.wiring import Change, Wiring
from inkcap.structures import PartialShape


@dataclass(frozen=True)
class Settled:
    """A settled capsule: what it was found from, and what was found."""

    capsule: Capsule
    incoming: tuple[Connection, ...]
    backs: tuple[PartialShape, ...]
    alike: Alike


class Settling:
    """The structures of a drawing, kept from one check to the next."""

    def __init__(self, drawing: Drawing) -> None:
        """Know nothing yet."""
        self.known = Inferred(drawing)
        self.settled: dict[str, Settled] = {}
        self.unsettled: set[str] = set()
        self.kinds: dict[Hashable, Alike] = {}
        self.looked_at = 0
        """How many capsules the last check looked at."""

    def begin(self, drawing: Drawing) -> None:
        """Forget everything but what holds of all capsules that are alike."""
        self.known, self.settled, self.unsettled = Inferred(drawing), {}, set()

    def follow(self, drawing: Drawing, wiring: Wiring, change: Change) -> set[str]:
        """Infer what a change reaches, and give the capsules that were looked at."""
        if change.whole:
            self.begin(drawing)
        if len(self.kinds) > MOST:
            self.kinds = {}
        self.known.drawing = drawing
        # Traces are asked for several times within a check; kept longer, they could outlive what they are of.
        self.known.last_traced.clear()
        self._forget(change)
        dirty = self._reached(wiring, change)
        found, seeds = self._settle_all(drawing, wiring, dirty)
        seeds.update([id for id in (*change.ends, *change.moved) if id in self.unsettled])
        if seeds:
            found |= self._infer_rest(drawing, wiring, seeds)
        self.looked_at = len(found)
        return found

    def _forget(self, change: Change) -> None:
        for id in change.gone:
            self.known.forget(id)
            self.known.dtype.pop(id, None)
            self.settled.pop(id, None)
            self.unsettled.discard(id)
        for id in change.gone_connections:
            self.known.connection_attributes.pop(id, None)

    def _reached(self, wiring: Wiring, change: Change) -> Iterable[str]:
        """Give the capsules with which something is different, before anything is inferred."""
        if change.whole:
            return wiring.order
        dirty = {*change.capsules, *change.entered}
        for id, old in change.capsules.items():
            new = wiring.capsules[id]
            if old is not None and (old.symbol, old.rank) != (new.symbol, new.rank):
                # What a connection may do depends on what it leaves.
                again = wiring.fronts([id])
                dirty |= again
                for front in again:
                    self.settled.pop(front, None)
        if len(wiring.graph.order) < len(wiring.order):
            dirty.update([id for id in wiring.order[len(wiring.graph.order) :] if id in self.settled])
        return dirty

    def _settle_all(self, drawing: Drawing, wiring: Wiring, dirty: Iterable[str]) -> tuple[set[str], set[str]]:
        """Settle what can be, in order; give what was looked at, and of that what could not be settled."""
        order, positions, placed = wiring.order, wiring.positions, len(wiring.graph.order)
        heap = [positions[id] for id in dirty]
        heapify(heap)
        waiting = set(heap)
        found: set[str] = set()
        seeds: set[str] = set()
        while heap:
            place = heappop(heap)
            id = order[place]
            before = self.settled.get(id)
            now = self._settle(drawing, wiring, id, before) if place < placed else None
            if now is before and now is not None:
                continue
            found.add(id)
            if now is None:
                self.settled.pop(id, None)
                self.unsettled.add(id)
                seeds.add(id)
            else:
                self.settled[id] = now
                self.unsettled.discard(id)
            if before is None or now is None or before.alike.output != now.alike.output:
                for connection in wiring.outgoing[id]:
                    front = positions[connection.front]
                    if front not in waiting:
                        waiting.add(front)
                        heappush(heap, front)
        return found, seeds

    def _settle(self, drawing: Drawing, wiring: Wiring, id: str, before: Settled | None) -> Settled | None:
        """Infer a capsule from what enters it, or from one like it; nothing when that does not tell everything."""
        capsule, incoming, settled = wiring.capsules[id], wiring.incoming[id], self.settled
        entering = [settled.get(connection.back) for connection in incoming]
        if None in entering:
            return None
        backs = tuple([one.alike.output for one in entering if one is not None])
        if before is not None and before.capsule is capsule and before.incoming is incoming and before.backs == backs:
            return before
        key = likeness(wiring.capsules, capsule, incoming, backs)
        alike = self.kinds.get(key)
        if alike is None:
            alike = self._first_of_its_kind(drawing, capsule, incoming, backs)
            if alike is None:
                return None
            self.kinds[key] = alike
        if id in self.known.sockets:
            self.known.forget(id)
        write_alike(alike, self.known, id, incoming)
        return Settled(capsule, incoming, backs, alike)

    def _first_of_its_kind(
        self, drawing: Drawing, capsule: Capsule, incoming: Sequence[Connection], backs: Sequence[PartialShape]
    ) -> Alike | None:
        id, local = capsule.id, Inferred(drawing)
        local.output.update([(connection.back, back) for connection, back in zip(incoming, backs, strict=True)])
        Inference(drawing, {}, (id,), incoming, local).run()
        if None in local.output[id] or any(None in shape for shape in local.ports_of(id).values()):
            return None
        # The checks that follow ask for the same traces.
        self.known.last_traced.update(local.last_traced)
        return kind_of(local, capsule, incoming)

    def _infer_rest(self, drawing: Drawing, wiring: Wiring, seeds: set[str]) -> set[str]:
        """Infer anew what hangs together with some capsules that are not settled."""
        found, fringe = set(seeds), list(seeds)
        while fringe:
            id = fringe.pop()
            around = [*(c.front for c in wiring.outgoing[id]), *(c.back for c in wiring.incoming[id])]
            more = {other for other in around if other in self.unsettled and other not in found}
            found |= more
            fringe.extend(more)
        for id in found:
            self.known.forget(id)
        if len(found) == 1:
            vertices = list(found)
            entering = list(wiring.incoming[vertices[0]])
        else:
            # In the order in which they are drawn: of two that contradict one another, the first is believed.
            vertices = [id for id in wiring.capsules if id in found]
            entering = [c for c in wiring.connections.values() if c.front in found and c.back in wiring.capsules]
        Inference(drawing, wiring.graph.positions, vertices, entering, self.known).run()
        return found
