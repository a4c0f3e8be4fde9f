"""Text: sentences of a small grammar, a loss for every row, and a narrow GPT that learns them."""

import math
from pathlib import Path

import numpy as np
import pytest
import torch
from safetensors.torch import load_file
from torch.nn import functional

from inkcap import Drawing, Recipe, evaluate, predict, train
from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec
from inkcap.training.data import load, validate
from inkcap.training.data.sentences import CHARACTERS, GRAMMAR
from inkcap.training.errors import TrainingError
from inkcap.training.facts import CapsuleFacts
from inkcap.training.losses import explicit_loss, loss_function
from inkcap.training.scores import OutputScore
from inkcap.training.targets import encode_target
from inkcap.zoo.transformers import small_gpt

OUTPUT = CapsuleFacts("next", "row-softmax", (1, 3, 4))
"""Three rows that each choose one of four."""
SHORT = {"n": 240, "length": 12}


def narrow() -> Drawing:
    return small_gpt(input=(12,), width=16, heads=2, blocks=1)


def recipe(**settings: object) -> Recipe:
    return Recipe(DataSpec("sentences", options=SHORT), optimiser=OptimiserSpec("adam", 0.01), batch=16, **settings)


def test_every_character_has_the_next_as_its_target() -> None:
    dataset = load("sentences", {"n": "20", "length": "30", "seed": "3"}, Path())
    x, y = dataset.inputs["x"], dataset.targets["y"]
    assert x.shape == y.shape == (20, 30)
    assert (x.reshape(-1)[1:] == y.reshape(-1)[:-1]).all()
    text = "".join(CHARACTERS[number] for number in x.reshape(-1))
    words = {word for ways in GRAMMAR.values() for way in ways for word in way.split()} - GRAMMAR.keys()
    # The last word may be cut.
    assert {word for sentence in text.split(". ")[:-1] for word in sentence.split()} <= words
    again, other = (load("sentences", {"n": "20", "length": "30", "seed": s}, Path()) for s in ("3", "4"))
    assert again.manifest == dataset.manifest
    assert not np.array_equal(other.inputs["x"], x)


def test_the_whole_text_has_every_character() -> None:
    dataset = load("sentences", {}, Path())
    assert validate(dataset) == []
    assert dataset.classes_of("y") == tuple(CHARACTERS)
    assert repr("".join(CHARACTERS[number] for number in dataset.targets["y"][0])) in dataset.preview().rows[0]


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_the_loss_of_rows_is_the_mean_of_their_cross_entropies(smoothing: float) -> None:
    generator = torch.Generator().manual_seed(0)
    value = torch.randn((2, 1, 3, 4), generator=generator, dtype=torch.float64, requires_grad=True)
    labels = torch.tensor([[[0, 3, 1]], [[2, 2, 0]]])
    spec = LossSpec("next", "cross-entropy", 1.0, {"label_smoothing": smoothing})
    rows = [(value[i, 0, j], labels[i, 0, j]) for i in range(2) for j in range(3)]
    wanted = sum(functional.cross_entropy(row, label, label_smoothing=smoothing) for row, label in rows) / 6
    found = loss_function(spec, OUTPUT)(value, labels)
    torch.testing.assert_close(found, wanted)
    by_hand, gradient = explicit_loss(spec, OUTPUT)(value.detach(), labels)
    torch.testing.assert_close(by_hand, wanted.detach())
    torch.testing.assert_close(gradient, torch.autograd.grad(found, value)[0])
    shares = functional.one_hot(labels, 4).double()
    torch.testing.assert_close(loss_function(spec, OUTPUT)(value, shares), wanted)


def test_labels_of_rows_are_encoded_and_counted_row_by_row() -> None:
    labels = np.array([[0, 3, 1], [2, 2, 0]])
    encoded = encode_target(labels, OUTPUT, "cross-entropy", "y")
    assert encoded.shape == (2, 1, 3)
    hot = encode_target(labels, OUTPUT, "mean-squared-error", "y")
    assert hot.shape == (2, 1, 3, 4)
    assert hot.argmax(-1).reshape(2, 3).tolist() == labels.tolist()
    for target in (encoded, hot):
        score = OutputScore(OUTPUT, "cross-entropy", "classes")
        score.add(functional.one_hot(torch.tensor([[[0, 3, 2]], [[2, 1, 0]]]), 4).float(), target)
        assert score.value() == pytest.approx(4 / 6)
    with pytest.raises(TrainingError, match="knows 0 to 3; draw it with 5"):
        encode_target(labels + 1, OUTPUT, "cross-entropy", "y")


def test_a_narrow_gpt_learns_by_both_ways(tmp_path: Path) -> None:
    weights = []
    for engine in ("eager", "explicit"):
        result = train(narrow(), recipe(epochs=2, engine=engine), tmp_path)
        weights.append(load_file(result.run.path / "weights.safetensors"))
    for name, weight in weights[0].items():
        if name.endswith(".keys_bias"):
            # Nothing depends on it: Adam lets it wander by the rounding of its gradient.
            continue
        torch.testing.assert_close(weights[1][name], weight, rtol=1e-3, atol=1e-4)
    found = evaluate(result.run)
    # Characters drawn blindly have the logarithm of their number.
    assert found.values["loss"] < 0.85 * math.log(len(CHARACTERS))
    assert found.values["accuracy"] > 2 / len(CHARACTERS)
    assert found.reports["next"].confusion.sum() == 12 * found.samples
    said = predict(result.run, np.zeros((2, 12), np.int64)).outputs["next"]
    assert said.labels.shape == (2, 1, 12)
    np.testing.assert_allclose(said.values.sum(-1), 1, rtol=1e-5)


def test_numbers_that_pick_no_row_are_told(tmp_path: Path) -> None:
    drawing = Drawing("few rows")
    drawing.add("text", "1D-data", dimension=12, dtype="int64")
    drawing.add("rows", "2D-identical")
    drawing.connect("text", "rows", "embedding", height=20, width=4)
    drawing.then("next", "2D-row-softmax", "full", width=len(CHARACTERS))
    with pytest.raises(TrainingError, match=r"holds 2\d, but 'text' picks from a table of 20 rows .* 0 to 19"):
        train(drawing, recipe(epochs=1), tmp_path)
