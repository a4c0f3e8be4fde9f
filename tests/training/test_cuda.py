"""Trainings on a GPU: they run only where there is one, and are small."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from safetensors.torch import load_file
from torch import Tensor

from inkcap.drawing import Drawing
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe, RunFolder
from inkcap.training import StopRequest, resume, train
from inkcap.training.engines import choosing, remembered
from inkcap.training.engines.choice import CHANNELS_LAST, Choice
from inkcap.training.engines.recording import Recording
from inkcap.zoo.lenet import lenet_for_digits
from inkcap.zoo.perceptrons import mlp

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="there is no CUDA device here")

MOONS = DataSpec("moons", {"n": 120})


@pytest.fixture(autouse=True)
def own_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(remembered, "engines_file", lambda: tmp_path / "engines.json")


def recipe(**settings: Any) -> Recipe:
    return Recipe(**{"data": MOONS, "epochs": 4, "batch": 16, "device": "cuda", **settings})


def small(dtype: str = "float64", random: bool = False) -> Drawing:
    drawing = mlp((2, 6, 4, 2), "small", dtype)
    if random:
        drawing.wear("b", "dropout", probability=0.3)
    return drawing


def weights(run: RunFolder) -> dict[str, Tensor]:
    return load_file(run.path / "weights.safetensors")


def alike(first: dict[str, Tensor], second: dict[str, Tensor], tolerance: float) -> None:
    assert first.keys() == second.keys()
    for name, weight in first.items():
        torch.testing.assert_close(second[name], weight, rtol=tolerance, atol=tolerance)


@pytest.mark.parametrize("kind", ["sgd", "momentum", "adam", "rmsprop"])
@pytest.mark.parametrize("engine", ["eager", "explicit", "compiled"])
def test_the_gpu_comes_to_the_weights_of_the_processor(tmp_path: Path, engine: str, kind: str) -> None:
    settings: dict[str, Any] = {"optimiser": OptimiserSpec(kind, 0.02), "clip": 0.5}
    there = train(small(), recipe(engine=engine, **settings), tmp_path)
    assert not there.notes
    assert there.run.environment()["engine"] == engine
    assert there.run.environment()["device"] == "cuda"
    here = train(small(), recipe(engine="eager", device="cpu", **settings), tmp_path)
    alike(weights(here.run), weights(there.run), 1e-8)


def test_compiled_steps_are_replayed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    replays: list[Recording] = []
    replay = Recording.__call__

    def counted(recording: Recording, *batch: Tensor) -> Tensor:
        replays.append(recording)
        return replay(recording, *batch)

    monkeypatch.setattr(Recording, "__call__", counted)
    result = train(small(), recipe(engine="compiled"), tmp_path)
    # Six whole batches an epoch, but for the first of all.
    assert result.steps == 24
    assert replays.count(replays[-1]) == 23


@pytest.mark.parametrize(
    "settings",
    [
        {"engine": "eager"},
        {"engine": "explicit"},
        {"engine": "compiled"},
        {"precision": "bfloat16"},
        {"precision": "float16"},
        {"switch_engine": "compiled@9"},
        {"engine": "compiled", "switch_engine": "eager@9"},
    ],
)
def test_a_run_goes_on_to_the_same_bits(tmp_path: Path, settings: dict[str, Any]) -> None:
    # Dropout draws from the generator of the device, also where a step is replayed.
    drawing = small("float32", random=True)
    whole = train(drawing, recipe(**settings), tmp_path)
    for epochs in (1, 2):
        paused = train(drawing, recipe(**settings), tmp_path, stop=StopRequest(epochs))
        again = resume(paused.run, tmp_path)
        assert "to the same bits" in " ".join(again.notes)
        first, second = weights(whole.run), weights(again.run)
        assert all(torch.equal(first[name], second[name]) for name in first)


@pytest.mark.parametrize("precision", ["as-drawn", "bfloat16", "float16"])
def test_lenet_learns_digits(tmp_path: Path, precision: str) -> None:
    settings: dict[str, Any] = {"data": DataSpec("digits"), "batch": 64, "precision": precision}
    result = train(lenet_for_digits(), recipe(**settings), tmp_path)
    assert result.values["val_accuracy"] > 0.93
    assert {value.dtype for value in weights(result.run).values()} == {torch.float32}
    if precision != "as-drawn":
        assert result.run.environment()["layout"] == CHANNELS_LAST


@pytest.mark.parametrize("engine", ["eager", "explicit", "compiled"])
def test_pictures_channels_last_come_to_the_same_weights(tmp_path: Path, engine: str) -> None:
    settings: dict[str, Any] = {"data": DataSpec("digits"), "epochs": 1, "batch": 128}
    as_drawn = train(lenet_for_digits(), recipe(engine="eager", **settings), tmp_path)
    with pytest.MonkeyPatch.context() as patch:
        chosen = choosing.Chosen(Choice(engine, CHANNELS_LAST, 1))
        patch.setattr("inkcap.training.engines.settling.choose", lambda case: chosen)
        result = train(lenet_for_digits(), recipe(**settings), tmp_path)
    assert result.run.environment()["layout"] == CHANNELS_LAST
    alike(weights(as_drawn.run), weights(result.run), 1e-3)


def test_auto_measures_and_chooses(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for limit in ("WORTH_MEASURING", "WORTH_COMPILING"):
        monkeypatch.setattr(choosing, limit, 0.0)
    result = train(lenet_for_digits(), recipe(data=DataSpec("digits"), epochs=1, batch=128), tmp_path)
    assert result.run.environment()["engine"] in ("eager", "explicit", "compiled")
    assert result.steps == 12
