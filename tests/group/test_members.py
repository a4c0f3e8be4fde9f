"""Two real processes that train together, as torchrun starts them, beside one that trains alone."""

from __future__ import annotations

import json
import math
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

MEMBERS = Path(__file__).parents[1] / "support" / "members.py"
SHAPES = {"name": "shapes", "options": {"n": 23}}

CURVES: dict[str, dict[str, Any]] = {
    "copies": {"drawing": "plain"},
    "clipped": {"drawing": "plain", "recipe": {"clip": 0.05}, "optimiser": ["momentum", 0.1]},
    "explicit": {"drawing": "plain", "recipe": {"engine": "explicit"}},
    "sharded": {"drawing": "plain", "recipe": {"sharded": True}},
    "sharded layer by layer": {"drawing": "wide", "recipe": {"sharded": True}},
    "sharded and clipped": {
        "drawing": "plain",
        "recipe": {"sharded": True, "clip": 0.05},
        "optimiser": ["momentum", 0.1],
    },
    "jointly normalised": {"drawing": "normalised", "recipe": {"joint_norm": True}},
    "jointly normalised and sharded": {"drawing": "normalised", "recipe": {"joint_norm": True, "sharded": True}},
    "one sample left": {"drawing": "plain", "recipe": {"batch": 24}},
}
"""Of 121 training samples batches of 15 leave 1, and so do batches of 24: one of two members has none of them."""
MEASURED: dict[str, dict[str, Any]] = {
    "detections": {
        "drawing": "narrow",
        "data": SHAPES,
        "recipe": {"batch": 6, "epochs": 1},
        "optimiser": ["sgd", 1e-9],
    },
}
TOGETHER: dict[str, dict[str, Any]] = {
    **CURVES,
    **MEASURED,
    "again": {"drawing": "dropping"},
    "and again": {"drawing": "dropping"},
    "paused": {"drawing": "dropping", "until": 1},
    "gone on": {"resume": "paused"},
    "sharded, paused": {"drawing": "dropping", "recipe": {"sharded": True}, "until": 2},
    "sharded, gone on": {"resume": "sharded, paused"},
    "sharded, whole": {"drawing": "dropping", "recipe": {"sharded": True}},
    "parted": {"drawing": "normalised"},
    "batch of one": {"drawing": "plain", "recipe": {"batch": 1}},
    "few to normalise": {"drawing": "normalised", "recipe": {"batch": 3}},
    "signals": {"drawing": "plain", "recipe": {"sharded": True, "signals": True}},
    "pretrained": {"drawing": "stacked", "recipe": {"pretrain": 1}},
    "compiled": {"drawing": "plain", "recipe": {"engine": "compiled", "epochs": 1}},
    "no such data": {"drawing": "plain", "data": {"name": "nothing.csv"}},
    "diverging": {
        "drawing": "straight",
        "data": {"name": "diabetes"},
        "optimiser": ["sgd", 900.0],
        "recipe": {"epochs": 60},
    },
}


