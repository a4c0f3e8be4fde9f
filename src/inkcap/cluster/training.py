"""Training by several workers over a cluster: the same run, the same events, the same end as in one process."""

from __future__ import annotations

import os
import secrets
import threading
import time
from contextlib import suppress
from dataclasses import replace
from importlib import import_module
from pathlib import Path
from typing import TYPE_CHECKING, Any

from inkcap.cluster.joining import Cluster, variables
from inkcap.cluster.knocking import Knocker
from inkcap.cluster.mailbox import Done, Fetching, Mailbox, Mistake, deliver
from inkcap.cluster.working import Task, work
from inkcap.recipes import Recipe, RunFolder, find_run, layout, list_runs
from inkcap.recipes.apart import training_environment
from inkcap.recipes.liveness import own_process
from inkcap.recipes.steering import GOING
from inkcap.remote import is_url
from inkcap.structures.errors import InkcapError, RunFailure
from inkcap.training.events import EndEvent, Listener, StartEvent
from inkcap.training.stopping import StopRequest, listening_for_signals

if TYPE_CHECKING:
    from inkcap.drawing import Drawing
    from inkcap.training import RunResult, Watching
    from inkcap.training.data.download import Progress

_LISTENING = 0.2
"""Seconds between two looks at whether the command is to stop."""
_ENDING = 1.0
_FREEING = 30.0
_PARTING = 5.0
"""Seconds that workers are given to leave by themselves, which frees what they had at once."""

_SETTINGS = {
    "RAY_CHDIR_TO_TRIAL_DIR": "0",
    "RAY_TRAIN_ENABLE_PREEMPTION_WATCHER": "0",
    "RAY_TRAIN_ENABLE_PRINT_PATCH": "0",
    "RAY_TRAIN_HEALTH_CHECK_INTERVAL_S": "0.25",
    "RAY_TRAIN_METRICS_ENABLED": "0",
    "RAY_TRAIN_WORKER_GROUP_START_TIMEOUT_S": "30",
}


def train_together(
    drawing: Drawing,
    recipe: Recipe,
    workspace: Path | str,
    listener: Listener | None = None,
    *,
    cluster: Cluster,
    stop: StopRequest | None = None,
    progress: Progress | None = None,
    watching: Watching | None = None,
    sweep: str = "",
) -> RunResult:
    """Train a drawing by the recipe's workers, as `train` does in one process.

    Workers that are lost are started again, and go on from the newest checkpoint, as long as there are new ones. The
    run is this process's: what stops it, and what it is stopped by, is the same as ever.
    """
    request = stop or StopRequest()
    task = _task(workspace, request, watching, drawing=drawing, recipe=recipe, sweep=sweep)
    conductor = _Conductor(task, cluster, request, listener or Listener(), progress)
    result = conductor.conduct(recipe.workers, recipe)
    return result if is_url(str(workspace)) else _at(result, Path(workspace) / layout.RUNS)


def resume_together(
    run: RunFolder | Path | str,
    workspace: Path | str,
    listener: Listener | None = None,
    *,
    cluster: Cluster,
    workers: int | None = None,
    epochs: int | None = None,
    threads: int | None = None,
    stop: StopRequest | None = None,
    progress: Progress | None = None,
    watching: Watching | None = None,
) -> RunResult:
    """Go on with a run by several workers, as many as it has had or another number, as `resume` does in one process."""
    folder = run if isinstance(run, RunFolder) else find_run(workspace, run)
    request, recipe = stop or StopRequest(), folder.recipe()
    # In storage a run is known by its name, wherever it is fetched to.
    name = folder.id if is_url(str(workspace)) else str(folder.path.resolve())
    task = _task(workspace, request, watching, run=name, epochs=epochs, threads=threads)
    conductor = _Conductor(task, cluster, request, listener or Listener(), progress)
    return _at(conductor.conduct(workers or recipe.workers, recipe), folder.path.parent)


def _at(result: RunResult, runs: Path) -> RunResult:
    """Give a result whose run lies where the command looks for it: workers know it by its whole path."""
    return replace(result, run=RunFolder(runs / result.run.path.name, result.run.record))


def _task(workspace: Path | str, stop: StopRequest, watching: Watching | None, **what: Any) -> Task:
    import ray

    here = ray.get_runtime_context().get_node_id()
    # On this machine: whatever becomes of others, what was told is not lost.
    mailbox: Any = ray.remote(num_cpus=0)(Mailbox)
    return Task(
        job=secrets.token_hex(8),
        owner=(os.getpid(), own_process()),
        mailbox=mailbox.options(label_selector={"ray.io/node-id": here}).remote(),
        place=os.getcwd(),
        workspace=str(workspace) if is_url(str(workspace)) else str(Path(workspace).resolve()),
        watching=watching,
        until=stop.until,
        **what,
    )


