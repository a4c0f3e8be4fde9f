"""Running a trace: forwards on torch or NumPy, and backwards from the operations' own products."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from torch import Tensor

from inkcap.engine.reference import REFERENCE
from inkcap.engine.torch_operations import TORCH
from inkcap.operations import Step


def run_on_torch(steps: Sequence[Step], values: Mapping[int, Tensor]) -> dict[int, Tensor]:
    """Compute every step on torch from the values that come in."""
    computed = dict(values)
    for step in steps:
        arguments = [computed[number] for number in step.arguments]
        computed[step.target] = TORCH[step.operation.name].compute(arguments, step.attributes)
    return computed


def run_on_numpy(steps: Sequence[Step], values: Mapping[int, Any]) -> dict[int, Any]:
    """Compute every step by the NumPy reference."""
    computed = dict(values)
    for step in steps:
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
