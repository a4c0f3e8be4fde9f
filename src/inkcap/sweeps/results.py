"""What came of a sweep: the trials from the best to the worst, and the same over several seeds."""

from __future__ import annotations

import json
import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any

from inkcap.recipes import Recipe
from inkcap.recipes.measures import more_is_better
from inkcap.sweeps.record import OPEN, Sweep, Trial

SEED = "recipe.seed"


@dataclass(frozen=True)
class OverSeeds:
    """The trials that differ in nothing but their seed, with the mean and the deviation of what decides."""

    trials: tuple[int, ...]
    values: Mapping[str, Any]
    mean: float
    deviation: float


def ranked(trials: Iterable[Trial], recipe: Recipe) -> list[Trial]:
    """Give the trials from the best: those with more epochs stand before those that halving stopped earlier."""
    sign = -1 if more_is_better(recipe.monitor) else 1

    def key(trial: Trial) -> tuple[Any, ...]:
        late = trial.state in ("done", "reached")
        measured = trial.value is not None and trial.state != "failed"
        return (not measured, -trial.rung, not late, sign * (trial.value or 0.0), trial.number)

    return sorted(trials, key=key)


def in_short(sweep: Sweep, recipe: Recipe) -> dict[str, Any]:
    """Describe a sweep in short: how it stands, how many trials have ended, and the best of them."""
    plan, trials, best = sweep.plan, sweep.trials.values(), best_trial(sweep, recipe)
    return {
        "name": plan.name,
        "method": plan.method,
        "state": sweep.state,
        "created": plan.created,
        "trials": max(len(trials), plan.trials if plan.method == "guided" else 0),
        "ended": sum(trial.state not in OPEN for trial in trials),
        "best": best.number if best is not None else None,
        "value": best.value if best is not None else None,
    }


def best_trial(sweep: Sweep, recipe: Recipe) -> Trial | None:
    """Give the best trial; where seeds are varied, the best of the values that are best in the mean."""
    order = ranked(sweep.trials.values(), recipe)
    means = over_seeds(sweep, recipe)
    if means:
        order = [trial for trial in order if trial.number in means[0].trials]
    best = order[0] if order else None
    return best if best is not None and best.value is not None and best.state != "failed" else None


def over_seeds(sweep: Sweep, recipe: Recipe) -> list[OverSeeds]:
    """Give the means over the seeds from the best, where seeds are varied; else nothing."""
    if SEED not in sweep.plan.space or sweep.plan.method == "halving":
        return []
    alike: dict[str, list[Trial]] = {}
    for trial in sweep.trials.values():
        if trial.value is not None and trial.state == "done":
            others = {path: value for path, value in trial.values.items() if path != SEED}
            alike.setdefault(json.dumps(others), []).append(trial)
    found: list[OverSeeds] = []
    for key, trials in alike.items():
        values = [trial.value for trial in trials if trial.value is not None]
        numbers = tuple(trial.number for trial in trials)
        found.append(OverSeeds(numbers, json.loads(key), *_spread(values)))
    sign = -1 if more_is_better(recipe.monitor) else 1
    return sorted(found, key=lambda one: (sign * one.mean, one.trials))


def _spread(values: list[float]) -> tuple[float, float]:
    """Give the mean and the deviation."""
    mean = math.fsum(values) / len(values)
    return mean, math.sqrt(math.fsum((value - mean) ** 2 for value in values) / len(values))
