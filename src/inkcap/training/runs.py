"""Training a drawing by a recipe: everything is checked first, then a run folder is made and filled."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from inkcap.drawing import Drawing
from inkcap.recipes import DataSpec, Recipe, RunFolder
from inkcap.recipes.elsewhere import Elsewhere
from inkcap.remote import is_url, parse_url
from inkcap.training.data.download import Progress
from inkcap.training.engines.switching import check_switch
from inkcap.training.environment import steady
from inkcap.training.errors import TrainingError
from inkcap.training.events import Listener
from inkcap.training.jobs import make_course, make_job, plan_job
from inkcap.training.memory import telling_of_shortage
from inkcap.training.reach import check_reach
from inkcap.training.running import RunResult, run_job
from inkcap.training.stopping import StopRequest, listening_for_signals
from inkcap.training.watchers import Watching

if TYPE_CHECKING:
    from inkcap.training.group.membership import Group


def train(
    drawing: Drawing,
    recipe: Recipe | str,
    workspace: Path | str = ".",
    listener: Listener | None = None,
    *,
    stop: StopRequest | None = None,
    progress: Progress | None = None,
    watching: Watching | None = None,
    sweep: str = "",
    group: Group | None = None,
    elsewhere: Elsewhere | None = None,
) -> RunResult:
    """Train a drawing by a recipe, or on the data of a name with everything else chosen, and keep the run.

    Mistakes in the drawing, the recipe or the data are raised before a folder is made. SIGINT and SIGTERM (or `stop`,
    from another thread) end the run after the step in hand with the state "interrupted", and the function returns as
    usual. A run that cannot go on raises RunFailure and leaves its folder in the state "failed". Whatever ended it,
    `resume` goes on with it. `watching` says which other tools hear of it, too; `sweep` names the trial that the run is
    of, for the record. With a `group` each of its members calls this, and they train together. With `elsewhere`, the
    run is kept there, too, as it goes.
    """
    watchers = watching or Watching()
    watchers.check()
    if is_url(str(workspace)):
        shown = parse_url(str(workspace)).shown
        raise TrainingError(f"{shown}: a workspace in storage is opened first: with inkcap.remote.at(…) as place.")
    folder = Path(workspace)
    if isinstance(recipe, str):
        recipe = Recipe(DataSpec(recipe))
    request = stop or StopRequest()
    if group is not None:
        # What several processes need takes seconds to load.
        from inkcap.training.group.training import train_in_group

        return train_in_group(
            *(drawing, recipe, folder, group, listener, request, watchers, sweep, progress), elsewhere
        )
    check_alone(recipe)
    plan = plan_job(drawing, recipe, folder, progress)
    with steady(recipe.seed, recipe.threads, plan.device) as threads:
        with telling_of_shortage(drawing.name, plan.report, plan.recipe):
            job = replace(make_job(plan, threads, listener, request), watching=watchers, elsewhere=elsewhere)
            course = make_course(job)
            check_switch(plan.network, course)
            check_reach(plan.network, job.module, course.loss, course.training)
        with listening_for_signals(request):
            made = RunFolder.create(folder, drawing.name, plan.material.dataset.name, sweep, elsewhere=elsewhere)
            return run_job(job, course, made)


def check_alone(recipe: Recipe) -> None:
    """Refuse workers where there is no group."""
    if recipe.workers > 1:
        raise TrainingError(
            f"recipe.workers: {recipe.workers} workers are {recipe.workers} processes; start them by 'inkcap train', "
            "by torchrun, or by inkcap.cluster, or leave workers out."
        )
