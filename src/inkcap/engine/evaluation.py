"""Running a trace: forwards on torch or NumPy, and backwards from the operations' own products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import torch
from torch import Tensor

from inkcap.engine.reference import REFERENCE
from inkcap.engine.torch_operations import TORCH, torch_dtype
from inkcap.network import Network
from inkcap.operations import Step, Trace


def run_on_torch(steps: Sequence[Step], values: Mapping[int, Tensor]) -> dict[int, Tensor]:
    """Compute every step on torch from the values that come in; a value that is given is not computed."""
    computed = dict(values)
    for step in steps:
        if step.target in computed:
            continue
        arguments = [computed[number] for number in step.arguments]
        computed[step.target] = TORCH[step.operation.name].compute(arguments, step.attributes)
    return computed


def run_on_numpy(steps: Sequence[Step], values: Mapping[int, Any]) -> dict[int, Any]:
    """Compute every step by the NumPy reference; a value that is given, such as a random mask, is not computed."""
    computed = dict(values)
    for step in steps:
        if step.target in computed:
            continue
        arguments = [computed[number] for number in step.arguments]
        computed[step.target] = REFERENCE[step.operation.name](arguments, step.attributes)
    return computed


def run_backwards(
    steps: Sequence[Step], computed: Mapping[int, Tensor], gradients: Mapping[int, Tensor]
) -> dict[int, Tensor]:
    """Carry gradients back through every step, in reverse order; what several steps use gets the sum."""
    slopes = dict(gradients)
    for step in reversed(steps):
        if step.target not in slopes:
            continue
        arguments = [computed[number] for number in step.arguments]
        parts = TORCH[step.operation.name].product(
            arguments, computed[step.target], slopes[step.target], step.attributes
        )
        for number, part in zip(step.arguments, parts, strict=True):
            slopes[number] = slopes[number] + part if number in slopes else part
    return slopes


def dense_matrix(network: Network, connection: str, weights: Mapping[str, Tensor]) -> Tensor:
    """Write a linear connection as the matrix of an equal full connection: a CNN is a special MLP.

    Rows are the numbers of the front end, columns those of the back end, in the order of reshaping.
    """
    checked = network.connections[connection]
    assert checked.back_end is not None
    trace = Trace()
    back = trace.value(checked.back_end.shape, checked.back_end.dtype)
    stored = {n: trace.value(w.structure.shape, w.structure.dtype) for n, w in checked.weights.items()}
    made = checked.record.weigh(back, stored, checked.attributes)
    count = checked.back_end.elements
    basis = torch.eye(count, dtype=torch_dtype(checked.back_end.dtype)).reshape(count, *checked.back_end.sizes)
    values = {back.number: basis, **{stored[name].number: weights[name] for name in stored}}
    return run_on_torch(trace.steps, values)[made.number].reshape(count, -1).T
