"""Sweeps over a cluster: the same trials, the same record, and none is lost with the machine that ran it."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from processes import wait_for

from inkcap.cluster import Cluster
from inkcap.cluster.sweeping import OnCluster, seen_anywhere
from inkcap.cluster.trials import look_for, train_trial
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe, RunFolder, list_runs
from inkcap.recipes.liveness import has_ended, mark_of, own_process
from inkcap.sweeps import (
    Runner,
    Sweep,
    SweepError,
    SweepListener,
    Trial,
    begin_sweep,
    find_sweep,
    plan_sweep,
    read_space,
)
from inkcap.training import train
from inkcap.zoo import mlp

RECIPE = Recipe(DataSpec("moons", {"n": 60}), epochs=2, optimiser=OptimiserSpec("adam", 0.01), batch=16)
LONG = replace(RECIPE, epochs=100_000, batch=1, checkpoint=1.0)


def begun(workspace: Path, site: OnCluster, recipe: Recipe, space: dict[str, Any], **more: Any) -> Sweep:
    tried = read_space(space, mlp((2, 6, 2), "moons", last="softmax"), recipe)
    return begin_sweep(workspace, plan_sweep(tried, workspace, name="tried", site=site, **more), tried)


class When(SweepListener):
    """Does something once a trial has a run that has trained for a while."""

    def __init__(self, runner: Callable[[], Runner], do: Callable[[RunFolder], None]) -> None:
        self.runner, self.do, self.done = runner, do, False

    def on_trial(self, trial: Trial) -> None:
        if trial.run and trial.state == "running" and not self.done:
            self.done = True
            folder = self.runner().workspace / "runs" / trial.run
            limit, before = time.monotonic() + 60, set(folder.glob("checkpoints/*"))
            while not set(folder.glob("checkpoints/*")) - before and time.monotonic() < limit:
                time.sleep(0.05)
            self.do(RunFolder.open(folder))


def run_until(sweep: Sweep, workspace: Path, site: OnCluster, do: Callable[[Runner, RunFolder], None]) -> Sweep:
    made: list[Runner] = []
    listener = When(lambda: made[0], lambda run: do(made[0], run))
    made.append(Runner(sweep, workspace, listener, 1, site))
    return made[0].run()


def parent_of(pid: int) -> int:
    return int(Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[1])


def test_halving_over_a_cluster_gives_the_bits_that_training_here_gives(cluster: Cluster, tmp_path: Path) -> None:
    site = OnCluster(cluster, RECIPE)
    space = {"recipe.optimiser.rate": {"from": 0.001, "to": 0.1, "scale": "log"}}
    sweep = begun(tmp_path, site, RECIPE, space, method="halving", trials=2, factor=2)
    assert (sweep.plan.at_once, sweep.plan.threads) == (min(cluster.cpus, 2), max(1, cluster.cpus // 2))
    ended = Runner(sweep, tmp_path, site=site).run()
    assert ended.state == "finished"
    assert sorted((trial.state, trial.epochs) for trial in ended.trials.values()) == [("done", 2), ("stopped", 1)]
    runs, damaged = list_runs(tmp_path)
    assert not damaged
    assert sorted(run.record.sweep for run in runs) == ["tried/1", "tried/2"]
    for run in runs:
        trial = ended.trials[int(run.record.sweep.partition("/")[2])]
        assert Counter(record.epoch for record in run.metrics().epochs()) == Counter(range(1, trial.epochs + 1))
    best = next(trial for trial in ended.trials.values() if trial.state == "done")
    drawing, recipe = ended.space().apply(best.values)
    here = train(drawing, replace(recipe, threads=sweep.plan.threads), tmp_path / "here")
    assert best.value == here.best_value
    assert best.scores["val_loss"] == here.values["val_loss"]


@pytest.mark.soak
def test_a_stopped_sweep_goes_on_with_its_trial_and_one_that_is_killed_is_interrupted(
    cluster: Cluster, tmp_path: Path
) -> None:
    site = OnCluster(cluster, LONG)
    sweep = begun(tmp_path, site, LONG, {"recipe.seed": [1]}, at_once=1)

    def wish(runner: Runner, run: RunFolder) -> None:
        runner.wish = 1

    stopped = run_until(sweep, tmp_path, site, wish)
    assert (stopped.state, stopped.trials[1].state) == ("stopped", "waiting")
    (run,), _ = list_runs(tmp_path)
    assert (run.record.state, run.record.reason) == ("interrupted", "stopped by SIGINT")
    before = len(run.metrics().epochs())

    def kill(runner: Runner, run: RunFolder) -> None:
        os.kill(run.record.pid, signal.SIGKILL)

    killed = run_until(find_sweep(tmp_path, "tried"), tmp_path, site, kill)
    assert (killed.state, killed.trials[1].state, killed.trials[1].run) == ("finished", "interrupted", run.id)
    assert killed.trials[1].reason == "the process ended without a word"
    told = Counter(record.epoch for record in run.metrics().epochs())
    assert len(told) > before
    assert set(told.values()) == {1}


def test_a_trial_whose_machine_is_lost_goes_on_from_its_checkpoint(
    cluster: Cluster, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    short = replace(LONG, epochs=150, batch=2)
    site = OnCluster(cluster, short)
    killed: list[tuple[int, str]] = []

    def lose(runner: Runner, run: RunFolder) -> None:
        # Its grandparent is the process of the task: with it goes what the cluster knows of the trial.
        killed.append((run.record.pid, run.record.process))
        os.kill(parent_of(parent_of(run.record.pid)), signal.SIGKILL)

    ended = run_until(begun(tmp_path, site, short, {"recipe.seed": [1]}, at_once=1), tmp_path, site, lose)
    assert killed
    assert (ended.state, ended.trials[1].state, ended.trials[1].epochs) == ("finished", "done", 150)
    (run,), _ = list_runs(tmp_path)
    assert run.record.pid != killed[0][0], "another process has gone on with it"
    assert has_ended(*killed[0])
    assert Counter(record.epoch for record in run.metrics().epochs()) == Counter(range(1, 151))
    assert capfd.readouterr().out == "", "Ray's own words would spoil what a program reads"


def test_a_sweep_that_is_killed_takes_its_trials_with_it_and_goes_on_without_the_cluster(
    cluster: Cluster, tmp_path: Path
) -> None:
    mlp((2, 6, 2), "moons", last="softmax").save(tmp_path / "moons.inkcap.json")
    words = ["sweep", "moons.inkcap.json", "--data", "moons", "--option", "n=60", "--epochs", "150", "--name", "tried"]
    words += ["--vary", "recipe.batch=2", "--cluster", cluster.address]
    with open(tmp_path / "said.txt", "wb") as said:
        sweep = subprocess.Popen([sys.executable, "-m", "inkcap", *words], cwd=tmp_path, stdout=said, stderr=said)
    limit = time.monotonic() + 120
    while not (going := [run for run in (tmp_path / "runs").glob("*") if any(run.glob("checkpoints/*/*"))]):
        assert sweep.poll() is None, (tmp_path / "said.txt").read_text()
        assert time.monotonic() < limit
        time.sleep(0.05)
    record = RunFolder.open(going[0]).record
    assert not has_ended(record.pid, record.process)
    sweep.kill()
    sweep.wait()
    wait_for(lambda: has_ended(record.pid, record.process))
    run = RunFolder.open(going[0])
    assert (run.record.state, run.record.reason) == ("interrupted", "stopped by SIGINT")
    assert find_sweep(tmp_path, "tried").state == "interrupted"
    ended = Runner(find_sweep(tmp_path, "tried"), tmp_path).run()
    assert (ended.state, ended.trials[1].state, ended.trials[1].run) == ("finished", "done", run.id)
    assert Counter(told.epoch for told in run.metrics().epochs()) == Counter(range(1, 151))


def test_a_process_is_looked_for_on_every_machine(cluster: Cluster) -> None:
    assert seen_anywhere(os.getpid(), own_process()) == "alive"
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE) as child:
        mark = mark_of(child.pid)
    assert seen_anywhere(child.pid, mark) == "ended"
    assert seen_anywhere(os.getpid(), "another:machine:1") == "elsewhere"
    assert look_for(os.getpid(), "another:machine:1", True) == "elsewhere", "it is not stopped here"
    site = OnCluster(cluster, RECIPE)
    assert site.find(child.pid, mark) is None
    found = site.find(os.getpid(), own_process())
    assert found is not None
    assert not found.own


def test_what_the_cluster_has_no_room_for_is_refused_before_anything_is_written(
    cluster: Cluster, tmp_path: Path
) -> None:
    site = OnCluster(cluster, RECIPE)
    with pytest.raises(SweepError, match="--at-once 99: a run takes 1 CPU, and the cluster has room for"):
        begun(tmp_path, site, RECIPE, {"recipe.seed": [1, 2]}, at_once=99)
    with pytest.raises(SweepError, match="--at-once 1: a run takes 99 CPU, and the cluster has room for 0 "):
        begun(tmp_path, site, replace(RECIPE, threads=99), {"recipe.seed": [1, 2]})
    with pytest.raises(SweepError, match="train in one process each"):
        OnCluster(cluster, replace(RECIPE, workers=2))
    assert list(tmp_path.iterdir()) == []


def test_a_machine_that_does_not_see_the_workspace_says_so(tmp_path: Path) -> None:
    folder = tmp_path / "sweeps" / "tried"
    told = train_trial(["train"], str(tmp_path), str(folder), {})
    assert told.startswith(f"{folder} is not there on the machine")
    assert "all machines of the cluster share" in told
