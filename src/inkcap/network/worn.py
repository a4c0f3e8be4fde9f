"""Worn parts: checked against the structure that they work on, with the parameters and states that they store."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import replace
from typing import Any

from inkcap.drawing import Capsule, Edit, Put, Worn
from inkcap.network.diagnostics import Diagnostic
from inkcap.network.network import CheckedPart, WeightRecord
from inkcap.network.ties import owner_of
from inkcap.operations import ShapeError, Trace, takes_dtype
from inkcap.structures import Shape, Structure
from inkcap.symbols import PARTS, PartSymbol, Problem, Weight, complete


def weight_record(name: str, weight: Weight, dtype: str, *, trainable: bool = True) -> WeightRecord:
    """Describe a parameter or a state of a capsule by the name under which it is stored."""
    learns = trainable and not weight.state
    structure = Structure(weight.shape, dtype)
    fans = int(weight.fan_in), int(weight.fan_out)
    return WeightRecord(name, structure, weight.initialiser, *fans, learns, weight.start, weight.state)


def check_parts(capsule: Capsule, total_input: Shape, output: Shape, dtype: str, title: str) -> Iterator[Diagnostic]:
    """Check every part that a capsule wears against what it works on."""
    for worn in capsule.wears:
        part = PARTS[worn.part]
        shape = total_input if part.place == "before" else output
        attributes = complete(part.attributes, worn.attributes)
        problem = part.problem(shape, attributes) if part.problem else None
        if problem is not None:
            yield _judged(capsule, worn, part, problem, title)
            continue
        trace = Trace()
        try:
            _trace_part(trace, part, attributes, shape, dtype)
        except ShapeError as error:
            yield Diagnostic(
                "structure-mismatch", (capsule.id,), f"{title} wears {part.title}: {error}", {"shape": shape}
            )
            continue
        refused = [step for step in trace.steps if not takes_dtype(step.operation, dtype)]
        if refused:
            yield Diagnostic(
                "not-floating",
                (capsule.id,),
                f"{title} wears {part.title}, which computes with real numbers, not with {dtype}; turn them into "
                "float32 by a transfer connection with cast",
                {"dtype": dtype},
            )


def checked_parts(capsule: Capsule, total_input: Structure | None, output: Structure | None) -> tuple[CheckedPart, ...]:
    """Give the parts with what they store, as far as the structures are known."""
    found: list[CheckedPart] = []
    for worn in capsule.wears:
        part = PARTS[worn.part]
        structure = total_input if part.place == "before" else output
        attributes = complete(part.attributes, worn.attributes)
        weights: dict[str, WeightRecord] = {}
        if part.weights is not None and structure is not None:
            weights = {
                name: weight_record(f"{owner_of(capsule)}.{part.id}.{name}", weight, structure.dtype)
                for name, weight in part.weights(structure.shape, attributes).items()
            }
        found.append(CheckedPart(part.id, attributes, weights))
    return tuple(found)


def _trace_part(trace: Trace, part: PartSymbol, attributes: dict[str, Any], shape: Shape, dtype: str) -> None:
    x = trace.value(shape, dtype)
    weights: Mapping[str, Weight] = part.weights(shape, attributes) if part.weights else {}
    part.forward(x, {name: trace.value(weight.shape, dtype) for name, weight in weights.items()}, attributes)


def _judged(capsule: Capsule, worn: Worn, part: PartSymbol, problem: Problem, title: str) -> Diagnostic:
    fix = None
    if problem.fix:
        changed = Worn(worn.part, {**worn.attributes, **problem.fix})
        parts = tuple(changed if old is worn else old for old in capsule.wears)
        words = " and ".join(f"set {name} to {value}" for name, value in problem.fix.items())
        fix = Edit(f"{words} of the {part.title} at {capsule.id}", (Put(replace(capsule, wears=parts)),))
    message = f"{title} wears {part.title}: {problem.message}"
    return Diagnostic(problem.rule, (capsule.id,), message, problem.numbers, fix, problem.severity)
