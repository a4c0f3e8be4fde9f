"""Data types go forwards: what a capsule states, else what enters it first, else the drawing's own."""

from __future__ import annotations

from collections.abc import Iterable
from heapq import heapify, heappop, heappush
from typing import cast

from inkcap.network.inference import Inferred
from inkcap.network.wiring import Wiring


def carry_dtypes(known: Inferred, wiring: Wiring, dirty: Iterable[str]) -> set[str]:
    """Find the data types of some capsules, and of all that they change; give those that are others than before."""
    order, positions, dtypes = wiring.order, wiring.positions, known.dtype
    heap = [positions[id] for id in dirty]
    heapify(heap)
    waiting = set(heap)
    found: set[str] = set()
    while heap:
        place = heappop(heap)
        waiting.discard(place)
        id = order[place]
        dtype = _dtype(known, wiring, id, place)
        if dtypes.get(id) == dtype:
            continue
        dtypes[id] = dtype
        found.add(id)
        for connection in wiring.outgoing[id]:
            front = positions[connection.front]
            # What comes back on a cycle comes too late to be the first.
            if front > place and front not in waiting:
                waiting.add(front)
                heappush(heap, front)
    return found


def _dtype(known: Inferred, wiring: Wiring, id: str, place: int) -> str:
    stated = known.attributes[id].get("dtype")
    if stated:
        return cast("str", stated)
    positions, first, earliest = wiring.positions, None, place
    for connection in wiring.incoming[id]:
        back = positions[connection.back]
        if back < earliest:
            first, earliest = connection, back
    if first is None:
        return known.drawing.dtype
    cast_to = known.connection_attributes[first.id].get("cast")
    return cast("str", cast_to or known.stored_dtype(first, known.dtype[first.back]))
