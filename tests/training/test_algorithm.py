"""A run by universal backpropagation: the same batches, the same weights, the same files; and signals beside it."""

from __future__ import annotations

from pathlib import Path

import pytest
import torch
from safetensors.torch import load_file

from inkcap import Drawing, Recipe, evaluate, predict, train
from inkcap.engine import initialise, weights_of
from inkcap.engine.build import build
from inkcap.network import check
from inkcap.recipes import OPTIMISERS, DataSpec, LossSpec, OptimiserSpec
from inkcap.training.batches import Batches
from inkcap.training.facts import facts_of
from inkcap.training.signals import SignalWatch
from inkcap.zoo import mlp


def small(dtype: str = "float64") -> Drawing:
    return mlp((2, 6, 4, 2), "small", dtype, last="softmax")


def trained(folder: Path, engine: str, optimiser: str, **settings: object) -> tuple[object, dict]:
    recipe = Recipe(DataSpec("moons"), optimiser=OptimiserSpec(optimiser, 0.01), epochs=2, engine=engine, **settings)
    result = train(small(), recipe, folder)
    return result, load_file(result.run.path / "weights.safetensors")


@pytest.mark.parametrize("optimiser", OPTIMISERS)
def test_every_optimiser_comes_to_the_same_weights(optimiser: str, tmp_path: Path) -> None:
    _, by_tape = trained(tmp_path, "eager", optimiser)
    _, by_plan = trained(tmp_path, "explicit", optimiser)
    for name, weight in by_tape.items():
        torch.testing.assert_close(by_plan[name], weight, rtol=1e-10, atol=1e-10)


def test_a_run_has_the_same_bits_twice_and_can_be_used(tmp_path: Path) -> None:
    first, one = trained(tmp_path, "explicit", "adam", clip=1.0, freeze=("b.bias",))
    _, two = trained(tmp_path, "explicit", "adam", clip=1.0, freeze=("b.bias",))
    assert all(torch.equal(one[name], two[name]) for name in one)
    module, network = build(check(small()).network), check(small()).network
    initialise(module, network, 0)
    assert torch.equal(one["b.bias"], weights_of(module)["b.bias"])
    assert first.run.recipe().engine == "explicit"
    assert evaluate(first.run).samples > 0
    assert predict(first.run, {"a": [[0.0, 1.0]]}).samples == 1


def path_of_neurons(symbol: str, weight: float, bias: float) -> Drawing:
    drawing = Drawing("path", "float64")
    drawing.add("h0", "data neuron")
    for i in range(1, 12):
        drawing.add(f"h{i}", f"{symbol} neuron", b=bias)
        drawing.connect(f"h{i - 1}", f"h{i}", "amplifying", strength=weight)
    return drawing


@pytest.mark.parametrize(
    ("symbol", "weight", "bias", "factor"), [("sigmoid", 1, -0.5, 9.5367431640625e-07), ("identical", 2, 0, 1024)]
)
def test_signals_show_what_vanishes_and_what_explodes(symbol: str, weight: float, bias: float, factor: float) -> None:
    """Each sigmoid neuron at U = 0 lets a quarter of δ through, each weight 2 doubles it."""
    network = check(path_of_neurons(symbol, weight, bias)).network
    module = build(network)
    initialise(module, network, 0)
    recipe = Recipe(DataSpec("any"), losses=(LossSpec("h11", "mean-squared-error"),))
    x = torch.full((4,), 0.5, dtype=torch.float64)
    batches = Batches((x,), (x / 2,), 4, torch.device("cpu"))
    found = SignalWatch(network, module, facts_of(network), recipe, batches).measure(0).capsules
    assert found["h1"].delta / found["h11"].delta == pytest.approx(factor, rel=1e-12)
    if symbol == "sigmoid":
        assert found["h7"].output == pytest.approx(0.5, rel=1e-12)
        # One sample's own δ: (Y − T)·2·σ′ = 0.25·2·0.25.
        assert found["h11"].delta == pytest.approx(0.125, rel=1e-12)
    assert found["h0"].dead is None
    assert found["h1"].dead == 0


