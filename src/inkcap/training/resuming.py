"""Going on with a run that was stopped, killed or finished: to the same bits, or with a word on why not."""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any, cast

from inkcap.drawing import Drawing, from_text
from inkcap.recipes import Recipe, RunFolder, RunFolderError, find_run, layout, read_log
from inkcap.recipes.checkpoints import newest_checkpoint, set_aside
from inkcap.recipes.elsewhere import Elsewhere
from inkcap.recipes.liveness import held
from inkcap.recipes.steering import take_wish
from inkcap.structures.atomic import remove_temporaries
from inkcap.training.checkpoints import read_snapshot
from inkcap.training.data.download import Progress
from inkcap.training.engines.choosing import Chosen
from inkcap.training.engines.settling import settle, stored_choice
from inkcap.training.environment import describe_environment, steady
from inkcap.training.errors import TrainingError
from inkcap.training.events import Listener
from inkcap.training.fingerprints import data_digests, differences, fingerprint
from inkcap.training.group.membership import Group, Owner, own
from inkcap.training.jobs import Job, Plan, Start, make_course, make_job, plan_job
from inkcap.training.memory import telling_of_shortage
from inkcap.training.reach import check_reach
from inkcap.training.running import RunResult, run_job
from inkcap.training.snapshots import Snapshot
from inkcap.training.stopping import StopRequest, listening_for_signals
from inkcap.training.watchers import Watching, stored_watching
from inkcap.training.weights import Borrowed

_STRETCHED = ("cosine", "one-cycle")
"""The schedules whose rates depend on how many epochs there are in all."""


@dataclass(frozen=True)
class _Found:
    """What a folder offers to go on from: a snapshot, or nothing, which means the start."""

    snapshot: Snapshot | None
    place: str
    path: Path | None
    damaged: tuple[str, ...]

    @property
    def progress(self) -> Mapping[str, Any]:
        """What the checkpoint says beside its tensors."""
        return {} if self.snapshot is None else self.snapshot.progress


def resume(
    run: RunFolder | Path | str,
    workspace: Path | str = ".",
    listener: Listener | None = None,
    *,
    epochs: int | None = None,
    threads: int | None = None,
    stop: StopRequest | None = None,
    progress: Progress | None = None,
    watching: Watching | None = None,
    group: Group | None = None,
    elsewhere: Elsewhere | None = None,
) -> RunResult:
    """Go on with a run of the workspace from its newest whole checkpoint, or from the start when it has none yet.

    The drawing, the recipe and the number of threads are those of the run. On the same machine with the same versions
    the result is, to the bit, that of a run which was never stopped; where that cannot be, the run says why in
    resumes.json, and data that have changed are refused. `epochs` are those of the whole run: a finished one goes on
    for more of them. Whoever watched the run does so again, and those of `watching`, too. With a
    `group` each of its members calls this, and they go on together, whatever their number was before. With
    `elsewhere`, the run goes on there, too: its turn there is taken when all else is checked.
    """
    folder = run if isinstance(run, RunFolder) else find_run(workspace, run)
    request = stop or StopRequest()
    if group is not None:
        # What several processes need takes seconds to load.
        from inkcap.training.group.training import resume_in_group

        return resume_in_group(folder, group, listener, request, (epochs, threads), progress, watching, elsewhere)
    with held(folder.path, TrainingError(f"{folder.id}: another process goes on with this run already.")):
        ready = ready_run(folder, None, (epochs, threads), watching)
        plan = plan_job(ready.drawing(), ready.recipe, folder.path.parent.parent, progress)
        pinned = ready.recipe.threads or ready.threads
        with steady(plan.recipe.seed, pinned, plan.device) as used:
            choice = stored_choice(ready.environment, used, plan.device)
            reasons = compare(ready, plan, fingerprint(plan, describe_environment(plan.device, choice)))
            with telling_of_shortage(folder.id, plan.report, plan.recipe):
                job = replace(job_of(ready, plan, used, listener, request, reasons), elsewhere=elsewhere)
                course = make_course(job)
                job = settle(job, course, Chosen(choice))
                if ready.found.snapshot is None:
                    check_reach(plan.network, job.module, course.loss, course.training)

            def claim_it(folder: RunFolder) -> RunFolder:
                if elsewhere is not None:
                    elsewhere.go_on(folder.path)
                return claim(folder, plan.recipe, ready.found, reasons, own())

            with listening_for_signals(request):
                return run_job(job, course, ready.folder, claim_it)


