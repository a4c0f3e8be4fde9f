"""Runs: each is a process of its own, `inkcap train`, that outlives the studio, which reads what it writes."""

from __future__ import annotations

import asyncio
import os
import secrets
import signal
import subprocess
from pathlib import Path
from typing import Any

from inkcap.drawing import SUFFIX, Drawing
from inkcap.recipes import RunFolder
from inkcap.recipes.text import FORMAT, VERSION, recipe_from_json, recipe_to_text
from inkcap.structures.atomic import write_atomic
from inkcap.structures.errors import InkcapError
from inkcap.studio.hub import Hub
from inkcap.studio.run_list import run_id
from inkcap.studio.workspace import safe_stem
from inkcap.sweeps.processes import complaint, reap, start_apart

PATIENCE = 90.0
"""Seconds that a training may take to load its data and begin; what goes wrong until then is told at once."""


class TrainingError(InkcapError):
    """A training that could not be started, in its own words."""


async def start(hub: Hub, id: str, drawing: Drawing, data: str | dict[str, Any], recipe: dict[str, Any]) -> str:
    """Start to train, and give the run's id once its folder is there."""
    spec = {"name": data} if isinstance(data, str) else data
    # A recipe that exists is a possible one: whatever is wrong with it is told here, before anything starts.
    chosen = recipe_from_json({"format": FORMAT, "version": VERSION, **recipe, "data": spec}, "recipe")
    folder = hub.store.folder / "trainings" / secrets.token_hex(8)
    folder.mkdir(parents=True)
    drawn = folder / f"{safe_stem(drawing.name)}{SUFFIX}"
    write_atomic(drawn, drawing.to_text())
    write_atomic(folder / "recipe.json", recipe_to_text(chosen))
    process = await asyncio.to_thread(_spawn, folder, drawn, hub.workspace)
    found = await _begun(hub, process, folder)
    hub.store.note_run(found, id)
    return run_id(found)


def _spawn(folder: Path, drawn: Path, workspace: Path) -> subprocess.Popen[bytes]:
    command = ["train", str(drawn), "--recipe", str(folder / "recipe.json"), "--workspace", str(workspace), "--json"]
    return start_apart(command, workspace, folder)


async def _begun(hub: Hub, process: subprocess.Popen[bytes], folder: Path) -> str:
    """Wait for the run's folder; a process that ends without one has said why."""
    known: set[str] = set()
    for _ in range(int(PATIENCE / 0.1)):
        ended = process.poll() is not None
        for run in await asyncio.to_thread(lambda: _new_runs(hub.workspace, known)):
            if run.record.pid == process.pid:
                reap(process)
                return run.id
        if ended:
            raise TrainingError(complaint(folder) or "the training ended without a word")
        await asyncio.sleep(0.1)
    raise TrainingError(f"the training has not begun after {PATIENCE:.0f} seconds; it goes on, look at the runs later")


def _new_runs(workspace: Path, known: set[str]) -> list[RunFolder]:
    folder = workspace / "runs"
    names = {entry.name for entry in folder.iterdir() if entry.is_dir()} - known if folder.is_dir() else set[str]()
    found: list[RunFolder] = []
    for name in names:
        try:
            found.append(RunFolder.open(folder / name))
        except InkcapError:
            continue
        known.add(name)
    return found


def stop(run: RunFolder) -> None:
    """Ask a run to stop, as Ctrl-C does: what it has learnt is kept."""
    if run.record.state not in ("created", "running"):
        raise TrainingError(f"the run {run.id} is {run.record.state} already")
    ask_to_stop(run.record.pid, f"the run {run.id}")


def ask_to_stop(pid: int, what: str) -> None:
    """Send a process what Ctrl-C sends."""
    try:
        os.kill(pid, signal.SIGINT if os.name == "posix" else signal.SIGTERM)
    except OSError as error:
        raise TrainingError(f"{what} could not be stopped: {error.strerror}") from None
