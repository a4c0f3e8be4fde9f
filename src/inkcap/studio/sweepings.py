"""Sweeps: each is a process of its own, `inkcap sweep`, that outlives the studio, which reads its record."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from inkcap.drawing import SUFFIX, Drawing
from inkcap.recipes import Recipe
from inkcap.recipes.liveness import interrupt
from inkcap.recipes.strict import dump
from inkcap.recipes.text import FORMAT, VERSION, recipe_from_json, recipe_to_text
from inkcap.studio import trainers
from inkcap.studio.hub import Hub, NotThere
from inkcap.studio.run_list import run_id
from inkcap.studio.sweep_models import PlacesRequest, SweepDetail, SweepRequest, SweepRow, TrialRow
from inkcap.studio.trainings import begin
from inkcap.studio.uploads import check_inside
from inkcap.studio.workspace import safe_stem, text
from inkcap.sweeps import Sweep, SweepError, Trial, in_short, open_sweep, plan_sweep, ranked, read_space
from inkcap.sweeps.record import SWEEPS, check_name
from inkcap.sweeps.running import highest

GONE = "There is no such sweep in this workspace."
DATA = "recipe.data.name"


def recipe_of(asked: PlacesRequest, workspace: Path) -> Recipe:
    """Read the recipe that a request is about."""
    spec = {"name": asked.data} if isinstance(asked.data, str) else asked.data
    chosen = recipe_from_json({"format": FORMAT, "version": VERSION, **asked.recipe, "data": spec}, "recipe")
    for path in filter(None, (chosen.data.name, chosen.init_from)):
        check_inside(path, workspace)
    return chosen


async def start(hub: Hub, id: str, drawing: Drawing, asked: SweepRequest) -> str:
    """Start a sweep, and give its name once its record is there; what is wrong with it is told before."""
    recipe = recipe_of(asked, hub.workspace)
    space = read_space(asked.space, drawing, recipe)
    # The data may be what is varied: a trial must not fetch what a training may not.
    for name in space.varied[DATA].grid() if DATA in space.varied else ():
        check_inside(name, hub.workspace)
    given: dict[str, Any] = {"method": asked.method, "at_once": asked.at_once, "factor": asked.factor}
    plan = plan_sweep(space, hub.workspace, trials=asked.trials, **given)
    drawn = f"{safe_stem(drawing.name)}{SUFFIX}"
    files = {drawn: drawing.to_text(), "recipe.json": recipe_to_text(recipe), "space.json": dump(asked.space)}
    options = ["--method", plan.method, "--name", plan.name, "--source", id, "--factor", str(plan.factor)]
    options += ["--at-once", str(plan.at_once)]
    if plan.method != "grid":
        options += ["--trials", str(plan.trials)]

    def command(folder: Path) -> list[str]:
        places = ["--recipe", str(folder / "recipe.json"), "--space", str(folder / "space.json")]
        return ["sweep", str(folder / drawn), *places, *options]

    await _begin(hub, plan.name, files, command, 0)
    return plan.name


async def resume(hub: Hub, sweep: Sweep) -> None:
    """Go on with a sweep, in a process of its own."""
    if sweep.state == "running":
        raise SweepError(f"{sweep.plan.name}: the sweep is running already.")
    await _begin(hub, sweep.plan.name, {}, lambda _: ["sweep", "--resume", sweep.plan.name], sweep.lines)


async def _begin(
    hub: Hub, name: str, files: Mapping[str, str], command: Callable[[Path], list[str]], lines: int
) -> None:
    """Start the process and wait for its first line; one that ends without it has said why."""
    trainer = await asyncio.to_thread(trainers.spawn, hub.store.folder, hub.workspace, "", files, command)
    path = hub.workspace / SWEEPS / name
    await begin(trainer, lambda: name if _has_more(path, lines) else None, lambda _: None, what="sweep")


def _has_more(path: Path, lines: int) -> bool:
    try:
        return open_sweep(path).lines > lines
    except SweepError:
        return False


def stop(sweep: Sweep) -> None:
    """Ask a sweep to stop: its trials save what they have learnt."""
    if sweep.state != "running":
        raise SweepError(f"{sweep.plan.name}: the sweep is {sweep.state} already.")
    if problem := interrupt(sweep.pid, sweep.process):
        raise SweepError(f"{sweep.plan.name}: the sweep could not be stopped: {problem}.")


def find(hub: Hub, name: str) -> Sweep:
    """Find a sweep by its name."""
    try:
        path = hub.workspace / SWEEPS / check_name(name)
    except SweepError:
        raise NotThere(GONE) from None
    if not path.is_dir() or path.is_symlink():
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
        name=text(path.name), drawing=None, drawn="", data="", method="", state="damaged", reason=text(problem),
        created="", trials=0, ended=0, running=0, best=None, value=None, monitor="",
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
