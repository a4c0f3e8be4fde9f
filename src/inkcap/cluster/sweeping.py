"""Sweeps over a cluster: each trial is a task that runs the same command on whichever machine has room."""

import os
import sys
import time
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from inkcap.cluster.errors import ClusterError
from inkcap.cluster.joining import Cluster
from inkcap.cluster.knocking import Knocker
from inkcap.cluster.trials import Seen, look_for, train_trial
from inkcap.recipes import Recipe
from inkcap.sweeps import Sweep, SweepError, Trial
from inkcap.sweeps.processes import command_of
from inkcap.sweeps.sites import Live, Site

if TYPE_CHECKING:
    from ray import ObjectRef

_SET_BY_RAY = ("OMP_NUM_THREADS",)
"""Variables that a task gets from Ray, and a trial from the sweep: its bits must not depend on where it runs."""
_ASKED_EVERY = 1.0
_LONGEST = 30.0


class OnCluster(Site):
    """The machines of a cluster. Trials end with the sweep, whose tasks they are, and save what they have learnt."""

    most = sys.maxsize

    def __init__(self, cluster: Cluster, recipe: Recipe) -> None:
        """Give each trial a GPU where there are some and the recipe may use them."""
        if recipe.workers > 1:
            raise SweepError(
                f"recipe.workers: {recipe.workers}, but trials on a cluster train in one process each; give 1."
            )
        self.cluster, self.knocker = cluster, Knocker(cluster)
        self.gpus = 1 if cluster.gpus and recipe.device in ("auto", "cuda") else 0

    def room(self, threads: int) -> int:
        """Count the tasks of so many processors."""
        return self.cluster.room(gpus=self.gpus, cpus_each=threads)

    def check(self, at_once: int, threads: int) -> None:
        """Refuse what could never run at once, whoever else is at work."""
        room = self.room(threads)
        if at_once > room:
            each = f"{threads} CPU" + (" and 1 GPU" if self.gpus else "")
            raise SweepError(
                f"--at-once {at_once}: a run takes {each}, and the cluster has room for {room} of them "
                f"({self.cluster.cpus} CPU and {self.cluster.gpus} GPU in all); give fewer, or fewer --threads."
            )

    def start(self, sweep: Sweep, trial: Trial, workspace: Path, until: int | None) -> Live:
        """Hand the trial to the cluster, which begins it as soon as there is room."""
        import ray

        variables = {name: os.environ.get(name) for name in _SET_BY_RAY}
        remote: Any = ray.remote(train_trial)
        task = remote.options(
            name=sweep.tag(trial.number), num_cpus=sweep.plan.threads, num_gpus=self.gpus, max_retries=0
        )
        command = command_of(sweep, trial, workspace, until)
        # A task begins wherever its machine's Ray was started.
        folder = sweep.trial_folder(trial.number).absolute()
        return _Task(task.remote(command, str(workspace), str(folder), variables), self.knocker)

    def find(self, pid: int, mark: str) -> Live | None:
        """Ask every machine for a process; one of a machine that has left has ended with it."""
        return _Left(pid, mark) if pid > 0 and seen_anywhere(pid, mark) == "alive" else None


class _Task(Live):
    """A trial that was handed to the cluster; its process is known to the machine that runs it."""

    def __init__(self, reference: "ObjectRef[str]", knocker: Knocker) -> None:
        """Follow the task."""
        self.reference, self.knocker, self.asked, self.taken = reference, knocker, False, False

    def ended(self) -> bool:
        """Look for the task's result; whatever keeps all trials from being run ends the sweep."""
        import ray
        from ray.exceptions import RayError, RayTaskError, TaskCancelledError

        # Without it tasks seem to be lost, one and all, and could not begin anew.
        self.knocker.check("the trials save what they have learnt: go on with --resume")
        if not ray.wait([self.reference], timeout=0)[0]:
            return False
        try:
            problem = ray.get(self.reference)
        except TaskCancelledError:
            return True
        except RayTaskError as found:
            cause: Any = found.cause
            words = str(cause or found).strip().splitlines() or ["no words"]
            problem = f"a trial could not be started ({words[-1]})"
        except RayError:
            self.taken = not self.asked
            return True
        if problem:
            raise ClusterError(f"{problem}; then go on with --resume.")
        return True

    def lost(self) -> bool:
        """Tell whether the task was taken away: its machine has gone, or was short of memory."""
        return self.taken

    def stop(self) -> None:
        """Cancel the task: one that waits never begins, one that runs hands it on as Ctrl-C."""
        import ray

        if not self.asked:
            self.asked = True
            ray.cancel(self.reference, force=False)


class _Left(Live):
    """A process on some machine that a task has left behind: it has been asked to stop, and saves."""

    own = False

    def __init__(self, pid: int, mark: str) -> None:
        """Know which."""
        self.pid, self.mark, self.looked, self.asked = pid, mark, time.monotonic(), False

    def ended(self) -> bool:
        """Ask the machines again, not too often."""
        if time.monotonic() - self.looked < _ASKED_EVERY:
            return False
        self.looked = time.monotonic()
        return seen_anywhere(self.pid, self.mark) != "alive"

    def stop(self) -> None:
        """Send it what Ctrl-C sends, once, wherever it is."""
        if not self.asked:
            self.asked = True
            seen_anywhere(self.pid, self.mark, stop=True)


def seen_anywhere(pid: int, mark: str, *, stop: bool = False) -> Seen:
    """Look for a process on every machine of the cluster; none of them may know its own."""
    import ray
    from ray.exceptions import RayError
    from ray.util.scheduling_strategies import NodeAffinitySchedulingStrategy

    remote: Any = ray.remote(look_for)
    nodes = [node for node in cast("list[dict[str, Any]]", ray.nodes()) if node["Alive"]]
    asked = [
        remote.options(
            num_cpus=0, max_retries=0, scheduling_strategy=NodeAffinitySchedulingStrategy(node["NodeID"], soft=False)
        ).remote(pid, mark, stop)
        for node in nodes
    ]
    answers: set[Seen] = set()
    for answer in asked:
        try:
            answers.add(cast("Seen", ray.get(answer, timeout=_LONGEST)))
        except RayError:
            continue
    return "alive" if "alive" in answers else "ended" if "ended" in answers else "elsewhere"
