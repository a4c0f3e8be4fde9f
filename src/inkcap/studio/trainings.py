"""Runs: each is a process of its own, `inkcap train`, that outlives the studio, which reads what it writes."""

from __future__ import annotations

import asyncio
import hashlib
import math
import os
import secrets
import signal
import subprocess
import sys
from collections.abc import Iterable, Mapping
from functools import lru_cache
from pathlib import Path
from typing import Any

from inkcap.drawing import SUFFIX, Drawing
from inkcap.recipes import RunFolder, list_runs, recipe_to_json
from inkcap.recipes.layout import METRICS
from inkcap.recipes.metrics import MetricRecord, read_log
from inkcap.recipes.text import FORMAT, VERSION, recipe_from_json, recipe_to_text
from inkcap.structures.atomic import write_atomic
from inkcap.structures.errors import InkcapError
from inkcap.studio.hub import Hub, NotThere
from inkcap.studio.models import RunDetail, RunRow
from inkcap.studio.workspace import safe_stem

PATIENCE = 90.0
"""Seconds that a training may take to load its data and begin; what goes wrong until then is told at once."""
LONGEST_ERROR = 2_000


class TrainingError(InkcapError):
    """A training that could not be started, in its own words."""


def run_id(folder: str) -> str:
    """Give the id under which the API knows a run."""
    return hashlib.sha256(folder.encode()).hexdigest()[:16]


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
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive"}
    command = [sys.executable, "-m", "inkcap", "train", str(drawn), "--recipe", str(folder / "recipe.json")]
    with open(folder / "out.txt", "wb") as out, open(folder / "errors.txt", "wb") as errors:
        # In a session of its own: neither Ctrl-C in the studio's terminal nor the studio's end reaches it.
        return subprocess.Popen(  # noqa: S603
            [*command, "--workspace", str(workspace), "--json"],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            env=environment,
            cwd=workspace,
            start_new_session=True,
        )


async def _begun(hub: Hub, process: subprocess.Popen[bytes], folder: Path) -> str:
    """Wait for the run's folder; a process that ends without one has said why."""
    known: set[str] = set()
    for _ in range(int(PATIENCE / 0.1)):
        ended = process.poll() is not None
        for run in await asyncio.to_thread(lambda: _new_runs(hub.workspace, known)):
            if run.record.pid == process.pid:
                # Its end must be asked after, or it stays in the list of processes.
                asyncio.get_running_loop().run_in_executor(None, process.wait)
                return run.id
        if ended:
            text = (folder / "errors.txt").read_text(encoding="utf-8", errors="replace").strip()
            raise TrainingError(text[-LONGEST_ERROR:].removeprefix("inkcap: ") or "the training ended without a word")
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


def find(hub: Hub, id: str) -> RunFolder:
    """Find a run by the API's id."""
    for run in list_runs(hub.workspace)[0]:
        if run_id(run.id) == id:
            return run
    raise NotThere("There is no such run in this workspace.")


def stop(run: RunFolder) -> None:
    """Ask a run to stop, as Ctrl-C does: what it has learnt is kept."""
    if run.record.state not in ("created", "running"):
        raise TrainingError(f"the run {run.id} is {run.record.state} already")
    try:
        os.kill(run.record.pid, signal.SIGINT if os.name == "posix" else signal.SIGTERM)
    except OSError as error:
        raise TrainingError(f"the run {run.id} could not be stopped: {error.strerror}") from None


def rows(hub: Hub, drawing: str | None) -> list[RunRow]:
    """List the runs of the workspace, the newest first, or those of one drawing."""
    started = hub.store.runs()
    found = reversed(list_runs(hub.workspace)[0])
    listed = [_row(run, started.get(run.id)) for run in found if drawing is None or started.get(run.id) == drawing]
    return listed


def _row(run: RunFolder, drawing: str | None) -> RunRow:
    epochs = [record for record in _metrics(run) if record.kind == "epoch"]
    try:
        wanted = run.recipe().epochs
    except InkcapError:
        wanted = 0
    last: Mapping[str, float] = epochs[-1].values if epochs else {}
    values = {name: value if math.isfinite(value) else None for name, value in last.items()}
    return RunRow(
        id=run_id(run.id),
        name=run.id,
        drawing=drawing,
        state=run.record.state,
        reason=run.record.reason,
        created=run.record.created,
        epoch=epochs[-1].epoch if epochs else 0,
        epochs=wanted,
        values=values,
    )


def detail(hub: Hub, run: RunFolder, points: int) -> RunDetail:
    """Give a run with its curves, thinned out to so many points each."""
    row = _row(run, hub.store.runs().get(run.id))
    summary = dict(run.summary()) or None
    recipe = recipe_to_json(run.recipe())
    return RunDetail(**row.model_dump(), recipe=recipe, summary=summary, series=series_of(_metrics(run), points))


def _metrics(run: RunFolder) -> tuple[MetricRecord, ...]:
    path = run.path / METRICS
    try:
        size = path.stat().st_size
    except OSError:
        return ()
    return _read_metrics(path, size)


@lru_cache(maxsize=64)
def _read_metrics(path: Path, _size: int) -> tuple[MetricRecord, ...]:
    return read_log(path).records


def series_of(records: Iterable[MetricRecord], points: int) -> dict[str, list[tuple[float, float]]]:
    """Give each value's curve over the steps; what a step and an epoch both measure is taken from the steps."""
    found: dict[tuple[str, str], list[tuple[float, float]]] = {}
    for record in records:
        for name, value in record.values.items():
            if math.isfinite(value):
                found.setdefault((name, record.kind), []).append((record.step, value))
    names = dict.fromkeys(name for name, _ in found)
    chosen = {name: found.get((name, "step")) or found[name, "epoch"] for name in names}
    return {name: thinned(curve, points) for name, curve in chosen.items()}


def thinned(curve: list[tuple[float, float]], points: int) -> list[tuple[float, float]]:
    """Keep the lowest and the highest point of each stretch, so that no spike is lost."""
    if len(curve) <= points:
        return curve
    stretch = math.ceil(len(curve) / max(points // 2, 1))
    kept: list[tuple[float, float]] = []
    for first in range(0, len(curve), stretch):
        part = curve[first : first + stretch]
        low, high = min(part, key=lambda p: p[1]), max(part, key=lambda p: p[1])
        kept += [low] if low == high else sorted((low, high))
    if kept[-1] != curve[-1]:
        kept.append(curve[-1])
    return kept