def test_dead_units_are_counted() -> None:
    drawing = Drawing("dead", "float64")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("r", "1D-relu", "full", dimension=4)
    drawing.then("o", "1D-identical", "full", dimension=1)
    network = check(drawing).network
    module = build(network)
    initialise(module, network, 0)
    with torch.no_grad():
        module.get_parameter("r.bias").copy_(torch.tensor([1e3, -1e6, -1e6, -1e6]))
    recipe = Recipe(DataSpec("any"), losses=(LossSpec("o", "mean-squared-error"),))
    x = torch.randn((8, 2), dtype=torch.float64)
    watch = SignalWatch(network, module, facts_of(network), recipe, Batches((x,), (x[:, :1],), 8, torch.device("cpu")))
    assert watch.measure(0).capsules["r"].dead == 0.75


def worn() -> Drawing:
    """Batch norm, dropout, dropconnect and a product of two ports: what is random or looks at the batch."""
    drawing = Drawing("worn", "float64")
    drawing.add("x", "1D-data", dimension=2)
    drawing.then("h", "1D-relu", "full", dimension=8)
    drawing.wear("h", "batch-norm")
    drawing.wear("h", "dropout", probability=0.25)
    drawing.add("gate", "1D-sigmoid", dimension=8)
    drawing.connect("x", "gate", "full", dropconnect=0.25)
    drawing.add("p", "1D-product")
    drawing.connect("h", "p", "transfer")
    drawing.connect("gate", "p", "transfer", port="by")
    drawing.add("y", "1D-softmax", dimension=2)
    drawing.connect("p", "y", "full")
    drawing.wear("p", "layer-norm")
    return drawing


def test_what_is_random_or_looks_at_the_batch_comes_to_the_same_weights(tmp_path: Path) -> None:
    found = []
    for engine in ("eager", "explicit"):
        recipe = Recipe(DataSpec("moons"), epochs=2, engine=engine)
        result = train(worn(), recipe, tmp_path)
        found.append(load_file(result.run.path / "weights.safetensors"))
        assert evaluate(result.run).samples > 0
    by_tape, by_plan = found
    assert "h.batch-norm.mean" in by_tape
    for name, weight in by_tape.items():
        torch.testing.assert_close(by_plan[name], weight, rtol=1e-10, atol=1e-10)


def functions() -> Drawing:
    """A network of functions that bring slopes, scales, kinks and chance of their own."""
    drawing = Drawing("functions", "float64")
    drawing.add("x", "2D-data", height=8, width=8, channels=1)
    drawing.then("a", "2D-prelu", "convolution", kernels=4, kernel=3)
    drawing.then("n", "2D-local-response", "transfer", alpha=0.1)
    drawing.then("l", "2D-l2-normalisation", "transfer", scale=20)
    drawing.then("m", "2D-maxout", "convolution", kernels=6, kernel=3)
    drawing.then("s", "1D-stochastic-binary", "reshaping")
    drawing.then("e", "1D-expression", "full", dimension=10, expression="sqrt(max(x, 0)) + 0.1*x")
    drawing.then("f", "1D-tanh", "full", dimension=8, amplitude=1.7159, steepness=2 / 3)
    drawing.then("y", "1D-softmax", "full", dimension=10)
    return drawing


def test_functions_with_parameters_and_chance_come_to_the_same_weights(tmp_path: Path) -> None:
    found = []
    for engine in ("eager", "explicit"):
        recipe = Recipe(DataSpec("digits"), optimiser=OptimiserSpec("adam", 0.01), epochs=1, batch=256, engine=engine)
        result = train(functions(), recipe, tmp_path)
        found.append(load_file(result.run.path / "weights.safetensors"))
    by_tape, by_plan = found
    assert {"a.slope", "l.scale"} <= by_tape.keys()
    assert not torch.equal(by_tape["l.scale"], torch.full((4,), 20.0, dtype=torch.float64))
    for name, weight in by_tape.items():
        torch.testing.assert_close(by_plan[name], weight, rtol=1e-8, atol=1e-8)
