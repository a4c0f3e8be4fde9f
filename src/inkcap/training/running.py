"""A run from its start, or from where it goes on, to its end: the folder always says how it stands."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

from inkcap.drawing import to_text
from inkcap.engine import named_weights
from inkcap.recipes import RunFolder, layout, recipe_to_json
from inkcap.recipes.steering import PAUSE, take_wish
from inkcap.structures.errors import InkcapError, RunFailure
from inkcap.training.allocator import kept_memory
from inkcap.training.borrowing import learning_names, recall
from inkcap.training.checkpoints import FolderSaver
from inkcap.training.engines.settling import choose_engine
from inkcap.training.environment import describe_environment
from inkcap.training.events import EndEvent, StartEvent
from inkcap.training.fingerprints import fingerprint
from inkcap.training.group.membership import GroupLost
from inkcap.training.jobs import Job
from inkcap.training.keeping import FolderKeeper, finish
from inkcap.training.loop import go_on
from inkcap.training.needs import is_shortage
from inkcap.training.pretraining import Pretraining, pretrain
from inkcap.training.session import Course, Outcome, Session
from inkcap.training.signals import SignalWatch
from inkcap.training.snapshots import Snapshot, restore, restore_random
from inkcap.training.stopping import ignoring_signals
from inkcap.training.weights import Borrowed, put_back

if TYPE_CHECKING:
    from inkcap.training.group.together import Together


@dataclass(frozen=True)
class RunResult:
    """What came of a training; the folder holds everything else."""

    run: RunFolder
    state: str
    reason: str
    epochs: int
    steps: int
    monitor: str
    best_epoch: int
    best_value: float
    values: Mapping[str, float]
    borrowed: Borrowed
    notes: tuple[str, ...]


Claim = Callable[[RunFolder], RunFolder]
"""Writes into the folder of a run which goes on that it does."""


@dataclass
class _Attempt:
    """How far a run came and how it ended."""

    job: Job
    folder: RunFolder
    begun: float
    before: float = 0.0
    """The seconds that earlier processes have spent on it."""
    outcome: Outcome = field(default_factory=Outcome)
    keeper: FolderKeeper | None = None
    saver: FolderSaver | None = None
    state: str = "finished"
    failure: Exception | None = None
    short: bool = False
    """Whether there was too little memory."""
    pretrained: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def fail(self, reason: str, failure: Exception) -> None:
        """Remember what went wrong."""
        self.state, self.outcome.reason, self.failure = "failed", reason, failure

    @property
    def seconds(self) -> float:
        """The time that was spent, over all processes."""
        return round(self.before + time.monotonic() - self.begun, 3)


def run_job(
    job: Job, course: Course, folder: RunFolder, claim: Claim | None = None, together: Together | None = None
) -> RunResult:
    """Fill the folder, train, and leave the folder in a state that says how it ended.

    A run that goes on is restored before its folder is claimed: what does not fit leaves the folder as it was.
    """
    attempt = _Attempt(job, folder, time.monotonic(), job.start.seconds, pretrained=list(job.start.pretrained))
    session = None
    if job.start.snapshot is not None:
        session = Session(course, attempt.outcome)
        restore(session, _own_part(job.start.snapshot, together), job.start.place)
    attempt.folder = claim(folder) if claim is not None else folder
    with kept_memory():
        _try(attempt, course, session, together, fresh=claim is None)
    job = attempt.job
    try:
        job.stop.saving = True
        _end(attempt, job, fresh=claim is None)
    except KeyboardInterrupt:
        # Someone pressed twice; what was learnt is still worth the moment that saving takes.
        _end(attempt, job, fresh=claim is None)
    outcome = attempt.outcome
    with suppress(KeyboardInterrupt):
        job.listener.on_end(EndEvent(attempt.state, outcome.reason, outcome.epochs, outcome.best_epoch))
    if attempt.failure is not None:
        raise attempt.failure
    missed = [attempt.saver.missed] if attempt.saver is not None and attempt.saver.missed else []
    missed += [words for words in [outcome.pace.advice(course.training.loaders)] if words]
    missed += [watcher.problem for watcher in (attempt.keeper.watchers if attempt.keeper else ()) if watcher.problem]
    return result_of(attempt.folder, job, outcome, attempt.state, (*job.notes, *missed))


def result_of(run: RunFolder, job: Job, outcome: Outcome, state: str, notes: tuple[str, ...]) -> RunResult:
    """Tell what came of a training, as each process that took part in it knows it."""
    return RunResult(
        run=run,
        state=state,
        reason=outcome.reason,
        epochs=outcome.epochs,
        steps=outcome.steps,
        monitor=job.plan.monitor,
        best_epoch=outcome.best_epoch,
        best_value=outcome.best_value,
        values=outcome.values,
        borrowed=job.borrowed,
        notes=notes,
    )


def _own_part(snapshot: Snapshot, together: Together | None) -> Snapshot:
    return snapshot if together is None else together.own_part(snapshot)


def _try(attempt: _Attempt, course: Course, session: Session | None, together: Together | None, *, fresh: bool) -> None:
    """Describe the run and train; whatever happens is remembered, not raised."""
    outcome, name, job = attempt.outcome, attempt.folder.id, attempt.job
    try:
        if fresh:
            if together is None:
                job = attempt.job = choose_engine(job, course)
            attempt.folder = _describe(job, attempt.folder)
        _keep(attempt, job, course, together)
        job.listener.on_start(_start_event(job, course, attempt.folder))
        if session is not None and job.start.snapshot is not None:
            restore_random(session, job.start.snapshot)
        else:
            session = _begin(attempt, job, course)
        if session is None:
            outcome.interrupted, outcome.reason = True, job.stop.reason
        else:
            go_on(session)
        job.stop.saving = True
        attempt.state = "interrupted" if outcome.interrupted else "finished"
    except KeyboardInterrupt:
        attempt.state, outcome.reason = "interrupted", "stopped by the keyboard"
    except GroupLost as problem:
        attempt.state, outcome.reason, attempt.failure = "interrupted", str(problem), problem
    except InkcapError as problem:
        attempt.fail(str(problem), RunFailure(f"{name}: {problem}"))
    except (RuntimeError, MemoryError, OSError) as problem:
        attempt.short = is_shortage(problem)
        words = job.needs.failure(problem) or f"{type(problem).__name__}: {problem}"
        attempt.fail(words, RunFailure(f"{name}: the run broke off in epoch {outcome.epochs + 1} ({words})."))
    except Exception as problem:
        # A mistake in a listener or in Inkcap itself: it stays what it is, but the folder must not look alive.
        attempt.fail(f"{type(problem).__name__}: {problem}", problem)


def _keep(attempt: _Attempt, job: Job, course: Course, together: Together | None) -> None:
    """Let the course keep its metrics, its best weights and its checkpoints in the folder."""
    start, folder = job.start, attempt.folder
    best = {} if start.snapshot is None else dict(start.snapshot.best)
    watch = _watch(job, course)
    course.watch = watch
    job.watching.keep(folder)
    facts = {
        "name": job.plan.drawing.name,
        "data": job.recipe.data.name,
        "drawing": to_text(job.plan.drawing),
        "recipe": recipe_to_json(job.recipe),
        "monitor": job.plan.monitor if course.validation is None else f"val_{job.plan.monitor}",
    }
    attempt.keeper = FolderKeeper(
        *(folder, job.module, job.listener, job.stop, watch, best, start.counts),
        None if together is None or together.sharded is None else together.sharded.weights,
        lambda counts: job.watching.start(folder, facts, counts),
    )
    names = learning_names(job.module, job.learning)
    marked = fingerprint(job.plan, describe_environment(job.plan.device, job.choice))

    def extra() -> dict[str, Any]:
        return {
            "fingerprint": marked,
            "epochs": job.recipe.epochs,
            "seconds": attempt.seconds,
            "init_from": job.borrowed.to_json(),
            "pretraining": attempt.pretrained,
            "learning": names,
            **({} if watch is None else {"last_steps": watch.steps}),
        }

    attempt.saver = FolderSaver(folder, attempt.keeper, job.frozen_buffers, extra, job.recipe.checkpoint, job.elsewhere)
    if job.elsewhere is not None:
        job.elsewhere.changed(folder.path)
    course.keeper, course.saver = attempt.keeper, attempt.saver
    if together is not None:
        together.keep(course, attempt.keeper, attempt.saver)


def _begin(attempt: _Attempt, job: Job, course: Course) -> Session | None:
    """Begin a session, after the pre-training, which is too long to be lost; none where a stop came in between."""
    if job.plan.stack:
        recipe = job.recipe
        stages = Pretraining(course.training, course.order, recipe.pretrain, recipe.seed, job.listener, job.stop)
        told = pretrain(job.plan.stack, named_weights(job.module), stages)
        if told is None:
            # Nothing was learnt, so nothing is kept and the run begins anew when it goes on.
            if attempt.keeper is not None:
                attempt.keeper.weights = dict
            return None
        attempt.pretrained = told
    session = Session(course, attempt.outcome)
    recall(session, learning_names(job.module, job.learning), job.memory)
    if job.plan.stack and attempt.saver is not None:
        attempt.saver.save_now(session)
    return session


def _watch(job: Job, course: Course) -> SignalWatch | None:
    if not job.recipe.signals:
        return None
    watch = SignalWatch(job.plan.network, job.module, job.plan.facts, job.recipe, course.training)
    if job.start.snapshot is not None:
        # The step may lie behind: a checkpoint can stand between the last step of an epoch and its end.
        steps = job.start.snapshot.progress.get("last_steps", {})
        watch.steps = {name: (float(change), float(size)) for name, (change, size) in steps.items()}
    return watch


def _end(attempt: _Attempt, job: Job, *, fresh: bool) -> None:
    """Save what was learnt and write the final state, or take a folder away that could not even be described."""
    with ignoring_signals():
        if attempt.saver is not None:
            attempt.saver.join()
        put_back(job.module, job.frozen_buffers)
        if take_wish(attempt.folder) == PAUSE and attempt.state == "interrupted":
            attempt.outcome.reason = layout.PAUSED
        if attempt.keeper is None and attempt.failure is not None and fresh and not _told_of_shortage(attempt):
            attempt.folder.remove()
            return
        facts: dict[str, Any] = {
            "seconds": attempt.seconds,
            "monitor": job.plan.monitor,
            "learning_parameters": sum(parameter.numel() for parameter in job.learning),
            "parameters": sum(parameter.numel() for parameter in job.module.parameters()),
            "init_from": job.borrowed.to_json(),
        }
        if attempt.pretrained:
            facts["pretraining"] = attempt.pretrained
        attempt.folder, problem = finish(attempt.folder, attempt.keeper, attempt.outcome, attempt.state, facts)
        for watcher in attempt.keeper.watchers if attempt.keeper is not None else ():
            watcher.close(attempt.state)
        if problem and attempt.failure is None:
            attempt.fail(problem, RunFailure(f"{attempt.folder.id}: {problem} Make room or check the disk."))


def _told_of_shortage(attempt: _Attempt) -> bool:
    """Describe a run that had too little memory before its first step, so that it can say so; tell whether it can."""
    if attempt.short:
        with suppress(InkcapError, OSError, MemoryError):
            attempt.folder = _describe(attempt.job, attempt.folder)
            return True
    return False


def _start_event(job: Job, course: Course, folder: RunFolder) -> StartEvent:
    return StartEvent(
        run=folder.id,
        epochs=job.recipe.epochs,
        steps_per_epoch=course.training.steps,
        training_samples=course.training.samples,
        validation_samples=0 if course.validation is None else course.validation.samples,
        device=job.plan.device.type,
        threads=job.threads,
        monitor=job.plan.monitor,
        engine=job.choice.engine,
        notes=job.notes,
        workers=job.choice.workers,
    )


def _describe(job: Job, folder: RunFolder) -> RunFolder:
    """Write everything that is known before the first step."""
    folder.write_text(layout.DRAWING, to_text(job.plan.drawing))
    folder.write_recipe(job.recipe)
    folder.write_json(layout.ENVIRONMENT, describe_environment(job.plan.device, job.choice))
    folder.write_json(layout.DATA, job.plan.material.to_json())
    return folder.update(state="running")
