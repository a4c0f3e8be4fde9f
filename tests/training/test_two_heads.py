"""Two heads, a policy and a value: losses as AlphaGo Zero has them, from arrays of positions and a recipe alone."""

from __future__ import annotations

import math
from pathlib import Path

import numpy as np
import pytest

from inkcap import Recipe, evaluate, train
from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec
from inkcap.training.errors import TrainingError
from inkcap.zoo.games import alphago_zero

MOMENTUM = OptimiserSpec("momentum", 0.02, {"weight_decay": 1e-4})
LOSSES = (LossSpec("policy", "cross-entropy"), LossSpec("value", "mean-squared-error", 0.5))
ARRAYS = DataSpec("positions.npz", {"targets": "policy;value", "channels": "first"})


def positions(folder: Path, sharp: float = 3.0) -> None:
    """Save boards of 4×4 whose moves are likelier where a stone of the first kind lies, and whose winner has more."""
    numbers = np.random.default_rng(0)
    planes = (numbers.random((240, 3, 4, 4)) < 0.3).astype(np.float32)
    lead = planes[:, 0] - planes[:, 1]
    scores = np.exp(sharp * np.concatenate([lead.reshape(240, -1), np.zeros((240, 1))], 1))
    policy = (scores / scores.sum(1, keepdims=True)).astype(np.float32)
    value = np.sign(lead.sum((1, 2))).astype(np.float32)[:, None]
    np.savez(folder / "positions.npz", x=planes, policy=policy, value=value)


def recipe(**settings: object) -> Recipe:
    return Recipe(**{"data": ARRAYS, "losses": LOSSES, "optimiser": MOMENTUM, "batch": 16, "threads": 1, **settings})


def test_policy_and_value_are_learnt_together(tmp_path: Path) -> None:
    positions(tmp_path)
    result = train(alphago_zero(1, input=(4, 4, 3), width=8, hidden=16), recipe(epochs=6), tmp_path)
    first, last = (result.run.metrics().epochs()[i].values for i in (0, -1))
    # Nobody can be nearer to a distribution than its entropy, which all 17 moves alike would have as log 17.
    assert first["val_loss.policy"] < math.log(17) + 0.5
    assert last["val_loss.policy"] < first["val_loss.policy"] - 0.1
    assert last["val_loss.value"] < 0.7 * first["val_loss.value"]
    for values in (first, last):
        assert values["val_loss"] == pytest.approx(values["val_loss.policy"] + 0.5 * values["val_loss.value"], rel=1e-5)
    found = evaluate(result.run).values
    best = result.run.metrics().epochs()[result.best_epoch - 1].values
    assert found["loss.policy"] == pytest.approx(best["val_loss.policy"], rel=1e-6)


def test_both_algorithms_learn_them_alike(tmp_path: Path) -> None:
    positions(tmp_path)
    drawing = alphago_zero(1, input=(4, 4, 3), width=4, hidden=4)
    one, other = (train(drawing, recipe(epochs=1, engine=way), tmp_path).values for way in ("eager", "explicit"))
    for name in ("val_loss.policy", "val_loss.value"):
        assert one[name] == pytest.approx(other[name], rel=1e-4)


def test_a_policy_that_is_no_share_is_refused(tmp_path: Path) -> None:
    positions(tmp_path)
    arrays = dict(np.load(tmp_path / "positions.npz"))
    np.savez(tmp_path / "positions.npz", **{**arrays, "policy": arrays["policy"] * 2})
    with pytest.raises(TrainingError, match=r"'policy' holds .* shares of two or more classes that sum to 1"):
        train(alphago_zero(1, input=(4, 4, 3), width=4, hidden=4), recipe(epochs=1), tmp_path)
