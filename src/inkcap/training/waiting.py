"""Waiting for room on a full disk: nothing that is there is touched, and the training goes on when there is some."""

import shutil
import time
from collections.abc import Callable
from pathlib import Path

from inkcap.recipes import RunFolderError
from inkcap.recipes.checkpoints import NO_ROOM
from inkcap.training.events import Listener, PauseEvent
from inkcap.training.stopping import StopRequest

POLL_SECONDS = 1.0
_NAP = 0.05


def wait_for_room(write: Callable[[], None], name: str, folder: Path, listener: Listener, stop: StopRequest) -> None:
    """Write, and where the disk is full try again until it is not, or until a stop is wanted."""
    paused = False
    while True:
        try:
            write()
        except OSError as problem:
            if problem.errno not in NO_ROOM:
                raise
            full = problem
        else:
            if paused:
                listener.on_pause(PauseEvent("", False))
            return
        if stop.pressed:
            raise RunFolderError(f"{name}: could not be written ({full.strerror}); make room and resume the run.")
        if not paused:
            paused = True
            listener.on_pause(PauseEvent(_words(name, full, folder), True))
        until = time.monotonic() + POLL_SECONDS
        while time.monotonic() < until and not stop.pressed:
            time.sleep(_NAP)


def _words(name: str, problem: OSError, folder: Path) -> str:
    try:
        free = f"{shutil.disk_usage(folder).free / 1e6:.1f} MB are free"
    except OSError:
        free = "how much is free cannot be told"
    return (
        f"{name}: could not be written ({problem.strerror}; {free}); the training waits and goes on when there is room."
    )
