"""Steppers: what takes a whole step of a run, one for each engine.

A stepper takes a batch and gives its loss. Where the loss is not finite, no weight has moved.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

import torch
from torch import Tensor

from inkcap.network import Network
from inkcap.training.engines.choice import CHANNELS_LAST, Choice
from inkcap.training.engines.compiling import Compiled, compile_step
from inkcap.training.engines.eager import step_by, step_by_autograd
from inkcap.training.engines.whole import WholeStep
from inkcap.training.facts import NetworkFacts
from inkcap.training.gradients import by_universal

if TYPE_CHECKING:
    from inkcap.training.session import Course, TakeStep


class CompiledStepper:
    """Takes steps by a program compiled for whole batches; a smaller one goes through the same program eagerly."""

    def __init__(self, step: WholeStep, batch: int, compiled: Compiled | None = None) -> None:
        self._step, self._batch = step, batch
        self.compiled = compiled

    @torch.no_grad()
    def __call__(self, inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        """Take a step; the first whole batch is what the program is compiled for."""
        self._step.set_rate()
        values = self._step.values(inputs, targets)
        step = self._step.function(len(inputs), len(targets))
        if len(targets[0]) != self._batch:
            return step(*values)
        if self.compiled is None:
            self.compiled = compile_step(step, values)
        loss: Tensor = self.compiled(*values)
        return loss


def whole_batch(course: Course) -> int:
    """Give the samples of a whole batch."""
    return min(course.training.batch, course.training.samples)


def laid_out(layout: str) -> Callable[[Sequence[Tensor]], Sequence[Tensor]] | None:
    """Give what lays pictures as a layout wants them, or nothing where they stay as they are."""
    if layout != CHANNELS_LAST:
        return None

    def lay(values: Sequence[Tensor]) -> Sequence[Tensor]:
        return [v.to(memory_format=torch.channels_last) if v.ndim == 4 else v for v in values]

    return lay


def lay_out(module: torch.nn.Module, layout: str) -> None:
    """Lay the kernels of a module as a layout wants them; their numbers stay."""
    form = torch.channels_last if layout == CHANNELS_LAST else torch.contiguous_format
    for parameter in module.parameters():
        if parameter.ndim == 4:
            parameter.data = parameter.data.to(memory_format=form)


def make_stepper(
    choice: Choice,
    network: Network,
    facts: NetworkFacts,
    course: Course,
    optimiser: torch.optim.Optimizer,
    compiled: Compiled | None = None,
) -> TakeStep:
    """Make the stepper of a choice; the module lies as the choice says already, and what is compiled may be known."""
    if choice.engine == "compiled":
        step = WholeStep(network, course.module, facts, course.recipe, optimiser, choice.rewrites)
        take: TakeStep = CompiledStepper(step, whole_batch(course), compiled)
    elif choice.engine == "explicit":
        gradients = by_universal(network, course.module, facts, course.recipe, choice.rewrites)
        take = step_by(gradients, course, optimiser)
    else:
        take = step_by_autograd(course, optimiser)
    lay = laid_out(choice.layout)
    if lay is None:
        return take
    return _Laid(take, lay)


class _Laid:
    """Lays the inputs out before a stepper takes them."""

    def __init__(self, inner: TakeStep, lay: Callable[[Sequence[Tensor]], Sequence[Tensor]]) -> None:
        self.inner, self._lay = inner, lay

    def __call__(self, inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        return self.inner(self._lay(inputs), targets)
