"""Sweeps: each is a process of its own, `inkcap sweep`, that outlives the studio, which reads its record."""

from __future__ import annotations

import asyncio
import secrets
from pathlib import Path
from typing import Any

from inkcap.drawing import SUFFIX, Drawing
from inkcap.recipes import Recipe
from inkcap.recipes.strict import dump
from inkcap.recipes.text import FORMAT, VERSION, recipe_from_json, recipe_to_text
from inkcap.structures.atomic import write_atomic
from inkcap.studio.hub import Hub, NotThere
from inkcap.studio.run_list import run_id
from inkcap.studio.sweep_models import PlacesRequest, SweepDetail, SweepRequest, SweepRow, TrialRow
from inkcap.studio.trainings import PATIENCE, TrainingError, ask_to_stop
from inkcap.studio.workspace import safe_stem
from inkcap.sweeps import Sweep, SweepError, Trial, in_short, open_sweep, plan_sweep, ranked, read_space
from inkcap.sweeps.processes import complaint, reap, start_apart
from inkcap.sweeps.record import NAME, SWEEPS
from inkcap.sweeps.running import highest

GONE = "There is no such sweep in this workspace."


def recipe_of(asked: PlacesRequest) -> Recipe:
    """Read the recipe that a request is about."""
    spec = {"name": asked.data} if isinstance(asked.data, str) else asked.data
    return recipe_from_json({"format": FORMAT, "version": VERSION, **asked.recipe, "data": spec}, "recipe")


async def start(hub: Hub, id: str, drawing: Drawing, asked: SweepRequest) -> str:
    """Start a sweep, and give its name once its record is there; what is wrong with it is told before."""
    recipe = recipe_of(asked)
    space = read_space(asked.space, drawing, recipe)
    given: dict[str, Any] = {"method": asked.method, "at_once": asked.at_once, "factor": asked.factor}
    plan = plan_sweep(space, hub.workspace, trials=asked.trials, **given)
    folder = hub.store.folder / "trainings" / secrets.token_hex(8)
    folder.mkdir(parents=True)
    drawn = folder / f"{safe_stem(drawing.name)}{SUFFIX}"
    write_atomic(drawn, drawing.to_text())
    write_atomic(folder / "recipe.json", recipe_to_text(recipe))
    write_atomic(folder / "space.json", dump(asked.space))
    command = ["sweep", str(drawn), "--recipe", str(folder / "recipe.json"), "--space", str(folder / "space.json")]
    command += ["--method", plan.method, "--name", plan.name, "--source", id, "--factor", str(plan.factor)]
    command += ["--at-once", str(plan.at_once)]
    if plan.method != "grid":
        command += ["--trials", str(plan.trials)]
    await _begun(hub, plan.name, [*command, "--workspace", str(hub.workspace), "--json"], folder, 0)
    return plan.name


async def resume(hub: Hub, sweep: Sweep) -> None:
    """Go on with a sweep, in a process of its own."""
    if sweep.state == "running":
        raise SweepError(f"{sweep.plan.name}: the sweep is running already.")
    folder = hub.store.folder / "trainings" / secrets.token_hex(8)
    folder.mkdir(parents=True)
    command = ["sweep", "--resume", sweep.plan.name, "--workspace", str(hub.workspace), "--json"]
    await _begun(hub, sweep.plan.name, command, folder, sweep.lines)


async def _begun(hub: Hub, name: str, command: list[str], folder: Path, lines: int) -> None:
    """Start the process and wait for its first line; one that ends without it has said why."""
    process = await asyncio.to_thread(start_apart, command, hub.workspace, folder)
    path = hub.workspace / SWEEPS / name
    for _ in range(int(PATIENCE / 0.1)):
        ended = process.poll() is not None
        if await asyncio.to_thread(_has_more, path, lines):
            reap(process)
            return
        if ended:
            raise TrainingError(complaint(folder) or "the sweep ended without a word")
        await asyncio.sleep(0.1)
    raise TrainingError(f"the sweep has not begun after {PATIENCE:.0f} seconds; it goes on, look at the sweeps later")


def _has_more(path: Path, lines: int) -> bool:
    try:
        return open_sweep(path).lines > lines
    except SweepError:
        return False


def stop(sweep: Sweep) -> None:
    """Ask a sweep to stop: its trials save what they have learnt."""
    if sweep.state != "running":
        raise SweepError(f"{sweep.plan.name}: the sweep is {sweep.state} already.")
    ask_to_stop(sweep.pid, f"the sweep {sweep.plan.name}")


def find(hub: Hub, name: str) -> Sweep:
    """Find a sweep by its name."""
    path = hub.workspace / SWEEPS / name
    if not NAME.fullmatch(name) or not path.is_dir():
        raise NotThere(GONE)
    return open_sweep(path)


def row(hub: Hub, sweep: Sweep) -> dict[str, Any]:
    """Tell of a sweep in short."""
    plan, recipe, trials = sweep.plan, sweep.recipe(), list(sweep.trials.values())
    there = bool(plan.source) and hub.store.row(plan.source) is not None
    return {
        **in_short(sweep, recipe),
        "drawing": plan.source if there else None,
        "drawn": plan.drawing,
        "data": recipe.data.name,
        "reason": sweep.reason,
        "running": sum(trial.state == "running" for trial in trials) if sweep.state == "running" else 0,
        "monitor": next((trial.monitor for trial in trials if trial.monitor), ""),
    }


def damaged_row(path: Path, problem: str) -> SweepRow:
    """Tell of a sweep that cannot be read."""
    return SweepRow(
        name=path.name, drawing=None, drawn="", data="", method="", state="damaged", reason=problem, created="",
        trials=0, ended=0, running=0, best=None, value=None, monitor="",
    )  # fmt: skip


def detail(hub: Hub, sweep: Sweep) -> SweepDetail:
    """Tell of a sweep with its trials."""
    recipe = sweep.recipe()
    trials = ranked(sweep.trials.values(), recipe)
    rows = [_trial(hub, sweep, trial, recipe.epochs) for trial in trials]
    plan = sweep.plan
    return SweepDetail(
        **row(hub, sweep), space=dict(plan.space), at_once=plan.at_once, threads=plan.threads, factor=plan.factor,
        highest=highest(recipe), rows=rows,
    )  # fmt: skip


def _trial(hub: Hub, sweep: Sweep, trial: Trial, wanted: int) -> TrialRow:
    """Tell of a trial; of one that goes on, what its run says now."""
    found: dict[str, Any] = {"epochs": trial.epochs, "value": trial.value, "scores": dict(trial.scores)}
    share = 0.0 if trial.state == "waiting" else 1.0
    state = trial.state
    if state == "running" and trial.run:
        run = hub.runs.row(trial.run)
        if run is not None:
            found = {"epochs": run.epoch, "value": run.best_value, "scores": dict(run.values)}
            share, wanted = run.share, run.epochs or wanted
    if state == "running" and sweep.state != "running":
        state = "interrupted"
    return TrialRow(
        number=trial.number, values=dict(trial.values), state=state, reason=trial.reason, run_name=trial.run,
        run=run_id(trial.run) if trial.run else "", rung=trial.rung, wanted=wanted, share=share,
        best_epoch=trial.best_epoch, **found,
    )  # fmt: skip