@dataclass(frozen=True)
class Ready:
    """A run that can be gone on with, and what it goes on from."""

    folder: RunFolder
    found: _Found
    recipe: Recipe
    watching: Watching
    environment: Mapping[str, Any]

    def drawing(self) -> Drawing:
        """Read the drawing."""
        return from_text(self.folder.drawing_text())

    @property
    def threads(self) -> int:
        """The threads that the run has had; 0 where that cannot be told."""
        threads = self.environment.get("threads")
        return threads if isinstance(threads, int) and 0 < threads <= 1024 else 0


def ready_run(
    folder: RunFolder, owner: Owner | None, wanted: tuple[int | None, int | None], watching: Watching | None
) -> Ready:
    """Look whether a run can be gone on with, and from where; `wanted` are other epochs and threads than its own."""
    # Another process may have gone on with it, and ended, since the folder was opened.
    folder = RunFolder.open(folder.path)
    _check_state(folder, owner)
    watchers = stored_watching(folder).joined(watching)
    watchers.check()
    found = _find(folder)
    recipe = _chosen(folder, folder.recipe(), found, *wanted)
    known = folder.environment() if found.snapshot is None else found.progress["fingerprint"]["environment"]
    return Ready(folder, found, replace(recipe, workers=1), watchers, known)


def job_of(
    ready: Ready, plan: Plan, threads: int, listener: Listener | None, request: StopRequest, reasons: list[str]
) -> Job:
    """Make the job of a run that goes on."""
    job = make_job(plan, threads, listener, request, _start(ready.folder, ready.found, ready.recipe))
    said = words_of(ready.found, reasons)
    return replace(job, notes=(*job.notes, said, *ready.found.damaged), watching=ready.watching)


def _check_state(folder: RunFolder, owner: Owner | None = None) -> None:
    record = folder.record
    # Workers that were started again go on for the same owner.
    again = owner is not None and (record.pid, record.process) == (owner.pid, owner.process)
    if record.state in ("created", "running") and not again:
        raise TrainingError(
            f"{folder.id}: the run is {record.state} in the process {record.pid}; stop it first, or wait for its end."
        )
    if not (folder.path / layout.DATA).is_file():
        raise TrainingError(f"{folder.id}: the run was ended before it began; train the drawing again.")


def _find(folder: RunFolder) -> _Found:
    """Find the newest checkpoint that is whole and can be read."""
    checkpoints = folder.path / layout.CHECKPOINTS
    stored, problems = newest_checkpoint(checkpoints)
    if stored is not None:
        place = f"{folder.id}/{layout.CHECKPOINTS}/{stored.path.name}"
        return _Found(read_snapshot(stored), place, stored.path, tuple(problems))
    if problems:
        raise RunFolderError(
            f"{problems[0]} No other checkpoint is whole; train again, or from what it learnt: --init-from {folder.id}."
        )
    if folder.record.best_sha256 or folder.record.weights_sha256:
        raise TrainingError(
            f"{folder.id}: the run has no checkpoint to go on from; train from what it learnt: --init-from {folder.id}."
        )
    return _Found(None, "", None, ())


def _chosen(folder: RunFolder, recipe: Recipe, found: _Found, epochs: int | None, threads: int | None) -> Recipe:
    """Give the recipe to go on with; there must be something left to do."""
    done = int(found.progress.get("done_epochs", 0))
    wanted = recipe.epochs if epochs is None else epochs
    if epochs is None and folder.record.state == "finished":
        raise TrainingError(
            f"{folder.id}: the run is finished ({folder.record.reason}); give more epochs to go on, "
            f"such as --epochs {done + max(done, 1)}."
        )
    # One that was killed between its last step and its last word has nothing left to do but to say it.
    if wanted < done + (folder.record.state == "finished"):
        raise TrainingError(
            f"{folder.id}: {done} epochs are done already, and {wanted} are wanted in all; give --epochs above {done}."
        )
    changed = recipe if threads is None else replace(recipe, threads=threads)
    return replace(changed, epochs=wanted)