def start(folder: Path, cases: dict[str, Any], members: int) -> dict[str, Any]:
    """Let cases be trained by so many processes, and give what came of each."""
    (folder / "cases.json").write_text(json.dumps(cases))
    command = [sys.executable, str(MEMBERS), str(folder), str(folder / "cases.json")]
    if members > 1:
        launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(members)]
        command = [sys.executable, *launch, *command[1:]]
    variables = {**os.environ, "OMP_NUM_THREADS": "1"}
    done = subprocess.run(command, env=variables, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stderr[-4000:]
    return json.loads((folder / "results.json").read_text())


@pytest.fixture(scope="module")
def folders(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Path]:
    return {name: tmp_path_factory.mktemp(name) for name in ("together", "alone")}


@pytest.fixture(scope="module")
def together(folders: dict[str, Path]) -> dict[str, Any]:
    return start(folders["together"], TOGETHER, 2)


@pytest.fixture(scope="module")
def alone(folders: dict[str, Path], together: dict[str, Any]) -> dict[str, Any]:
    single: dict[str, Any] = {name: dict(case) for name, case in {**CURVES, **MEASURED}.items()}
    for case in single.values():
        case["recipe"] = {k: v for k, v in case.get("recipe", {}).items() if k not in ("sharded", "joint_norm")}
    single["new"] = {"drawing": "dropping"}
    single["one of two"] = {"resume": str(folders["together"] / "runs" / together["again"]["run"]), "epochs": 4}
    return start(folders["alone"], single, 1)


@pytest.mark.parametrize("name", CURVES)
def test_two_workers_follow_the_loss_of_one_process(name: str, together: dict[str, Any], alone: dict[str, Any]) -> None:
    two, one = together[name], alone[name]
    assert two["state"] == one["state"] == "finished"
    assert len(two["steps"]) == len(one["steps"]) > 10
    assert two["steps"] == pytest.approx(one["steps"], rel=0, abs=1e-6)
    for left, right in zip(two["epochs"], one["epochs"], strict=True):
        assert left == pytest.approx(right, rel=0, abs=1e-6)
    assert two["environment"]["workers"] == 2
    assert "workers" not in one["environment"]


@pytest.mark.parametrize("name", MEASURED)
def test_what_is_measured_of_all_parts_is_what_one_process_measures(
    name: str, together: dict[str, Any], alone: dict[str, Any]
) -> None:
    # The losses of boxes look at a whole batch, but what is found does not.
    two, one = together[name]["epochs"][0], alone[name]["epochs"][0]
    assert two.keys() == one.keys()
    assert all(math.isfinite(value) for value in two.values())
    assert two["val_map"] == pytest.approx(one["val_map"], abs=1e-4)


def test_repeated_they_come_to_the_same_bits(together: dict[str, Any]) -> None:
    for name in ("steps", "epochs", "weights.safetensors", "best.safetensors"):
        assert together["again"][name] == together["and again"][name]


def test_going_on_comes_to_the_same_bits_as_never_having_stopped(together: dict[str, Any]) -> None:
    for whole, parts in (("again", "gone on"), ("sharded, whole", "sharded, gone on")):
        assert together[parts]["state"] == "finished"
        assert any("to the same bits" in note and "not to" not in note for note in together[parts]["notes"])
        for name in ("steps", "epochs", "weights.safetensors", "best.safetensors"):
            assert together[whole][name] == together[parts][name], name


def test_another_number_of_workers_goes_on_and_says_so(alone: dict[str, Any]) -> None:
    assert alone["one of two"]["state"] == "finished"
    assert any("workers 2 → 1" in note for note in alone["one of two"]["notes"]), alone["one of two"]["notes"]


@pytest.mark.soak
def test_three_workers_go_on_with_the_run_of_one_and_say_so(folders: dict[str, Path], alone: dict[str, Any]) -> None:
    found = start(folders["alone"], {"three": {"resume": alone["new"]["run"], "epochs": 4}}, 3)["three"]
    assert any("workers 1 → 3" in note for note in found["notes"]), found["notes"]
    assert len(found["epochs"]) == 4


def test_parts_that_are_normalised_apart_are_another_network(together: dict[str, Any], alone: dict[str, Any]) -> None:
    apart, joint = together["parted"]["steps"], alone["jointly normalised"]["steps"]
    assert max(abs(a - b) for a, b in zip(apart, joint, strict=False)) > 1e-4


@pytest.mark.parametrize(
    ("name", "words"),
    [
        ("batch of one", "2 workers cannot share a batch of 1"),
        ("few to normalise", "shared by 2 workers"),
        ("signals", "signals needs all weights in one process"),
        ("pretrained", "pre-trained in one process"),
        ("no such data", "nothing.csv"),
        ("diverging", "the loss became"),
    ],
)
def test_what_cannot_be_is_told_by_all(name: str, words: str, together: dict[str, Any]) -> None:
    assert all(words in problem for problem in together[name]["problems"]), together[name]["problems"]


@pytest.mark.soak
def test_members_that_finish_end_well_on_a_busy_machine(tmp_path: Path) -> None:
    # A thread of gloo that outlived the interpreter aborted every other launch, whatever had come of the run.
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(3)]
    cases = {name: CURVES[name] for name in ("copies", "jointly normalised and sharded")}
    try:
        for launch in range(20):
            folder = tmp_path / str(launch)
            folder.mkdir()
            assert start(folder, cases, 2)["copies"]["state"] == "finished"
    finally:
        for process in busy:
            process.kill()
            process.wait()


def test_another_engine_is_said_to_be_left_out(together: dict[str, Any]) -> None:
    assert any("steps are eager, not compiled" in note for note in together["compiled"]["notes"])
