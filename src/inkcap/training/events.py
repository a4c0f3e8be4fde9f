"""What a training tells whoever listens: a progress bar, a studio, a test. Nothing here needs the engine."""

from collections.abc import Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class StartEvent:
    """The run is about to begin."""

    run: str
    epochs: int
    steps_per_epoch: int
    training_samples: int
    validation_samples: int
    device: str
    threads: int
    monitor: str
    engine: str = "eager"
    notes: tuple[str, ...] = ()
    workers: int = 1


@dataclass(frozen=True)
class StepEvent:
    """Some steps were taken; epochs and steps are counted from 1, steps over the whole run."""

    epoch: int
    step: int
    loss: float
    rate: float


@dataclass(frozen=True)
class EpochEvent:
    """An epoch has ended; `values` holds loss and rate, and val_loss, val_accuracy or val_mae where they exist."""

    epoch: int
    step: int
    values: Mapping[str, float]
    best: bool
    seconds: float
    data_wait: float = 0.0
    """The share of the time of its steps that was spent waiting for data."""


@dataclass(frozen=True)
class PretrainingEvent:
    """An epoch of pre-training of one layer has ended; `error` is the mean squared error of the data made again."""

    capsule: str
    layer: int
    layers: int
    epoch: int
    epochs: int
    error: float


@dataclass(frozen=True)
class PauseEvent:
    """The run waits for something, said in `reason`, or goes on again, maybe with a word on how."""

    reason: str
    waiting: bool


@dataclass(frozen=True)
class EndEvent:
    """The run has ended, in one of the states finished, interrupted or failed."""

    state: str
    reason: str
    epochs: int
    best_epoch: int


class Listener:
    """Hears what happens; each method does nothing until a subclass says otherwise.

    The methods are called between two steps, in the thread that trains, so they have to be quick.
    """

    def on_start(self, event: StartEvent) -> None:
        """Hear that the run begins."""

    def on_pretraining(self, event: PretrainingEvent) -> None:
        """Hear of an epoch of pre-training."""

    def on_step(self, event: StepEvent) -> None:
        """Hear of some steps; called at most about ten times a second."""

    def on_epoch(self, event: EpochEvent) -> None:
        """Hear of a whole epoch."""

    def on_pause(self, event: PauseEvent) -> None:
        """Hear that the run waits, or goes on again."""

    def on_end(self, event: EndEvent) -> None:
        """Hear that the run has ended."""
