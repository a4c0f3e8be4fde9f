"""Compiling columns: neurons renumbered in topological order, connections sorted twice, ties as shared weights.

In the order of the kernels a neuron's in-connections stand together, by back neuron (*in order*), for the forward
pass, and its out-connections stand together, by front neuron (*out order*), for the backward pass. Weights and their
gradients live in out order, each tied weight where its first connection stands; behind them live the biases.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from inkcap.engine.plain.columns import DATA, Checked, PlainError

CYCLE_SHOWN = 8


class Structure(NamedTuple):
    """What the kernels read. Neurons count in topological order, data neurons first, in the drawing's order."""

    data: int
    code: NDArray[np.int8]
    is_output: NDArray[np.bool_]
    outputs: NDArray[np.int32]
    in_start: NDArray[np.int64]
    back: NDArray[np.int32]
    out_start: NDArray[np.int64]
    front: NDArray[np.int32]
    to_in: NDArray[np.int32]
    """Where each connection in out order stands in in order."""
    slots: int
    """How many weights there are: tied ones count once."""
    slot_start: NDArray[np.int64]
    slot_edge: NDArray[np.int32]
    """The connections of each weight, in out order; both columns are empty where nothing is tied."""


@dataclass(frozen=True, eq=False)
class Layout:
    """A compiled network's structure, and the way between the drawing's order and the kernels'."""

    structure: Structure
    neuron: NDArray[np.int32]
    """The drawing's number of each neuron in topological order."""
    level: NDArray[np.int32]
    """The level of each neuron in topological order."""
    slot_of_weight: NDArray[np.int32]
    """For each weight in the drawing's order (tied ones once, at their first connection), its place in the kernels'."""
    weight_of_connection: NDArray[np.int32]
    """For each connection of the drawing, the number of its weight in the drawing's order."""
    neuron_of_bias: NDArray[np.int32]
    """For each bias in the drawing's order (of every neuron but data), its neuron's place after the data neurons."""
    in_edge: NDArray[np.int32]
    """The drawing's number of each connection in in order."""


def lay_out(columns: Checked, outputs: NDArray[Any] | None = None) -> Layout:
    """Compile checked columns; outputs are the neurons that nothing leaves, in the drawing's order, or those named."""
    from inkcap.engine.plain.sorting import count_starts, number_slots, sort_by, topological

    code, neurons = columns.code, columns.code.size
    none = np.zeros(0, np.int32)
    leaving = count_starts(columns.back, neurons)
    sources = np.concatenate([np.flatnonzero(code == DATA), np.flatnonzero(code != DATA)]).astype(np.int32)
    order, level = topological(columns.back, columns.front, leaving, sort_by(columns.back, leaving, none), sources)
    if order.size < neurons:
        raise PlainError(_cycle(columns, order))
    rank = np.empty(neurons, np.int32)
    rank[order] = np.arange(neurons, dtype=np.int32)
    back, front = rank[columns.back], rank[columns.front]
    in_start, out_start = count_starts(front, neurons), count_starts(back, neurons)
    in_edge = sort_by(front, in_start, sort_by(back, out_start, none))
    out_edge = sort_by(back, out_start, in_edge)
    in_place = np.empty(back.size, np.int32)
    in_place[in_edge] = np.arange(back.size, dtype=np.int32)
    chosen = _outputs(columns, outputs)
    is_output = np.zeros(neurons, np.bool_)
    is_output[rank[chosen]] = True
    if columns.tie.size:
        slot, slots = number_slots(columns.tie, out_edge)
        slot_start = count_starts(slot, slots)
        slot_edge = sort_by(slot, slot_start, none)
        weight_of_connection, weights = number_slots(columns.tie, np.arange(back.size, dtype=np.int32))
        slot_of_weight = np.empty(weights, np.int32)
        slot_of_weight[weight_of_connection[out_edge]] = slot
    else:
        slots, slot_start, slot_edge = back.size, np.zeros(0, np.int64), none
        weight_of_connection = np.arange(back.size, dtype=np.int32)
        slot_of_weight = np.empty(back.size, np.int32)
        slot_of_weight[out_edge] = weight_of_connection
    data = int((code == DATA).sum())
    structure = Structure(
        data, code[order], is_output, rank[chosen], in_start, back[in_edge], out_start, front[out_edge],
        in_place[out_edge], int(slots), slot_start, slot_edge,
    )  # fmt: skip
    neuron_of_bias = rank[np.flatnonzero(code != DATA)] - np.int32(data)
    return Layout(structure, order, level[order], slot_of_weight, weight_of_connection, neuron_of_bias, in_edge)


def _outputs(columns: Checked, outputs: NDArray[Any] | None) -> NDArray[np.int64]:
    neurons = columns.code.size
    if outputs is None:
        left = np.zeros(neurons, np.bool_)
        left[columns.back] = True
        return np.flatnonzero(~left & (columns.code != DATA))
    chosen = np.asarray(outputs)
    if chosen.ndim != 1 or chosen.size == 0 or chosen.dtype.kind not in "iu" or np.unique(chosen).size != chosen.size:
        raise PlainError("outputs: name at least one neuron by its number, each once")
    for neuron in chosen[(chosen < 0) | (chosen >= neurons)]:
        raise PlainError(f"outputs: {neuron} is not from 0 to {neurons - 1}")
    for neuron in chosen[columns.code[chosen] == DATA]:
        raise PlainError(f"outputs: neuron {neuron} is a data neuron; name neurons that compute")
    return chosen.astype(np.int64)


def _cycle(columns: Checked, order: NDArray[np.int32]) -> str:
    """Walk backwards among the neurons that could not be ordered, until one comes again."""
    left = np.ones(columns.code.size, np.bool_)
    left[order] = False
    held = left[columns.back] & left[columns.front]
    before = np.full(columns.code.size, -1, np.int64)
    before[columns.front[held]] = columns.back[held]
    at = int(np.flatnonzero(left)[0])
    seen: dict[int, int] = {}
    while at not in seen:
        seen[at] = len(seen)
        at = int(before[at])
    cycle = list(seen)[seen[at] :][::-1]
    lowest = cycle.index(min(cycle))
    cycle = cycle[lowest:] + cycle[:lowest]
    if len(cycle) > CYCLE_SHOWN:
        return f"neuron {cycle[0]} is on a cycle of {len(cycle)} neurons; remove one of its connections"
    path = "→".join(str(neuron) for neuron in (*cycle, cycle[0]))
    return f"the neurons {path} form a cycle; remove one of these connections"
