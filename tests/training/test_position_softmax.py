"""A softmax over the positions of a map: one move of many, trained by cross-entropy from its total input."""

from __future__ import annotations

import pytest
import torch

from inkcap.drawing import Drawing
from inkcap.engine import backpropagate
from inkcap.network import check
from inkcap.recipes import DataSpec, Recipe
from inkcap.training import evaluate, train


def board() -> Drawing:
    """Ten positions, 2×5, which stand for the ten digits."""
    drawing = Drawing("board")
    drawing.add("x", "2D-data", height=8, width=8, channels=1)
    drawing.then("h", "2D-relu", "convolution", kernels=24, kernel=3)
    drawing.then("move", "2D-position-softmax", "convolution", kernels=1, kernel=(5, 2), bias="full")
    return drawing


@pytest.mark.parametrize("engine", ["eager", "explicit"])
def test_it_learns_positions_as_classes(tmp_path, engine: str) -> None:
    result = train(board(), Recipe(DataSpec("digits"), epochs=6, engine=engine, threads=1), tmp_path)
    # Positions share their kernels, so this is no good classifier; guessing would be right in one of ten.
    assert result.values["val_accuracy"] > 0.5
    found = evaluate(result.run)
    assert found.values["accuracy"] == pytest.approx(result.values["val_accuracy"], abs=0.05)


def test_its_gradient_is_that_of_the_flat_cross_entropy() -> None:
    network = check(board()).network
    weights = {n: torch.randn(w.structure.sizes, dtype=torch.float32) for n, w in network.weights.items()}
    x, labels = torch.randn(3, 1, 8, 8), torch.tensor([0, 4, 9])
    found = backpropagate(network, weights, {"x": x}, {"move": labels}, losses={"move": "cross-entropy"})
    assert found.Y["move"].shape == (3, 10)
    wanted = torch.softmax(found.U["move"].flatten(1), 1) - torch.eye(10)[labels]
    torch.testing.assert_close(found.delta["move"].flatten(1), wanted)
