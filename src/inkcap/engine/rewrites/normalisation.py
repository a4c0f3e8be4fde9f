"""Batch normalisation as one kernel each way, with its scale, its bias and its running numbers."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import torch
from torch import Tensor

from inkcap.engine.draft import Draft
from inkcap.engine.rules import Call, Page, Parts, Rule, Written
from inkcap.operations import Step

_aten = torch.ops.aten
Saved = tuple[Tensor, ...]


def normalise_at_once(draft: Draft) -> Draft:
    """Join every normalisation over the batch with what follows it and with what moves its running numbers."""
    users = draft.users()
    instead: dict[int, Sequence[Step]] = {}
    for step in draft.steps:
        if step.operation.name != "normalise_batch" or not step.attributes["training"]:
            continue
        found = _find(step, draft, users)
        if found is None:
            continue
        x, mean, variance = step.arguments
        moved = bool(found.movers)
        momentum = found.movers[0].attributes["momentum"] if moved else 0.0
        attributes = {"epsilon": step.attributes["epsilon"], "momentum": momentum, "moved": moved}
        arguments = (x, mean, variance, *found.affine)
        instead |= {inner.target: () for inner in found.inside}
        instead[found.last.target] = (
            replace(found.last, operation=_NORMALISED, arguments=arguments, attributes=attributes),
        )
        for place, mover in enumerate(found.movers):
            picked = replace(mover, operation=_MOVED, arguments=(found.last.target,), attributes={"place": 2 + place})
            # Behind the normalisation, wherever it stood: nothing but the caller uses a state that has moved.
            instead[mover.target] = ()
            instead[found.last.target] = (*instead[found.last.target], picked)
    return draft.rewritten(instead)


@dataclass(frozen=True)
class _Found:
    last: Step
    inside: tuple[Step, ...]
    affine: tuple[int, ...]
    movers: tuple[Step, ...]


def _find(step: Step, draft: Draft, users: dict[int, list[Step]]) -> _Found | None:
    x, mean, variance = step.arguments
    movers: list[Step] = []
    for name, state in (("move_mean", mean), ("move_variance", variance)):
        movers += [s for s in users.get(state, ()) if s.operation.name == name and s.arguments == (state, x)]
    alike = len({mover.attributes["momentum"] for mover in movers}) <= 1
    if len(movers) not in (0, 2) or not alike or any(users.get(mover.target) for mover in movers):
        return None
    if len(movers) == 2 and movers[0].operation is movers[1].operation:
        return None
    scaled = _only_user(step, "scale", draft, users)
    biased = _only_user(scaled, "bias", draft, users) if scaled is not None else None
    if scaled is None or biased is None:
        return _Found(step, (), (), tuple(movers))
    return _Found(biased, (step, scaled), (scaled.arguments[1], biased.arguments[1]), tuple(movers))


def _only_user(step: Step, name: str, draft: Draft, users: dict[int, list[Step]]) -> Step | None:
    taking = users.get(step.target, [])
    if step.target in draft.held or len(taking) != 1:
        return None
    (user,) = taking
    fits = user.operation.name == name and user.attributes["per"] == "channel" and user.arguments[0] == step.target
    return user if fits else None


def normalised(
    x: Tensor, mean: Tensor, variance: Tensor, scale: Tensor | None, bias: Tensor | None, at: dict[str, Any]
) -> tuple[Tensor, Saved]:
    """Normalise over the batch; beside it stand the batch's mean and spread, and the running numbers after it."""
    if x.numel() == x.shape[1]:
        # As torch says it: the kernel itself would give NaN.
        raise ValueError(f"Expected more than 1 value per channel when training, got input size {x.shape}")
    if at["moved"]:
        made, *saved = _aten._native_batch_norm_legit_functional.default(
            x, scale, bias, mean, variance, True, at["momentum"], at["epsilon"]
        )
    else:
        made, *saved = _aten.native_batch_norm.default(x, scale, bias, None, None, True, 0.0, at["epsilon"])
    return made, tuple(saved)


def normalised_backward(
    gradient: Tensor, x: Tensor, scale: Tensor | None, saved: Saved, epsilon: float, wanted: list[bool]
) -> tuple[Tensor, ...]:
    """Give the gradients by the input, the scale and the bias."""
    return _aten.native_batch_norm_backward.default(
        gradient, x, scale, None, None, saved[0], saved[1], True, epsilon, wanted
    )


def _forward(page: Page, call: Call) -> str:
    page.bind("normalised", normalised)
    x, mean, variance, *affine = call.arguments
    scale, bias = affine or ("None", "None")
    return f"normalised({x}, {mean}, {variance}, {scale}, {bias}, {dict(call.step.attributes)})"


def _backward(page: Page, call: Call) -> Parts:
    page.bind("normalised_backward", normalised_backward)
    x, _, _, *affine = call.arguments
    by_x, _, _, *by_affine = call.wanted
    mask = [by_x, *(by_affine or (False, False))]
    made, epsilon = f"p_{call.gradient}", call.step.attributes["epsilon"]
    scale = affine[0] if affine else "None"
    page.write(f"{made} = normalised_backward({call.gradient}, {x}, {scale}, {call.saved}, {epsilon}, {mask})")
    places = (0, None, None, *([1, 2] if affine else ()))
    return [
        f"{made}[{place}]" if want and place is not None else None
        for place, want in zip(places, call.wanted, strict=True)
    ]


_NORMALISED = Written(
    name="normalised", meaning="w·(x − mean)/√(variance + ε) + b", rule=Rule(_forward, _backward, saves=True)
)
_MOVED = Written(
    name="moved",
    meaning="a running number after the batch",
    rule=Rule(lambda page, c: f"{c.saved}[{c.step.attributes['place']}]", lambda page, c: (None,), beside=True),
    flat=True,
)
