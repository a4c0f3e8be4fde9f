"""A training under way: all that changes from step to step, in one place, so that it can be kept and taken up again."""

import math
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Protocol, cast

import torch
from torch import Tensor

from inkcap.recipes import Recipe
from inkcap.recipes.measures import more_is_better
from inkcap.training.batches import Batches
from inkcap.training.engines.eager import step_by_autograd
from inkcap.training.events import Listener, StepEvent
from inkcap.training.losses import TotalLoss
from inkcap.training.optimisers import make_optimiser
from inkcap.training.pace import Pace
from inkcap.training.schedules import RateSchedule
from inkcap.training.scores import Batch, Score, Sharing
from inkcap.training.stopping import StopRequest

if TYPE_CHECKING:
    from inkcap.training.engines.many import ManySteps

_LARGEST_STRIDE = 50
_LISTEN_EVERY = 0.1

Gradients = Callable[[Sequence[Tensor], Sequence[Tensor]], Tensor]
"""Sets the gradients of the parameters for a batch, and gives its loss."""

TakeStep = Callable[[Sequence[Tensor], Sequence[Tensor]], Tensor]
"""Takes a whole step on a batch, and gives its loss; where that is not finite, no weight has moved."""

Explain = Callable[[Sequence[Tensor], Sequence[Tensor], Tensor, int], str]
"""Says in which capsule a batch goes wrong, and on which samples: those of the epoch's order after so many batches."""


