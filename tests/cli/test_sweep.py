"""Sweeps from the command line, with real runs in processes of their own."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from inkcap.drawing import load_drawing
from inkcap.recipes import RunFolder, list_runs, recipe_from_text
from inkcap.sweeps import Sweep, find_sweep
from inkcap.zoo import mlp

DATA = ("--data", "moons", "--option", "n=60")


@pytest.fixture
def drawn(tmp_path: Path) -> str:
    mlp((2, 6, 2), "moons", last="softmax").save(tmp_path / "moons.inkcap.json")
    return "moons.inkcap.json"


def begin(folder: Path, *words: object) -> subprocess.Popen[bytes]:
    with open(folder / "said.txt", "wb") as said:
        return subprocess.Popen(
            [sys.executable, "-m", "inkcap", *map(str, words)], cwd=folder, stdout=said, stderr=said
        )


def until(folder: Path, name: str, there: Callable[[Sweep], bool], process: subprocess.Popen[bytes]) -> Sweep:
    limit = time.monotonic() + 120
    while time.monotonic() < limit:
        if (folder / "sweeps" / name / "sweep.json").is_file() and there(sweep := find_sweep(folder, name)):
            return sweep
        assert process.poll() is None, (folder / "said.txt").read_text()
        time.sleep(0.02)
    raise AssertionError((folder / "said.txt").read_text())


def epochs_told(run: RunFolder) -> Counter[int]:
    return Counter(record.epoch for record in run.metrics().epochs())


def test_a_grid_with_points_that_are_not_possible(run: Callable[..., Any], tmp_path: Path, drawn: str) -> None:
    kinds = ("--vary", "recipe.optimiser.kind=adam,sgd", "--vary", "recipe.optimiser.beta1=0.8")
    # Three inputs are refused by the data, which have two; plain gradient descent has no beta1.
    sizes = ("--vary", "drawing.a.dimension=2,3")
    answer = run("sweep", drawn, *DATA, "--epochs", 2, *kinds, *sizes, "--name", "tried", "--apply", "--json")
    assert answer.code == 0, answer.err
    told = json.loads(answer.out)
    by = {trial["number"]: trial for trial in told["trials"]}
    assert [by[n]["state"] for n in (1, 2, 3, 4)] == ["done", "impossible", "impossible", "impossible"]
    assert "the optimiser sgd has no option 'beta1'" in by[3]["reason"]
    assert by[2]["reason"]
    assert told["best"] == 1
    assert told["trials"][0]["number"] == 1, "the best comes first"
    (whole,), _ = list_runs(tmp_path)
    assert (whole.record.sweep, whole.record.state, whole.recipe().threads) == ("tried/1", "finished", told["threads"])
    assert whole.summary()["best_value"] == by[1]["value"]
    best = recipe_from_text((tmp_path / "tried-best.recipe.json").read_bytes())
    assert (best.optimiser.options["beta1"], best.threads) == (0.8, 0)
    assert load_drawing(tmp_path / "tried-best.inkcap.json").to_text() == load_drawing(tmp_path / drawn).to_text()
    shown = run("sweeps", "tried").out
    assert "best: trial 1" in shown
    assert "not possible" in shown
    assert "next: inkcap evaluate moons-moons-0001" in shown
    assert "tried" in run("sweeps").out
    assert json.loads(run("sweeps", "--json").out)["sweeps"][0]["ended"] == 4


def test_halving_that_is_killed_goes_on_and_trains_no_epoch_twice(
    run: Callable[..., Any], tmp_path: Path, drawn: str
) -> None:
    words = ("--method", "halving", "--trials", 3, "--vary", "recipe.optimiser.rate=0.001..0.1 log")
    process = begin(tmp_path, "sweep", drawn, *DATA, "--epochs", 3, *words, "--name", "halved", "--at-once", 2)
    # Killed when two processes have begun: they end by themselves.
    sweep = until(tmp_path, "halved", lambda s: sum(t.state == "running" for t in s.trials.values()) == 2, process)
    process.kill()
    process.wait()
    assert find_sweep(tmp_path, "halved").state == "interrupted"
    answer = run("sweep", "--resume", "halved")
    assert answer.code == 0, answer.err
    assert "after 1 epoch: 1 of 3 go on" in answer.out
    sweep = find_sweep(tmp_path, "halved")
    assert sweep.state == "finished"
    assert sorted(trial.epochs for trial in sweep.trials.values()) == [1, 1, 3]
    runs, damaged = list_runs(tmp_path)
    assert not damaged
    assert sorted(run.record.sweep for run in runs) == ["halved/1", "halved/2", "halved/3"], "a run for each trial"
    for folder in runs:
        number = int(folder.record.sweep.partition("/")[2])
        assert epochs_told(folder) == Counter(range(1, sweep.trials[number].epochs + 1))
    stopped = next(folder for folder in runs if folder.record.state == "interrupted")
    assert stopped.record.reason == "paused after epoch 1 of 3"
    assert any((stopped.path / "checkpoints").iterdir()), "what is stopped can be gone on with"


def test_ctrl_c_stops_the_trials_kindly(tmp_path: Path, drawn: str) -> None:
    words = ("--vary", "recipe.batch=1,2", "--name", "stopped", "--at-once", 1)
    process = begin(tmp_path, "sweep", drawn, *DATA, "--epochs", 100_000, *words)
    until(tmp_path, "stopped", lambda s: any(t.run for t in s.trials.values()), process)
    os.kill(process.pid, signal.SIGINT)
    assert process.wait(60) == 0
    sweep = find_sweep(tmp_path, "stopped")
    assert (sweep.state, [trial.state for trial in sweep.trials.values()]) == ("stopped", ["waiting", "waiting"])
    (folder,), _ = list_runs(tmp_path)
    assert (folder.record.state, folder.record.reason) == ("interrupted", "stopped by SIGINT")
    assert "next: inkcap sweep --resume stopped" in (tmp_path / "said.txt").read_text()


@pytest.mark.parametrize(
    ("words", "told"),
    [
        ((), "something to vary"),
        (("--vary", "recipe.batch"), "write it as PATH=VALUES"),
        (("--vary", "recipe.batch=1", "--vary", "recipe.batch=2"), "given twice"),
        (("--vary", "recipe.bach=1"), "recipe has"),
        (("--vary", "recipe.batch=1,x"), "recipe.batch[1]: 'x' is not possible here"),
        (("--vary", "recipe.batch=1,2", "--method", "halving"), "give them, such as --epochs 9"),
        (("--vary", "recipe.batch=1,2", "--data", "monos"), "monos"),
        (("--resume", "nothing"), "the sweep has its drawing"),
    ],
)
def test_a_mistake_is_told_before_anything_starts(
    run: Callable[..., Any], tmp_path: Path, drawn: str, words: tuple[str, ...], told: str
) -> None:
    answer = run("sweep", drawn, *DATA, *words)
    assert answer.code == 2
    assert told in answer.err
    assert not (tmp_path / "sweeps").exists()
    assert not (tmp_path / "runs").exists()


def test_a_sweep_that_is_not_there(run: Callable[..., Any]) -> None:
    assert "no sweeps yet" in run("sweeps").out
    answer = run("sweep", "--resume", "nothing")
    assert answer.code == 2
    assert "there is no such sweep" in answer.err
    assert "sweep needs a drawing" in run("sweep").err
