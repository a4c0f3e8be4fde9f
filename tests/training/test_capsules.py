"""Training a CapsNet: margin by itself, labels and images fed by themselves, and an answer without a label."""

from pathlib import Path

import numpy as np
import torch

from inkcap import coupling
from inkcap.engine import weights_of
from inkcap.network import check
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe, complete_losses
from inkcap.training import open_run, predict, train
from inkcap.training.data import load
from inkcap.zoo import draw


def test_a_narrow_capsnet_learns_the_digits(tmp_path: Path) -> None:
    recipe = Recipe(DataSpec("digits"), epochs=3, optimiser=OptimiserSpec("adam", 0.003), threads=1)
    result = train(draw("capsnet-digits"), recipe, tmp_path)
    epochs = [line.values["loss"] for line in result.run.metrics().epochs()]
    assert epochs == sorted(epochs, reverse=True)
    assert result.values["val_accuracy"] > 0.9
    stored = result.run.recipe()
    assert {loss.output: loss.kind for loss in stored.losses} == {"length": "margin", "recon": "mean-squared-error"}
    assert stored.data.feed == "label=y,recon=x"
    images = load("digits", {}, tmp_path).inputs["x"][:5]
    answer = predict(result.run, images)
    # Without a label the decoder draws the longest capsule.
    longest = np.eye(10, dtype=np.float32)[answer.outputs["length"].values.argmax(1)]
    labelled = predict(result.run, {"image": images, "label": longest})
    np.testing.assert_allclose(answer.outputs["recon"].values, labelled.outputs["recon"].values, atol=1e-4)
    other = predict(result.run, {"image": images, "label": np.roll(longest, 1, axis=1)})
    assert np.abs(answer.outputs["recon"].values - other.outputs["recon"].values).mean() > 0.5
    opened = open_run(result.run)
    seen = torch.from_numpy(opened.preparation.apply(images, "image"))
    c = coupling(check(draw("capsnet-digits")).network, weights_of(opened.module), {"image": seen})["DigitCaps"]
    torch.testing.assert_close(c.sum(2), torch.ones(c.shape[:2]))


def test_margin_is_for_classes_at_an_output_of_lengths() -> None:
    kinds = {"classes": "margin", "numbers": "mean-squared-error", "bits": "binary-cross-entropy"}
    for held, kind in kinds.items():
        chosen = complete_losses(Recipe(DataSpec("any")), {"y": held}, {"y": "margin"})
        assert [loss.kind for loss in chosen.losses] == [kind]
