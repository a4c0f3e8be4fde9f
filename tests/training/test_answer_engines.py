"""The engines of predict and evaluate give the same answers; the playground of a live run sees its new weights."""

from __future__ import annotations

import importlib.util
from pathlib import Path

import numpy as np
import pytest
import torch

from inkcap.drawing import Drawing
from inkcap.engine.inference import EngineError
from inkcap.exchange import by_onnxruntime
from inkcap.recipes import DataSpec, Recipe, RunFolder
from inkcap.structures import InkcapError
from inkcap.training import evaluate, predict, train
from inkcap.training.frames import keep_weights, read_frame_weights
from inkcap.training.inspection.looking import Looking


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    drawing = Drawing("digits")
    drawing.add("a", "2D-data", height=8, width=8, channels=1)
    drawing.then("b", "2D-relu", "convolution", kernels=4, kernel=3)
    drawing.wear("b", "batch-norm")
    drawing.then("c", "2D-downsampling", window=2)
    drawing.then("f", "1D-identical", "reshaping")
    drawing.then("h", "1D-softmax", "full", dimension=10)
    recipe = Recipe(DataSpec("digits"), epochs=1, batch=64, signals=True)
    return train(drawing, recipe, tmp_path_factory.mktemp("digits")).run


@pytest.mark.parametrize("engine", ["auto", "frozen", by_onnxruntime])
def test_every_engine_gives_the_answers_of_the_module(digits: RunFolder, engine) -> None:
    samples = Looking(digits).part("training").inputs["x"][:40]
    expected = predict(digits, samples, engine="eager").outputs["h"].values
    found = predict(digits, samples, engine=engine).outputs["h"].values
    np.testing.assert_allclose(found, expected, atol=1e-5)
    plain, other = evaluate(digits, engine="eager"), evaluate(digits, engine=engine)
    assert other.values["loss"] == pytest.approx(plain.values["loss"], rel=1e-4)


def test_an_engine_that_there_is_not_is_named(digits: RunFolder) -> None:
    samples = np.zeros((1, 1, 8, 8), np.float32)
    with pytest.raises(EngineError, match="there is no 'fast'; give one of auto, eager, frozen"):
        predict(digits, samples, engine="fast")  # pyright: ignore[reportArgumentType]
    with pytest.raises(EngineError, match=r"give engine=inkcap\.exchange\.by_onnxruntime"):
        predict(digits, samples, engine="onnxruntime")


def test_without_onnxruntime_one_sentence_says_how_to_get_it(digits: RunFolder, monkeypatch) -> None:
    found = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name, *m: None if name == "onnxruntime" else found(name, *m)
    )
    with pytest.raises(InkcapError, match=r"onnxruntime is not installed; 'pip install inkcap\[onnx\]'"):
        predict(digits, np.zeros((1, 1, 8, 8), np.float32), engine=by_onnxruntime)


def test_weights_that_come_while_a_run_is_looked_into_are_seen(digits: RunFolder) -> None:
    looking = Looking(digits)
    inputs = [torch.zeros((1, 1, 8, 8))]
    first = looking.at(None)
    before = looking.answer(inputs)[0]
    weights = {name: value + 1 for name, value in read_frame_weights(looking.epochs()[first]).items()}
    weights["h.bias"] = torch.arange(10.0)
    keep_weights(Path(digits.path), first + 1, weights)
    assert looking.at(None) == first + 1
    after = looking.answer(inputs)[0]
    with torch.no_grad():
        torch.testing.assert_close(after, looking.opened.module(*inputs))
    assert not torch.allclose(before, after, atol=1e-3)
    looking.at(first)
    torch.testing.assert_close(looking.answer(inputs)[0], before)
