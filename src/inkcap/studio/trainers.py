"""The processes that train: each has a session of its own, outlives the studio, and is found again by the next one.

Whatever a studio starts has a folder beside its log until it ends: what it was started with, what it says, and which
process it is. A studio that comes after a crash reads there which drawing a run was started from.
"""

from __future__ import annotations

import json
import os
import secrets
import shutil
import signal
import subprocess
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from inkcap.recipes import RunFolder, layout
from inkcap.recipes.apart import OUT, complaint, start_apart
from inkcap.recipes.liveness import has_ended, mark_of
from inkcap.recipes.runfolder import KILLED
from inkcap.structures.atomic import write_atomic
from inkcap.structures.errors import InkcapError
from inkcap.studio.store import Store

FOLDER = "trainings"
STARTED = "started.json"
FORGOTTEN = 3600.0
"""Seconds after which a folder without a process is taken away: its studio was killed while it started one."""
LOOK_EVERY = 1.0
VMSTAT = Path("/proc/vmstat")
LIKELY_VICTIM = "800"
"""Where memory runs out the kernel ends a training before anything else, and never the studio."""
KINDNESS = 5
"""How far a training steps back where the processor is wanted by what answers people."""


@dataclass(frozen=True)
class Trainer:
    """A process that trains, and the folder beside the log that it was given."""

    folder: Path
    process: subprocess.Popen[bytes]

    @property
    def ended(self) -> bool:
        """Whether the process has ended."""
        return self.process.poll() is not None

    def complaint(self) -> str:
        """Give what it said before it ended, in its last words."""
        return complaint(self.folder)

    def await_end(self, run: Path | None) -> None:
        """Ask after its end in the background, or it stays in the list of processes; its folder goes then."""

        def wait() -> None:
            if self.process.wait() == -signal.SIGKILL and run is not None:
                note_shortage(self.folder, run)
            shutil.rmtree(self.folder, ignore_errors=True)

        # No worker of the pool, which would be missing elsewhere and would be waited for when the studio stops.
        threading.Thread(target=wait, name="training", daemon=True).start()


def spawn(
    home: Path, workspace: Path, drawing: str, files: Mapping[str, str], arguments: Callable[[Path], Sequence[str]]
) -> Trainer:
    """Start `inkcap` with arguments that may name the files, in a session of its own."""
    folder = home / FOLDER / secrets.token_hex(8)
    folder.mkdir(parents=True)
    for name, text in files.items():
        write_atomic(folder / name, text)
    known = {"drawing": drawing, "oom_kills": oom_kills()}
    _note(folder, **known, pid=0, process="")
    process = start_apart([*arguments(folder), "--workspace", str(workspace), "--json"], workspace, folder)
    _note(folder, **known, pid=process.pid, process=mark_of(process.pid))
    _step_back(process.pid)
    return Trainer(folder, process)


def oom_kills() -> int:
    """Count the processes that the kernel has ended for lack of memory since it started; 0 where it does not tell."""
    with suppress(OSError, ValueError, IndexError):
        for line in VMSTAT.read_text().splitlines():
            if line.startswith("oom_kill "):
                return int(line.split()[1])
    return 0


def note_shortage(folder: Path, run: Path) -> None:
    """Note with a run that was killed how many processes were ended for lack of memory since it was started."""
    before = _read(folder / STARTED).get("oom_kills")
    ended = oom_kills() - before if isinstance(before, int) else 0
    if ended > 0:
        with suppress(OSError):
            write_atomic(run / layout.SHORT, json.dumps({"ended": ended}))


def _note(folder: Path, **values: Any) -> None:
    write_atomic(folder / STARTED, json.dumps(values))


def _step_back(pid: int) -> None:
    """Let a training yield, where the platform can: its memory and its time go first when they are short."""
    with suppress(OSError):
        Path(f"/proc/{pid}/oom_score_adj").write_text(LIKELY_VICTIM)
    with suppress(OSError, AttributeError):
        own = os.getpriority(os.PRIO_PROCESS, 0)
        os.setpriority(os.PRIO_PROCESS, pid, own + KINDNESS)


class Earlier:
    """What an earlier studio has started: each run is told its drawing, and what has ended is tidied up."""

    def __init__(self, home: Path, runs: Path, store: Store) -> None:
        """Find what there is."""
        self._runs, self._store = runs, store
        self._told: set[Path] = set()
        self._looked = -LOOK_EVERY
        try:
            self._folders = [path for path in (home / FOLDER).iterdir() if path.is_dir()]
        except OSError:
            self._folders = []

    def look(self) -> None:
        """Look again, now and then: a training that was only loading its data has its run later."""
        if not self._folders or time.monotonic() - self._looked < LOOK_EVERY:
            return
        self._looked = time.monotonic()
        known = self._store.runs()
        names: dict[tuple[int, str], str] | None = None
        for folder in list(self._folders):
            started = _read(folder / STARTED)
            pid, process, drawing = started.get("pid"), started.get("process"), started.get("drawing")
            over = _is_over(folder, pid, process)
            if folder not in self._told and isinstance(drawing, str) and drawing:
                names = _by_process(self._runs) if names is None else names
                run = names.get((pid, process)) if isinstance(pid, int) and isinstance(process, str) else None
                run = run or _read(folder / OUT).get("run")
                if isinstance(run, str):
                    self._told.add(folder)
                    if run not in known:
                        self._store.note_run(run, drawing)
            if over:
                self._folders.remove(folder)
                self._explain(folder, pid, process)
                shutil.rmtree(folder, ignore_errors=True)

    def _explain(self, folder: Path, pid: object, process: object) -> None:
        names = _by_process(self._runs) if isinstance(pid, int) and isinstance(process, str) else {}
        if run := names.get((pid, process)):  # pyright: ignore[reportArgumentType]
            with suppress(InkcapError):
                if RunFolder.open(self._runs / run).record.reason == KILLED:
                    note_shortage(folder, self._runs / run)


def _is_over(folder: Path, pid: object, process: object) -> bool:
    if isinstance(pid, int) and pid > 0 and isinstance(process, str):
        return has_ended(pid, process)
    with suppress(OSError):
        return time.time() - folder.stat().st_mtime > FORGOTTEN
    return False


def _by_process(runs: Path) -> dict[tuple[int, str], str]:
    found: dict[tuple[int, str], str] = {}
    with suppress(OSError):
        for path in runs.iterdir():
            with suppress(InkcapError):
                record = RunFolder.open(path).record
                found[record.pid, record.process] = record.id
    return found


def _read(path: Path) -> dict[str, Any]:
    try:
        found: object = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}
