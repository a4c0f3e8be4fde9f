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
from inkcap.training.engines.compiling import COMPILING, Compiled, CompileFailure, compile_step
from inkcap.training.engines.eager import step_by, step_by_autograd
from inkcap.training.engines.recording import Recording, can_record
from inkcap.training.engines.whole import WholeStep
from inkcap.training.facts import NetworkFacts
from inkcap.training.gradients import by_universal

if TYPE_CHECKING:
    from inkcap.training.session import Course, TakeStep


Tell = Callable[[str, bool], None]
"""Says what a run waits for, or, with False, how it goes on."""


class CompiledStepper:
    """Takes steps by a program compiled for whole batches; a smaller one goes through the same program eagerly.

    On a GPU the compiled program is recorded, too. What cannot be compiled or recorded is told to whoever listens, and
    goes on step by step, or is raised where nobody does.
    """

    def __init__(self, step: WholeStep, batch: int, compiled: Compiled | None = None, tell: Tell | None = None) -> None:
        self._step, self._batch, self._tell = step, batch, tell
        self.compiled = compiled
        self._recording: Recording | None = None
        self._recordable = can_record(step.rate.device)

    @torch.no_grad()
    def __call__(self, inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        """Take a step; the first whole batch is what the program is compiled for."""
        self._step.set_rate()
        values = self._step.values(inputs, targets)
        step = self._step.function(len(inputs), len(targets))
        if len(targets[0]) != self._batch:
            return step(*values)
        if self.compiled is None:
            self.compiled = self._compile(step, values)
        if self._recording is not None:
            return self._recording(*inputs, *targets)
        loss: Tensor = self.compiled(*values)
        if self._recordable:
            # What was just computed has made everything ready that a recording must not come upon.
            self._record(values, len(inputs) + len(targets))
        return loss

    def _compile(self, step: Compiled, values: Sequence[Tensor]) -> Compiled:
        if self._tell is None:
            return compile_step(step, values)
        self._tell(COMPILING, True)
        try:
            compiled = compile_step(step, values)
        except CompileFailure as problem:
            self._tell(f"{problem}; its steps are computed one by one.", False)
            self._recordable = False
            return step
        self._tell("computing: compiled", False)
        return compiled

    def _record(self, values: Sequence[Tensor], batch: int) -> None:
        self._recordable = False
        try:
            assert self.compiled is not None
            self._recording = Recording(self.compiled, values, batch)
        except CompileFailure as problem:
            if self._tell is None:
                raise
            self._tell(f"{problem}; its kernels are started one by one.", False)


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
    tell: Tell | None = None,
) -> TakeStep:
    """Make the stepper of a choice; the module lies as the choice says already, and what is compiled may be known."""
    if choice.engine == "compiled":
        step = WholeStep(network, course.module, facts, course.recipe, optimiser, choice.rewrites)
        take: TakeStep = CompiledStepper(step, whole_batch(course), compiled, tell)
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
