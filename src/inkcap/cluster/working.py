"""What each worker does: it trains with the others, or goes on where workers before it were lost."""

from __future__ import annotations

import os
import threading
import traceback
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from inkcap.cluster.mailbox import Done, Fetching, Mistake, Sending
from inkcap.recipes import Recipe, RunFolder, layout, list_runs
from inkcap.recipes.checkpoints import newest_checkpoint
from inkcap.remote import Place, at
from inkcap.structures.errors import InkcapError, RunFailure
from inkcap.training.stopping import StopRequest

if TYPE_CHECKING:
    from inkcap.drawing import Drawing
    from inkcap.training import RunResult, Watching
    from inkcap.training.data.download import Progress
    from inkcap.training.group import Group

_PARTING = 10.0
_REFUSED = 3
"""How a worker ends whose command is gone."""


@dataclass(frozen=True)
class Task:
    """What is to be trained, or gone on with, and for which command."""

    job: str
    """What the run's record knows these workers by, however often they are started again."""
    owner: tuple[int, str]
    mailbox: Any = field(repr=False)
    place: str
    """The folder in which the command was given."""
    workspace: str
    watching: Watching | None
    until: int | None
    drawing: Drawing | None = None
    recipe: Recipe | None = None
    sweep: str = ""
    run: str = ""
    """The folder of a run to go on with."""
    epochs: int | None = None
    threads: int | None = None
    cpus: int = 0
    """The processors that each worker was granted."""


@dataclass(frozen=True)
class _Verdict:
    """What all workers do, as the first one has found it."""

    act: Literal["train", "resume", "leave"]
    run: str = ""


def work(config: dict[str, Any]) -> None:
    """Do a worker's part; what ends the run for good is told to the command, and anything else lets Ray start anew."""
    from inkcap.training.group import Group, GroupLost, Owner

    task: Task = config["task"]
    with suppress(OSError):
        os.chdir(task.place)
    group = Group.joined(Owner(*task.owner), task.job, task.cpus)
    assert group is not None
    stop = StopRequest(task.until)
    if not _heard(task.mailbox, stop):
        return
    try:
        _work(task, group, stop)
    except GroupLost:
        raise
    except InkcapError as problem:
        if not group.writes:
            # The first worker has been told, too, where it could be; else all of them begin anew.
            _call(task.mailbox.lost, f"worker {group.rank + 1} of {group.world}: {problem}")
            if not _call(task.mailbox.closed, _PARTING):
                raise
            return
        _call(task.mailbox.close, Mistake(str(problem), isinstance(problem, RunFailure)))
    except Exception as problem:
        words = f"{type(problem).__name__}: {problem}"
        _call(task.mailbox.close, Mistake(words, failed=True, trace=traceback.format_exc()))
        raise


def _heard(mailbox: Any, stop: StopRequest) -> bool:
    """Listen for the wish to stop; false where the command is gone, and there is nobody to train for."""
    from ray.exceptions import RayError

    def wait() -> None:
        try:
            stop.stop(_call(mailbox.wish))
        except RayError:
            os._exit(_REFUSED)

    try:
        _call(mailbox.wished)
    except RayError:
        return False
    threading.Thread(target=wait, name="wishes", daemon=True).start()
    return True


def _work(task: Task, group: Group, stop: StopRequest) -> None:
    result: RunResult | None = None
    with at(task.workspace) as place:
        verdict = group.share(_judge(task, place) if group.writes else _Verdict("leave"))
        if verdict.act != "leave":
            result = _train(task, group, stop, place, verdict.run)
    # A run that is kept in storage, too, is published by now.
    if group.writes and result is not None:
        _call(task.mailbox.close, Done.of(result))


def _judge(task: Task, place: Place) -> _Verdict:
    """Find what there is of the run, and what is left to do."""
    run = _own_run(task, place)
    kept = None if run is None else newest_checkpoint(run.path / layout.CHECKPOINTS)[0]
    start = _call(task.mailbox.begin, -1 if kept is None else kept.step)
    if not start:
        return _Verdict("leave")
    if run is None:
        return _Verdict("train")
    if start > 1 and (run.record.pid, run.record.process) == task.owner:
        # Workers before these may have been lost between the run's last word and their own.
        if run.record.state == "failed":
            raise RunFailure(f"{run.id}: {run.record.reason}")
        wished = _call(task.mailbox.wished) or task.until is not None
        if run.record.state == "finished" or (run.record.state == "interrupted" and wished):
            _call(task.mailbox.close, Done.of(_result_of(run)))
            return _Verdict("leave")
    return _Verdict("resume", run.id if place.elsewhere is not None else str(run.path))


def _own_run(task: Task, place: Place) -> RunFolder | None:
    """Give the run that these workers have begun, or are to go on with; one that has nothing yet is begun anew."""
    if place.elsewhere is not None:
        name = task.run or _call(task.mailbox.run)
        return place.run_to_resume(name, take_over=True) if name else None
    if task.run:
        return RunFolder.open(task.run)
    for run in list_runs(task.workspace)[0]:
        if run.record.job == task.job:
            if run.record.state != "created":
                return run
            run.remove()
    return None


def _train(task: Task, group: Group, stop: StopRequest, place: Place, run: str) -> RunResult:
    from inkcap.training import resume, train

    def progress(name: str, done: int, total: int) -> None:
        task.mailbox.tell.remote([Fetching(name, done, total)])

    listener = Sending(task.mailbox.tell.remote) if group.writes else None
    common: dict[str, Any] = {"stop": stop, "progress": progress, "watching": task.watching, "group": group}
    if place.elsewhere is not None:
        common["elsewhere"] = place.elsewhere
        _fetch(task, place, run, progress)
    if run:
        return resume(run, place.folder, listener, epochs=task.epochs, threads=task.threads, **common)
    assert task.drawing is not None
    assert task.recipe is not None
    return train(task.drawing, task.recipe, place.folder, listener, sweep=task.sweep, **common)


def _fetch(task: Task, place: Place, run: str, progress: Progress) -> None:
    """Fetch what a worker needs of a workspace in storage: each of them may be on another machine."""
    recipe = place.run(run, whole=True).recipe() if run else task.recipe
    assert recipe is not None
    place.data(recipe.data.name, progress)
    if not run and recipe.init_from is not None and not Path(recipe.init_from).exists():
        place.run(recipe.init_from, whole=recipe.init_memory)


def _result_of(run: RunFolder) -> RunResult:
    """Give what came of a run that has ended, from its folder."""
    from inkcap.training import Borrowed, RunResult

    summary: Any = run.summary()
    best = summary.get("best_value")
    return RunResult(
        run=run,
        state=run.record.state,
        reason=run.record.reason,
        epochs=int(summary["epochs"]),
        steps=int(summary["steps"]),
        monitor=str(summary["monitor"]),
        best_epoch=int(summary["best_epoch"]),
        best_value=float("nan") if best is None else float(best),
        values={name: float("nan") if value is None else float(value) for name, value in summary["values"].items()},
        borrowed=Borrowed.from_json(summary["init_from"]),
        notes=(),
    )


def _call(method: Any, *arguments: Any) -> Any:
    """Ask the mailbox something, and wait for the answer."""
    import ray

    return ray.get(method.remote(*arguments))
