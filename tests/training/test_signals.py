"""Signals and frames: numbers known by hand, no bit of the training changed, runs that go on."""

from __future__ import annotations

import errno
import math
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from inkcap.drawing import Drawing
from inkcap.engine import build, load_weights
from inkcap.network import check
from inkcap.recipes import DataSpec, LossSpec, MetricWriter, OptimiserSpec, Recipe, frames, layout, read_signals
from inkcap.recipes.frames import BUDGET, LARGEST, MOST, keep_frame, kept_epochs, list_frames
from inkcap.training import StopRequest, resume, train
from inkcap.training.batches import Batches
from inkcap.training.events import Listener, StepEvent
from inkcap.training.facts import facts_of
from inkcap.training.frames import read_frame_weights
from inkcap.training.signals import SignalWatch
from inkcap.training.weights import read_weights


def alive() -> Drawing:
    """Batch norm and dropout: what is random, and what remembers."""
    drawing = Drawing("alive")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("a", "1D-tanh", dimension=6)
    drawing.then("y", "1D-softmax", dimension=2)
    drawing.wear("a", "batch-norm")
    drawing.wear("a", "dropout", probability=0.3)
    return drawing


def recipe(**changes: Any) -> Recipe:
    settings: dict[str, Any] = {"batch": 16, "epochs": 4, "seed": 5, "optimiser": OptimiserSpec("adam", 0.05)}
    return Recipe(**{"data": DataSpec("moons", {"n": 60}), **settings, **changes})


def by_hand() -> tuple[SignalWatch, torch.nn.Module]:
    """Watch u = 3x₁ + 4x₂ + 1, y = relu(u), in float64, on the samples (1, 0) and (0, −1) with targets 2 and 5."""
    drawing = Drawing("by hand", "float64")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("y", "1D-relu", "full", dimension=1)
    network = check(drawing).network
    module = build(network)
    weights = {"x-y.weight": torch.tensor([[3.0, 4.0]]).double(), "y.bias": torch.tensor([1.0]).double()}
    load_weights(module, weights)
    inputs, targets = torch.tensor([[1.0, 0.0], [0.0, -1.0]]).double(), torch.tensor([[2.0], [5.0]]).double()
    spec = Recipe(DataSpec("any"), losses=(LossSpec("y", "mean-squared-error"),))
    return SignalWatch(
        network, module, facts_of(network), spec, Batches((inputs,), (targets,), 2, torch.device("cpu"))
    ), module


def test_signals_are_those_that_are_known_by_hand() -> None:
    watch, module = by_hand()
    found = watch.measure(0)
    # Y is 4 and 0: U is 4 and −3. A sample's own δ is 2(Y − T) where U is above 0: 4, and 0.
    y = found.capsules["y"]
    assert y.output == pytest.approx(math.sqrt((16 + 0) / 2), rel=1e-12)
    assert y.delta == pytest.approx(math.sqrt((16 + 0) / 2), rel=1e-12)
    assert y.dead == 0
    # The gradient of the mean loss: W gets (4·(1, 0) + 0)/2, B gets 4/2.
    assert (y.weight, y.gradient, y.update) == (1.0, pytest.approx(2.0, rel=1e-12), None)
    line = found.connections["x-y"]
    assert (line.weight, line.gradient, line.update) == (5.0, pytest.approx(2.0, rel=1e-12), None)
    # x holds 2 samples of 2 numbers; y holds U and Y of 2 samples, and 3 weights, each with its gradient, of 8 bytes.
    assert found.capsules["x"].megabytes == pytest.approx(2 * 2 * 8 / 1e6)
    assert y.megabytes == pytest.approx((2 * 2 + 3) * 2 * 8 / 1e6)
    assert y.milliseconds is not None
    assert y.milliseconds > 0
    watch.before_last_step()
    with torch.no_grad():
        module.get_parameter("y.weight").add_(torch.tensor([[0.3, 0.4]]))
    watch.after_last_step()
    after = watch.measure(1)
    assert after.connections["x-y"].update == pytest.approx(0.1, rel=1e-6)
    assert after.capsules["y"].update == 0


def test_signals_do_not_change_one_bit_of_a_training(tmp_path: Path) -> None:
    plain, seen = (train(alive(), recipe(signals=signals), tmp_path) for signals in (False, True))
    for name in (layout.WEIGHTS, layout.BEST, layout.METRICS):
        assert (plain.run.path / name).read_bytes() == (seen.run.path / name).read_bytes(), name
    assert sorted(list_frames(seen.run.path)) == [0, 1, 2, 3, 4]
    assert list_frames(plain.run.path) == {}
    last = read_frame_weights(list_frames(seen.run.path)[4])
    for name, value in read_weights(seen.run.path / layout.WEIGHTS).items():
        assert torch.equal(last[name], value), name


