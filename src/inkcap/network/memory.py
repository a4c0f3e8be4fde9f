"""What was found of a drawing before, so that after an edit only what the edit reaches is looked at again.

A check is the same work whether it remembers or not: without a memory, everything is new to it.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from inkcap.drawing import (
    Capsule,
    Connection,
    Drawing,
    Flattened,
    Flattener,
    Mark,
    Put,
    Touched,
    Trail,
    touched_between,
)
from inkcap.network.checks import check_capsule, check_connection
from inkcap.network.diagnostics import Diagnostic
from inkcap.network.differing import Watch
from inkcap.network.directions import with_directions
from inkcap.network.dtypes import carry_dtypes
from inkcap.network.in_order import InOrder
from inkcap.network.levels import KEEPING, with_levels
from inkcap.network.likeness import checked_alike
from inkcap.network.making import checked_capsule, checked_connection
from inkcap.network.network import CheckedCapsule, CheckedConnection
from inkcap.network.settling import Settling
from inkcap.network.ties import check_ties
from inkcap.network.totals import Checked, Counting, Totals
from inkcap.network.wiring import Change, Wiring, of_kind
from inkcap.structures.pausing import collector_paused
from inkcap.theory import Graph

Incoming = Mapping[str, Sequence[Connection]]


@dataclass(frozen=True)
class Found:
    """All that a check finds of capsules and connections, in order."""

    graph: Graph
    capsules: InOrder[CheckedCapsule]
    connections: InOrder[CheckedConnection]
    diagnostics: tuple[Diagnostic, ...]
    totals: Totals
    mark: Mark
    """How far the trail of what was found anew goes: capsules with what enters them, and what is gone."""


class Memory:
    """What is remembered from one check of a drawing to the next; not for several threads at once."""

    def __init__(self) -> None:
        """Remember nothing yet."""
        self._lines = Watch[Connection](lambda connection: connection.attributes.get("arrow") is False)
        self._keeping = Watch[Capsule](lambda capsule: capsule.symbol in KEEPING)
        self._drawn: Mark | None = None
        self._flattener = Flattener()
        self._begin(Drawing())

    def _begin(self, drawing: Drawing) -> None:
        self._dtype = drawing.dtype
        self._seen: Mark | None = None
        self._wiring, self._settling = Wiring(), Settling(drawing)
        self._restart()

    def _restart(self) -> None:
        self._checked: dict[str, Checked] = {}
        self._troubled: dict[str, tuple[Diagnostic, ...]] = {}
        self._inserting: dict[str, tuple[str, ...]] = {}
        self._tied: set[tuple[str, str]] = set()
        self._counting = Counting()
        self._found: Found | None = None
        self._stale = 0
        self._mark = Mark(Trail(), 0)

    @property
    def looked_at(self) -> int:
        """How many capsules were inferred in the last check; all others were known."""
        return self._settling.looked_at

    @property
    def checked_again(self) -> int:
        """How many capsules were checked in the last check with what enters them."""
        return self._stale

    @property
    def opened_again(self) -> int:
        """How many capsules and connections of groups were made in the last check; all others were known."""
        return self._flattener.made

    def flatten(self, drawing: Drawing) -> Flattened:
        """Give the drawing with its groups opened."""
        with collector_paused():
            return self._flattener.flatten(drawing)

    def prepare(self, drawing: Drawing) -> tuple[Drawing, list[Diagnostic]]:
        """Give every line its direction and every level its place; tell which lines need an arrow."""
        touched = touched_between(self._drawn, drawing.mark) if self._drawn is not None else None
        self._drawn = drawing.mark
        undirected: list[Diagnostic] = []
        directed = drawing
        if self._lines.sees(drawing.connections, of_kind(touched, "connection")):
            directed, undirected = with_directions(drawing)
        keeping = self._keeping.sees(drawing.capsules, of_kind(touched, "capsule"))
        return with_levels(directed) if keeping else directed, undirected

    def find(self, drawing: Drawing) -> Found:
        """Find out all there is to say of the capsules and connections of a drawing without groups."""
        try:
            with collector_paused():
                return self._find(drawing)
        except BaseException:
            # Half of what was found is worse than nothing.
            self._begin(drawing)
            raise

    def _find(self, drawing: Drawing) -> Found:
        if drawing.dtype != self._dtype:
            self._begin(drawing)
        touched = touched_between(self._seen, drawing.mark) if self._seen is not None else None
        self._seen = drawing.mark
        wiring, settling = self._wiring, self._settling
        change = wiring.follow(drawing, touched)
        if change.whole:
            self._restart()
        inferred = settling.follow(drawing, wiring, change)
        dirty = inferred | change.entered | {id for id in wiring.fronts(change.moved) if len(wiring.incoming[id]) > 1}
        retyped = carry_dtypes(settling.known, wiring, dirty)
        stale = self._to_check(change, inferred, retyped)
        self._stale = len(stale)
        self._check(drawing, sorted(stale, key=wiring.positions.__getitem__))
        for id in change.gone:
            self._counting.exchange(id, self._checked.pop(id), None)
            self._troubled.pop(id, None)
            self._inserting.pop(id, None)
        self._leave_trail(change, stale)
        self._found = self._gathered(drawing, change, stale)
        return self._found

    def _leave_trail(self, change: Change, stale: set[str]) -> None:
        if change.whole:
            return
        gone = [Touched("connection", id, True) for id in change.gone_connections]
        gone += [Touched("capsule", id, True) for id in change.gone]
        for touched in (*gone, *(Touched("capsule", id, False) for id in stale)):
            self._mark = self._mark.trail.extended(self._mark.length, touched)

    def _to_check(self, change: Change, inferred: set[str], retyped: set[str]) -> set[str]:
        """Give the capsules whose checks could say something else than before."""
        wiring = self._wiring
        stale = {*inferred, *retyped, *wiring.fronts(retyped), *change.capsules, *change.entered}
        # Complaints may speak of what stands behind, and propose names that were free.
        stale.update([id for id in wiring.fronts(change.capsules) if id in self._troubled])
        if change.names:
            names = tuple(change.names)
            stale.update([id for id, stems in self._inserting.items() if any(n.startswith(stems) for n in names)])
        return stale.difference(change.gone)

    def _check(self, drawing: Drawing, stale: Iterable[str]) -> None:
        wiring, known, settled = self._wiring, self._settling.known, self._settling.settled
        dtype = known.dtype
        for id in stale:
            capsule, incoming = wiring.capsules[id], wiring.incoming[id]
            dtypes = (dtype[id], *[dtype[c.back] for c in incoming])
            kind = settled.get(id)
            like = kind.alike.checked.get(dtypes) if kind is not None else None
            found: list[Diagnostic] = []
            if like is not None:
                checked = checked_alike(like, capsule, incoming)
            else:
                found = [d for c in incoming for d in check_connection(drawing, c, known, wiring.incoming[id])]
                # What is unknown behind a capsule, or wrong with what enters it, explains what is unknown here.
                explained = bool(found) or any(None in known.output[c.back] for c in incoming)
                found.extend(check_capsule(drawing, capsule, known, incoming, explained))
                made = {c.id: checked_connection(c, known) for c in incoming}
                checked = (tuple(made.values()), checked_capsule(drawing, id, known, incoming, made))
                if kind is not None and not found:
                    kind.alike.checked[dtypes] = checked
            self._counting.exchange(id, self._checked.get(id), checked)
            self._checked[id] = checked
            self._note(id, found)

    def _note(self, id: str, found: list[Diagnostic]) -> None:
        if found:
            self._troubled[id] = tuple(found)
            patches = [p for d in found if d.fix for p in d.fix.patches if isinstance(p, Put)]
            lines = [p.record for p in patches if isinstance(p.record, Connection)]
            stems = {f"{line.back}-{line.symbol}"[:58] for line in lines if line.front not in self._wiring.capsules}
            if stems:
                self._inserting[id] = tuple(stems)
                return
        else:
            self._troubled.pop(id, None)
        self._inserting.pop(id, None)

    def _gathered(self, drawing: Drawing, change: Change, stale: set[str]) -> Found:
        wiring, checked, last = self._wiring, self._checked, self._found
        if change.whole or last is None:
            capsules = InOrder({id: checked[id][1] for id in wiring.order})
            connections = InOrder({c.id: c for id in wiring.order for c in checked[id][0]})
        else:
            vertices = {id: checked[id][1] for id in stale}
            lines = {c.id: c for id in stale for c in checked[id][0]}
            capsules = last.capsules.after(vertices, change.gone, wiring.order if change.reordered else None)
            entering = partial(_entering, capsules) if change.reordered else None
            connections = last.connections.after(lines, change.gone_connections, entering)
        troubled = sorted(self._troubled, key=wiring.positions.__getitem__)
        diagnostics = [d for id in troubled for d in self._troubled[id]]
        if self._ties(change):
            diagnostics.extend(check_ties(drawing, capsules, connections))
        totals = self._counting.totals(wiring.positions, checked, change.reordered)
        return Found(wiring.graph, capsules, connections, tuple(diagnostics), totals, self._mark)

    def _ties(self, change: Change) -> bool:
        """Tell whether anything is tied."""
        wiring = self._wiring
        self._tied.difference_update([("capsule", id) for id in change.gone])
        self._tied.difference_update([("connection", id) for id in change.gone_connections])
        vertices = wiring.capsules if change.whole else change.capsules
        for id in vertices:
            (self._tied.add if wiring.capsules[id].tie else self._tied.discard)(("capsule", id))
        for id in wiring.connections if change.whole else change.connections:
            (self._tied.add if wiring.connections[id].tie else self._tied.discard)(("connection", id))
        return bool(self._tied)


def _entering(capsules: InOrder[CheckedCapsule]) -> Iterable[str]:
    return [id for capsule in capsules.values() for id in capsule.incoming]
