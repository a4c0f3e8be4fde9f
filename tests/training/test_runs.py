"""Whole trainings of real drawings: what is learnt, what is written, what is refused."""

import json
import math
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from inkcap.drawing import Drawing
from inkcap.recipes import (
    DataSpec,
    LossSpec,
    OptimiserSpec,
    Recipe,
    RecipeError,
    RunFolder,
    RunFolderError,
    layout,
    list_runs,
    recipe_from_text,
)
from inkcap.structures.errors import InkcapError, RunFailure
from inkcap.training import Listener, StopRequest, TrainingError, evaluate, predict, train
from inkcap.training.data import load, split
from inkcap.training.events import EndEvent, EpochEvent, StartEvent
from inkcap.training.weights import read_weights, save_weights

FAST = OptimiserSpec("adam", 0.05)


def _layers(first: int, hidden: int, last: str, size: int, dtype: str = "float32") -> Drawing:
    drawing = Drawing("small", dtype)
    drawing.add("x", "1D-data", dimension=first)
    drawing.then("h", "1D-tanh", dimension=hidden)
    drawing.then("y", f"1D-{last}", dimension=size)
    return drawing


def _neurons(last: str) -> Drawing:
    drawing = Drawing("neurons")
    drawing.add("a", "0D-data")
    drawing.add("b", "0D-data")
    drawing.add("y", f"0D-{last}")
    drawing.connect("a", "y")
    drawing.connect("b", "y")
    return drawing


def _iris(**changes: Any) -> Recipe:
    return Recipe(DataSpec("iris"), **({"epochs": 15, "optimiser": FAST} | changes))


def _images(last: str = "softmax") -> Drawing:
    drawing = Drawing("pictures")
    drawing.add("x", "2D-data", height=8, width=8, channels=1)
    drawing.then("c", "2D-relu", "convolution", kernels=4, kernel=3)
    drawing.then("f", "1D-identical", "reshaping")
    drawing.then("y", f"1D-{last}", "full", dimension=10)
    return drawing


class Events(Listener):
    def __init__(self) -> None:
        self.heard: list[object] = []

    def on_start(self, event: StartEvent) -> None:
        self.heard.append(event)

    def on_epoch(self, event: EpochEvent) -> None:
        self.heard.append(event)

    def on_end(self, event: EndEvent) -> None:
        self.heard.append(event)


def test_a_run_from_drawing_to_prediction(tmp_path: Path) -> None:
    events = Events()
    result = train(_layers(4, 8, "softmax", 3), _iris(), tmp_path, events)
    run = RunFolder.open(result.run.path)
    assert run.id == "small-iris-0001"
    assert run.record.state == result.state == "finished"
    assert {path.name for path in run.path.iterdir()} == set(layout.FILES)
    assert run.recipe().losses == (LossSpec("y", "cross-entropy"),)
    assert run.environment()["deterministic"] is True
    assert run.data()["classes"] == {"y": ["setosa", "versicolor", "virginica"]}
    epochs = run.metrics().epochs()
    assert [record.epoch for record in epochs] == list(range(1, 16))
    assert epochs[-1].values["val_accuracy"] > 0.85
    assert run.summary()["best_epoch"] == result.best_epoch
    assert [type(event) for event in events.heard] == [StartEvent, *[EpochEvent] * 15, EndEvent]
    found = evaluate(run)
    assert found.part == "validation"
    assert found.values["loss"] == pytest.approx(result.best_value, rel=1e-6)
    assert found.reports["y"].accuracy == pytest.approx(found.values["accuracy"])
    assert found.reports["y"].confusion.sum(axis=1).tolist() == [10, 10, 10]
    json.dumps(found.to_json(), allow_nan=False)
    samples = load("iris", {}, tmp_path).inputs["x"]
    answer = predict(run, samples).outputs["y"]
    assert answer.meaning == "probabilities"
    assert np.allclose(answer.values.sum(axis=1), 1, atol=1e-5)
    assert answer.best(0, 1)[0][0] == "setosa"
    assert answer.labels is not None
    assert (answer.labels == load("iris", {}, tmp_path).targets["y"]).mean() > 0.9


def test_the_same_seed_gives_the_same_bits(tmp_path: Path) -> None:
    drawing, recipe = _layers(4, 8, "softmax", 3), _iris(epochs=3)
    first = train(drawing, recipe, tmp_path)
    torch.manual_seed(99)
    torch.rand(7)
    second = train(drawing, recipe, tmp_path)
    third = train(drawing, replace(recipe, seed=1), tmp_path)
    assert first.run.record.weights_sha256 == second.run.record.weights_sha256
    logs = [(result.run.path / layout.METRICS).read_bytes() for result in (first, second)]
    assert logs[0] == logs[1]
    assert third.run.record.weights_sha256 != first.run.record.weights_sha256
    again = recipe_from_text((first.run.path / layout.RECIPE).read_text())
    assert train(drawing, again, tmp_path).run.record.weights_sha256 == first.run.record.weights_sha256