class _Conductor:
    """The command's side of a training: hears the workers, tells them when to stop, and notices when they are lost."""

    def __init__(
        self, task: Task, cluster: Cluster, stop: StopRequest, listener: Listener, progress: Progress | None
    ) -> None:
        self.task, self.cluster, self.stop = task, cluster, stop
        self.listener, self.progress = listener, progress
        self.run = ""
        self._told = False
        self._asked: Any = None
        self._knocker = Knocker(cluster)
        self._problem: BaseException | None = None

    def conduct(self, workers: int, recipe: Recipe) -> RunResult:
        """Train from the start to the end."""
        import ray

        try:
            trainer = self._trainer(workers, recipe)
            with variables(_SETTINGS), listening_for_signals(self.stop):
                fitting = threading.Thread(target=self._fit, args=(trainer,), name="ray-train", daemon=True)
                fitting.start()
                # What a result is made of takes a moment to load; the workers take longer.
                import_module("inkcap.training.running")
                result = self._listen(fitting)
                # Ray frees what the workers had.
                fitting.join(_FREEING)
                return result
        except BaseException as problem:
            with suppress(Exception):
                ray.kill(self.task.mailbox)
            self._set_down(problem)
            raise
        finally:
            with suppress(Exception):
                ray.kill(self.task.mailbox)

    def _trainer(self, workers: int, recipe: Recipe) -> Any:
        from ray.train import FailureConfig, RunConfig, ScalingConfig

        from inkcap.cluster.meeting import Telling, Trainer, loopback_variables, on_loopback, over_network

        gpus = self._gpus(workers, recipe.device)
        share = self.cluster.share(workers)
        each = min(self.task.threads or recipe.threads or share, share)
        self.cluster.require(workers, gpus=gpus, cpus_each=each)
        stays = loopback_variables() if self.cluster.alone else {}
        resources: dict[str, float] = {"CPU": each, **({"GPU": gpus} if gpus else {})}
        return Trainer(
            work,
            train_loop_config={"task": replace(self.task, cpus=each)},
            torch_config=on_loopback(self.cluster.folder) if self.cluster.alone else over_network(),
            scaling_config=ScalingConfig(num_workers=workers, use_gpu=bool(gpus), resources_per_worker=resources),
            run_config=RunConfig(
                name=self.task.job,
                storage_path=str(self.cluster.folder / "train"),
                # How often is too often the mailbox says, which knows of checkpoints.
                failure_config=FailureConfig(max_failures=-1, controller_failure_limit=3),
                callbacks=[Telling(self.task.mailbox)],
                worker_runtime_env={"env_vars": {**training_environment(), **stays}},
            ),
        )

    def _gpus(self, workers: int, device: str) -> int:
        if device == "cuda":
            return 1
        return int(device == "auto" and self.cluster.gpus >= workers)

    def _fit(self, trainer: Any) -> None:
        try:
            trainer.fit()
        except BaseException as problem:
            # Also where Ray is shut down around it.
            self._problem = problem

    def _listen(self, fitting: threading.Thread) -> RunResult:
        while True:
            alive = fitting.is_alive()
            for event in self._news():
                if isinstance(event, Done):
                    return self._ended(event.result)
                if isinstance(event, Mistake):
                    fitting.join(_PARTING)
                    raise self._refusal(event)
                self._hear(event)
            if not alive:
                raise self._lost(f"the workers are gone ({_first_line(self._problem)})")
            if self.stop.wanted and not self._told:
                self._told = True
                self.task.mailbox.want.remote(self.stop.reason)
            self._knock()

    def _hear(self, event: Any) -> None:
        if isinstance(event, Fetching):
            if self.progress is not None:
                self.progress(event.name, event.done, event.total)
            return
        deliver(event, self.listener, again=bool(self.run))
        if isinstance(event, StartEvent):
            self.run = event.run

    def _ended(self, result: RunResult) -> RunResult:
        self.stop.saving = True
        self.listener.on_end(EndEvent(result.state, result.reason, result.epochs, result.best_epoch))
        return result

    @property
    def _begun(self) -> str:
        """The run, as soon as there is one."""
        return self.run or (Path(self.task.run).name if self.task.run else "")

    def _news(self) -> list[Any]:
        import ray
        from ray.exceptions import GetTimeoutError, RayError

        if self._asked is None:
            self._asked = self.task.mailbox.take.remote(_LISTENING)
        try:
            news = ray.get(self._asked, timeout=1)
        except GetTimeoutError:
            # What is asked for again would be taken twice, and heard once.
            return []
        except RayError:
            # The head tells in a moment whether it is there still.
            time.sleep(_LISTENING)
            news = []
        self._asked = None
        return news

    def _knock(self) -> None:
        """Raise when the head of the cluster is gone, or what this machine has of it."""
        if missing := self._knocker.gone():
            raise self._lost(missing)

    def _lost(self, what: str) -> RunFailure:
        if not self._begun:
            return RunFailure(f"{what}, and the run had not begun.")
        return RunFailure(
            f"{self._begun}: {what}; the run goes on from its last checkpoint: inkcap resume {self._begun}."
        )

    def _refusal(self, mistake: Mistake) -> Exception:
        if self.run:
            self.listener.on_end(EndEvent("failed", mistake.words, 0, 0))
        if mistake.trace:
            return RuntimeError(f"a fault in a worker:\n{mistake.trace}")
        return (RunFailure if mistake.failed else InkcapError)(mistake.words)

    def _set_down(self, problem: BaseException) -> None:
        """Write that the run has ended, where its workers could not."""
        with suppress(InkcapError, OSError):
            if self._going():
                # They end when there is nobody left to train for.
                time.sleep(_ENDING)
            for run in self._going():
                run.update(state="interrupted", reason=_first_line(problem))

    def _going(self) -> list[RunFolder]:
        """Give the run, if it looks as if it was going on still."""
        runs = list_runs(self.task.workspace)[0] if not is_url(self.task.workspace) else ()
        known = [run for run in runs if run.record.job == self.task.job or str(run.path) == self.task.run]
        mine = [run for run in known if (run.record.pid, run.record.process) == self.task.owner]
        return [run for run in mine if run.record.state in GOING]


def _first_line(problem: BaseException | None) -> str:
    lines = [line.strip() for line in str(problem or "").splitlines() if line.strip()]
    return (lines[-1] if lines else "it was broken off")[:500]
