"""What runs on the machines of a cluster for a sweep: the process of a trial, and looking for one. It is light."""

import os
import platform
import signal
import subprocess
import sys
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Literal

from inkcap.recipes.apart import start_apart
from inkcap.recipes.liveness import has_ended, interrupt, is_here

LOOK_EVERY = 0.1
_BETWEEN = (sys.executable, "-I", "-S", "-c", "import subprocess, sys; sys.exit(subprocess.call(sys.argv[1:]))")
"""Stands between a task and its trial: Ray kills the children of a task that ends, and a trial is to save first."""

Seen = Literal["alive", "ended", "elsewhere"]


def train_trial(command: list[str], workspace: str, folder: str, variables: Mapping[str, str | None]) -> str:
    """Run the command of a trial to its end; give what kept it from beginning, or nothing.

    An interrupt of this process, as a cancelled task gets it, lets go of the trial, which saves what it has learnt.
    """
    if not Path(folder).is_dir():
        return (
            f"{folder} is not there on the machine {platform.node()}; put the workspace into a folder that all "
            "machines of the cluster share, under the same path"
        )
    wishes: list[int] = []
    # As a handler, and not by what it raises: that could come between a process and whoever waits for it.
    before = signal.signal(signal.SIGINT, lambda number, _: wishes.append(number))
    try:
        child = _started(command, Path(workspace), Path(folder), variables)
        while child.poll() is None:
            if wishes and child.stdin is not None:
                child.stdin.close()
            time.sleep(LOOK_EVERY)
        return ""
    finally:
        signal.signal(signal.SIGINT, before)


def _started(
    command: list[str], workspace: Path, folder: Path, variables: Mapping[str, str | None]
) -> subprocess.Popen[bytes]:
    """Start a process that ends with this one, in the environment that it would have without Ray."""
    own = {name: value for name, value in os.environ.items() if not name.startswith("RAY_") and name not in variables}
    own |= {name: value for name, value in variables.items() if value is not None}
    # Whoever starts a Ray keeps its processes from Ctrl-C, and those that they start.
    before = signal.pthread_sigmask(signal.SIG_UNBLOCK, {signal.SIGINT})
    try:
        return start_apart(command, workspace, folder, variables=own, bound=True, by=_BETWEEN)
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


def look_for(pid: int, mark: str, stop: bool) -> Seen:
    """Look for a process on this machine, and ask it to stop if that is wanted."""
    if not is_here(mark):
        return "elsewhere"
    if has_ended(pid, mark):
        return "ended"
    if stop:
        interrupt(pid, mark)
    return "alive"
