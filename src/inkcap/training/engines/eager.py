"""The eager way, which always works and starts at once: as a loop that is written by hand."""

from __future__ import annotations

import math
from collections.abc import Sequence
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


def step_by(gradients: Gradients, course: Course, optimiser: torch.optim.Optimizer) -> TakeStep:
    """Take steps by what sets the gradients, with the optimiser behind it."""
    parameters, clip, scaler = course.parameters, course.recipe.clip, course.scaler
    # Elsewhere than on the processor each look at a number would make the device wait: there losses wait for a look.
    here = course.training.device.type == "cpu"

    def take(inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        loss = gradients(inputs, targets)
        if here and not math.isfinite(loss.item()):
            return loss
        if scaler is not None:
            scaler.unscale_(optimiser)
        if clip:
            torch.nn.utils.clip_grad_norm_(parameters, clip)
        if scaler is None:
            optimiser.step()
        else:
            scaler.step(optimiser)
            scaler.update()
        return loss

    return take


def step_by_autograd(course: Course, optimiser: torch.optim.Optimizer) -> TakeStep:
    """Take steps by autograd."""
    return step_by(by_autograd(course, optimiser), course, optimiser)
