"""The command that goes on with a run, and what the list of runs says of one that was stopped or killed."""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inkcap.recipes import RunFolder, layout
from inkcap.zoo import mlp


def _trained(run: Callable[..., Any], folder: Path) -> RunFolder:
    mlp((2, 6, 2), "moons", last="softmax").save(folder / "moons.inkcap.json")
    words = ("train", "moons.inkcap.json", "--data", "moons", "--option", "n=60", "--epochs", 2, "--threads", 1)
    answer = run(*words, "--checkpoint", 5, "--quiet")
    assert answer.code == 0, answer.err
    return RunFolder.open(folder / "runs" / "moons-moons-0001")


def test_a_finished_run_goes_on_for_more_epochs(run: Callable[..., Any], tmp_path: Path) -> None:
    folder = _trained(run, tmp_path)
    assert folder.recipe().checkpoint == 5
    answer = run("resume", folder.id)
    assert answer.code == 2
    assert "is finished (all 2 epochs done); give more epochs to go on, such as --epochs 4" in answer.err
    answer = run("resume", folder.id, "--epochs", 3)
    assert answer.code == 0, answer.err
    assert "epoch 3/3" in answer.out
    assert "epoch 2/3" not in answer.out
    assert "note: resumed at step 2, to the same bits as if it had never stopped." in answer.out
    told = json.loads(run("resume", folder.id, "--epochs", 4, "--json").out)
    assert (told["epochs"], told["state"]) == (4, "finished")


def test_a_killed_run_is_shown_with_its_next_step(run: Callable[..., Any], tmp_path: Path) -> None:
    folder = _trained(run, tmp_path)
    with subprocess.Popen([sys.executable, "-c", ""]) as process:
        process.wait()
    folder.update(state="running", pid=process.pid, process="", weights_sha256="", best_sha256="", finished="")
    (folder.path / layout.SUMMARY).unlink()
    answer = run("runs")
    (line,) = answer.out.splitlines()
    assert "interrupted" in line
    assert line.endswith("next: inkcap resume moons-moons-0001")
    answer = run("resume", folder.id)
    assert answer.code == 0, answer.err
    again = RunFolder.open(folder.path)
    assert (again.record.state, again.record.reason) == ("finished", "all 2 epochs done")
    assert again.record.weights_sha256 == folder.record.weights_sha256


def test_a_run_that_is_not_there(run: Callable[..., Any]) -> None:
    answer = run("resume", "nothing-0001")
    assert answer.code == 2
    assert "there is no such run" in answer.err
