"""Training what wears parts: states are kept with the run, masks come from its seed, small batches are told."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch

from inkcap.drawing import Drawing
from inkcap.engine import build, load_weights
from inkcap.network import check
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe
from inkcap.training import train
from inkcap.training.batches import Batches
from inkcap.training.errors import TrainingError
from inkcap.training.evaluation import evaluate
from inkcap.training.smallest import smallest_batch
from inkcap.training.weights import matching, read_weights


def drawn(*parts: str, dropconnect: float = 0) -> Drawing:
    drawing = Drawing("worn")
    drawing.add("x", "1D-data", dimension=4)
    drawing.then("h", "1D-relu", dimension=8)
    for part in parts:
        drawing.wear("h", part)
    drawing.then("y", "1D-softmax", dimension=3, dropconnect=dropconnect)
    return drawing


def iris(**changes) -> Recipe:
    return Recipe(DataSpec("iris"), **({"epochs": 4, "optimiser": OptimiserSpec(rate=0.05)} | changes))


def test_states_are_stored_moved_and_used(tmp_path: Path) -> None:
    result = train(drawn("batch-norm"), iris(), tmp_path)
    best = read_weights(result.run.weights_file("best"))
    assert {name for name in best if name.startswith("h.")} == {
        f"h.batch-norm.{name}" for name in ("scale", "shift", "mean", "variance")
    }
    assert float(best["h.batch-norm.mean"].abs().max()) > 0
    assert evaluate(result.run).values["loss"] == pytest.approx(result.best_value, rel=1e-6)
    network = check(drawn("batch-norm")).network
    module = build(network)
    load_weights(module, best)
    module.eval()
    alone, many = module(torch.zeros(1, 4)), module(torch.zeros(7, 4))
    torch.testing.assert_close(alone[0], many[3])


@pytest.mark.parametrize("parts", [("dropout",), ("batch-norm", "dropout"), ()])
def test_the_same_seed_draws_the_same_masks(parts: tuple[str, ...], tmp_path: Path) -> None:
    drawing = drawn(*parts, dropconnect=0.2)
    runs = [train(drawing, iris(seed=seed), tmp_path) for seed in (3, 3, 4)]
    first, again, other = (read_weights(result.run.weights_file("last")) for result in runs)
    assert all(torch.equal(first[name], again[name]) for name in first)
    assert not all(torch.equal(first[name], other[name]) for name in first)


def test_frozen_states_stay(tmp_path: Path) -> None:
    first = train(drawn("batch-norm"), iris(), tmp_path)
    recipe = iris(init_from=first.run.id, freeze=("h", "x-h"))
    second = train(drawn("batch-norm"), recipe, tmp_path)
    before, after = (read_weights(r.run.weights_file(w)) for r, w in ((first, "best"), (second, "last")))
    kept = [name for name in before if name.startswith(("h.", "x-h"))]
    assert len(kept) == 5
    assert all(torch.equal(before[name], after[name]) for name in kept)
    assert not torch.equal(before["h-y.weight"], after["h-y.weight"])


def test_patterns_find_what_a_part_stores() -> None:
    names = ["h.batch-norm.scale", "h.batch-norm.mean", "h.bias", "g.bias"]
    assert matching(names, ["h"]) == set(names[:3])
    assert matching(names, ["h.batch-norm"]) == set(names[:2])
    assert matching(names, ["*.mean"]) == {"h.batch-norm.mean"}


def test_a_last_batch_of_one_is_left_out_and_told() -> None:
    network = check(drawn("batch-norm")).network
    assert smallest_batch(network, 32, 96) == (2, "")
    least, note = smallest_batch(network, 32, 97)
    assert "1 sample" in note
    values = torch.arange(97.0)[:, None]
    batches = Batches((values,), (values,), 32, torch.device("cpu"), least=least)
    assert [len(x) for (x,), _ in batches.shuffled(torch.randperm(97), 1)] == [32] * 3
    assert batches.steps == 3
    assert sum(len(x) for (x,), _ in batches.in_order()) == 97
    assert smallest_batch(check(drawn("layer-norm", "dropout")).network, 32, 97) == (1, "")


def test_a_batch_of_one_is_refused_with_the_reason(tmp_path: Path) -> None:
    with pytest.raises(
        TrainingError, match=r"the capsule h: batch norm .* at least 2 samples .* recipe.batch is 1; .*"
    ):
        train(drawn("batch-norm"), iris(batch=1), tmp_path)
    assert not list(tmp_path.glob("runs/*"))


def test_positions_count_as_samples_do() -> None:
    drawing = Drawing("pictures")
    drawing.add("x", "2D-data", height=4, width=4, channels=1)
    drawing.then("c", "2D-relu", kernels=2, kernel=3)
    drawing.wear("c", "batch-norm")
    assert smallest_batch(check(drawing).network, 1, 1) == (1, "")
    drawing.change("x-c", kernel=4)
    with pytest.raises(TrainingError, match="the capsule c"):
        smallest_batch(check(drawing).network, 1, 5)
