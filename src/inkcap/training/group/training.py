"""Training and going on as a member of a group: the same checks and the same steps, and one run, which one writes."""

from __future__ import annotations

from contextlib import ExitStack
from dataclasses import replace
from functools import partial
from pathlib import Path

from inkcap.drawing import Drawing
from inkcap.recipes import Recipe, RunFolder
from inkcap.recipes.elsewhere import Elsewhere
from inkcap.recipes.liveness import held
from inkcap.training.data.download import Progress
from inkcap.training.environment import describe_environment, steady
from inkcap.training.errors import TrainingError
from inkcap.training.events import Listener
from inkcap.training.fingerprints import fingerprint
from inkcap.training.group.control import seed_member
from inkcap.training.group.following import follow_job
from inkcap.training.group.membership import Group
from inkcap.training.group.together import check_together, join
from inkcap.training.jobs import make_course, make_job, plan_job
from inkcap.training.memory import telling_of_shortage
from inkcap.training.reach import check_reach
from inkcap.training.resuming import Ready, claim, compare, job_of, ready_run, words_of
from inkcap.training.running import RunResult, run_job
from inkcap.training.stopping import StopRequest, listening_for_signals
from inkcap.training.watchers import Watching


def train_in_group(
    drawing: Drawing,
    recipe: Recipe,
    workspace: Path,
    group: Group,
    listener: Listener | None,
    request: StopRequest,
    watching: Watching,
    sweep: str,
    progress: Progress | None,
    elsewhere: Elsewhere | None = None,
) -> RunResult:
    """Train as a member of a group: the same checks and the same steps, and a run that the first member writes."""
    shared = replace(recipe, workers=group.world)
    plan = group.in_turn(lambda: plan_job(drawing, shared, workspace, progress))
    with steady(recipe.seed, recipe.threads or group.threads, plan.device) as threads:
        with group.agreeing(), telling_of_shortage(drawing.name, plan.report, plan.recipe):
            check_together(plan, group)
            job = make_job(plan, threads, listener if group.writes else None, request)
            job = replace(job, watching=watching, elsewhere=elsewhere)
            course = make_course(job)
            check_reach(plan.network, job.module, course.loss, course.training)
            job, together = join(job, course, group)
        seed_member(group, recipe.seed)
        folder = None
        with group.agreeing():
            if group.writes:
                owner = (group.owner.pid, group.owner.process)
                data = plan.material.dataset.name
                folder = RunFolder.create(workspace, drawing.name, data, sweep, owner, group.job, elsewhere)
        with listening_for_signals(request):
            shown = group.share(folder)
            assert shown is not None
            if group.writes:
                return run_job(job, course, shown, together=together)
            return follow_job(job, course, shown, together)


def resume_in_group(
    folder: RunFolder,
    group: Group,
    listener: Listener | None,
    request: StopRequest,
    wanted: tuple[int | None, int | None],
    progress: Progress | None,
    watching: Watching | None,
    elsewhere: Elsewhere | None = None,
) -> RunResult:
    """Go on as a member of a group; the first one reads the checkpoint, and tells the others what is in it."""
    # Each member looks for data on its own machine, where the run's folder may have another path.
    workspace = folder.path.parent.parent
    with ExitStack() as stack:
        ready: Ready | None = None
        with group.agreeing():
            if group.writes:
                refusal = TrainingError(f"{folder.id}: another process goes on with this run already.")
                stack.enter_context(held(folder.path, refusal))
                ready = ready_run(folder, group.owner, wanted, watching)
        ready = group.share(ready)
        assert ready is not None
        recipe = replace(ready.recipe, workers=group.world)
        folder = ready.folder
        plan = group.in_turn(lambda: plan_job(ready.drawing(), recipe, workspace, progress))
        pinned = recipe.threads or (ready.threads if ready.environment.get("workers", 1) == group.world else 0)
        with steady(plan.recipe.seed, pinned or group.threads, plan.device) as used:
            with group.agreeing(), telling_of_shortage(folder.id, plan.report, plan.recipe):
                check_together(plan, group)
                job = job_of(ready, plan, used, listener if group.writes else None, request, [])
                job = replace(job, elsewhere=elsewhere)
                course = make_course(job)
                if ready.found.snapshot is None:
                    check_reach(plan.network, job.module, course.loss, course.training)
                job, together = join(job, course, group)
            reasons: list[str] = []
            with group.agreeing():
                if group.writes:
                    reasons = compare(ready, plan, fingerprint(plan, describe_environment(plan.device, job.choice)))
                    said = words_of(ready.found, reasons)
                    job = replace(job, notes=tuple(said if n.startswith("resumed") else n for n in job.notes))
                    if elsewhere is not None:
                        # Here, since all members must hear of it where another machine was faster.
                        elsewhere.go_on(folder.path)
            seed_member(group, recipe.seed)
            with listening_for_signals(request):
                if not group.writes:
                    return follow_job(job, course, folder, together)
                claiming = partial(claim, recipe=plan.recipe, found=ready.found, reasons=reasons, owner=group.owner)
                return run_job(job, course, folder, claiming, together)
