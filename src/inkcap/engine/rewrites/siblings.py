"""Siblings: convolutions, or matrix products, of one input and one geometry, computed as one.

The kernels are laid one behind another, the result is seen in slices. Backwards the gradients of the slices are laid
one behind another, and the gradients of the kernels are slices of one.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from inkcap.engine.draft import Draft
from inkcap.engine.rules import Call, Page, Parts, Piece, Rule, Written
from inkcap.operations import Step
from inkcap.structures import Shape

_FUNCTIONS = frozenset({"relu", "sigmoid", "tanh"})


def join_siblings(draft: Draft) -> Draft:
    """Join all siblings whose weights are used nowhere else."""
    users, shapes = draft.users(), draft.shapes()
    stored, reached = set(draft.program.weights.values()), draft.reached()
    groups: dict[object, list[Step]] = {}
    for step in draft.steps:
        if step.operation.name not in ("convolve", "matmul") or step.attributes.get("groups", 1) != 1:
            continue
        x, *weights = _split(step)
        # A tied weight stays where it is: it would be laid beside others once for every use.
        if all(number in stored and len(users[number]) == 1 for number in weights):
            geometry = (step.operation.name, shapes[weights[0]][1:], repr(sorted(step.attributes.items())))
            # A weight on which no loss depends has no gradient, not one of zeros: it stays apart.
            groups.setdefault((x, *geometry, len(weights), step.target in reached), []).append(step)
    instead: dict[int, Sequence[Step]] = {}
    owners: dict[int, str] = {}
    free = draft.free
    for siblings in groups.values():
        if len(siblings) > 1:
            made, parts = _joined(siblings, shapes, free)
            functions = _functions(siblings, draft, users)
            if functions:
                made, parts = _behind(made, parts, functions)
                instead |= {step.target: () for step in functions}
            free += len(made)
            instead |= {step.target: () for step in siblings}
            instead[siblings[0].target] = (*made, *parts)
            owners |= dict.fromkeys((step.target for step in made), draft.owners[siblings[0].target])
    return draft.rewritten(instead, owners)


def _split(step: Step) -> tuple[int, ...]:
    """Give the input, then the weight, then a bias if there is one."""
    first, second, *bias = step.arguments
    return (second, first, *bias) if step.operation.name == "matmul" else (first, second, *bias)


def _along(step: Step) -> int:
    """Give the axis of a result along which kernels lie, counted without the batch."""
    return len(step.shape) - 1 if step.operation.name == "matmul" else 0


def _joined(siblings: Sequence[Step], shapes: dict[int, Shape], free: int) -> tuple[list[Step], list[Step]]:
    """Write the joined weights and the one step, and the parts of its result under the numbers that they had."""
    first = siblings[0]
    x, *weights = _split(first)
    made: list[Step] = []
    for place in range(len(weights)):
        pieces = [_split(step)[1 + place] for step in siblings]
        sizes = [shapes[number][0] for number in pieces]
        shape = (sum(sizes), *shapes[pieces[0]][1:])
        made.append(Step(free + place, _LAID, tuple(pieces), {"sizes": tuple(sizes)}, shape, first.dtype, 0))
    laid = [step.target for step in made]
    axis = _along(first)
    sizes = [step.shape[axis] for step in siblings]
    shape = (*first.shape[:axis], sum(sizes), *first.shape[axis + 1 :])
    arguments = (laid[0], x, *laid[1:]) if first.operation.name == "matmul" else (x, *laid)
    costs = sum(step.multiply_adds for step in siblings)
    whole = replace(first, target=free + len(weights), arguments=arguments, shape=shape, multiply_adds=costs)
    parts: list[Step] = []
    start = 0
    for step, size in zip(siblings, sizes, strict=True):
        at = {"axis": axis + 1, "start": start, "stop": start + size}
        parts.append(replace(step, operation=_PART, arguments=(whole.target,), attributes=at, multiply_adds=0))
        start += size
    return [*made, whole], parts


def _functions(siblings: Sequence[Step], draft: Draft, users: dict[int, list[Step]]) -> list[Step]:
    """Find the function that each sibling alone enters, where it is the same for all."""
    found: list[Step] = []
    for step in siblings:
        taking = users.get(step.target, [])
        if step.target in draft.held or len(taking) != 1 or taking[0].operation.name not in _FUNCTIONS:
            return []
        found += taking
    return found if len({step.operation.name for step in found}) == 1 else []


def _behind(made: list[Step], parts: list[Step], functions: list[Step]) -> tuple[list[Step], list[Step]]:
    """Apply the function once to the whole: the parts are then those of what it makes."""
    whole = made[-1]
    applied = replace(functions[0], target=whole.target + 1, arguments=(whole.target,), shape=whole.shape)
    seen = [
        replace(part, target=function.target, arguments=(applied.target,))
        for part, function in zip(parts, functions, strict=True)
    ]
    return [*made, applied], seen


def _lay_back(page: Page, call: Call) -> Parts:
    sizes = call.step.attributes["sizes"]
    starts = [sum(sizes[:i]) for i in range(len(sizes))]
    return [
        f"{call.gradient}[{start}:{start + size}]" if wanted else None
        for start, size, wanted in zip(starts, sizes, call.wanted, strict=True)
    ]


def _part(page: Page, call: Call) -> str:
    at = call.step.attributes
    return f"{call.arguments[0]}.narrow({at['axis']}, {at['start']}, {at['stop'] - at['start']})"


def _part_back(page: Page, call: Call) -> Parts:
    at = call.step.attributes
    return (Piece(call.gradient, at["axis"], at["start"], at["stop"]),)


_LAID = Written(
    name="laid",
    meaning="weights one behind another",
    rule=Rule(lambda page, c: f"torch.cat(({', '.join(c.arguments)},))", _lay_back),
)
_PART = Written(name="part", meaning="a slice of x along an axis", rule=Rule(_part, _part_back))
