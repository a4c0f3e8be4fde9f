"""Capsules that the data lack are fed: labels go in, inputs are to come out again."""

from pathlib import Path

import numpy as np
import pytest

from inkcap.drawing import Drawing
from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec, Recipe
from inkcap.structures import InkcapError
from inkcap.training import evaluate, predict, train
from inkcap.training.data import load
from inkcap.training.samples import read_samples

FAST = OptimiserSpec("adam", 0.01)


def autoencoder() -> Drawing:
    drawing = Drawing("autoencoder")
    drawing.add("x", "2D-data", height=8, width=8, channels=1)
    drawing.then("flat", "1D-identical", "reshaping")
    drawing.then("code", "1D-relu", "full", dimension=24)
    drawing.then("again", "1D-sigmoid", "full", dimension=64)
    return drawing


def labelled() -> Drawing:
    """Classes from an image, and the image again from its code and its label."""
    drawing = autoencoder()
    drawing.add("label", "1D-data", dimension=10)
    drawing.connect("label", "again", "full")
    drawing.add("class", "1D-softmax", dimension=10)
    drawing.connect("code", "class", "full")
    return drawing


def test_an_autoencoder_is_told_to_give_its_input_again(tmp_path: Path) -> None:
    spec = DataSpec("digits", feed="again=x")
    recipe = Recipe(spec, losses=(LossSpec(kind="mean-squared-error"),), epochs=8, optimiser=FAST)
    result = train(autoencoder(), recipe, tmp_path)
    assert any("again is to give x again" in note for note in result.notes)
    assert result.values["val_loss"] < 0.05
    images = load("digits", {}, tmp_path).inputs["x"][:3]
    answer = predict(result.run, images).outputs["again"].values.reshape(3, 8, 8)
    # In the images' own scale, 0 to 16.
    assert np.abs(answer - images[:, 0]).mean() < 3
    assert evaluate(result.run).values["mae"] < 3


def test_labels_and_images_are_fed_by_themselves_where_only_one_way_is_possible(tmp_path: Path) -> None:
    result = train(labelled(), Recipe(DataSpec("digits"), epochs=4, optimiser=FAST), tmp_path)
    assert result.run.recipe().data.feed == "label=y,again=x"
    assert result.values["val_accuracy"] > 0.8
    images = load("digits", {}, tmp_path).inputs["x"][:3]
    one, other = (predict(result.run, given).outputs["class"].values for given in (images, {"x": images}))
    assert np.array_equal(one, other)
    np.save(tmp_path / "one.npy", images[0])
    assert set(read_samples(result.run, str(tmp_path / "one.npy"))) == {"x"}
    assert evaluate(result.run).reports["class"].accuracy > 0.8


@pytest.mark.parametrize(
    ("feed", "words"),
    [
        ("again", "is not CAPSULE=NAME"),
        ("again=z", "cannot give 'z' again"),
        ("code=x", "no input or output 'code'"),
        ("x=y", "cannot take the classes"),
    ],
)
def test_what_cannot_be_fed_is_refused(tmp_path: Path, feed: str, words: str) -> None:
    with pytest.raises(InkcapError, match=words):
        train(autoencoder(), Recipe(DataSpec("digits", feed=feed), epochs=1), tmp_path)
    assert not (tmp_path / "runs").exists()