class Keeper(Protocol):
    """Keeps what the loop tells: a run folder, or nothing in a test."""

    def step(self, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Keep the values of some steps."""
        ...

    def epoch(self, epoch: int, step: int, values: Mapping[str, float], best: bool) -> None:
        """Keep the values of an epoch, and the weights when they are the best so far."""
        ...

    def pace(self, pace: Pace) -> None:
        """Keep how much was waited for data."""
        ...


class Parts(Sharing, Protocol):
    """One process's part of batches that several share."""

    @property
    def rank(self) -> int:
        """Which of the processes it is."""
        ...

    def of(self, batches: Batches, order: Tensor, epoch: int, skip: int = 0) -> Iterator[Batch]:
        """Give the part of each batch in the epoch's order."""
        ...

    def in_order(self, batches: Batches) -> Iterator[Batch]:
        """Give the part of each batch as the samples lie."""
        ...


class StepWatch(Protocol):
    """Looks at the last step of every epoch."""

    def before_last_step(self) -> None:
        """Look at the weights before it."""
        ...

    def after_last_step(self) -> None:
        """Look at the weights after it."""
        ...


class Saver:
    """Saves a training that is under way; this one never does.

    `due` is the time, by the monotonic clock, from which on the loop offers the session after a step.
    """

    due: float = math.inf

    def after_step(self, session: "Session") -> None:
        """Save, or decide when to be asked again."""

    def after_epoch(self, session: "Session") -> None:
        """Save where enough has happened since the last time."""

    def at_end(self, session: "Session") -> None:
        """Save whatever came of it: the training ends here, or is stopped."""


@dataclass(frozen=True)
class Turn:
    """Another way to take steps, from a step of the run on."""

    after: int
    """So many steps come before it."""
    stepping: Callable[["Course", torch.optim.Optimizer], TakeStep]


@dataclass
class Course:
    """Everything that the loop works with."""

    module: torch.nn.Module
    parameters: Sequence[torch.nn.Parameter]
    loss: TotalLoss
    scores: Callable[[], list[Score]]
    training: Batches
    validation: Batches | None
    order: Callable[[int], Tensor]
    recipe: Recipe
    monitor: str
    keeper: Keeper
    listener: Listener
    stop: StopRequest
    ready: Callable[[int], Sequence[Batch]] | None = None
    """Gives the batches of an epoch, where the set is so small that those of several epochs are made at once."""
    settle: Callable[[], None] = lambda: None
    stepping: Callable[["Course", torch.optim.Optimizer], TakeStep] = step_by_autograd
    """Makes what takes the steps, for an optimiser."""
    calling: Callable[["Course", torch.optim.Optimizer], "ManySteps"] | None = None
    """Makes what takes many steps in one call, where the network is small enough."""
    turn: Turn | None = None
    """Where another engine goes on with the run."""
    scaler: torch.amp.GradScaler | None = None
    """Scales the loss, where small gradients would be 0 otherwise."""
    saver: Saver = field(default_factory=Saver)
    explain: Explain | None = None
    watch: StepWatch | None = None
    play: Callable[[int], Batches] | None = None
    """Makes the samples of an epoch by playing, with the weights as they stand, where the data are a game."""
    solve: Callable[[], dict[str, float]] | None = None
    """Measures how well the network plays from the positions of the validation part."""
    parts: Parts | None = None
    """This process's part of every batch, where several train together."""
    others: Callable[[], Mapping[str, Tensor]] = dict
    """Gives what only other processes know of the session, by the names of a checkpoint."""


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
    waiting_since: int = 0
    """The epoch from which on early stopping counts, where a run that it had ended was told to go on."""
    pace: Pace = field(default_factory=Pace)
    """How much this process has waited for data."""


class Pulse:
    """The losses of the last steps, told together."""

    def __init__(self, course: Course) -> None:
        """Begin with no losses."""
        self.course = course
        self.stride = min(_LARGEST_STRIDE, max(1, course.training.steps // 10))
        self.pending: list[Tensor] = []
        self.sum = 0.0
        self.count = 0
        self._heard = 0.0

    def look(self, epoch: int, step: int, rate: float) -> tuple[int, float] | None:
        """Tell the pending losses, up to and with `step`; give step and loss of the first that is not finite."""
        if not self.pending:
            return None
        losses = cast("list[float]", torch.stack(self.pending).tolist())  # pyright: ignore[reportUnknownMemberType]
        first = step - len(losses) + 1
        self.pending = []
        for index, loss in enumerate(losses):
            if not math.isfinite(loss):
                self.course.keeper.step(epoch, first + index, {"loss": loss, "rate": rate})
                return first + index, loss
        self.sum += sum(losses)
        self.count += len(losses)
        mean = sum(losses) / len(losses)
        self.course.keeper.step(epoch, step, {"loss": mean, "rate": rate})
        now = time.monotonic()
        if now - self._heard >= _LISTEN_EVERY:
            self._heard = now
            self.course.listener.on_step(StepEvent(epoch, step, mean, rate))
        return None


class Session:
    """Where a training stands: the epoch in hand, the batches of it that are done, and all that remembers."""

    def __init__(self, course: Course, outcome: Outcome | None = None) -> None:
        """Stand at the start."""
        recipe = course.recipe
        self.course = course
        self.outcome = outcome or Outcome()
        self.mode = "max" if more_is_better(course.monitor) else "min"
        self.optimiser = make_optimiser(recipe.optimiser, course.parameters)
        steps = course.training.steps
        self.schedule = RateSchedule(recipe.schedule, self.optimiser, steps, recipe.epochs, self.mode)
        self.pulse = Pulse(course)
        self.pace = self.outcome.pace
        self.epoch = 1
        self.batches = 0
        self.played: Batches | None = None
        self._take_step: TakeStep | None = None
        self._turned = False
        self._many: ManySteps | None = None

    @property
    def many(self) -> "ManySteps | None":
        """What takes many steps in one call, where the course has it; made as `take_step` is."""
        if self._many is None and self.course.calling is not None:
            self._many = self.course.calling(self.course, self.optimiser)
        return self._many

    @property
    def take_step(self) -> TakeStep:
        """What takes the steps; made when the first one is taken, on the weights and the memory as they are then."""
        turn = self.course.turn
        if turn is not None and self.outcome.steps >= turn.after:
            return self.turned(turn)
        if self._take_step is None:
            self._take_step = self.course.stepping(self.course, self.optimiser)
        return self._take_step

    def turned(self, turn: Turn) -> TakeStep:
        """Give what takes the steps from a turn on, on the weights and the memory as they are at it."""
        if self._take_step is None or not self._turned:
            self._take_step, self._turned = turn.stepping(self.course, self.optimiser), True
        return self._take_step

    def samples(self) -> Batches:
        """Give the samples of the epoch in hand; played ones are those of its start, whatever was learnt since."""
        if self.course.play is not None and self.played is None:
            self.played = self.course.play(self.epoch)
        return self.played or self.course.training

    def coming(self, order: Tensor) -> Iterator[Batch]:
        """Give the batches of the epoch in hand that are not done yet, in the epoch's order."""
        if self.course.parts is not None:
            return self.course.parts.of(self.samples(), order, self.epoch, self.batches)
        if self.course.ready is not None:
            return self._of_ready(self.course.ready)
        return self.samples().shuffled(order, self.epoch, self.batches)

    def _of_ready(self, ready: Callable[[int], Sequence[Batch]]) -> Iterator[Batch]:
        # Made when the first one is asked for, so that the time is counted.
        yield from ready(self.epoch)[self.batches :]

    def next_epoch(self) -> None:
        """Stand before the next epoch."""
        self.epoch += 1
        self.batches = 0
        self.played = None
        self.pulse.sum, self.pulse.count = 0.0, 0
