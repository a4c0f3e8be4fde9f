"""Sweeps killed after every line of their record: each goes on to the same end, and no epoch is trained twice."""

from __future__ import annotations

import itertools
from collections import Counter
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest

from inkcap.drawing import Drawing
from inkcap.recipes import DataSpec, MetricWriter, OptimiserSpec, Recipe, RunFolder, layout, recipe_from_text
from inkcap.recipes.apart import ERRORS, TRACE, complaint
from inkcap.sweeps import Runner, SweepError, best_trial, find_sweep, list_sweeps, read_space, record, running, sites
from inkcap.sweeps.processes import harvest
from inkcap.sweeps.running import begin_sweep, plan_sweep


class Killed(BaseException):
    """The sweep's process is no more."""


class Trainer:
    """Stands for `inkcap train` and `inkcap resume`: makes real run folders, with a loss that follows the rate."""

    def __init__(self) -> None:
        self.told: Counter[tuple[str, int]] = Counter()
        self.most = 0

    def spawn(self, sweep: Any, trial: Any, workspace: Path, until: int | None) -> Trainer:
        recipe = recipe_from_text((sweep.trial_folder(trial.number) / "recipe.json").read_bytes())
        if trial.run:
            run = RunFolder.open(workspace / "runs" / trial.run)
        else:
            run = RunFolder.create(workspace, "drawn", "digits", sweep.tag(trial.number))
            for name in (layout.DRAWING, layout.RECIPE, layout.ENVIRONMENT, layout.DATA):
                run.write_text(name, "{}")
        losses = {}
        with MetricWriter(run.path / layout.METRICS) as log:
            done = log.count
            for epoch in range(done + 1, (until or recipe.epochs) + 1):
                self.told[sweep.tag(trial.number), epoch] += 1
                log.write("epoch", epoch, epoch, {"val_loss": self.loss(recipe, epoch)})
        epochs = until or recipe.epochs
        losses = {epoch: self.loss(recipe, epoch) for epoch in range(1, epochs + 1)}
        best = min(losses, key=lambda epoch: losses[epoch])
        summary = {"epochs": epochs, "best_epoch": best, "best_value": losses[best], "monitor": "loss"}
        run.write_json(layout.SUMMARY, {**summary, "values": {"val_loss": losses[epochs]}})
        run.update(state="finished" if epochs == recipe.epochs else "interrupted", reason="", finished=layout.now())
        return self

    @staticmethod
    def loss(recipe: Recipe, epoch: int) -> float:
        return abs(recipe.optimiser.rate - 0.02) + 1 / epoch

    pid = 4_000_000

    def poll(self) -> int:
        return 0


def drawn() -> Drawing:
    drawing = Drawing("drawn")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("a", "1D-tanh", dimension=4)
    drawing.then("y", "1D-softmax", dimension=2)
    return drawing


@pytest.fixture
def trainer(monkeypatch: pytest.MonkeyPatch) -> Trainer:
    trainer = Trainer()
    monkeypatch.setattr(sites, "spawn", trainer.spawn)
    monkeypatch.setattr(running, "LOOK_EVERY", 0.0)
    monkeypatch.setattr(record.os, "fsync", lambda _: None)
    return trainer


def begun(workspace: Path, method: str, **more: Any):
    workspace.mkdir(exist_ok=True)
    recipe = Recipe(DataSpec("digits"), epochs=4, optimiser=OptimiserSpec("adam", 0.01))
    over = [0.001, 0.01, 0.02, 0.5] if method == "grid" else {"from": 0.001, "to": 0.5, "scale": "log"}
    space = read_space({"recipe.optimiser.rate": over}, drawn(), recipe)
    trials = None if method == "grid" else 4
    plan = plan_sweep(space, workspace, method=method, trials=trials, at_once=2, factor=2, name="tried", **more)
    return begin_sweep(workspace, plan, space)


def ended(sweep: Any) -> list[tuple[Any, ...]]:
    trials = sorted(sweep.trials.values(), key=lambda trial: trial.number)
    return [(t.number, dict(t.values), t.state, t.epochs, t.value, t.rung) for t in trials]


@pytest.mark.parametrize("method", ["grid", "halving", "guided"])
def test_a_sweep_killed_after_any_line_comes_to_the_same_end(tmp_path, monkeypatch, trainer, method):
    whole = Runner(begun(tmp_path / "whole", method), tmp_path / "whole").run()
    assert whole.state == "finished"
    assert set(trainer.told.values()) == {1}
    write = record.SweepLog._write
    for moment in range(1, whole.lines + 1):
        workspace = tmp_path / str(moment)
        trainer.told.clear()
        count = itertools.count(1)

        def killing(self, kind, body, count=count, moment=moment):
            write(self, kind, body)
            if next(count) == moment:
                raise Killed

        monkeypatch.setattr(record.SweepLog, "_write", killing)
        with pytest.raises(Killed):
            Runner(begun(workspace, method), workspace).run()
        monkeypatch.setattr(record.SweepLog, "_write", write)
        again = Runner(find_sweep(workspace, "tried"), workspace).run()
        assert again.state == "finished"
        assert ended(again) == ended(whole), moment
        assert set(trainer.told.values()) == {1}, f"an epoch was trained twice after a kill at line {moment}"