class _Stopping(Listener):
    def __init__(self, step: int) -> None:
        self.stop, self.step = StopRequest(), step

    def on_step(self, event: StepEvent) -> None:
        if event.step >= self.step:
            self.stop.stop("enough")


def _numbers(path: Path) -> list[tuple[int, dict[str, dict[str, float | None]]]]:
    """Give all signals but the milliseconds, which no two passes share."""
    told: list[tuple[int, dict[str, dict[str, float | None]]]] = []
    for epoch in read_signals(path / layout.SIGNALS):
        signals = {**epoch.capsules, **epoch.connections}
        told.append((epoch.epoch, {id: {**vars(s), "milliseconds": None} for id, s in signals.items()}))
    return told


# 48 samples in batches of 16: step 6 is the last of epoch 2, and the epoch's end is still to come.
@pytest.mark.parametrize("step", [5, 6])
def test_a_run_that_goes_on_has_the_signals_and_frames_of_one_that_never_stopped(
    step: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("inkcap.training.session._LISTEN_EVERY", 0.0)
    whole = train(alive(), recipe(signals=True), tmp_path)
    listener = _Stopping(step)
    part = train(alive(), recipe(signals=True), tmp_path, listener, stop=listener.stop)
    assert (part.state, part.steps) == ("interrupted", step)
    keep_frame(part.run.path, 3, b"of a process that was killed later than its checkpoint")
    half = part.run.path / layout.FRAMES / ".000003-0123456789abcdef.safetensors.5ab4f21e.tmp"
    half.write_bytes(b"of a process that was killed while it wrote this")
    rest = resume(part.run)
    assert not half.exists()
    assert rest.steps == whole.steps
    assert _numbers(rest.run.path) == _numbers(whole.run.path)
    assert any(value["update"] is not None for value in _numbers(rest.run.path)[2][1].values())
    # The names hold the check sums.
    assert [p.name for p in list_frames(rest.run.path).values()] == [
        p.name for p in list_frames(whole.run.path).values()
    ]


def test_a_log_of_the_time_before_weights_were_measured_stays_readable(tmp_path: Path) -> None:
    with MetricWriter(tmp_path / "signals.jsonl") as log:
        log.write(
            "epoch", 0, 0, {"output/a": 2.0, "delta/a": 0.5, "output/b.c": 1.0, "dead/b.c": 0.25, "else/b.c": 3.0}
        )
    (found,) = read_signals(tmp_path / "signals.jsonl")
    assert (found.capsules["a"].output, found.capsules["a"].delta, found.capsules["a"].milliseconds) == (2.0, 0.5, None)
    assert (found.capsules["b.c"].dead, found.connections) == (0.25, {})


def test_a_full_disk_costs_frames_and_nothing_else(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(path: Path, content: bytes) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(frames, "write_atomic", full)
    done = train(alive(), recipe(signals=True), tmp_path)
    assert done.state == "finished"
    assert len(read_signals(done.run.path / layout.SIGNALS)) == 5
    assert list_frames(done.run.path) == {}


def test_frames_stay_within_their_budget_and_evenly_spread(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(frames, "BUDGET", 500)
    for epoch in range(14):
        keep_frame(tmp_path, epoch, bytes([epoch]) * 100)
        assert max(list_frames(tmp_path)) == epoch
        assert sum(path.stat().st_size for path in list_frames(tmp_path).values()) <= 500
    assert sorted(list_frames(tmp_path)) == [0, 4, 8, 12, 13]
    monkeypatch.setattr(frames, "LARGEST", 99)
    keep_frame(tmp_path, 14, b"x" * 100)
    assert max(list_frames(tmp_path)) == 13


@given(st.integers(0, 5000), st.integers(1, LARGEST))
def test_what_a_budget_keeps(newest: int, size: int) -> None:
    kept = kept_epochs(newest, size)
    assert {0, newest} <= kept <= set(range(newest + 1))
    assert len(kept) <= MOST
    assert len(kept) * size <= BUDGET or len(kept) <= 2
    others = sorted(kept - {newest})
    assert len({b - a for a, b in pairwise(others)}) <= 1
    # Nothing is ever wanted back that was dropped before.
    assert kept_epochs(newest + 1, size) <= kept | {newest + 1}
