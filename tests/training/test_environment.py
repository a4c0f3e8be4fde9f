"""Devices, determinism, and the record of both."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
import torch

from inkcap.recipes.apart import ASLEEP, WAITING, busy_share, waiting
from inkcap.training.engines.choice import Choice
from inkcap.training.environment import choose_device, describe_environment, prepare_environment, steady
from inkcap.training.errors import TrainingError
from inkcap.training.facts import CapsuleFacts, NetworkFacts


def facts(*dtypes: str, compiled: bool = False) -> NetworkFacts:
    return NetworkFacts(tuple(CapsuleFacts("x", "data", (1,), dtype) for dtype in dtypes), (), compiled)


def test_devices(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: False)
    assert choose_device("auto", facts("float32")).type == "cpu"
    with pytest.raises(TrainingError, match="no cuda device"):
        choose_device("cuda", facts("float32"))
    with pytest.raises(TrainingError, match="no mps device"):
        choose_device("mps", facts("float32"))
    monkeypatch.setattr(torch.backends.mps, "is_available", lambda: True)
    assert choose_device("auto", facts("float32")).type == "mps"
    assert choose_device("auto", facts("float64")).type == "cpu"
    with pytest.raises(TrainingError, match="float64"):
        choose_device("mps", facts("float32", "float64"))
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    assert choose_device("auto", facts("float64")).type == "cuda"
    assert choose_device("auto", facts("float64", compiled=True)).type == "cpu"
    with pytest.raises(TrainingError, match="on the cpu, not on cuda"):
        choose_device("cuda", facts("float32", compiled=True))


def test_everything_is_as_it_was_afterwards() -> None:
    before = (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled(), torch.random.get_rng_state())
    with steady(7, 1, torch.device("cpu")) as threads:
        assert threads == torch.get_num_threads() == 1
        assert torch.are_deterministic_algorithms_enabled()
        torch.rand(1)
        facts = describe_environment(torch.device("cpu"), Choice(threads=threads))
    assert before[:2] == (torch.get_num_threads(), torch.are_deterministic_algorithms_enabled())
    assert torch.equal(before[2], torch.random.get_rng_state())
    assert facts["torch"] == torch.__version__
    assert facts["deterministic"] is True
    assert facts["threads"] == 1
    assert facts["cpu_capability"]


def test_random_numbers_come_from_the_seed() -> None:
    drawn: list[float] = []
    for seed in (7, 7, 8):
        torch.rand(3)
        with steady(seed, 1, torch.device("cpu")):
            drawn.append(torch.rand(1).item())
    assert drawn[0] == drawn[1] != drawn[2]


def test_prepare_environment_keeps_what_is_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in WAITING:
        monkeypatch.setenv(name, "")  # so that it is put back
        monkeypatch.delenv(name)
    prepare_environment()
    assert {name: os.environ[name] for name in WAITING if name in os.environ} in (WAITING, ASLEEP)
    monkeypatch.setenv("OMP_WAIT_POLICY", "active")
    monkeypatch.delenv("GOMP_SPINCOUNT", raising=False)
    prepare_environment()
    assert os.environ["OMP_WAIT_POLICY"] == "active"
    assert "GOMP_SPINCOUNT" not in os.environ


def test_threads_sleep_where_others_want_the_processors() -> None:
    idle, busy = "cpu 10 5 10 900 3 1 1 0 0 0\ncpu0 1", "cpu 90 5 30 1000 3 1 1 0 0 0\ncpu0 1"
    assert busy_share(idle, busy) == pytest.approx(0.5)
    # What stands back for others counts for nothing, and no time at all for none.
    assert busy_share(idle, "cpu 10 105 10 1000 3 1 1 0 0 0\n") == 0
    assert busy_share(idle, idle) == 0
    working = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(os.cpu_count() or 1)]
    try:
        assert any(waiting() == ASLEEP for _ in range(100))
    finally:
        for process in working:
            process.kill()
            process.wait()


def test_the_package_can_be_imported_without_torch() -> None:
    code = (
        "import sys, inkcap.training as t; t.prepare_environment(); t.Listener; "
        "import inkcap.training.data; print('torch' in sys.modules)"
    )
    source = str(Path(__file__).parents[2] / "src")
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env={"PYTHONPATH": source})
    assert done.stdout.strip() == "False", done.stderr
