"""What is told of runs, and asked about them."""

from __future__ import annotations

from typing import Annotated, Any

from pydantic import Field

from inkcap.studio.models import Asked, Json, Told
from inkcap.studio.run_notes import LONGEST_NOTE, LONGEST_TAG, MOST_TAGS


class TrainRequest(Asked):
    """Train a drawing: the data by name or with their options, and the parts of a recipe that are not as usual."""

    data: str | Json
    recipe: Json = Field(default_factory=dict[str, Any])
    tensorboard: bool = False
    """Whether event files for TensorBoard are written into the run's folder."""
    mlflow: bool = False
    """Whether it is logged by MLflow, too: where its usual variable says, or into the workspace."""


class ResumeRequest(Asked):
    """Go on with a run, for so many epochs in all."""

    epochs: int | None = Field(None, ge=1, le=1_000_000)


class MemoryNeeds(Told):
    """What a training is estimated to need, in bytes, and what there is."""

    total: int
    weights: int
    optimiser: int
    activations: int
    available: int | None
    sizes: str
    """The same in words."""
    warning: str
    """That it may not fit, and what helps; empty where it does."""


class Started(Told):
    """A run that has begun."""

    run: str


class RunRow(Told):
    """A run in short."""

    id: str
    name: str
    drawing: str | None
    """The drawing of the workspace that it was started from."""
    drawn: str
    """What the drawing was called."""
    data: str
    state: str
    """As in run.json, or "paused" or "damaged"."""
    reason: str
    created: str
    finished: str
    seconds: float | None
    """How long it has taken; of one that goes on, up to now."""
    epoch: int
    epochs: int
    step: int
    share: float
    """How much of it is done, from 0 to 1."""
    values: dict[str, float | None]
    monitor: str
    best_epoch: int
    best_value: float | None
    throughput: float | None
    """Samples a second of one that goes on."""
    data_wait: float | None
    """The share of the time that is spent waiting for data, where that is worth a word."""
    left: float | None
    """Seconds that one that goes on will take, by its speed so far."""
    rate: float | None
    """The learning rate of the last steps."""
    resumed: int
    """How often it was gone on with."""
    inexact: str
    """Why its bits are not those of a run that was never stopped; empty where they are."""
    hint: str
    """What of its files is damaged, and what may have ended one that was killed, as far as that is known."""
    checkpoint: int | None
    """The step from which one that was killed goes on, 0 for the start; what came after it is trained again."""
    note: str
    tags: list[str]
    sweep: str
    """The trial that it is of, SWEEP/NUMBER; empty for a run of its own."""


class RunDetail(RunRow):
    """A run with its curves, thinned out to so many points as were asked for."""

    recipe: Json
    changed: bool
    """Whether the drawing that it was started from has been changed since, in what a training depends on."""
    summary: Json | None
    series: dict[str, list[tuple[float, float]]]


class Carried(Told):
    """What a run's drawing, as it is now, takes over from the run when training goes on with it."""

    drawing: str
    taken: list[str]
    left: dict[str, str]
    """Weights that are not taken over, and why."""
    remembered: list[str]
    """Weights of which the optimiser goes on remembering what it did."""
    forgotten: str
    """Why it remembers nothing, where that is so."""
    renamed: dict[str, str]
    recipe: Json
    """The recipe to train by."""


class Drawn(Told):
    """The curves of a run among others."""

    id: str
    whole: bool
    """Whether all of the log was read; else a few records stand for it, and asking again tells more."""
    recipe: Json
    series: dict[str, list[tuple[float, float]]]


class Notes(Asked):
    """What is to be noted of a run."""

    note: str = Field("", max_length=LONGEST_NOTE)
    tags: list[Annotated[str, Field(max_length=LONGEST_TAG)]] = Field(default_factory=list[str], max_length=MOST_TAGS)