def compare(ready: Ready, plan: Plan, now: Mapping[str, Any]) -> list[str]:
    """Give the reasons why the bits may differ; a drawing, a recipe or data that have changed are refused."""
    folder, found = ready.folder, ready.found
    before = found.progress.get("fingerprint") or _from_folder(folder, now)
    for part, words in (("drawing", layout.DRAWING), ("recipe", layout.RECIPE)):
        if before[part] != now[part]:
            raise TrainingError(
                f"{folder.id}: {words} is not what the checkpoint was made with; put it back, or train anew with "
                f"--init-from {folder.id}."
            )
    if before["data"] != now["data"]:
        raise TrainingError(
            f"{folder.id}: the data {plan.material.dataset.name} have changed since the run began; put them back, or "
            f"train anew with --init-from {folder.id}."
        )
    reasons = differences(before, now)
    planned = int(found.progress.get("epochs", plan.recipe.epochs))
    kind = plan.recipe.schedule.kind
    if planned != plan.recipe.epochs and kind in _STRETCHED:
        reasons.append(f"the schedule {kind} spreads over {plan.recipe.epochs} epochs in place of {planned}")
    if _stopped_early(folder, plan.recipe):
        reasons.append(f"early stopping waits anew from epoch {found.progress['done_epochs']} on")
    for name, count in found.progress.get("logs", {}).items():
        left = len(read_log(folder.path / name).records)
        if left < count:
            reasons.append(f"{name} has only {left} of {count} lines")
    return reasons


def _from_folder(folder: RunFolder, now: Mapping[str, Any]) -> dict[str, Any]:
    """Give what a run without a checkpoint began with; its drawing and recipe are read anew with it."""
    try:
        digests = data_digests(cast("Mapping[str, Any]", folder.data()))
    except (KeyError, AttributeError):
        raise RunFolderError(f"{folder.id}/{layout.DATA}: damaged; train the drawing again.") from None
    return {**now, **digests, "environment": dict(folder.environment())}


def _stopped_early(folder: RunFolder, recipe: Recipe) -> bool:
    return (
        bool(recipe.early_stop) and folder.record.state == "finished" and "did not get better" in folder.record.reason
    )


def _start(folder: RunFolder, found: _Found, recipe: Recipe) -> Start:
    if found.snapshot is None:
        return Start()
    progress, snapshot = dict(found.progress), found.snapshot
    if _stopped_early(folder, recipe):
        progress["waiting_since"] = progress["done_epochs"]
        snapshot = replace(snapshot, progress=progress)
    borrowed = Borrowed.from_json(progress["init_from"])
    return Start(snapshot, found.place, borrowed, progress["pretraining"], progress["seconds"], progress["logs"])


def words_of(found: _Found, reasons: list[str]) -> str:
    """Say from where a run goes on, and whether to the same bits."""
    where = f"at step {found.progress['step']}" if found.snapshot is not None else "from the start, before a checkpoint"
    if reasons:
        return f"resumed {where}, not to the same bits: {'; '.join(reasons)}."
    return f"resumed {where}, to the same bits as if it had never stopped."


def claim(folder: RunFolder, recipe: Recipe, found: _Found, reasons: list[str], owner: Owner) -> RunFolder:
    """Write that the run goes on, in this process, and from where; what it had come to counts no more."""
    set_aside(folder.path / layout.CHECKPOINTS, found.path)
    folder = folder.update(
        state="running",
        reason="",
        finished="",
        pid=owner.pid,
        process=owner.process,
        weights_sha256="",
        best_sha256="",
    )
    for name in layout.WRITTEN:
        # What a killed process was writing.
        remove_temporaries(folder.path, name)
    # A wish that came when the process before was past hearing it.
    take_wish(folder)
    for name in (layout.SUMMARY, layout.SHORT, layout.PACE):
        with suppress(FileNotFoundError):
            (folder.path / name).unlink()
    folder.write_recipe(recipe)
    entry = {
        "when": layout.now(),
        "checkpoint": found.path.name if found.path is not None else "",
        "step": int(found.progress.get("step", 0)),
        "epoch": int(found.progress.get("epoch", 1)),
        "seconds": float(found.progress.get("seconds", 0.0)),
        "exact": not reasons,
        "reasons": reasons,
        "damaged": list(found.damaged),
    }
    resumes = [*folder.resumes(), entry]
    folder.write_json(layout.RESUMES, {"format": layout.RESUMES_FORMAT, "version": 1, "resumes": resumes})
    return folder
