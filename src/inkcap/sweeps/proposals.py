"""What is tried next: all points of a grid, points drawn at random, or points that Optuna chooses by what came out.

There is no study that lives on: each time one is built from the record, so that a sweep which goes on asks what one
that never stopped would have asked.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any, Literal

from inkcap.sweeps.errors import SweepError
from inkcap.sweeps.space import Choices, Point, Space

if TYPE_CHECKING:
    from optuna import Study
    from optuna.distributions import BaseDistribution

Direction = Literal["minimize", "maximize"]

MOST_TRIALS = 1_000
_PATIENCE = 50
"""How often a point may come again for each one that is wanted."""


def grid_points(space: Space) -> list[Point]:
    """Give the whole grid, in order."""
    count = space.grid_size()
    if count > MOST_TRIALS:
        raise SweepError(
            f"the grid has {count} points, the most is {MOST_TRIALS}; give fewer values, or --method random --trials N."
        )
    return list(space.grid())


def random_points(space: Space, count: int, seed: int) -> list[Point]:
    """Draw different points at random; the same seed gives the same ones."""
    from optuna.samplers import RandomSampler

    wanted = min(count, space.count() or count)
    return _different(_study(RandomSampler(seed=seed), "minimize"), space, wanted, [])


def guided_points(
    space: Space, count: int, total: int, seed: int, known: Sequence[tuple[Point, float | None]], direction: Direction
) -> list[Point]:
    """Let a tree-structured Parzen estimator choose the next points by what came of others; None came to nothing."""
    from optuna.samplers import TPESampler
    from optuna.trial import TrialState, create_trial

    # Half of the trials, but no more than ten, look around before the others follow what was found.
    sampler = TPESampler(seed=seed + len(known), n_startup_trials=max(2, min(10, total // 2)))
    study = _study(sampler, direction)
    distributions = _distributions(space)
    for point, value in known:
        state = TrialState.FAIL if value is None else TrialState.COMPLETE
        params = _to_params(space, point)
        study.add_trial(create_trial(state=state, value=value, params=params, distributions=distributions))
    left = None if space.count() is None else (space.count() or 0) - len(known)
    return _different(study, space, count if left is None else min(count, left), [point for point, _ in known])


def _study(sampler: Any, direction: Direction) -> Study:
    import optuna

    optuna.logging.set_verbosity(optuna.logging.WARNING)
    return optuna.create_study(sampler=sampler, direction=direction)


def _different(study: Study, space: Space, count: int, known: Sequence[Point]) -> list[Point]:
    """Ask for points that are not known yet."""
    distributions = _distributions(space)
    seen = {_key(point) for point in known}
    found: list[Point] = []
    for _ in range(count * _PATIENCE):
        if len(found) >= count:
            break
        point = _to_point(space, study.ask(distributions).params)
        if _key(point) not in seen:
            seen.add(_key(point))
            found.append(point)
    return found


def _key(point: Point) -> str:
    return json.dumps(dict(point))


def _distributions(space: Space) -> dict[str, BaseDistribution]:
    from optuna.distributions import CategoricalDistribution, FloatDistribution, IntDistribution

    found: dict[str, BaseDistribution] = {}
    for path, over in space.varied.items():
        if isinstance(over, Choices):
            # By number: a value may be a list, which Optuna does not take.
            found[path] = CategoricalDistribution(range(len(over.values)))
        elif over.whole:
            found[path] = IntDistribution(int(over.low), int(over.high), log=over.log)
        else:
            found[path] = FloatDistribution(over.low, over.high, log=over.log)
    return found


def _to_point(space: Space, params: Mapping[str, Any]) -> Point:
    return {
        path: over.values[params[path]] if isinstance(over, Choices) else over.tidy(params[path])
        for path, over in space.varied.items()
    }


def _to_params(space: Space, point: Point) -> dict[str, Any]:
    return {
        path: over.values.index(point[path]) if isinstance(over, Choices) else point[path]
        for path, over in space.varied.items()
    }