def test_halving_keeps_the_better_half_and_never_trains_the_others_on(tmp_path, trainer):
    sweep = Runner(begun(tmp_path, "halving"), tmp_path).run()
    epochs = sorted(trial.epochs for trial in sweep.trials.values())
    assert epochs == [1, 1, 2, 4]
    assert sum(trainer.told.values()) == 8
    best = best_trial(sweep, sweep.recipe())
    assert best is not None
    near = min(sweep.trials.values(), key=lambda trial: abs(trial.values["recipe.optimiser.rate"] - 0.02))
    assert best.number == near.number
    assert [trial.state for trial in sweep.trials.values()].count("stopped") == 3


def test_a_torn_line_is_cut_off_and_what_was_before_it_counts(tmp_path, trainer):
    sweep = begun(tmp_path, "grid")
    with open(sweep.path / record.LOG, "ab") as log:
        log.write(b'{"seq":2,"kind":"trial"')
    torn = find_sweep(tmp_path, "tried")
    assert "line 2 is not whole" in torn.note
    assert len(torn.trials) == 4
    again = Runner(torn, tmp_path).run()
    assert again.state == "finished"
    assert again.note == ""


def test_two_processes_never_run_one_sweep(tmp_path, trainer):
    from inkcap.recipes.liveness import held

    sweep = begun(tmp_path, "grid")
    with (
        held(sweep.path, SweepError("held")),
        pytest.raises(SweepError, match="another process runs this sweep already"),
    ):
        Runner(sweep, tmp_path).run()


def test_a_run_that_failed_is_a_trial_that_failed(tmp_path, trainer, monkeypatch):
    spawn = trainer.spawn

    def failing(sweep, trial, workspace, until):
        made = spawn(sweep, trial, workspace, until)
        if trial.number == 2:
            run = next(run for run in (workspace / "runs").iterdir() if RunFolder.open(run).record.sweep == "tried/2")
            RunFolder.open(run).mark_failed("the loss became nan")
        return made

    monkeypatch.setattr(sites, "spawn", failing)
    sweep = Runner(begun(tmp_path, "grid"), tmp_path).run()
    assert [trial.state for trial in sweep.trials.values()] == ["done", "failed", "done", "done"]
    assert sweep.trials[2].reason == "the loss became nan"
    assert best_trial(sweep, sweep.recipe()).number == 3


def test_seeds_are_judged_by_their_mean(tmp_path, trainer, monkeypatch):
    def loss(recipe: Recipe, epoch: int) -> float:
        return {(8, 0): 0.1, (8, 1): 0.9, (16, 0): 0.3, (16, 1): 0.4}[recipe.batch, recipe.seed]

    monkeypatch.setattr(trainer, "loss", loss)
    recipe = Recipe(DataSpec("digits"), epochs=1)
    space = read_space({"recipe.batch": [8, 16], "recipe.seed": [0, 1]}, drawn(), recipe)
    sweep = begin_sweep(tmp_path, plan_sweep(space, tmp_path, at_once=1), space)
    sweep = Runner(sweep, tmp_path).run()
    best = best_trial(sweep, recipe)
    assert (best.values["recipe.batch"], best.value) == (16, 0.3)


def test_what_cannot_be_is_refused_before_anything_is_written(tmp_path, monkeypatch):
    recipe = Recipe(DataSpec("digits"), epochs=4)
    space = read_space({"recipe.batch": [8, 16]}, drawn(), recipe)
    monkeypatch.setattr(sites, "cores", lambda: 4)
    for words, given in (
        ("there is no 'annealing'", {"method": "annealing"}),
        ("a grid tries all its 2 points", {"trials": 7}),
        ("5 runs of 1 thread need more than the 4 cores", {"at_once": 5}),
        ("'../x' is no name for a sweep", {"name": "../x"}),
        ("--factor: one of 1 goes on", {"method": "halving", "factor": 1}),
    ):
        with pytest.raises(SweepError) as told:
            plan_sweep(space, tmp_path, **given)
        assert words in str(told.value)
    assert (plan_sweep(space, tmp_path).at_once, plan_sweep(space, tmp_path).threads) == (2, 2)
    threaded = read_space({"recipe.batch": [8, 16]}, drawn(), replace(recipe, threads=4))
    assert (plan_sweep(threaded, tmp_path).at_once, plan_sweep(threaded, tmp_path).threads) == (1, 4)
    impossible = read_space({"recipe.optimiser.kind": ["sgd"], "recipe.optimiser.beta1": [0.5]}, drawn(), recipe)
    with pytest.raises(SweepError, match="none of the 1 points can be trained"):
        begin_sweep(tmp_path, plan_sweep(impossible, tmp_path), impossible)
    assert list_sweeps(tmp_path) == ((), ())
    begin_sweep(tmp_path, plan_sweep(space, tmp_path, name="one"), space)
    with pytest.raises(SweepError, match="--resume one"):
        begin_sweep(tmp_path, plan_sweep(space, tmp_path, name="one"), space)


def test_a_trial_without_a_run_says_why(tmp_path):
    folder = tmp_path / "0001"
    folder.mkdir()
    trial = record.Trial(1, {})
    for said, state, reason in (
        ("inkcap: x: the data have 2 of them\n", "impossible", "x: the data have 2 of them"),
        ("inkcap: stopped\n", "interrupted", "stopped"),
        ("", "failed", "the process ended without a word"),
        (f"{TRACE}\n{'  somewhere' * 500}\nKeyError: 'x'\n", "failed", "KeyError: 'x'"),
    ):
        (folder / ERRORS).write_text(said, encoding="utf-8")
        found = harvest(trial, None, complaint(folder), None)
        assert (found.state, found.reason) == (state, reason)