def test_the_seed_decides_the_first_weights(tmp_path: Path) -> None:
    still = OptimiserSpec("sgd", 1e-30)
    starts = [
        read_weights(
            train(_layers(4, 8, "softmax", 3), _iris(epochs=1, seed=seed, optimiser=still), tmp_path).run.weights_file()
        )
        for seed in (1, 2)
    ]
    assert not torch.equal(starts[0]["x-h.weight"], starts[1]["x-h.weight"])


def test_the_preparation_is_fitted_on_the_training_part_only(tmp_path: Path) -> None:
    result = train(_layers(4, 8, "softmax", 3), _iris(epochs=1, validation=0.5, seed=3), tmp_path)
    dataset = load("iris", {}, tmp_path)
    training, held_out = split(dataset, 0.5, 3)
    stored: Any = result.run.data()["preparation"]
    assert stored["inputs"]["x"]["offset"] == pytest.approx(
        dataset.inputs["x"][training].mean(axis=0).tolist(), rel=1e-5
    )
    assert len(held_out) == 75


def test_logits_and_softmax_learn_the_same(tmp_path: Path) -> None:
    one = train(_layers(4, 8, "softmax", 3), _iris(epochs=3), tmp_path)
    recipe = _iris(epochs=3, losses=(LossSpec("y", "cross-entropy"),))
    other = train(_layers(4, 8, "identical", 3), recipe, tmp_path)
    assert one.run.record.weights_sha256 == other.run.record.weights_sha256
    samples = load("iris", {}, tmp_path).inputs["x"][:5]
    ours, theirs = (predict(run.run, samples).outputs["y"].values for run in (one, other))
    assert np.allclose(ours, theirs, atol=1e-6)
    assert np.allclose(theirs.sum(axis=1), 1, atol=1e-5)


@pytest.mark.parametrize("dtype", ["float16", "float64"])
def test_other_types(tmp_path: Path, dtype: str) -> None:
    recipe = _iris(epochs=5, optimiser=OptimiserSpec("momentum", 0.05))
    result = train(_layers(4, 8, "softmax", 3, dtype), recipe, tmp_path)
    weights = read_weights(result.run.weights_file())
    assert {str(value.dtype) for value in weights.values()} == {f"torch.{dtype}"}
    first, *_, last = result.run.metrics().epochs()
    assert last.values["loss"] < first.values["loss"]


def test_measured_targets_come_back_in_their_own_scale(tmp_path: Path) -> None:
    data = DataSpec("diabetes", normalise_targets=True)
    result = train(_layers(10, 8, "identical", 1), Recipe(data, epochs=10, optimiser=FAST), tmp_path)
    assert result.run.recipe().losses[0].kind == "mean-squared-error"
    found = evaluate(result.run)
    assert 20 < found.values["mae"] < 60
    dataset = load("diabetes", {}, tmp_path)
    answer = predict(result.run, dataset.inputs["x"]).outputs["y"]
    assert answer.labels is None
    assert np.abs(answer.values.reshape(-1) - dataset.targets["y"].reshape(-1)).mean() < 60


def test_yes_or_no(tmp_path: Path) -> None:
    recipe = Recipe(DataSpec("moons", {"n": 200}), epochs=30, optimiser=OptimiserSpec("adam", 0.05))
    result = train(_layers(2, 16, "sigmoid", 1), recipe, tmp_path)
    assert result.run.recipe().losses[0].kind == "binary-cross-entropy"
    found = evaluate(result.run)
    assert found.values["accuracy"] > 0.8
    assert found.reports["y"].confusion.sum() == found.samples == 40
    answer = predict(result.run, np.array([[0.0, 1.0]], dtype=np.float32)).outputs["y"]
    assert sum(value for _, value in answer.best(0)) == pytest.approx(1.0)


