"""What is told of sweeps, and asked about them."""

from __future__ import annotations

from typing import Any, Literal

from pydantic import Field

from inkcap.studio.models import Asked, Json, Told
from inkcap.studio.record_shapes import Edit
from inkcap.studio.record_shapes import Json as AnyJson
from inkcap.sweeps.proposals import MOST_TRIALS


class PlacesRequest(Asked):
    """Which places there are, of a drawing with this recipe."""

    data: str | Json
    recipe: Json = Field(default_factory=dict[str, Any])


class PlaceRow(Told):
    """One thing that can be varied."""

    path: str
    kind: Literal["whole", "number", "flag", "text", "value"]
    help: str
    now: AnyJson
    """What it holds."""
    choices: list[str]
    minimum: float | None
    maximum: float | None


class SweepRequest(PlacesRequest):
    """Vary a drawing and a recipe: the space by paths, each with a list or a range."""

    space: Json
    method: Literal["grid", "random", "halving", "guided"] = "grid"
    trials: int | None = Field(None, ge=1, le=MOST_TRIALS)
    at_once: int | None = Field(None, ge=1, le=1024)
    factor: int = Field(3, ge=2, le=100)


class SweepStarted(Told):
    """A sweep that has begun."""

    sweep: str


class SweepRow(Told):
    """A sweep in short."""

    name: str
    drawing: str | None
    """The drawing of the workspace that it was started from."""
    drawn: str
    data: str
    method: str
    state: str
    """As its record says, or "damaged"."""
    reason: str
    created: str
    trials: int
    ended: int
    running: int
    best: int | None
    value: float | None
    monitor: str


class TrialRow(Told):
    """A trial: its values by path, how it stands and what it has come to."""

    number: int
    values: dict[str, AnyJson]
    state: str
    reason: str
    run: str
    """The id of its run."""
    run_name: str
    rung: int
    epochs: int
    wanted: int
    """The epochs that its run is to have."""
    share: float
    value: float | None
    best_epoch: int
    scores: dict[str, float | None]


class SweepDetail(SweepRow):
    """A sweep with its trials, the best first."""

    space: Json
    at_once: int
    threads: int
    factor: int
    highest: bool
    """Whether more is better of what decides."""
    rows: list[TrialRow]


class Take(Asked):
    """Take the values of a trial."""

    trial: int = Field(ge=1, le=MOST_TRIALS)


class Taken(Told):
    """The edit that gives a drawing the values of a trial, and the recipe of it."""

    drawing: str
    edit: Edit
    recipe: Json
