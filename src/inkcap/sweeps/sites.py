"""Where the trials of a sweep are trained: on this machine, unless another site is given."""

from __future__ import annotations

import os
import subprocess
from abc import ABC, abstractmethod
from dataclasses import dataclass
from pathlib import Path

from inkcap.recipes.liveness import has_ended, interrupt, mark_of
from inkcap.sweeps.errors import SweepError
from inkcap.sweeps.processes import spawn
from inkcap.sweeps.record import Sweep, Trial

MOST_AT_ONCE = 8
"""As many as run at once on one machine where nothing is said: each takes some hundred megabytes."""


class Live(ABC):
    """A process that trains a trial. Its number and mark are those that the record keeps, if they are known."""

    pid: int = 0
    mark: str = ""
    own: bool = True
    """Whether this sweep has started it; else an earlier one has left it behind."""

    @abstractmethod
    def ended(self) -> bool:
        """Tell whether it is over."""

    @abstractmethod
    def stop(self) -> None:
        """Ask it to stop, as Ctrl-C does: what it has learnt is kept. Asked again, it changes nothing."""

    def lost(self) -> bool:
        """Tell, of one that has ended, whether the site took it away, and not it itself."""
        return False


class Site(ABC):
    """Starts trials, and finds those that were started before."""

    most: int
    """Trials at once where nothing is said."""

    @abstractmethod
    def room(self, threads: int) -> int:
        """Count how many trials of so many threads there is room for at once."""

    @abstractmethod
    def check(self, at_once: int, threads: int) -> None:
        """Refuse more at once than there is room for."""

    @abstractmethod
    def start(self, sweep: Sweep, trial: Trial, workspace: Path, until: int | None) -> Live:
        """Train a trial, or go on with its run, up to an epoch."""

    @abstractmethod
    def find(self, pid: int, mark: str) -> Live | None:
        """Find a process that an earlier sweep has left behind; none if it has ended."""

    def threads(self, at_once: int) -> int:
        """Give the most threads that each of so many trials can have."""
        threads = 1
        while self.room(threads + 1) >= at_once:
            threads += 1
        return threads


def cores() -> int:
    """Count the cores that this process may use."""
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


class Here(Site):
    """This machine: each trial is a process of its own, which outlives the sweep."""

    most = MOST_AT_ONCE

    def room(self, threads: int) -> int:
        """Divide the cores."""
        return cores() // threads

    def check(self, at_once: int, threads: int) -> None:
        """Refuse more runs at once than there are cores for; a single run may have as many threads as it likes."""
        if at_once > 1 and at_once * threads > cores():
            each = "1 thread" if threads == 1 else f"{threads} threads"
            raise SweepError(
                f"--at-once: {at_once} runs of {each} need more than the {cores()} cores there are; give fewer."
            )

    def start(self, sweep: Sweep, trial: Trial, workspace: Path, until: int | None) -> Live:
        """Start a process."""
        child = spawn(sweep, trial, workspace, until)
        return LiveHere(child.pid, mark_of(child.pid), child)

    def find(self, pid: int, mark: str) -> Live | None:
        """Look whether the process is still there."""
        return None if pid <= 0 or has_ended(pid, mark) else LiveHere(pid, mark)


@dataclass
class LiveHere(Live):
    """A process of this machine: a child, or one that an earlier sweep has left behind."""

    pid: int
    mark: str
    child: subprocess.Popen[bytes] | None = None
    asked: bool = False

    def __post_init__(self) -> None:
        """Know whether it is a child."""
        self.own = self.child is not None

    def ended(self) -> bool:
        """Ask after the child, or look for the process."""
        return self.child.poll() is not None if self.child is not None else has_ended(self.pid, self.mark)

    def stop(self) -> None:
        """Send what Ctrl-C sends, once."""
        if not self.asked:
            self.asked = True
            interrupt(self.pid, self.mark)
