"""Parameters in kernels: gradients of all chunks added up in a fixed order, update rules, weights laid out anew."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.engine.plain.compiled import compiled
from inkcap.engine.plain.layout import Structure

Array = NDArray[Any]

BLOCK = 2048
"""How many parameters are finished at a time, so that what one loop writes the next finds in the cache."""


@compiled
def arrange(s: Structure, parameters: Array, in_order: Array, out_order: Array, first: int, last: int) -> None:
    """Write the weights from first to last into in order and out order, a tied one at each of its connections."""
    for slot in range(first, min(last, s.slots)):
        weight = parameters[slot]
        if s.slot_start.size == 0:
            out_order[slot] = weight
            in_order[s.to_in[slot]] = weight
            continue
        for i in range(s.slot_start[slot], s.slot_start[slot + 1]):
            out_order[s.slot_edge[i]] = weight
            in_order[s.to_in[s.slot_edge[i]]] = weight


@compiled
def gather_gradient(s: Structure, chunks: Array, gradient: Array, first: int, last: int) -> None:
    """Add up the chunks' gradients for the parameters from first to last, chunk after chunk, and clear the chunks.

    A tied weight's gradient is the sum over its connections.
    """
    whole = first if s.slot_start.size == 0 else max(first, min(last, s.slots))
    for slot in range(first, whole):
        total = gradient.dtype.type(0)
        for i in range(s.slot_start[slot], s.slot_start[slot + 1]):
            e = s.slot_edge[i]
            for c in range(chunks.shape[0]):
                total += chunks[c, e]
                chunks[c, e] = 0
        gradient[slot] = total
    shift = s.front.size - s.slots
    result = gradient[whole:last]
    result[:] = 0
    for c in range(chunks.shape[0]):
        part = chunks[c, whole + shift : last + shift]
        for i in range(result.size):
            result[i] += part[i]
            part[i] = 0


@compiled
def update(rule: int, setting: Array, time: int, p: Array, m: Array, v: Array, g: Array) -> None:
    """Take one step of an update rule: 0 plain descent, 1 momentum, 2 Adam.

    ``setting`` holds the rate, the first and the second decay, and epsilon; ``m`` and ``v`` the rule's memory, which
    is empty where the rule has none.
    """
    kind = p.dtype.type
    rate, first, second, epsilon = kind(setting[0]), kind(setting[1]), kind(setting[2]), kind(setting[3])
    one = kind(1)
    if rule == 0:
        for i in range(p.size):
            p[i] -= rate * g[i]
    elif rule == 1:
        for i in range(p.size):
            m[i] = first * m[i] + g[i]
            p[i] -= rate * m[i]
    else:
        stride = kind(setting[0] / (1 - setting[1] ** time))
        root = kind(1 / np.sqrt(1 - setting[2] ** time))
        for i in range(p.size):
            m[i] = first * m[i] + (one - first) * g[i]
            v[i] = second * v[i] + (one - second) * g[i] * g[i]
            p[i] -= stride * m[i] / (np.sqrt(v[i]) * root + epsilon)


@compiled
def update_range(
    rule: int, setting: Array, time: int, p: Array, m: Array, v: Array, g: Array, first: int, last: int
) -> None:
    """Update the parameters from first to last."""
    update(rule, setting, time, p[first:last], m[first:last], v[first:last], g[first:last])


@compiled
def finish_step(
    s: Structure, rule: int, setting: Array, time: int, p: Array, m: Array, v: Array, g: Array, chunks: Array,
    in_order: Array, out_order: Array, first: int, last: int,
) -> None:  # fmt: skip
    """Finish a training step for the parameters from first to last: gradients, update, weights laid out anew."""
    for start in range(first, last, BLOCK):
        end = min(start + BLOCK, last)
        gather_gradient(s, chunks, g, start, end)
        update(rule, setting, time, p[start:end], m[start:end], v[start:end], g[start:end])
        arrange(s, p, in_order, out_order, start, end)
