"""Universal backpropagation is autograd, on every network and every loss; trained by it, a network learns the same."""

from __future__ import annotations

import json

import pytest
import torch
from drawn import random_drawings
from hypothesis import given, settings
from small_zoo import LEARNING, each_network
from torch.fx.experimental.proxy_tensor import make_fx
from torch.nn import functional
from training_alike import assert_trains_alike, in_float64, random_batch, train_small_alike
from worked import INPUTS, TARGETS, WEIGHTS, draw_worked_example

from inkcap.drawing import Drawing, from_text
from inkcap.engine import Backpropagator, build, initialise, named_weights, weights_of
from inkcap.engine.losses import by_autograd, half_squares, loss_with_gradient
from inkcap.network import check
from inkcap.recipes import LOSSES, DataSpec, LossSpec, Recipe
from inkcap.training.facts import facts_of
from inkcap.training.losses import explicit_loss, loss_function, total_loss
from inkcap.training.scores import outputs_of
from inkcap.zoo import draw


@pytest.mark.parametrize("name", each_network(LEARNING))
def test_every_network_of_the_zoo_trains_alike(name: str) -> None:
    train_small_alike(name, most=400_000)


@settings(max_examples=15, deadline=None)
@given(random_drawings())
def test_random_drawings_train_alike(drawing: Drawing) -> None:
    network = in_float64(drawing)
    facts = facts_of(network)
    recipe = Recipe(DataSpec("any"), losses=tuple(LossSpec(o.name, "mean-squared-error") for o in facts.outputs))
    module = build(network)
    inputs = list(random_batch(network, network.inputs, 0).values())
    targets = list(random_batch(network, network.outputs, 1).values())
    if total_loss(facts, recipe)(outputs_of(module(*inputs)), targets).requires_grad:
        assert_trains_alike(network, "sgd", steps=50)


@settings(max_examples=60, deadline=None)
@given(random_drawings())
def test_delta_of_every_capsule_is_the_slope_of_its_total_input(drawing: Drawing) -> None:
    """Autograd over the steps, with every U a leaf of its own, gives δ capsule by capsule."""
    network = in_float64(drawing)
    planned = Backpropagator(network)
    module = build(network)
    initialise(module, network, 2)
    inputs, targets = random_batch(network, network.inputs, 0), random_batch(network, network.outputs, 1)
    torch.manual_seed(7)  # both ways draw the same masks
    found = planned(weights_of(module), inputs, targets)
    from inkcap.engine import TORCH

    program = planned.program
    values = dict(zip(program.inputs.values(), inputs.values(), strict=True))
    stored = {**program.weights, **program.states}
    values |= {stored[name]: weight for name, weight in weights_of(module).items()}
    values = {number: value.clone().requires_grad_() for number, value in values.items()}
    torch.manual_seed(7)
    for step in program.trace.steps:
        arguments = [values[number] for number in step.arguments]
        made = TORCH[step.operation.name].compute(arguments, step.attributes)
        values[step.target] = made.view_as(made) if made is arguments[0] else made
    loss = sum(((values[program.outputs[id]] - targets[id]) ** 2).sum() / 2 for id in network.outputs)
    torch.testing.assert_close(found.loss, loss.detach(), rtol=1e-12, atol=1e-12)
    assert list(found.delta) == list(program.total_inputs)
    assert list(found.Y) == list(network.capsules)
    wanted = [values[number] for number in program.total_inputs.values()]
    theirs = torch.autograd.grad(loss, wanted, retain_graph=True, allow_unused=True)
    for (socket, delta), slope in zip(found.delta.items(), theirs, strict=True):
        torch.testing.assert_close(delta, torch.zeros_like(delta) if slope is None else slope, rtol=1e-10, atol=1e-12)
        torch.testing.assert_close(
            found.U[socket], values[program.total_inputs[socket]].detach(), rtol=1e-12, atol=1e-12
        )
    for id, output in found.Y.items():
        torch.testing.assert_close(output, values[program.outputs[id]].detach(), rtol=1e-12, atol=1e-12)


