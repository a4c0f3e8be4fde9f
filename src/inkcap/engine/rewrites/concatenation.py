"""Concatenations in place: what is laid one behind another is written where it will lie.

``growth`` is for chains, [x], [x, y], [x, y, z] …: one buffer has room for the longest, and each shorter one is a
leading slice of it, so that nothing is copied twice. Their gradients are leading slices of the longest one's.
``collecting`` has the gradients so, and copies forwards: each concatenation is whole in memory.
``filling`` is for one concatenation: the ReLUs that enter nothing else write into their slices.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from itertools import pairwise
from typing import cast

import torch
from torch import Tensor
from torch._prims_common import suggest_memory_format

from inkcap.engine.draft import Draft
from inkcap.engine.rules import Call, Page, Parts, Rule, Written
from inkcap.operations import Step
from inkcap.structures import Shape


def grow_in_place(draft: Draft) -> Draft:
    """Let every chain of growing concatenations share one buffer."""
    instead: dict[int, Sequence[Step]] = {}
    shapes = draft.shapes()
    for chain in _chains(draft):
        total, axis = _size(chain[-1]), _axis(chain[0])
        begun = {"axis": axis, "total": total, "sizes": _sizes(chain[0].arguments, axis, shapes)}
        instead[chain[0].target] = (replace(chain[0], operation=_BEGUN, attributes=begun),)
        for shorter, longer in pairwise(chain):
            new = longer.arguments[len(shorter.arguments) :]
            grown = {"axis": axis, "start": _size(shorter), "sizes": _sizes(new, axis, shapes)}
            step = replace(longer, operation=_GROWN, arguments=(shorter.target, *new), attributes=grown)
            instead[longer.target] = (step,)
    return draft.rewritten(instead)


def collect_gradients(draft: Draft) -> Draft:
    """Let every chain of growing concatenations collect its gradients in that of the longest."""
    instead: dict[int, Sequence[Step]] = {}
    shapes = draft.shapes()
    for chain in _chains(draft):
        for shorter, longer in pairwise(chain):
            new, axis = longer.arguments[len(shorter.arguments) :], _axis(longer)
            at = {"axis": axis, "start": _size(shorter), "sizes": _sizes(new, axis, shapes)}
            step = replace(longer, operation=_APPENDED, arguments=(shorter.target, *new), attributes=at)
            instead[longer.target] = (step,)
    return draft.rewritten(instead)


def fill_in_place(draft: Draft) -> Draft:
    """Let the ReLUs that only one concatenation uses write into it."""
    users, producers, shapes = draft.users(), draft.producers(), draft.shapes()
    order = {step.target: i for i, step in enumerate(draft.steps)}
    instead: dict[int, Sequence[Step]] = {}
    owners: dict[int, str] = {}
    free = draft.free
    for step in draft.steps:
        if step.operation.name != "concatenate":
            continue
        relus = [producers[n] for n in step.arguments if _is_own_relu(producers.get(n), draft, users)]
        if not relus:
            continue
        axis = _axis(step)
        sizes = _sizes(step.arguments, axis, shapes)
        first = min(relus, key=lambda relu: order[relu.target])
        room = Step(free, _ROOM, first.arguments, {"axis": axis, "total": _size(step)}, step.shape, step.dtype, 0)
        for relu in relus:
            place = step.arguments.index(relu.target)
            where = {"axis": axis, "start": sum(sizes[:place]), "size": sizes[place]}
            into = replace(relu, operation=_RELU_INTO, arguments=(*relu.arguments, free), attributes=where)
            instead[relu.target] = (room, into) if relu is first else (into,)
        own = {relu.target for relu in relus}
        filled = {"axis": axis, "sizes": sizes, "laid": tuple(number not in own for number in step.arguments)}
        instead[step.target] = (replace(step, operation=_FILLED, arguments=(free, *step.arguments), attributes=filled),)
        owners[free] = draft.owners[step.target]
        free += 1
    return draft.rewritten(instead, owners)


def _chains(draft: Draft) -> list[list[Step]]:
    """Find concatenations that are the beginning of another, each the beginning of one at most."""
    ends: dict[tuple[int, tuple[int, ...]], list[Step]] = {}
    chains: list[list[Step]] = []
    for step in draft.steps:
        if step.operation.name != "concatenate":
            continue
        axis, parts = _axis(step), step.arguments
        longest = next((n for n in range(len(parts) - 1, 1, -1) if (axis, parts[:n]) in ends), None)
        if longest is None:
            chain: list[Step] = []
            chains.append(chain)
        else:
            chain = ends.pop((axis, parts[:longest]))
        chain.append(step)
        # Through a shorter one goes the gradient of the longer ones, too: not where its own is asked for.
        if step.target not in draft.graded:
            ends[axis, parts] = chain
    return [chain for chain in chains if len(chain) > 1]


def _is_own_relu(step: Step | None, draft: Draft, users: dict[int, list[Step]]) -> bool:
    if step is None or step.operation.name != "relu":
        return False
    return step.target not in draft.held and len(users[step.target]) == 1


def _axis(step: Step) -> int:
    """Give the axis of a concatenation, counted with the batch."""
    return 1 + step.attributes["axis"]


def _size(step: Step) -> int:
    return cast("int", step.shape[step.attributes["axis"]])


def _sizes(numbers: Sequence[int], axis: int, shapes: Mapping[int, Shape]) -> tuple[int, ...]:
    return tuple(cast("int", shapes[number][axis - 1]) for number in numbers)


def room_like(like: Tensor, axis: int, total: int) -> Tensor:
    """Give room for so much along an axis, laid out in memory as a part of it is."""
    shape = (*like.shape[:axis], total, *like.shape[axis + 1 :])
    return torch.empty(shape, dtype=like.dtype, device=like.device, memory_format=suggest_memory_format(like))


def lay(parts: Sequence[Tensor], room: Tensor, axis: int, start: int) -> tuple[Tensor, Tensor]:
    """Lay parts one behind another into a room; give all that lies there now, and the room."""
    for part in parts:
        size = part.shape[axis]
        room.narrow(axis, start, size).copy_(part)
        start += size
    return room.narrow(axis, 0, start), room


def relu_into(x: Tensor, room: Tensor, axis: int, start: int, size: int) -> Tensor:
    """Write a ReLU into its slice of a room."""
    return torch.clamp_min(x, 0, out=room.narrow(axis, start, size))


def _begin(page: Page, call: Call) -> str:
    at, parts = call.step.attributes, call.arguments
    room = f"{page.bind('room_like', room_like)}({parts[0]}, {at['axis']}, {at['total']})"
    return f"{page.bind('lay', lay)}(({', '.join(parts)},), {room}, {at['axis']}, 0)"


def _grow(page: Page, call: Call) -> str:
    at, (_, *parts) = call.step.attributes, call.arguments
    return f"{page.bind('lay', lay)}(({', '.join(parts)},), {call.saved}, {at['axis']}, {at['start']})"


def _fill(page: Page, call: Call) -> str:
    at, (room, *parts) = call.step.attributes, call.arguments
    axis, sizes = at["axis"], at["sizes"]
    for i, part in enumerate(parts):
        if at["laid"][i]:
            page.write(f"_ = {room}.narrow({axis}, {sum(sizes[:i])}, {sizes[i]}).copy_({part})")
    return room


def _slices(call: Call, start: int, wanted: Sequence[bool]) -> list[str | None]:
    at = call.step.attributes
    found: list[str | None] = []
    for size, want in zip(at["sizes"], wanted, strict=True):
        found.append(f"{call.gradient}.narrow({at['axis']}, {start}, {size})" if want else None)
        start += size
    return found


def _begin_back(page: Page, call: Call) -> Parts:
    return _slices(call, 0, call.wanted)


def _grow_back(page: Page, call: Call) -> Parts:
    at = call.step.attributes
    before = f"{call.gradient}.narrow({at['axis']}, 0, {at['start']})" if call.wanted[0] else None
    return [before, *_slices(call, at["start"], call.wanted[1:])]


def _fill_back(page: Page, call: Call) -> Parts:
    return [None, *_slices(call, 0, call.wanted[1:])]


def _relu_into(page: Page, call: Call) -> str:
    at, (x, room) = call.step.attributes, call.arguments
    return f"{page.bind('relu_into', relu_into)}({x}, {room}, {at['axis']}, {at['start']}, {at['size']})"


_BEGUN = Written(name="begun", meaning="x, y, … where more has room", rule=Rule(_begin, _begin_back, saves=True))
_APPENDED = Written(
    name="appended",
    meaning="x with y, … behind it",
    rule=Rule(lambda page, c: f"torch.cat(({', '.join(c.arguments)},), {c.step.attributes['axis']})", _grow_back),
)
_GROWN = Written(
    name="grown",
    meaning="what lies there, and x, y, … behind it",
    rule=Rule(_grow, _grow_back, saves=True, beside=True),
)
_ROOM = Written(
    name="room",
    meaning="room for a concatenation",
    rule=Rule(
        lambda page, c: (
            f"{page.bind('room_like', room_like)}"
            f"({c.arguments[0]}, {c.step.attributes['axis']}, {c.step.attributes['total']})"
        ),
        lambda page, c: (None,),
    ),
    flat=True,
)
_RELU_INTO = Written(
    name="relu_into",
    meaning="max(0, x), written into its slice",
    rule=Rule(_relu_into, lambda page, c: (f"threshold_backward({c.gradient}, {c.result}, 0)", None)),
)
_FILLED = Written(name="filled", meaning="x, y, … where they lie", rule=Rule(_fill, _fill_back))
