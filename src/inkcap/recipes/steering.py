"""Steering a run from outside: whoever can read its folder pauses or stops the process that writes it."""

import time
from contextlib import suppress

from inkcap.recipes import layout
from inkcap.recipes.errors import RunFolderError
from inkcap.recipes.liveness import interrupt
from inkcap.recipes.runfolder import RunFolder

GOING = ("created", "running")
PAUSE, STOP = "pause", "stop"
IMPATIENCE = 5.0
"""Seconds until a second wish is sent too: to the process it means to end at once, with less saved."""


def pause(run: RunFolder) -> None:
    """Let a run save all that it stands at and end its process, to go on later."""
    _ask(run, PAUSE, "paused")


def stop(run: RunFolder) -> None:
    """Stop a run as Ctrl-C does: what it has learnt is kept."""
    _ask(run, STOP, "stopped")


def take_wish(run: RunFolder) -> str:
    """Take away what was asked of a run, and tell what it was."""
    path = run.path / layout.WISH
    wish = ""
    with suppress(OSError):
        wish = path.read_text(encoding="utf-8")
    with suppress(OSError):
        path.unlink()
    return wish


def _ask(run: RunFolder, wish: str, what: str) -> None:
    if run.record.state not in GOING:
        raise RunFolderError(f"{run.id}: the run is {run.record.standing} already, so it cannot be {what}.")
    path = run.path / layout.WISH
    try:
        heard = abs(time.time() - path.stat().st_mtime) < IMPATIENCE
    except OSError:
        heard = False
    # On a full disk there is no word of a pause, and the run is just stopped: it goes on all the same.
    with suppress(OSError):
        path.write_text(wish, encoding="utf-8")
    if not heard and (problem := interrupt(run.record.pid, run.record.process)):
        take_wish(run)
        raise RunFolderError(f"{run.id}: the run could not be {what}: {problem}.")