@pytest.mark.parametrize(("last", "kind"), [("sigmoid", "binary-cross-entropy"), ("identical", "mean-squared-error")])
def test_single_neurons(tmp_path: Path, last: str, kind: str) -> None:
    random = np.random.default_rng(0)
    a, b = random.normal(size=(2, 120, 1)).astype(np.float32)
    y = (a + 2 * b > 0).astype(np.int64).reshape(-1) if last == "sigmoid" else a + 2 * b
    np.savez(tmp_path / "neurons.npz", a=a, b=b, y=y)
    data = DataSpec("neurons.npz", {"inputs": "a;b", "targets": "y"})
    result = train(_neurons(last), Recipe(data, epochs=30, batch=16, optimiser=FAST), tmp_path)
    assert result.run.recipe().losses[0].kind == kind
    values = evaluate(result.run).values
    assert values["accuracy"] > 0.85 if last == "sigmoid" else values["mae"] < 0.3
    answer = predict(result.run, {"a": a[:5], "b": b[:5]}).outputs["y"]
    assert answer.values.shape[0] == 5
    assert len(answer.best(0)) == (2 if last == "sigmoid" else 0)


def test_images_with_augmentation_and_margin(tmp_path: Path) -> None:
    spec = DataSpec("digits", augment="shift=1,noise=0.02")
    recipe = Recipe(spec, losses=(LossSpec(kind="margin"),), epochs=3, optimiser=OptimiserSpec("adam", 0.01))
    first = train(_images("sigmoid"), recipe, tmp_path)
    second = train(_images("sigmoid"), recipe, tmp_path)
    assert first.run.record.weights_sha256 == second.run.record.weights_sha256
    assert first.values["val_accuracy"] > 0.5
    assert predict(first.run, load("digits", {}, tmp_path).inputs["x"][:2]).outputs["y"].meaning == "scores"