def test_ties_multiple_connections_and_several_outputs() -> None:
    drawing = Drawing("all at once", "float64")
    drawing.add("x1", "1D-data", dimension=3)
    drawing.add("x2", "1D-data", dimension=3)
    for i in (1, 2):
        drawing.add(f"h{i}", "1D-tanh", dimension=4)
        drawing.connect(f"x{i}", f"h{i}", "full", tie="shared")
    drawing.connect("x1", "h2", "full", id="once")
    drawing.connect("x1", "h2", "full", id="twice")
    drawing.add("o1", "1D-softmax", dimension=2)
    drawing.add("o2", "1D-identical", bias="none")
    drawing.connect("h1", "o1", "full")
    drawing.connect("h2", "o1", "full", trainable=False)
    drawing.connect("h1", "o2", "transfer")
    drawing.connect("h2", "o2", "transfer")
    network = check(drawing).network
    found = Backpropagator(network)(
        {name: torch.ones(w.structure.sizes) / 7 for name, w in network.weights.items()},
        random_batch(network, network.inputs, 0),
        random_batch(network, network.outputs, 1),
    )
    assert "tie:shared.weight" in found.weight_updates
    assert "h2-o1.weight" not in found.weight_updates
    shared = found.delta["h1"].T @ found.Y["x1"] + found.delta["h2"].T @ found.Y["x2"]
    torch.testing.assert_close(found.weight_updates["tie:shared.weight"], shared)
    torch.testing.assert_close(found.weight_updates["once.weight"], found.weight_updates["twice.weight"])
    assert_trains_alike(network, "adam")


def test_kinks_and_ties_go_to_zero_and_to_the_first() -> None:
    drawing = Drawing("kinks", "float64")
    drawing.add("x", "2D-data", height=2, width=2, channels=1)
    drawing.add("r", "2D-relu", bias="none")
    drawing.connect("x", "r", "transfer")
    drawing.add("m", "2D-downsampling", window=2)
    drawing.connect("x", "m", "transfer")
    found = Backpropagator(check(drawing).network)(
        {}, {"x": [[[0.0, 0.0], [0.0, 0.0]]]}, {"r": [[[1.0, 1.0], [1.0, 1.0]]], "m": [[[1.0]]]}
    )
    assert not found.delta["r"].any()
    assert found.delta["x"].tolist() == [[[-1.0, 0.0], [0.0, 0.0]]]


def test_a_channel_bias_sums_over_its_positions() -> None:
    drawing = Drawing("shared", "float64")
    drawing.add("x", "2D-data", height=3, width=3, channels=2)
    drawing.add("h", "2D-identical", bias="channel")
    drawing.connect("x", "h", "convolution", kernels=4, kernel=2)
    network = check(drawing).network
    weights = {name: torch.ones(w.structure.sizes) for name, w in network.weights.items()}
    found = Backpropagator(network)(
        weights, random_batch(network, network.inputs, 0), random_batch(network, network.outputs, 1)
    )
    torch.testing.assert_close(found.bias_updates["h.bias"], found.delta["h"].sum((0, 2, 3)))


def test_the_plan_has_no_tape_and_is_traced_as_one_piece() -> None:
    network = check(draw("mlp")).network
    planned = Backpropagator(network)
    module = build(network)
    initialise(module, network, 0)
    weights = list(named_weights(module).values())

    def whole(x: torch.Tensor, target: torch.Tensor, *weights: torch.Tensor) -> object:
        with torch.no_grad():
            return planned.plan.run([x], weights, [target])

    x, target = torch.randn(5, 2), torch.randn(5, 2)
    traced = make_fx(whole)(x, target, *weights)
    first, second = whole(x, target, *weights), traced(x, target, *weights)
    assert torch.equal(first[0], second[0])
    assert not first[0].requires_grad
    assert all(torch.equal(a, b) for a, b in zip(first[3], second[3], strict=True))


def test_training_asks_for_no_gradient_by_data() -> None:
    network = check(draw("lenet")).network
    facts = facts_of(network)
    recipe = Recipe(DataSpec("any"), losses=(LossSpec("h", "cross-entropy"),))
    from inkcap.engine.universal import Seed, plan
    from inkcap.program import lower_to_layers, lower_to_steps

    program = lower_to_steps(network)
    lowered = lower_to_layers(program, {"h": "U"})
    seeds = [Seed(lowered.returned[0], explicit_loss(recipe.losses[0], facts.outputs[0]))]
    source = plan(lowered, seeds, gradients=program.weights.values()).source
    assert "d_X_a" not in source
    assert "[False, True, True]" in source
    assert "softmax" not in source


