"""Who belongs to a group, and how its members speak with each other: torch's own process groups, and nothing else."""

from __future__ import annotations

import atexit
import gc
import os
import re
import time
from collections.abc import Callable, Generator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any, TypeVar

import torch
import torch.distributed as dist
from torch import Tensor

from inkcap.recipes.liveness import own_process
from inkcap.structures.errors import InkcapError, RunFailure
from inkcap.training.errors import TrainingError
from inkcap.training.group.interfaces import speak_towards
from inkcap.training.group.meeting import meet
from inkcap.training.needs import is_shortage

T = TypeVar("T")

PATIENCE = timedelta(days=1)
"""A member that waits for room on a full disk lets the others wait; one that is gone closes its connections at once."""
MEETING = timedelta(minutes=5)
"""How long members wait for the others to come."""
_LETTING_GO = 0.2
"""Seconds that threads of gloo are given at the end; they need microseconds, if they are given any."""
_SOURCE = re.compile(r"^\[[^]]*\]")
"""The line of torch's own source that its messages begin with."""
_LAUNCHER, RESTARTS = "TORCHELASTIC_RUN_ID", "TORCHELASTIC_RESTART_COUNT"
_VARIABLES = ("RANK", "WORLD_SIZE", "MASTER_ADDR", "MASTER_PORT")


class GroupLost(RunFailure):
    """A member of the group is gone, and with it the step in hand; the run goes on from its last checkpoint."""


@dataclass(frozen=True)
class Owner:
    """The process that run.json names: it lives as long as the run does, whatever becomes of a worker."""

    pid: int
    process: str


def own() -> Owner:
    """Give this process as an owner."""
    return Owner(os.getpid(), own_process())


