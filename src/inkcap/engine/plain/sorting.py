"""Ordering neurons and connections in time that grows with their number and no faster."""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from inkcap.engine.plain.compiled import compiled

Whole = NDArray[np.int32]
Starts = NDArray[np.int64]


@compiled
def count_starts(keys: Whole, kinds: int) -> Starts:
    """Count each key, and say where its entries start in sorted order."""
    starts = np.zeros(kinds + 1, np.int64)
    for key in keys:
        starts[key + 1] += 1
    for kind in range(kinds):
        starts[kind + 1] += starts[kind]
    return starts


@compiled
def sort_by(keys: Whole, starts: Starts, before: Whole) -> Whole:
    """Sort entries by key and, where keys are equal, in the order of ``before`` (empty: as they stand)."""
    free = starts.copy()
    result = np.empty(keys.size, np.int32)
    for i in range(keys.size):
        entry = before[i] if before.size else np.int32(i)
        key = keys[entry]
        result[free[key]] = entry
        free[key] += 1
    return result


@compiled
def topological(back: Whole, front: Whole, out_starts: Starts, out_edges: Whole, sources: Whole) -> tuple[Whole, Whole]:
    """Order neurons so that every connection goes forwards, level by level; neurons on or behind a cycle stay out."""
    neurons = out_starts.size - 1
    waiting = np.zeros(neurons, np.int32)
    for h in front:
        waiting[h] += 1
    order = np.empty(neurons, np.int32)
    level = np.zeros(neurons, np.int32)
    known = 0
    for z in sources:
        if waiting[z] == 0:
            order[known] = z
            known += 1
    done = 0
    while done < known:
        z = order[done]
        done += 1
        for i in range(out_starts[z], out_starts[z + 1]):
            h = front[out_edges[i]]
            level[h] = max(level[h], level[z] + 1)
            waiting[h] -= 1
            if waiting[h] == 0:
                order[known] = h
                known += 1
    return order[:known], level


@compiled
def number_slots(tie: Whole, edges: Whole) -> tuple[Whole, int]:
    """Give each connection, in the order of ``edges``, the number of its weight; tied ones share a number."""
    highest = 0
    for t in tie:
        highest = max(highest, t + 1)
    of_tie = np.full(highest, -1, np.int32)
    slot = np.empty(edges.size, np.int32)
    slots = 0
    for i in range(edges.size):
        t = tie[edges[i]]
        if t >= 0 and of_tie[t] >= 0:
            slot[i] = of_tie[t]
            continue
        slot[i] = slots
        if t >= 0:
            of_tie[t] = slots
        slots += 1
    return slot, slots
