"""The training loop: as plain as one written by hand, with everything else between the steps or after the epochs."""

import math
import time
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol, cast

import torch
from torch import Tensor

from inkcap.recipes import Recipe
from inkcap.structures.errors import RunFailure
from inkcap.training.batches import Batches
from inkcap.training.events import EpochEvent, Listener, StepEvent
from inkcap.training.losses import TotalLoss
from inkcap.training.optimisers import make_optimiser
from inkcap.training.schedules import RateSchedule
from inkcap.training.scores import OutputScore, measure, outputs_of
from inkcap.training.stopping import StopRequest

_LARGEST_STRIDE = 50
_LISTEN_EVERY = 0.1


Gradients = Callable[[Sequence[Tensor], Sequence[Tensor]], Tensor]


class Keeper(Protocol):
    """Keeps what the loop tells: a run folder, or nothing in a test."""

    def step(self, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Keep the values of some steps."""
        ...

    def epoch(self, epoch: int, step: int, values: Mapping[str, float], best: bool) -> None:
        """Keep the values of an epoch, and the weights when they are the best so far."""
        ...


@dataclass
class Course:
    """Everything that the loop works with."""

    module: torch.nn.Module
    parameters: Sequence[torch.nn.Parameter]
    loss: TotalLoss
    scores: Callable[[], list[OutputScore]]
    training: Batches
    validation: Batches | None
    order: Callable[[int], Tensor]
    recipe: Recipe
    monitor: str
    keeper: Keeper
    listener: Listener
    stop: StopRequest
    settle: Callable[[], None] = lambda: None
    backpropagate: Gradients | None = None
    """Sets the gradients of the parameters for a batch and gives the loss; autograd does it when there is none."""


@dataclass
class Outcome:
    """How far the training came."""

    epochs: int = 0
    steps: int = 0
    best_epoch: int = 0
    best_value: float = math.nan
    values: Mapping[str, float] = field(default_factory=dict[str, float])
    reason: str = ""
    interrupted: bool = False


class _Pulse:
    """The losses of the last steps, looked at together: asking for each one would make the device wait."""

    def __init__(self, course: Course, stride: int) -> None:
        self.course = course
        self.stride = stride
        self.pending: list[Tensor] = []
        self.sum = 0.0
        self.count = 0
        self._heard = 0.0

    def look(self, epoch: int, step: int, rate: float) -> None:
        """Check that the pending losses, up to and with `step`, are finite, and tell them."""
        if not self.pending:
            return
        losses = cast("list[float]", torch.stack(self.pending).tolist())  # pyright: ignore[reportUnknownMemberType]
        first = step - len(losses) + 1
        self.pending = []
        for index, loss in enumerate(losses):
            if not math.isfinite(loss):
                self.course.keeper.step(epoch, first + index, {"loss": loss, "rate": rate})
                raise RunFailure(
                    f"the loss became {loss} at step {first + index} of the run, in epoch {epoch}, at the learning "
                    f"rate {rate:g}; {_advice(self.course.recipe)}"
                )
        self.sum += sum(losses)
        self.count += len(losses)
        mean = sum(losses) / len(losses)
        self.course.keeper.step(epoch, step, {"loss": mean, "rate": rate})
        now = time.monotonic()
        if now - self._heard >= _LISTEN_EVERY:
            self._heard = now
            self.course.listener.on_step(StepEvent(epoch, step, mean, rate))


def _advice(recipe: Recipe) -> str:
    lower = f"try a lower rate than {recipe.optimiser.rate:g}"
    if recipe.clip == 0:
        return f"{lower}, or clip the gradient (clip 1, for example)."
    return f"{lower}, or a smaller clip than {recipe.clip:g}; if it stays so, look for extreme values in the data."


def fit(course: Course, outcome: Outcome | None = None) -> Outcome:
    """Train until the epochs are over, nothing gets better any more, or a stop is wanted.

    The outcome is filled in as the training goes on, so one that was handed in tells how far a broken one came.
    """
    recipe = course.recipe
    mode = "max" if course.monitor == "accuracy" else "min"
    optimiser = make_optimiser(recipe.optimiser, course.parameters)
    schedule = RateSchedule(recipe.schedule, optimiser, course.training.steps, recipe.epochs, mode)
    pulse = _Pulse(course, min(_LARGEST_STRIDE, max(1, course.training.steps // 10)))
    outcome = outcome or Outcome()
    for epoch in range(1, recipe.epochs + 1):
        begun = time.monotonic()
        pulse.sum, pulse.count = 0.0, 0
        course.module.train()
        _run_epoch(course, optimiser, schedule, pulse, epoch, outcome)
        course.settle()
        found = None if course.stop.wanted else _after_epoch(course, pulse, epoch, schedule.rate)
        if found is None:
            outcome.interrupted, outcome.reason = True, course.stop.reason
            return outcome
        value = found["val_" + course.monitor] if course.validation is not None else found["loss"]
        best = outcome.best_epoch == 0 or (value > outcome.best_value if mode == "max" else value < outcome.best_value)
        if best:
            outcome.best_epoch, outcome.best_value = epoch, value
        outcome.epochs, outcome.values = epoch, found
        course.keeper.epoch(epoch, outcome.steps, found, best)
        course.listener.on_epoch(EpochEvent(epoch, outcome.steps, found, best, time.monotonic() - begun))
        schedule.after_epoch(value, outcome.steps)
        if recipe.early_stop and epoch - outcome.best_epoch >= recipe.early_stop:
            outcome.reason = f"{course.monitor} did not get better for {recipe.early_stop} epochs"
            return outcome
    outcome.reason = f"all {recipe.epochs} epochs done"
    return outcome


def by_autograd(course: Course, optimiser: torch.optim.Optimizer) -> Gradients:
    """Give the way of a loop written by hand: forget the old gradients, go forwards, let autograd go back."""
    module, loss_of = course.module, course.loss

    def backpropagate(inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        optimiser.zero_grad(set_to_none=True)
        loss = loss_of(outputs_of(module(*inputs)), targets)
        loss.backward()
        return loss.detach()

    return backpropagate


def _run_epoch(
    course: Course,
    optimiser: torch.optim.Optimizer,
    schedule: RateSchedule,
    pulse: _Pulse,
    epoch: int,
    outcome: Outcome,
) -> None:
    """Take the steps of one epoch."""
    backpropagate = course.backpropagate or by_autograd(course, optimiser)
    parameters, clip = course.parameters, course.recipe.clip
    pending, stride, stop, step = pulse.pending, pulse.stride, course.stop, outcome.steps
    for inputs, targets in course.training.shuffled(course.order(epoch), epoch):
        schedule.before_step(step)
        loss = backpropagate(inputs, targets)
        if clip:
            torch.nn.utils.clip_grad_norm_(parameters, clip)
        optimiser.step()
        step += 1
        pending.append(loss)
        if len(pending) >= stride:
            outcome.steps = step
            pulse.look(epoch, step, schedule.rate)
            pending = pulse.pending
        if stop.wanted:
            break
    outcome.steps = step
    pulse.look(epoch, step, schedule.rate)


def _after_epoch(course: Course, pulse: _Pulse, epoch: int, rate: float) -> dict[str, float] | None:
    """Measure the validation part and see that the weights are finite; None when a stop was wanted."""
    for parameter in course.parameters:
        if not bool(torch.isfinite(parameter).all()):
            raise RunFailure(f"a weight is no longer finite after epoch {epoch}; {_advice(course.recipe)}")
    found = {"loss": pulse.sum / pulse.count if pulse.count else math.nan, "rate": rate}
    if course.validation is None:
        return found
    measured = measure(course.module, course.loss, course.scores(), course.validation.in_order(), course.stop)
    if measured is None:
        return None
    if not math.isfinite(measured["loss"]):
        raise RunFailure(f"the validation loss is {measured['loss']} after epoch {epoch}; {_advice(course.recipe)}")
    return found | {f"val_{name}": value for name, value in measured.items()}
