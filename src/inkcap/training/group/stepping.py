"""Steps that a group takes together: each member on its part of the batch, all of them by the same gradient."""

from __future__ import annotations

import math
import warnings
from collections.abc import Callable, Sequence
from typing import Any, Protocol

import torch
import torch.distributed as dist
from torch import Tensor
from torch.nn.parallel import DistributedDataParallel

from inkcap.network import Network
from inkcap.training.engines.eager import updating
from inkcap.training.engines.narrow import forward_of
from inkcap.training.facts import NetworkFacts
from inkcap.training.gradients import by_universal
from inkcap.training.group.control import Control
from inkcap.training.group.membership import losing
from inkcap.training.group.parts import Parts
from inkcap.training.session import Course, TakeStep


class Sharded(Protocol):
    """A module whose weights are parted over the members."""

    def forget(self) -> None:
        """Forget the old gradients."""
        ...

    def take_gradients(self) -> None:
        """Give the parts of the weights the parts of their gradients."""
        ...

    def clip(self, norm: float) -> None:
        """Shorten the gradient, of which each member has a part, to a norm."""
        ...


Backward = Callable[[Sequence[Tensor], Sequence[Tensor]], Tensor]
"""Sets the gradients of the whole batch, and gives the loss of this member's part."""


def by_copies(course: Course, parts: Parts, optimiser: torch.optim.Optimizer, engine: str, drawn: Any) -> Backward:
    """Give the way of members that hold all weights each: their gradients are averaged."""
    if engine == "explicit":
        network, facts = drawn
        return _explicit(course, parts, network, facts)
    device = course.training.device
    places = [device] if device.type == "cuda" else None
    with losing(), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        # Buckets that are never rebuilt add up in the same order in every step, also after a restart. It also lets
        # weights be that no loss depends on.
        wrapped = DistributedDataParallel(
            course.module, device_ids=places, broadcast_buffers=False, find_unused_parameters=True
        )
    return _by_autograd(course, parts, optimiser.zero_grad, wrapped)


def by_shards(course: Course, parts: Parts, sharded: Sharded) -> Backward:
    """Give the way of members that hold a part of all weights each."""
    backward = _by_autograd(course, parts, sharded.forget, course.module)

    def backpropagate(inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        loss = backward(inputs, targets)
        sharded.take_gradients()
        return loss

    return backpropagate


def _by_autograd(course: Course, parts: Parts, forget: Callable[[], None], module: torch.nn.Module) -> Backward:
    forward, loss_of, scaler = forward_of(course, module), course.loss, course.scaler
    world = parts.group.world

    def backpropagate(inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        forget()
        loss = loss_of(forward(*inputs), targets)
        # Gradients are averaged over the members, whose parts may differ in size.
        weighted = loss * (parts.share * world)
        with losing():
            (weighted if scaler is None else scaler.scale(weighted)).backward()
        return loss.detach()

    return backpropagate


def _explicit(course: Course, parts: Parts, network: Network, facts: NetworkFacts) -> Backward:
    gradients = by_universal(network, course.module, facts, course.recipe, ())

    def backpropagate(inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        loss = gradients(inputs, targets)
        slopes = [parameter.grad for parameter in course.parameters if parameter.grad is not None]
        flat = torch.cat([slope.reshape(-1) for slope in slopes]).mul_(parts.share)
        with losing():
            dist.all_reduce(flat)
        pieces = flat.split_with_sizes([slope.numel() for slope in slopes])
        for slope, summed in zip(slopes, pieces, strict=True):
            slope.copy_(summed.view(slope.shape))
        return loss

    return backpropagate


def step_together(
    backward: Backward,
    course: Course,
    parts: Parts,
    control: Control,
    optimiser: torch.optim.Optimizer,
    sharded: Sharded | None,
) -> TakeStep:
    """Take steps by what sets the gradients; whether the loss is finite is seen by all, and all stop at it."""
    update = updating(course, optimiser, None if sharded is None else sharded.clip)
    here = course.training.device.type == "cpu"

    def take(inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        # What only stands in may have any loss, and has no share.
        part = backward(inputs, targets)
        loss = control.exchange(part * parts.share if parts.own else torch.zeros_like(part))
        if here and not math.isfinite(loss.item()):
            return loss
        update()
        return loss

    return take
