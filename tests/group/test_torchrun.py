"""The command under torchrun: what is lost is started again, what is asked to stop stops, and nothing stays behind."""

from __future__ import annotations

import json
import os
import random
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from inkcap.drawing import Drawing
from inkcap.recipes import list_runs
from inkcap.recipes.steering import pause

KILLS = 3
LONG = 100_000
"""Epochs of a run that does not end by itself."""
LAUNCH = (sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2")


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    drawing = Drawing("shared")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("a", "1D-tanh", dimension=16)
    drawing.then("y", "1D-softmax", dimension=2)
    drawing.wear("a", "dropout", probability=0.2)
    (tmp_path / "shared.inkcap.json").write_text(drawing.to_text())
    return tmp_path


def launch(workspace: Path, *words: str, restarts: int = 0) -> subprocess.Popen[str]:
    """Start the command twice, as torchrun does."""
    train = ["-m", "inkcap", *words, "--json"]
    return subprocess.Popen(
        [*LAUNCH, "--max-restarts", str(restarts), *train],
        cwd=workspace,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        start_new_session=True,
    )


def training(epochs: int) -> tuple[str, ...]:
    data = ("--data", "moons", "--option", "n=400")
    return ("train", "shared.inkcap.json", *data, "--batch", "16", "--epochs", str(epochs), "--checkpoint", "0.05")


def members(launcher: int) -> list[int]:
    """Find the processes that torchrun has started."""
    found: list[int] = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                words = (entry / "stat").read_text().rpartition(")")[2].split()
                variables = (entry / "environ").read_bytes()
            except (OSError, IndexError):
                continue
            if int(words[1]) == launcher and words[0] not in "ZX" and b"LOCAL_RANK=" in variables:
                found.append(int(entry.name))
    return sorted(found)


def steps_of(workspace: Path) -> int:
    runs = list_runs(workspace)[0]
    return len(runs[-1].metrics().records) if runs else 0


def wait_for(found: Any, seconds: float = 300) -> Any:
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        if value := found():
            return value
        time.sleep(0.02)
    raise AssertionError("it did not come to that")


def ended(process: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, err = process.communicate(timeout=300)
    return process.returncode, out, err


@pytest.fixture
def started(workspace: Path) -> Iterator[list[subprocess.Popen[str]]]:
    processes: list[subprocess.Popen[str]] = []
    yield processes
    for process in processes:
        if process.poll() is None:
            os.killpg(process.pid, signal.SIGKILL)


def kill_some(workspace: Path, process: subprocess.Popen[str], kills: int, chance: random.Random) -> None:
    """Kill one of the members, at a moment when they train, as often as is asked for."""
    for _ in range(kills):
        before = steps_of(workspace)
        wait_for(lambda before=before: steps_of(workspace) > before)
        pair = members(process.pid)
        time.sleep(chance.random() * 0.5)
        os.kill(chance.choice(pair), signal.SIGKILL)
        wait_for(lambda pair=pair: process.poll() is not None or not set(members(process.pid)) & set(pair))


def check_killed(workspace: Path, started: list[subprocess.Popen[str]], kills: int, seed: int) -> None:
    """Kill members, then pause all of them and let them go on: it must come to what an undisturbed run comes to."""
    process = launch(workspace, *training(LONG), restarts=kills + 1)
    started.append(process)
    try:
        kill_some(workspace, process, kills, random.Random(seed))  # noqa: S311
        before = steps_of(workspace)
        wait_for(lambda: steps_of(workspace) > before)
    except AssertionError:
        os.killpg(process.pid, signal.SIGKILL)
        print(*ended(process))
        raise
    (run,) = list_runs(workspace)[0]
    pause(run)
    code, out, err = ended(process)
    assert code == 0, err[-3000:]
    assert list_runs(workspace)[0][0].record.standing == "paused"
    epochs = json.loads(out)["epochs"] + 2
    more = launch(workspace, "resume", run.id, "--epochs", str(epochs))
    started.append(more)
    code, out, err = ended(more)
    assert code == 0, err[-3000:]
    result = json.loads(out)
    assert (result["state"], result["epochs"]) == ("finished", epochs)
    assert any("to the same bits as if it had never stopped" in note for note in result["notes"])
    (killed,) = list_runs(workspace)[0]
    assert not list(killed.path.rglob("*.tmp*"))
    whole = launch(workspace, *training(epochs))
    started.append(whole)
    assert ended(whole)[0] == 0
    undisturbed = list_runs(workspace)[0][-1]
    for name in ("weights.safetensors", "best.safetensors", "metrics.jsonl"):
        assert (killed.path / name).read_bytes() == (undisturbed.path / name).read_bytes(), name
    assert len(json.loads((killed.path / "resumes.json").read_text())["resumes"]) == kills + 1


def test_members_that_are_killed_and_paused_cost_no_bit(workspace: Path, started: list[subprocess.Popen[str]]) -> None:
    check_killed(workspace, started, KILLS, seed=1)


@pytest.mark.soak
def test_twenty_members_that_are_killed_cost_no_bit(workspace: Path, started: list[subprocess.Popen[str]]) -> None:
    check_killed(workspace, started, 20, seed=2)