@pytest.mark.parametrize(
    ("kind", "options", "shape", "target"),
    [
        ("cross-entropy", {}, (4,), "labels"),
        ("cross-entropy", {"label_smoothing": 0.1}, (4,), "labels"),
        ("cross-entropy", {"label_smoothing": 0.1}, (4,), "shares"),
        ("cross-entropy", {}, (4,), "shares"),
        ("cross-entropy", {}, (4, 2, 3), "labels"),
        ("cross-entropy", {"label_smoothing": 0.2}, (4, 2, 3), "labels"),
        ("cross-entropy", {}, (4, 1, 1), "flat"),
        ("mean-squared-error", {}, (4, 2, 3), "numbers"),
        ("huber", {"edge": 0.7}, (4, 2, 3), "some numbers"),
        ("binary-cross-entropy", {}, (4,), "bits"),
        ("margin", {"upper": 0.8, "lower": 0.2, "share": 0.3}, (4,), "labels"),
        ("spread", {"margin": 0.6}, (4,), "labels"),
    ],
)
@pytest.mark.parametrize("dtype", ["float64", "float16"])
def test_explicit_losses_are_the_recipes(kind: str, options: dict, shape: tuple, target: str, dtype: str) -> None:
    from inkcap.training.facts import CapsuleFacts

    generator = torch.Generator().manual_seed(0)
    value = torch.randn((5, *shape), generator=generator, dtype=torch.float64).to(getattr(torch, dtype))
    wanted = {
        "labels": lambda: torch.randint(0, 4, (5, *shape[1:]), generator=generator),
        "flat": lambda: torch.randint(0, 4, (5,), generator=generator),
        "shares": lambda: torch.softmax(torch.randn((5, *shape), generator=generator), 1).to(value.dtype),
        "numbers": lambda: torch.randn((5, *shape), generator=generator).to(value.dtype),
        "some numbers": lambda: torch.where(
            torch.rand((5, *shape), generator=generator) < 0.5, torch.nan, torch.randn((5, *shape), generator=generator)
        ).to(value.dtype),
        "bits": lambda: torch.randint(0, 2, (5, *shape), generator=generator).to(value.dtype),
    }[target]()
    spec, output = LossSpec("h", kind, 1.0, options), CapsuleFacts("h", "identical", shape, dtype)
    loss, gradient = explicit_loss(spec, output)(value, wanted)
    leaf = value.clone().requires_grad_()
    expected = loss_function(spec, output)(leaf, wanted)
    expected.backward()
    tolerance = {"rtol": 1e-12, "atol": 1e-14} if dtype == "float64" else {"rtol": 1e-3, "atol": 1e-4}
    torch.testing.assert_close(loss, expected.detach(), **tolerance)
    torch.testing.assert_close(gradient, leaf.grad, **tolerance)
    assert gradient.dtype == value.dtype


# Boxes, cells, masks and neighbours are not sums over samples alone.
@pytest.mark.parametrize("kind", [kind for kind in LOSSES if kind not in ("boxes", "yolo", "masks", "triplet")])
def test_reductions_are_sums_over_samples(kind: str) -> None:
    generator = torch.Generator().manual_seed(0)
    value = torch.randn((5, 4, 2, 2) if kind == "cross-entropy" else (5, 4), generator=generator, dtype=torch.float64)
    labels = torch.randint(0, 4, (5, 2, 2) if kind == "cross-entropy" else (5,), generator=generator)
    target = labels if kind in ("cross-entropy", "margin", "spread") else value.sigmoid()
    whole, slope = loss_with_gradient(kind, reduction="sum")(value, target)
    mean, mean_slope = loss_with_gradient(kind, reduction="mean")(value, target)
    torch.testing.assert_close(mean * 5, whole)
    torch.testing.assert_close(mean_slope * 5, slope)
    each = [loss_with_gradient(kind, reduction="sum")(value[i : i + 1], target[i : i + 1])[0] for i in range(5)]
    torch.testing.assert_close(sum(each), whole)


def test_any_other_loss_by_autograd_of_itself_alone() -> None:
    value, target = torch.randn(3, 2, dtype=torch.float64), torch.randn(3, 2, dtype=torch.float64)
    loss, gradient = by_autograd(lambda v, t: functional.mse_loss(v, t, reduction="sum") / 2)(value, target)
    expected = half_squares()(value, target)
    torch.testing.assert_close((loss, gradient), expected)
    assert not by_autograd(lambda v, t: t.sum())(value, target)[1].any()


def test_the_source_can_be_read() -> None:
    source = Backpropagator(check(draw_worked_example()).network).source
    assert "U_H1 = V_H1 + X_X2" in source
    assert "d_U_H1 = threshold_backward(d_Y_H1, Y_H1, 0)" in source


@pytest.mark.parametrize("dtype", ["float16", "float32"])
def test_other_floating_types(dtype: str) -> None:
    document = json.loads(draw_worked_example().to_text())
    network = check(from_text(json.dumps({**document, "dtype": dtype}))).network
    found = Backpropagator(network)(WEIGHTS, INPUTS, TARGETS)
    assert found.delta["H1"].dtype == getattr(torch, dtype)
    assert found.delta["H1"].tolist() == pytest.approx([0, -7 / 6], rel=1e-2)