def test_preparing_batch_by_batch_gives_the_same_bits(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    recipe = Recipe(DataSpec("digits"), epochs=1)
    ready = train(_images(), recipe, tmp_path)
    monkeypatch.setattr("inkcap.training.material._READY_BYTES", 0)
    assert train(_images(), recipe, tmp_path).run.record.weights_sha256 == ready.run.record.weights_sha256


def _two_of_each(workspace: Path, names: tuple[str, str] = ("a", "b")) -> DataSpec:
    random = np.random.default_rng(0)
    a, b = random.normal(size=(80, 3)).astype(np.float32), random.normal(size=(80, 2)).astype(np.float32)
    arrays = {names[0]: a, names[1]: b, "kind": (a[:, 0] > b[:, 0]).astype(np.int64), "sum": a[:, :1] + b[:, :1]}
    np.savez(workspace / "pairs.npz", **arrays)
    return DataSpec("pairs.npz", {"inputs": ";".join(names), "targets": "kind;sum"})


def _two_by_two(outputs: tuple[str, str] = ("kind", "sum")) -> Drawing:
    drawing = Drawing("pairs")
    drawing.add("a", "1D-data", dimension=3)
    drawing.add("b", "1D-data", dimension=2)
    drawing.add("h", "1D-tanh", dimension=8)
    drawing.connect("a", "h", "full")
    drawing.connect("b", "h", "full")
    drawing.add(outputs[0], "1D-softmax", dimension=2)
    drawing.add(outputs[1], "1D-identical", dimension=1)
    drawing.connect("h", outputs[0], "full")
    drawing.connect("h", outputs[1], "full")
    return drawing


def test_several_inputs_and_outputs(tmp_path: Path) -> None:
    recipe = Recipe(_two_of_each(tmp_path), epochs=40, batch=16, optimiser=FAST)
    result = train(_two_by_two(), recipe, tmp_path)
    assert {loss.output: loss.kind for loss in result.run.recipe().losses} == {
        "kind": "cross-entropy",
        "sum": "mean-squared-error",
    }
    assert {"val_accuracy.kind", "val_mae.sum", "val_accuracy", "val_mae"} <= set(result.values)
    assert result.values["val_accuracy"] > 0.7
    sample = {"a": np.zeros((1, 3), np.float32), "b": np.zeros((1, 2), np.float32)}
    assert set(predict(result.run, sample).outputs) == {"kind", "sum"}
    with pytest.raises(TrainingError, match="2 inputs"):
        predict(result.run, np.zeros((1, 3)))
    with pytest.raises(TrainingError, match="inputs a, b, but these were given: a"):
        predict(result.run, {"a": np.zeros((1, 3))})


def test_other_names_are_matched_by_order(tmp_path: Path) -> None:
    recipe = Recipe(_two_of_each(tmp_path, ("first", "second")), epochs=2)
    result = train(_two_by_two(("y1", "y2")), recipe, tmp_path)
    assert any("order" in note for note in result.notes)
    assert result.run.data()["inputs"] == {"a": "a", "b": "b"}
    assert set(evaluate(result.run).reports) == {"y1"}


def test_weights_are_taken_over_and_frozen(tmp_path: Path) -> None:
    first = train(_layers(4, 8, "softmax", 3), _iris(), tmp_path)
    wine = Recipe(DataSpec("digits"), epochs=1)
    with pytest.raises(InkcapError):
        train(_layers(4, 8, "softmax", 3), wine, tmp_path)
    recipe = _iris(epochs=2, init_from=first.run.id, freeze=("x-h", "h"), seed=5)
    second = train(_layers(4, 8, "softmax", 3), recipe, tmp_path)
    old, new = (read_weights(result.run.weights_file("last")) for result in (first, second))
    best = read_weights(first.run.weights_file("best"))
    frozen = [name for name in old if name.startswith(("x-h.", "h."))]
    assert frozen
    for name in old:
        assert torch.equal(new[name], best[name]) == (name in frozen), name
    assert set(second.borrowed.taken) == set(old)
    wider = train(_layers(4, 8, "sigmoid", 3), _iris(epochs=1, init_from=str(first.run.path)), tmp_path)
    assert len(wider.borrowed.taken) == len(old)
    other = Drawing("other")
    other.add("x", "1D-data", dimension=4)
    other.then("h", "1D-tanh", dimension=8)
    other.then("z", "1D-softmax", dimension=3)
    partly = train(other, _iris(epochs=1, init_from=first.run.id), tmp_path)
    assert set(partly.borrowed.taken) == set(frozen)
    assert any("this drawing has no such weight" in why for _, why in partly.borrowed.left)


@pytest.mark.parametrize(
    ("change", "error", "words"),
    [
        ({"freeze": ("nothing*",)}, TrainingError, "nothing.*x-h"),
        ({"freeze": ("*",)}, TrainingError, "nothing to learn"),
        ({"init_from": "small-iris-0007"}, RunFolderError, "no such run"),
        ({"monitor": "mae"}, RecipeError, "mean absolute error"),
        ({"validation": 0.0, "early_stop": 3}, RecipeError, "early_stop"),
        ({"validation": 0.0, "monitor": "accuracy"}, RecipeError, "accuracy is measured"),
        ({"losses": (LossSpec("q"),)}, RecipeError, "no output 'q'"),
        ({"data": DataSpec("wine")}, InkcapError, "13"),
        ({"data": DataSpec("digits")}, InkcapError, "8×8"),
        ({"data": DataSpec("nowhere.csv")}, InkcapError, "nowhere"),
        ({"data": DataSpec("iris", resize="8x8")}, InkcapError, "."),
        ({"data": DataSpec("iris", augment="shift=1")}, InkcapError, "."),
        ({"data": DataSpec("iris", {"surplus": 1})}, InkcapError, "surplus"),
        ({"device": "cuda"}, TrainingError, "cuda"),
    ],
)
def test_mistakes_are_found_before_a_folder_is_made(
    tmp_path: Path, change: dict[str, Any], error: type[Exception], words: str
) -> None:
    if change.get("device") == "cuda" and torch.cuda.is_available():
        pytest.skip("there is a cuda device")
    with pytest.raises(error, match=words):
        train(_layers(4, 8, "softmax", 3), replace(_iris(epochs=1), **change), tmp_path)
    assert list_runs(tmp_path) == ((), ())


def test_a_drawing_with_errors_is_refused(tmp_path: Path) -> None:
    drawing = Drawing("broken")
    drawing.add("x", "1D-data")
    with pytest.raises(InkcapError, match="broken"):
        train(drawing, _iris(), tmp_path)
    assert not (tmp_path / layout.RUNS).exists()


def test_a_run_that_diverges_fails_and_says_what_to_try(tmp_path: Path) -> None:
    recipe = Recipe(DataSpec("diabetes", normalise="none"), epochs=30, optimiser=OptimiserSpec("sgd", 100.0))
    events = Events()
    with pytest.raises(RunFailure, match=r"small-diabetes-0001.*(step|epoch).*lower rate.*clip"):
        train(_layers(10, 8, "identical", 1), recipe, tmp_path, events)
    run = list_runs(tmp_path)[0][0]
    assert run.record.state == "failed"
    assert "lower rate" in run.record.reason
    assert run.summary()["state"] == "failed"
    assert isinstance(events.heard[-1], EndEvent)
    last = run.metrics().records[-1]
    assert not math.isfinite(last.values["loss"]) or last.values["loss"] > 1e6
    for name in (layout.WEIGHTS, layout.BEST):
        if (run.path / name).exists():
            assert all(bool(torch.isfinite(value).all()) for value in read_weights(run.path / name).values())


@pytest.mark.parametrize("problem", [KeyboardInterrupt(), RuntimeError("out of memory"), ValueError("a slip")])
def test_whatever_breaks_the_loop_leaves_a_folder_that_says_so(tmp_path: Path, problem: BaseException) -> None:
    class Breaking(Listener):
        def on_epoch(self, event: EpochEvent) -> None:
            if event.epoch == 2:
                raise problem

    drawing, recipe = _layers(4, 8, "softmax", 3), _iris()
    if isinstance(problem, KeyboardInterrupt):
        assert train(drawing, recipe, tmp_path, Breaking()).state == "interrupted"
    else:
        with pytest.raises(RunFailure if isinstance(problem, RuntimeError) else ValueError, match=str(problem)):
            train(drawing, recipe, tmp_path, Breaking())
    run = list_runs(tmp_path)[0][0]
    assert run.record.state == ("interrupted" if isinstance(problem, KeyboardInterrupt) else "failed")
    assert len(run.metrics().epochs()) == 2
    assert evaluate(run).values["loss"] < 1.2


def test_a_stop_before_the_first_epoch_keeps_the_weights(tmp_path: Path) -> None:
    stop = StopRequest()
    stop.stop("enough")
    result = train(_layers(4, 8, "softmax", 3), _iris(), tmp_path, stop=stop)
    assert (result.state, result.reason, result.epochs, result.steps) == ("interrupted", "enough", 0, 1)
    assert result.run.weights_file("best").name == layout.WEIGHTS
    assert math.isfinite(evaluate(result.run).values["loss"])


def test_changed_data_cannot_pass_for_the_validation_part(tmp_path: Path) -> None:
    spec = _two_of_each(tmp_path)
    result = train(_two_by_two(), Recipe(spec, epochs=1), tmp_path)
    with np.load(tmp_path / "pairs.npz") as stored:
        arrays = dict(stored)
    arrays["a"][0, 0] += 1
    np.savez(tmp_path / "pairs.npz", **arrays)
    with pytest.raises(TrainingError, match="has changed"):
        evaluate(result.run)
    assert evaluate(result.run, part="all").samples == 80
    assert evaluate(result.run, spec).part == "all"
    with pytest.raises(TrainingError, match="no test set"):
        evaluate(result.run, part="test")


def test_other_classes_are_refused(tmp_path: Path) -> None:
    result = train(_layers(2, 4, "softmax", 2), Recipe(DataSpec("moons"), epochs=1), tmp_path)
    other = evaluate(result.run, DataSpec("moons", {"n": 60, "noise": 0.3}))
    assert (other.part, other.samples) == ("all", 60)
    np.savez(tmp_path / "named.npz", x=np.ones((4, 2), np.float32), y=np.array([0, 1, 0, 1]))
    with pytest.raises(TrainingError, match="knows the classes"):
        evaluate(result.run, DataSpec("named.npz", {"classes": "salt;pepper"}))


def test_a_second_interrupt_while_saving_still_saves(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    calls: list[str] = []

    def impatient(path: Path, weights: Any) -> str:
        calls.append(path.name)
        if len(calls) == 2:
            raise KeyboardInterrupt
        return save_weights(path, weights)

    monkeypatch.setattr("inkcap.training.keeping.save_weights", impatient)
    result = train(_layers(4, 8, "softmax", 3), _iris(epochs=1), tmp_path)
    assert result.state == RunFolder.open(result.run.path).record.state == "finished"
    assert math.isfinite(evaluate(result.run).values["loss"])


def test_a_test_set_is_measured_when_there_is_one(tmp_path: Path) -> None:
    random = np.random.default_rng(0)
    x = random.normal(size=(60, 2)).astype(np.float32)
    y = (x[:, 0] > 0).astype(np.int64)
    np.savez(tmp_path / "parts.npz", x_train=x[:40], y_train=y[:40], x_test=x[40:], y_test=y[40:])
    result = train(_layers(2, 4, "softmax", 2), Recipe(DataSpec("parts.npz"), epochs=2), tmp_path)
    assert (evaluate(result.run).part, evaluate(result.run).samples) == ("test", 20)
    assert (evaluate(result.run, part="validation").samples, evaluate(result.run, part="all").samples) == (8, 40)


def test_damaged_weights_are_refused(tmp_path: Path) -> None:
    result = train(_layers(4, 8, "softmax", 3), _iris(epochs=1), tmp_path)
    path = result.run.path / layout.BEST
    data = bytearray(path.read_bytes())
    data[-1] ^= 1
    path.write_bytes(bytes(data))
    with pytest.raises(RunFolderError, match="check sum"):
        evaluate(result.run)
    assert math.isfinite(evaluate(result.run, weights="last").values["loss"])
