"""The processes of a sweep: each trial is an ordinary run, in a process of its own that outlives the sweep."""

from __future__ import annotations

import subprocess
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import replace
from pathlib import Path
from typing import Any, cast

from inkcap.drawing import Drawing, to_text
from inkcap.recipes import Recipe, RunFolder, layout, recipe_to_text
from inkcap.recipes.apart import TRACE, complaint, start_apart
from inkcap.structures.atomic import write_atomic
from inkcap.structures.errors import InkcapError
from inkcap.sweeps.record import DRAWING, RECIPE, Sweep, Trial

STOPPED = "stopped"
"""What a command says that was interrupted before it began."""


def prepare(sweep: Sweep, trial: Trial, drawing: Drawing, recipe: Recipe) -> None:
    """Write what a trial is trained from."""
    folder = sweep.trial_folder(trial.number)
    folder.mkdir(parents=True, exist_ok=True)
    write_atomic(folder / DRAWING, to_text(drawing))
    write_atomic(folder / RECIPE, recipe_to_text(recipe))


def command_of(sweep: Sweep, trial: Trial, workspace: Path, until: int | None) -> list[str]:
    """Give the command that trains a trial, or goes on with its run, up to an epoch; it means the same anywhere."""
    folder = sweep.trial_folder(trial.number).absolute()
    if trial.run:
        command = ["resume", trial.run]
    else:
        command = ["train", str(folder / DRAWING), "--recipe", str(folder / RECIPE), "--sweep", sweep.tag(trial.number)]
    command += ["--workspace", str(workspace), "--json"]
    if until is not None:
        command += ["--until", str(until)]
    return command


def spawn(sweep: Sweep, trial: Trial, workspace: Path, until: int | None) -> subprocess.Popen[bytes]:
    """Train a trial, or go on with its run, up to an epoch."""
    return start_apart(command_of(sweep, trial, workspace, until), workspace, sweep.trial_folder(trial.number))


def words_of(sweep: Sweep, trial: Trial) -> str:
    """Give what the process of a trial had to complain about."""
    return complaint(sweep.trial_folder(trial.number))


class RunFinder:
    """Finds the runs of a sweep's trials among all runs; each folder is opened once."""

    def __init__(self, workspace: Path) -> None:
        """Know of none yet."""
        self.folder = workspace / layout.RUNS
        self._tags: dict[str, str] = {}

    def find(self, tag: str) -> RunFolder | None:
        """Give the run of a trial, the newest where there are several."""
        names = sorted(entry.name for entry in self.folder.iterdir()) if self.folder.is_dir() else []
        found = None
        for name in names:
            if name not in self._tags:
                with suppress(InkcapError):
                    self._tags[name] = RunFolder.open(self.folder / name).record.sweep
            if self._tags.get(name) == tag:
                found = name
        with suppress(InkcapError):
            return RunFolder.open(self.folder / found) if found else None
        return None


def harvest(trial: Trial, run: RunFolder | None, words: str, until: int | None) -> Trial:
    """Give a trial as it stands after its process has ended: reached when it has all the epochs it was to have."""
    if run is None:
        # What train refuses, it refuses in its own words, before there is a run.
        state = "impossible" if words and TRACE not in words else "failed"
        reason = words.splitlines()[-1] if words else "the process ended without a word"
        reason = words if state == "impossible" else reason
        if words == STOPPED:
            state = "interrupted"
        return replace(trial, state=state, reason=reason, pid=0, process="")
    found: dict[str, Any] = {"run": run.id, "pid": 0, "process": "", "reason": ""}
    record = run.record
    try:
        found.update(_measured(run, trial))
    except InkcapError as problem:
        return replace(trial, **{**found, "state": "failed", "reason": str(problem)})
    if record.state == "finished" or (until is not None and found["epochs"] >= until and record.state != "failed"):
        return replace(trial, state="reached", **found)
    found["reason"] = record.reason or words
    if record.state == "failed":
        return replace(trial, **{**found, "state": "failed", "value": None})
    return replace(trial, **{**found, "state": "interrupted"})


def _measured(run: RunFolder, trial: Trial) -> dict[str, Any]:
    """Give what a run has come to, of a killed one what its log says."""
    summary = run.summary()
    if not summary:
        epochs = run.metrics().epochs()
        return {"epochs": epochs[-1].epoch if epochs else trial.epochs}
    scores = cast("Mapping[str, float | None]", summary.get("values", {}))
    return {
        "epochs": summary.get("epochs", 0),
        "value": summary.get("best_value"),
        "best_epoch": summary.get("best_epoch", 0),
        "monitor": _monitor(str(summary.get("monitor", "")), scores),
        "scores": dict(scores),
    }


def _monitor(name: str, scores: Mapping[str, Any]) -> str:
    """Give the value that decides under the name that the run measures it by."""
    return f"val_{name}" if f"val_{name}" in scores else name


def never_began(run: RunFolder) -> bool:
    """Tell whether a run was ended before there was anything to go on from."""
    return not (run.path / layout.DATA).is_file()
