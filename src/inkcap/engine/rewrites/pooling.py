"""The maximum before the ReLU: max(relu(x)) is relu(max(x)), on as many numbers as there are windows.

The gradient is the same, too. Where a window's largest number is above 0, both ways choose it, the first if there are
several. Where it is not, one way passes nothing to the number that it chose, and the other passes nothing to any. A
function that may give one value for two arguments above 0, as a sigmoid does by rounding, has no such proof: there the
first of the equal values need not be the first of the largest arguments.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

from inkcap.engine.draft import Draft
from inkcap.operations import Step

_MAXIMA = frozenset({"window_max", "bins_max"})


def pool_first(draft: Draft) -> Draft:
    """Exchange a ReLU with the maximum that alone uses it, where the maxima are fewer."""
    users = draft.users()
    instead: dict[int, Sequence[Step]] = {}
    owners: dict[int, str] = {}
    free = draft.free
    for relu in draft.steps:
        if relu.operation.name != "relu" or relu.target in draft.held or len(users.get(relu.target, ())) != 1:
            continue
        (pool,) = users[relu.target]
        if pool.operation.name not in _MAXIMA or _numbers(pool) >= _numbers(relu):
            continue
        first = replace(pool, target=free, arguments=relu.arguments)
        instead[relu.target] = ()
        instead[pool.target] = (first, replace(relu, target=pool.target, arguments=(free,), shape=pool.shape))
        owners[free] = draft.owners[pool.target]
        free += 1
    return draft.rewritten(instead, owners)


def _numbers(step: Step) -> int:
    return math.prod(size if isinstance(size, int) else 1 for size in step.shape)