class Group:
    """The members of a process group, seen from one of them; rank 0 writes the run."""

    def __init__(
        self, rank: int, world: int, local: int, owner: Owner, control: Any, job: str = "", threads: int = 0
    ) -> None:
        self.rank, self.world, self.owner = rank, world, owner
        self.threads = threads or max(1, (os.cpu_count() or 1) // local)
        """The threads that a member may take: what it was granted, or its part of a machine that several share."""
        self.job = job
        """What tells the group apart from others that train in the same workspace; the same after a restart."""
        self._control = control
        """The process group of what members agree on; None is the one that all belong to."""

    @classmethod
    def joined(cls, owner: Owner | None = None, job: str = "", threads: int = 0) -> Group | None:
        """Give the group of this process: that which is there, or that of torchrun's variables; None without one."""
        if not dist.is_available():
            return None
        launch, joining = "", not dist.is_initialized()
        if joining:
            if not _launched(os.environ):
                return None
            launch = _join(os.environ)
        world = dist.get_world_size()
        if world == 1:
            return None
        # What members agree on are small things on the processor, beside whatever the gradients take.
        control = None if dist.get_backend() == "gloo" else dist.new_group(backend="gloo", timeout=PATIENCE)
        local = int(os.environ.get("LOCAL_WORLD_SIZE", "1"))
        launcher = os.environ.get(_LAUNCHER, "")
        job = job or (f"{launcher}/{launch}" if launcher else "")
        group = cls(dist.get_rank(), world, local, owner or own(), control, job, threads)
        if joining:
            atexit.register(group.leave)
        return group

    @property
    def writes(self) -> bool:
        """Whether this member writes the run."""
        return self.rank == 0

    def leave(self) -> None:
        """Let go of the process group, as must be done before the interpreter ends.

        Threads of gloo let go of their last tensors a moment after the members have them; one that finds the
        interpreter ending meanwhile aborts the process, and torchrun takes a run that has finished for a failed one.
        """
        self._control = None
        if dist.is_initialized():
            dist.destroy_process_group()
        gc.collect()
        # Where torch itself still holds the group, as after sharding, its threads stay and need a moment for the same.
        time.sleep(_LETTING_GO)

    def gather(self, value: T) -> list[T]:
        """Give every member what each of them has, by rank."""
        found: list[Any] = [None] * self.world
        with losing():
            dist.all_gather_object(found, value, group=self._control)
        return found

    def share(self, value: T) -> T:
        """Give every member what the first one has."""
        box: list[Any] = [value]
        with losing():
            dist.broadcast_object_list(box, src=0, group=self._control)
        return box[0]

    def sum(self, numbers: Tensor) -> Tensor:
        """Add up numbers that lie on the processor, in place."""
        with losing():
            dist.all_reduce(numbers, group=self._control)
        return numbers

    def first_of(self, values: list[Tensor]) -> None:
        """Write the first member's values over those of the others."""
        with losing():
            for value in values:
                dist.broadcast(value, src=0)

    @contextmanager
    def agreeing(self) -> Generator[None]:
        """Do something that may be refused: what one member refuses, none goes on with."""
        problem: InkcapError | None = None
        try:
            yield
        except InkcapError as found:
            problem = found
        told = self.gather("" if problem is None else str(problem))
        if problem is not None:
            raise problem
        for rank, words in enumerate(told):
            if words:
                raise TrainingError(f"worker {rank + 1} of {self.world}: {words}")

    def in_turn(self, make: Callable[[], T]) -> T:
        """Let every member make something, the first one before the others: they find what it has downloaded."""
        made: list[T] = []
        for first in (True, False):
            with self.agreeing():
                if self.writes == first:
                    made.append(make())
        return made[0]


@contextmanager
def agreed(group: Group | None) -> Generator[None]:
    """Do something that may be refused, together where there is a group."""
    if group is None:
        yield
        return
    with group.agreeing():
        yield


@contextmanager
def losing() -> Generator[None]:
    """Say of a connection that broke that a member is gone; a shortage of memory is this member's own."""
    try:
        yield
    except (dist.DistError, RuntimeError, ValueError) as problem:
        # Whoever takes the group apart, as Ray does when a worker is lost, leaves the others a mistake in the call.
        if is_shortage(problem) or (isinstance(problem, ValueError) and dist.is_initialized()):
            raise
        # torch has no error of its own for a broken connection, so what it said is kept.
        words = _SOURCE.sub("", (str(problem).splitlines() or [""])[0]).strip(" .")[:200]
        why = f" ({words})" if words else ""
        raise GroupLost(f"another worker is gone{why}; the run can go on from its last checkpoint.") from problem


def _launched(variables: Mapping[str, str]) -> bool:
    if any(name not in variables for name in _VARIABLES):
        return False
    return variables["WORLD_SIZE"].isdigit() and int(variables["WORLD_SIZE"]) > 1


def _join(variables: Mapping[str, str]) -> str:
    """Join the others, and give the mark of what launched them, as far as it is known."""
    backend = "gloo"
    if torch.cuda.is_available():
        backend = "nccl"
        torch.cuda.set_device(int(variables.get("LOCAL_RANK", "0")) % torch.cuda.device_count())
    if variables["MASTER_PORT"].isdigit():
        speak_towards(variables["MASTER_ADDR"], int(variables["MASTER_PORT"]))
    # Defaults of its functions are the group that there is when it is loaded, and would hold it for ever.
    import_module("torch.distributed.nn.functional")
    try:
        met = meet(MEETING, variables.get(_LAUNCHER, ""), variables.get(RESTARTS, "0") != "0")
        dist.init_process_group(backend, timeout=PATIENCE, store=met.store, rank=met.rank, world_size=met.world)
    except (dist.DistError, RuntimeError, ValueError, TimeoutError) as problem:
        words = (str(problem).splitlines() or [type(problem).__name__])[0]
        raise TrainingError(
            f"worker {variables['RANK']} of {variables['WORLD_SIZE']} could not join the others at "
            f"{variables['MASTER_ADDR']}:{variables['MASTER_PORT']} ({words}); check the address and that all are up."
        ) from None
    return met.launch
