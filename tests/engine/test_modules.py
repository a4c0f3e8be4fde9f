"""Modules: random drawings compile and take a step; the printed source is what runs; names are safe."""

from __future__ import annotations

import ast
import json

import numpy as np
import pytest
import torch
from drawn import random_drawings
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import nn

from inkcap.drawing import Drawing, from_text
from inkcap.engine import (
    WeightsError,
    build,
    initialise,
    load_weights,
    named_weights,
    run_backwards,
    run_on_numpy,
    run_on_torch,
    source_of,
    weights_of,
)
from inkcap.network import check
from inkcap.program import MODULE_NAMES, RESERVED, class_name, identifier, lower_to_steps
from inkcap.zoo import draw


def inputs_of(network, batch: int = 2, seed: int = 0) -> list[torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    structures = [network.capsules[id].output for id in network.inputs]
    return [
        torch.randn((batch, *s.sizes), generator=generator, dtype=torch.float64).to(getattr(torch, s.dtype))
        for s in structures
    ]


def as_tuple(result) -> tuple[torch.Tensor, ...]:
    return result if isinstance(result, tuple) else (result,)


@settings(max_examples=120, deadline=None)
@given(random_drawings())
def test_checked_means_compiles_means_a_step_with_finite_numbers(drawing: Drawing) -> None:
    report = check(drawing)
    assert report.well_formed, report.diagnostics
    network = report.network
    module = build(network)
    initialise(module, network, 0)
    assert sum(p.numel() for p in module.parameters()) == report.parameters + report.frozen_parameters
    outputs = as_tuple(module(*inputs_of(network)))
    for id, output in zip(network.outputs, outputs, strict=True):
        assert tuple(output.shape) == (2, *network.capsules[id].output.sizes)
    loss = sum((output**2).sum() for output in outputs)
    parameters = list(module.parameters())
    if parameters:
        optimiser = torch.optim.SGD(parameters, 0.01)
        loss.backward()
        optimiser.step()
        assert all(torch.isfinite(p).all() for p in parameters)


@settings(max_examples=60, deadline=None)
@given(random_drawings())
def test_module_is_program_and_backward_is_autograd(drawing: Drawing) -> None:
    """The whole network by its printed module and autograd, and by the operations and their products."""
    document = json.loads(drawing.to_text())
    network = check(from_text(json.dumps({**document, "dtype": "float64"}))).network
    module = build(network).eval()
    initialise(module, network, 3)
    program = lower_to_steps(network)
    inputs = inputs_of(network)
    values = dict(zip(program.inputs.values(), inputs, strict=True))
    numbers = {**program.weights, **program.states}
    values |= {numbers[name]: weight for name, weight in weights_of(module).items()}
    computed = run_on_torch(program.trace.steps, values)
    by_numpy = run_on_numpy(program.trace.steps, {number: value.numpy() for number, value in values.items()})
    for number in program.outputs.values():
        np.testing.assert_allclose(computed[number].numpy(), by_numpy[number], rtol=1e-9, atol=1e-10)
    outputs = as_tuple(module(*inputs))
    for id, output in zip(network.outputs, outputs, strict=True):
        torch.testing.assert_close(output, computed[program.outputs[id]], rtol=1e-12, atol=1e-12)
    # Two outputs may be one value, e.g. taps by transfer: their gradients add up there.
    slopes: dict[int, torch.Tensor] = {}
    for id in network.outputs:
        number = program.outputs[id]
        slopes[number] = slopes.get(number, 0) + torch.ones_like(computed[number])
    ours = run_backwards(program.trace.steps, computed, slopes)
    total = sum(output.sum() for output in outputs)
    if total.requires_grad:
        total.backward()
    for name, parameter in named_weights(module).items():
        expected = torch.zeros_like(parameter) if parameter.grad is None else parameter.grad
        mine = ours.get(program.weights[name], torch.zeros_like(parameter))
        torch.testing.assert_close(mine, expected, rtol=1e-9, atol=1e-10)


def test_the_source_is_what_a_person_would_write() -> None:
    source = source_of(check(draw("lenet")).network)
    assert "self.b = nn.Conv2d(1, 32, 5)" in source
    assert "self.h = nn.Linear(512, 10)" in source
    assert "h = F.softmax(self.h(g), dim=-1)" in source
    assert "f = e.flatten(1)" in source
    assert "inkcap" not in source
    ast.parse(source)


def test_u_instead_of_y_is_the_same_network_without_its_last_function() -> None:
    network = check(draw("lenet")).network
    scores, module = build(network, {"h": "U"}), build(network)
    initialise(scores, network, 1)
    initialise(module, network, 1)
    x = inputs_of(network)[0]
    torch.testing.assert_close(torch.softmax(scores(x), -1), module(x))
    with pytest.raises(ValueError, match="returns"):
        build(network, {"g": "U"})


def test_weights_have_the_drawings_names() -> None:
    network = check(draw("lenet")).network
    module = build(network)
    expected = ["a-b.weight", "b.bias", "c-d.weight", "d.bias", "f-g.weight", "g.bias", "g-h.weight", "h.bias"]
    assert list(weights_of(module)) == expected
    assert dict(module.named_parameters()).keys() == {
        f"{layer}.{kind}" for layer in "bdgh" for kind in ("weight", "bias")
    }


def test_a_start_depends_on_seed_and_name_alone() -> None:
    small, large = draw("mlp"), draw("mlp")
    large.add("z", "1D-relu", dimension=5)
    large.connect("b", "z", "full")
    found = []
    for drawing in (small, large):
        network = check(drawing).network
        module = build(network)
        initialise(module, network, 7)
        found.append(weights_of(module))
    assert all(torch.equal(found[0][name], found[1][name]) for name in found[0])
    network = check(small).network
    module = build(network)
    initialise(module, network, 8)
    assert not torch.equal(weights_of(module)["a-b.weight"], found[0]["a-b.weight"])


@pytest.mark.parametrize("kind", ["uniform", "he", "glorot", "normal", "zeros", "ones"])
def test_initialisers(kind: str) -> None:
    drawing = Drawing("x")
    drawing.add("a", "1D-data", dimension=400)
    drawing.then("b", "1D-relu", "full", dimension=300, initialiser=kind)
    network = check(drawing).network
    module = build(network)
    initialise(module, network, 0)
    weight = weights_of(module)["a-b.weight"]
    deviation = {"uniform": (1 / 400 / 3) ** 0.5, "he": (2 / 400) ** 0.5, "glorot": (2 / 700) ** 0.5, "normal": 0.01,
                 "zeros": 0, "ones": 0}[kind]  # fmt: skip
    assert float(weight.std()) == pytest.approx(deviation, rel=0.02)
    assert float(weight.mean()) == pytest.approx(float(kind == "ones"), abs=0.001)


def test_weights_that_do_not_fit_are_told() -> None:
    module = build(check(draw("mlp")).network)
    weights = weights_of(module)
    with pytest.raises(WeightsError, match=r"missing \['a-b.weight'\]"):
        load_weights(module, {k: v for k, v in weights.items() if k != "a-b.weight"})
    with pytest.raises(WeightsError, match=r"a-b.weight has the shape \(2, 6\)"):
        load_weights(module, {**weights, "a-b.weight": weights["a-b.weight"].T})
    loaded = load_weights(module, {"a-b.weight": torch.ones(6, 2), "other": torch.ones(1)}, strict=False)
    assert loaded == ["a-b.weight"]


def test_tied_weights_are_one_and_their_gradients_add_up() -> None:
    drawing = Drawing("siamese", "float64")
    drawing.add("x1", "1D-data", dimension=2)
    drawing.add("x2", "1D-data", dimension=2)
    for i in (1, 2):
        drawing.add(f"h{i}", "1D-identical", dimension=3, bias="none")
        drawing.connect(f"x{i}", f"h{i}", "full", tie="shared")
    drawing.add("o", "1D-identical", bias="none")
    drawing.connect("h1", "o", "transfer")
    drawing.connect("h2", "o", "transfer")
    report = check(drawing)
    assert report.parameters == 6
    network = report.network
    module = build(network)
    initialise(module, network, 0)
    assert list(weights_of(module)) == ["tie:shared.weight"]
    x1, x2 = inputs_of(network)
    module(x1, x2).sum().backward()
    gradient = named_weights(module)["tie:shared.weight"].grad
    torch.testing.assert_close(gradient, (x1 + x2).sum(0).expand(3, 2))


def test_what_is_not_trainable_is_frozen() -> None:
    drawing = draw("mlp")
    drawing.change("a-b", trainable=False)
    report = check(drawing)
    assert (report.parameters, report.frozen_parameters) == (44, 12)
    module = build(report.network)
    assert not named_weights(module)["a-b.weight"].requires_grad
    assert named_weights(module)["b.bias"].requires_grad


# Names -----------------------------------------------------------------------------------------------------------


def test_reserved_names_cover_what_a_module_has() -> None:
    own = {name for name in dir(nn.Module()) if not name.startswith("_")}
    assert own <= MODULE_NAMES


HOSTILE = [
    "class",
    "self",
    "forward",
    "torch",
    "F",
    "nn",
    "train",
    "None",
    "print",
    "ｃlass",
    "ﬁ",
    "__init__",
    "1",
    "名",
    "x-y",
    "_",
]


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_names_become_identifiers(name: str) -> None:
    made = identifier(name)
    assert made.isidentifier()
    assert made.isascii()
    assert made not in RESERVED
    assert not made.startswith("__")


def test_hostile_drawings_run() -> None:
    drawing = Drawing('"); import os #"""', "float32")
    previous = None
    for i, name in enumerate([n for n in HOSTILE if not n.startswith("-")]):
        drawing.add(name, "1D-data" if i == 0 else "1D-tanh", dimension=2)
        if previous:
            drawing.connect(previous, name, "full", id=f"e{i}")
        previous = name
    network = check(drawing).network
    module = build(network)
    initialise(module, network, 0)
    assert torch.isfinite(module(torch.ones(1, 2))).all()


@settings(max_examples=300, deadline=None)
@given(st.text(max_size=50))
def test_no_name_changes_the_shape_of_the_source(name: str) -> None:
    assert class_name(name).isidentifier()
    assert identifier(name).isidentifier()
    assert class_name(name).isascii()
    assert identifier(name) not in RESERVED
    assert class_name(name) not in RESERVED
