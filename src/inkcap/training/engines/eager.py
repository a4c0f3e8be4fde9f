"""The eager way, which always works and starts at once: as a loop that is written by hand."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from inkcap.training.engines.narrow import forward_of

if TYPE_CHECKING:
    from inkcap.training.session import Course, Gradients, TakeStep


def by_autograd(course: Course, optimiser: torch.optim.Optimizer) -> Gradients:
    """Give the way of a loop written by hand: forget the old gradients, go forwards, let autograd go back."""
    forward, loss_of, scaler = forward_of(course), course.loss, course.scaler

    def backpropagate(inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        optimiser.zero_grad(set_to_none=True)
        loss = loss_of(forward(*inputs), targets)
        (loss if scaler is None else scaler.scale(loss)).backward()
        return loss.detach()

    return backpropagate


def updating(
    course: Course, optimiser: torch.optim.Optimizer, shorten: Callable[[float], object] | None = None
) -> Callable[[], None]:
    """Give what moves the weights once their gradients are there; `shorten` clips one that no process has whole."""
    parameters, clip, scaler = course.parameters, course.recipe.clip, course.scaler
    shorten = shorten or (lambda norm: torch.nn.utils.clip_grad_norm_(parameters, norm))

    def update() -> None:
        if scaler is not None:
            scaler.unscale_(optimiser)
        if clip:
            shorten(clip)
        if scaler is None:
            optimiser.step()
        else:
            scaler.step(optimiser)
            scaler.update()

    return update


def step_by(gradients: Gradients, course: Course, optimiser: torch.optim.Optimizer) -> TakeStep:
    """Take steps by what sets the gradients, with the optimiser behind it."""
    update = updating(course, optimiser)
    # Elsewhere than on the processor each look at a number would make the device wait: there losses wait for a look.
    here = course.training.device.type == "cpu"

    def take(inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        loss = gradients(inputs, targets)
        if here and not math.isfinite(loss.item()):
            return loss
        update()
        return loss

    return take


def step_by_autograd(course: Course, optimiser: torch.optim.Optimizer) -> TakeStep:
    """Take steps by autograd."""
    return step_by(by_autograd(course, optimiser), course, optimiser)
