"""Looking into a run: against numbers by hand, against autograd, and over networks of the zoo."""

from __future__ import annotations

import base64
import io
import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from PIL import Image
from small_zoo import draw_small

from inkcap.drawing import Drawing
from inkcap.engine import weights_of
from inkcap.engine.coupling import coupling
from inkcap.network import check
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe, RunFolder, RunFolderError
from inkcap.recipes.frames import keep_frame, list_frames
from inkcap.training import Inspection, TrainingError, evaluate, predict, train
from inkcap.training.frames import keep_weights, read_frame_weights
from inkcap.training.inspection.answering import of_example, prepared
from inkcap.training.inspection.drawn import fit_drawn, fit_image, habits_of
from inkcap.training.inspection.looking import Looking
from inkcap.training.inspection.summary import block_means, cells, histogram, rounded
from inkcap.training.losses import total_loss
from inkcap.training.scores import outputs_of

FINITE = st.floats(width=64, allow_nan=False, allow_infinity=False)


@pytest.fixture(scope="module")
def digits(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A small network that was trained on the digits for two epochs, with signals."""
    drawing = Drawing("digits")
    drawing.add("a", "2D-data", height=8, width=8, channels=1)
    drawing.then("b", "2D-relu", "convolution", kernels=4, kernel=3)
    drawing.then("c", "2D-downsampling", window=2)
    drawing.then("f", "1D-identical", "reshaping")
    drawing.then("h", "1D-softmax", "full", dimension=10)
    recipe = Recipe(DataSpec("digits"), epochs=2, batch=32, signals=True, optimiser=OptimiserSpec("adam", 0.01))
    return train(drawing, recipe, tmp_path_factory.mktemp("digits")).run


@pytest.fixture(scope="module")
def known(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A run whose frame of epoch 7 was written by hand: h = relu(2x₁, −x₂), y = (h₁, h₂ + 1), class by the larger."""
    folder = tmp_path_factory.mktemp("known")
    rows = ["1,1,A", "3,0,A", "0,-4,B", "0,0,B", "1,-1,A", "2,-1,B"]
    (folder / "t.csv").write_text("\n".join(["u,v,kind", *rows]))
    drawing = Drawing("known")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("h", "1D-relu", "full", dimension=2)
    drawing.then("y", "1D-softmax", "full", dimension=2)
    data = DataSpec("t.csv", normalise="none")
    run = train(drawing, Recipe(data, epochs=1, batch=6, validation=0.0, signals=True), folder).run
    keep_weights(
        run.path,
        7,
        {
            "x-h.weight": torch.tensor([[2.0, 0.0], [0.0, -1.0]]),
            "h.bias": torch.zeros(2),
            "h-y.weight": torch.eye(2),
            "y.bias": torch.tensor([0.0, 1.0]),
        },
    )
    return run


def test_values_are_those_that_are_known_by_hand(known: RunFolder) -> None:
    run = Inspection(known)
    line = run.values("x-h", 7)
    (weight,) = line["weights"]
    assert (line["kind"], line["title"], weight["shape"]) == ("connection", "full", [2, 2])
    assert weight["matrix"] == {"rows": [[2.0, 0.0], [0.0, -1.0]], "whole": True}
    assert (weight["norm"], weight["mean"]) == (pytest.approx(5**0.5), 0.25)
    assert (weight["minimum"], weight["maximum"], sum(weight["histogram"]["counts"])) == (-1.0, 2.0, 4)
    hidden = run.values("h", 7)
    # h is (2, 0), (6, 0), (0, 4), (0, 0), (2, 1), (4, 1): its squares sum to 78.
    assert hidden["samples"] == 6
    assert hidden["output"]["norm"] == pytest.approx((78 / 6) ** 0.5)
    assert hidden["output"]["mean"] == pytest.approx(20 / 12)
    assert hidden["output"]["dead"] == 0
    # δ of y is p − t, that of h the same where h is above 0.
    u = np.array([(2, 1), (6, 1), (0, 5), (0, 1), (2, 2), (4, 2)], float)
    slopes = np.exp(u) / np.exp(u).sum(1, keepdims=True) - np.array([[1, 0], [1, 0], [0, 1], [0, 1], [1, 0], [0, 1]])
    assert run.values("y", 7)["delta"]["norm"] == pytest.approx(np.sqrt((slopes**2).sum() / 6), rel=1e-5)
    through = slopes * (u - (0, 1) > 0)
    assert hidden["delta"]["norm"] == pytest.approx(np.sqrt((through**2).sum() / 6), rel=1e-5)
    assert run.values("y", 7)["gradient"]["norm"] == pytest.approx(np.linalg.norm(slopes.mean(0)), rel=1e-5)


def test_answers_activations_and_confusion_are_those_that_are_known_by_hand(known: RunFolder) -> None:
    run = Inspection(known)
    found = run.answer(values=[3.0, -2.0], epoch=7)
    assert {id: one["row"] for id, one in found["activations"].items() if id != "y"} == {"x": [3, -2], "h": [6, 2]}
    share = 1 / (1 + np.exp(3 - 6))
    (told,) = found["answers"]
    assert [(c["name"], c["share"]) for c in told["classes"]] == [
        ("A", pytest.approx(share, rel=1e-5)),
        ("B", pytest.approx(1 - share, rel=1e-5)),
    ]
    assert (found["text"], told["truth"], told["loss"], found["fed"], found["couplings"]) == (
        "3 -2",
        None,
        None,
        None,
        {},
    )
    # 2 > 1, 6 > 1, 0 < 5, 0 < 1, then 2 = 2, where the first wins, and 4 > 2, where B was right.
    confusion = run.confusion("training", 7, worst=2)
    assert (confusion["classes"], confusion["counts"]) == (["A", "B"], [[3, 0], [1, 2]])
    assert confusion["accuracy"] == pytest.approx(5 / 6)
    worst, second = confusion["worst"]
    assert (worst["number"], worst["truth"], worst["answer"]) == (5, "B", "A")
    assert worst["loss"] == pytest.approx(np.log(1 + np.exp(2)), rel=1e-5)
    assert second["loss"] == pytest.approx(np.log(2), rel=1e-5)
    wrong = run.examples("training", only="wrong", epoch=7)
    assert [(one["number"], one["label"], one["text"]) for one in wrong["examples"]] == [(5, "B", "2 -1")]
    example = run.answer(example={"part": "training", "number": 5}, epoch=7)["answers"][0]
    assert (example["truth"], example["loss"]) == ("B", pytest.approx(worst["loss"]))


def test_a_surface_says_what_the_network_says_there(known: RunFolder) -> None:
    found = Inspection(known).surface(7, cells=9)
    assert (found["names"], found["classes"]) == (["u", "v"], ["A", "B"])
    assert (found["x"], found["y"]) == (pytest.approx([-0.3, 3.3]), pytest.approx([-4.5, 1.5]))
    for row in range(9):
        for column in range(9):
            x, y = -0.3 + (column + 0.5) * 0.4, -4.5 + (row + 0.5) * 6 / 9
            a, b = max(2 * x, 0), max(-y, 0) + 1
            if abs(a - b) > 1e-6:
                assert found["winner"][row][column] == int(b > a), (x, y)
    assert {(p["x"], p["y"], p["class"]) for p in found["points"]} >= {(1, 1, 0), (0, -4, 1)}


def test_delta_and_gradients_are_those_of_autograd(digits: RunFolder) -> None:
    run, looking = Inspection(digits), Looking(digits)
    assert run.epochs() == [0, 1, 2]
    for epoch in run.epochs():
        looking.at(epoch)
        module, totals = looking.scoring, {}

        def keep(name: str, totals: dict[str, torch.Tensor] = totals) -> Any:
            def seen(_: Any, __: Any, output: torch.Tensor) -> None:
                output.retain_grad()
                totals[name] = output

            return seen

        hooks = [module.get_submodule(name).register_forward_hook(keep(name)) for name in ("b", "h")]
        inputs, targets = looking._batch
        module.zero_grad()
        total_loss(looking.facts, looking.recipe)(outputs_of(module(*inputs)), targets).backward()
        for hook in hooks:
            hook.remove()
        samples = len(targets[0])
        for id, total in totals.items():
            norm = float(total.grad.double().square().sum() / samples) ** 0.5 * samples
            assert run.values(id, epoch)["delta"]["norm"] == pytest.approx(norm, rel=1e-4)
        for item, path in (("a-b", "b.weight"), ("b", "b.bias"), ("f-h", "h.weight")):
            norm = float(module.get_parameter(path).grad.double().norm())
            assert run.values(item, epoch)["gradient"]["norm"] == pytest.approx(norm, rel=1e-4)


def test_what_is_seen_is_what_was_recorded_and_what_evaluation_and_prediction_say(digits: RunFolder) -> None:
    run = Inspection(digits)
    signals = run.signals()
    for id, course in signals["capsules"].items():
        found = run.values(id, 1)
        assert found["output"]["norm"] == pytest.approx(course["output"][1], rel=1e-4)
        assert found["delta"]["norm"] == pytest.approx(course["delta"][1], rel=1e-3)
        assert found["output"]["dead"] == course["dead"][1]
    for id, course in signals["connections"].items():
        found = run.values(id, 1)
        assert found["weights"][0]["norm"] == pytest.approx(course["weight"][1], rel=1e-5)
        assert found["gradient"]["norm"] == pytest.approx(course["gradient"][1], rel=1e-3)
    measured = evaluate(digits, part="validation", weights="last")
    confusion = run.confusion("validation", 2, worst=200)
    assert confusion["counts"] == measured.reports["h"].confusion.tolist()
    losses = [one["loss"] for one in confusion["worst"]]
    assert losses == sorted(losses, reverse=True)
    assert run.examples("validation", only="wrong", epoch=2)["count"] == confusion["samples"] - sum(
        confusion["counts"][i][i] for i in range(10)
    )
    sample = Looking(digits).part("validation").inputs["x"][:1]
    told = run.answer(values=sample.ravel().tolist(), epoch=2)
    best = predict(digits, sample, weights="last").outputs["h"].best(0, 10)
    assert [(c["name"], pytest.approx(c["share"])) for c in told["answers"][0]["classes"]] == best
    assert told["fed"]["rows"] == run.examples("validation", count=1)["examples"][0]["thumbnail"]["rows"]
    assert told["activations"]["b"]["shape"] == [6, 6, 4]
    assert len(told["activations"]["b"]["maps"]) == 4
    assert len(run.values("a-b", 2)["weights"][0]["kernels"]) == 4


ZOO = ("capsnet_sabour", "emcaps-digits", "resnet18", "alexnet_two_tower_2012")


def _data_for(drawing: Drawing, folder: Path) -> str:
    """Write twelve samples that a drawing can be trained on: random numbers, and classes in turn."""
    network = check(drawing).network
    random = np.random.default_rng(0)
    shape = network.capsules[network.inputs[0]].output.sizes  # pyright: ignore
    classes = next(network.capsules[id].output.sizes[0] for id in network.outputs)  # pyright: ignore
    np.savez(folder / "t.npz", x=random.random((12, *shape), np.float32), y=np.arange(12) % classes)
    return "t.npz"


@pytest.mark.parametrize("name", ZOO)
def test_networks_of_the_zoo_can_be_looked_into(name: str, tmp_path: Path) -> None:
    drawing = draw_small(name)
    data = DataSpec(_data_for(drawing, tmp_path))
    run = train(drawing, Recipe(data, epochs=1, batch=6, signals=True), tmp_path).run
    network, inspection = check(drawing).network, Inspection(run)
    signals = inspection.signals()
    assert set(signals["capsules"]) == set(network.capsules)
    assert set(signals["connections"]) == {id for id, c in network.connections.items() if c.weights}
    for course in signals["connections"].values():
        assert all(value > 0 for value in course["weight"])
    for item in [*list(network.capsules)[:4], *list(network.connections)[:4], network.outputs[0]]:
        json.dumps(inspection.values(item, 1), allow_nan=False)
    found = inspection.answer(example={"part": "training", "number": 1}, epoch=1)
    assert set(found["activations"]) == set(network.capsules)
    assert len(json.dumps(found, allow_nan=False)) < 8_000_000
    looking = Looking(run)
    looking.at(1)
    routing = {id for id, capsule in network.capsules.items() if "iterations" in capsule.attributes}
    assert set(found["couplings"]) == routing
    if routing:
        asked = of_example(looking, "training", 1)
        inputs = dict(zip(network.inputs, prepared(looking, asked.arrays), strict=True))
        whole = coupling(network, weights_of(looking.opened.module), inputs)
        for id, told in found["couplings"].items():
            children, parents = whole[id].shape[1:3]
            mean = whole[id].reshape(1, children, parents, -1).mean(-1)[0].numpy()
            np.testing.assert_allclose(told["rows"], block_means(mean, (96, 96)), rtol=2e-3)
            assert (len(told["from"]), len(told["to"])) == (min(children, 96), min(parents, 96))
            assert told["iterations"] == network.capsules[id].attributes["iterations"]


def test_neurons_in_columns_answer_and_have_a_surface_but_nothing_of_single_ones(tmp_path: Path) -> None:
    drawing = Drawing("neurons")
    for name in ("u", "v"):
        drawing.add(name, "0D-data")
    for name in ("h", "i"):
        drawing.add(name, "0D-tanh")
        for back in ("u", "v"):
            drawing.connect(back, name)
    drawing.add("y", "0D-identical")
    for back in ("h", "i"):
        drawing.connect(back, "y")
    (tmp_path / "t.csv").write_text("\n".join(["u,v,y", *(f"{i % 3},{i % 4},{i % 3 - i % 4}.5" for i in range(24))]))
    run = train(drawing, Recipe(DataSpec("t.csv"), epochs=1), tmp_path).run
    inspection = Inspection(run)
    assert inspection.signals()["why"].startswith("Neurons in columns")
    found = inspection.answer(values=[1.0, 2.0])
    assert "Neurons in columns" in found["why"]
    assert found["activations"] == {}
    assert len(found["answers"][0]["values"]) == 1
    with pytest.raises(TrainingError, match="neurons run in columns"):
        inspection.values("h")
    surface = inspection.surface(cells=4)
    assert (np.shape(surface["value"]), surface["classes"], surface["names"]) == ((4, 4), [], ["u", "v"])
    assert inspection.confusion("training")["classes"] == []
    with pytest.raises(TrainingError, match="not right or wrong"):
        inspection.examples("training", only="wrong")


@pytest.mark.parametrize(
    ("asked", "words"),
    [
        ({}, "ask about one sample"),
        ({"values": [1.0], "image": "x"}, "ask about one sample"),
        ({"values": [1.0, 2.0]}, "takes 64 numbers, not 2"),
        ({"values": [float("nan")] * 64}, "not a finite number"),
        ({"picture": {"rows": [[0.0, 1.0], [1.0]]}}, "differ in length"),
        ({"picture": {"rows": [[0.0, 2.0]]}}, "from 0, which is paper"),
        ({"picture": {"rows": [[0.0] * 9] * 9}}, "the picture is empty"),
        ({"image": "%%%"}, "base64"),
        ({"image": base64.b64encode(b"no picture").decode()}, "cannot be read"),
        ({"example": {"part": "validation", "number": 10**6}}, "the samples 0 to 358"),
        ({"example": {"part": "test", "number": 0}}, "no test part; choose one of training, validation"),
        ({"example": {"part": "else", "number": 0}}, "there is no part 'else'"),
        ({"values": [0.0] * 64, "epoch": 9}, "after epoch 9 are not kept; choose one of 0, 1, 2"),
    ],
)
def test_a_bad_question_gets_one_clear_sentence(digits: RunFolder, asked: dict[str, Any], words: str) -> None:
    with pytest.raises(TrainingError, match=words):
        Inspection(digits).answer(**asked)


def test_what_cannot_be_looked_at_is_said(digits: RunFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    run = Inspection(digits)
    with pytest.raises(TrainingError, match="no capsule or connection 'z'"):
        run.values("z")
    with pytest.raises(TrainingError, match="two input numbers alone"):
        run.surface()
    with pytest.raises(TrainingError, match="no output 'q'; it has h"):
        run.confusion(output="q")
    monkeypatch.setattr("inkcap.training.inspection.looking.MOST_WEIGHTS", 100)
    with pytest.raises(TrainingError, match="more than 0 million are not looked into"):
        Inspection(digits)


def test_a_damaged_frame_is_refused_and_a_new_one_is_seen(known: RunFolder) -> None:
    inspection = Inspection(known)
    frame = read_frame_weights(list_frames(known.path)[7])
    keep_weights(known.path, 8, {name: value * 0 for name, value in frame.items()})
    assert inspection.values("x-h")["weights"][0]["norm"] == 0
    assert inspection.epochs()[-1] == 8
    newest = list_frames(known.path)[8]
    newest.write_bytes(newest.read_bytes()[:-1] + b"\x01")
    with pytest.raises(RunFolderError, match="changed or damaged; choose another epoch"):
        Inspection(known).values("x-h", 8)
    newest.unlink()
    keep_frame(known.path, 9, b"no tensors")
    with pytest.raises(RunFolderError, match="no weights can be read"):
        inspection.values("x-h")
    list_frames(known.path)[9].unlink()


def _mnist_like(paper: int, ink: int) -> np.ndarray:
    """Draw strokes 20 cells high whose middle lies in the middle of 28 × 28, as MNIST has its digits."""
    pictures = np.full((30, 1, 28, 28), paper, np.uint8)
    for i in range(30):
        pictures[i, 0, 4:24, 12 - i % 3 : 16 + i % 3] = ink
    return pictures


@pytest.mark.parametrize(("paper", "ink"), [(0, 255), (255, 0)])
def test_a_drawn_digit_gets_the_size_the_place_and_the_polarity_of_the_data(paper: int, ink: int) -> None:
    habits = habits_of(_mnist_like(paper, ink), (0.0, 255.0))
    assert (habits.glyphs, habits.paper, habits.extent) == (True, float(paper > 0), pytest.approx(20 / 28))
    drawn = np.zeros((280, 280))
    drawn[10:110, 200:220] = 1.0
    (fitted,) = fit_drawn(drawn, habits, (1, 28, 28))
    seen = np.abs(fitted[0] - paper) > 127
    rows, columns = np.flatnonzero(seen.any(1)), np.flatnonzero(seen.any(0))
    assert (rows[0], rows[-1] + 1, columns[0], columns[-1] + 1) == (4, 24, 12, 16)
    assert abs(fitted[0, 14, 14] - ink) < 1
    assert fitted[0, 0, 0] == paper
    # A photograph of the same stroke, dark on bright, comes out alike.
    stream = io.BytesIO()
    Image.fromarray((250 - drawn * 240).astype(np.uint8)).save(stream, "PNG")
    photo = fit_image(base64.b64encode(stream.getvalue()).decode(), habits, (1, 28, 28))
    np.testing.assert_allclose(photo, fit_drawn(drawn, habits, (1, 28, 28)), atol=1.0)


def test_scenes_are_only_resized() -> None:
    scenes = np.random.default_rng(0).integers(0, 256, (20, 3, 10, 10)).astype(np.uint8)
    habits = habits_of(scenes, (0.0, 255.0))
    assert not habits.glyphs
    half = np.zeros((100, 100))
    half[:50] = 1.0
    fitted = fit_drawn(half, habits, (3, 10, 10))
    assert fitted.shape == (1, 3, 10, 10)
    assert abs(float(fitted[0, 0, 1].mean() - fitted[0, 0, 8].mean())) == pytest.approx(255)


@given(arrays.arrays(np.float64, st.integers(0, 60), elements=st.floats(width=64)))
def test_a_histogram_counts_every_finite_number_once(values: np.ndarray) -> None:
    found = histogram(values)
    finite = values[np.isfinite(values)]
    if not finite.size:
        assert found is None
        return
    edges, counts = found["edges"], found["counts"]
    assert len(edges) == len(counts) + 1
    assert sum(counts) == finite.size
    assert edges[0] <= finite.min()
    assert edges[-1] >= finite.max()
    assert edges == sorted(edges)
    json.dumps(found, allow_nan=False)


@given(arrays.arrays(np.float64, st.tuples(st.integers(1, 20), st.integers(1, 20)), elements=st.floats(-1e6, 1e6)))
def test_means_of_blocks_keep_limits_and_sums(values: np.ndarray) -> None:
    small = block_means(values, (7, 5))
    assert small.shape == (min(values.shape[0], 7), min(values.shape[1], 5))
    assert small.min() >= values.min() - 1e-3
    assert small.max() <= values.max() + 1e-3
    if values.shape[0] <= 7 and values.shape[1] <= 5:
        assert np.array_equal(small, values)
    if values.shape[0] % small.shape[0] == 0 and values.shape[1] % small.shape[1] == 0:
        assert small.mean() == pytest.approx(values.mean(), abs=1e-3)


@given(FINITE)
def test_rounding_keeps_four_digits(value: float) -> None:
    (made,) = rounded(np.array([value]))
    assert made == pytest.approx(value, rel=6e-4, abs=5e-324)
    assert cells(np.array([value, np.nan, np.inf]))[1:] == [None, None]
