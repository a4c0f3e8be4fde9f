"""Contraction: neurons as capsules. What goes in by neurons must come out by capsules, to rounding."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from drawn import random_drawings
from hypothesis import given, settings
from hypothesis import strategies as st

from inkcap.drawing import Drawing, Edit, Plain, Put, from_text
from inkcap.drawing.plain import FIXED, FREE
from inkcap.engine import (
    ContractionError,
    ExpansionError,
    build,
    contract,
    expand,
    initialise,
    load_weights,
    prove_contraction,
    prove_expansion,
    weights_of,
)
from inkcap.engine.plain import Columns, PlainNetwork
from inkcap.engine.proof import TOLERANCE, NotEqual, random_inputs, run_block, run_network
from inkcap.network import check
from inkcap.zoo import draw


def started(network) -> dict[str, torch.Tensor]:
    module = build(network)
    initialise(module, network, 0)
    return weights_of(module)


def block(plain: Plain) -> Drawing:
    drawing = Drawing("block", "float64")
    drawing.apply(Edit("plain", (Put(plain),)))
    return drawing


def same_outputs(drawing: Drawing, contraction) -> None:
    """Compare every output neuron with the element that it became."""
    plain = drawing.plain
    network = PlainNetwork(Columns(plain.symbol, plain.bias, plain.back, plain.front, plain.weight))
    (x,) = random_inputs([network.inputs.size])
    expected = network.forward(x, dtype=np.float64)
    capsules = contraction.network
    made = dict(zip(capsules.outputs, run_network(capsules, contraction.weights, [x]), strict=True))
    module = build(capsules)
    load_weights(module, contraction.weights)
    printed = module(torch.from_numpy(x))
    printed = dict(zip(capsules.outputs, printed if isinstance(printed, tuple) else (printed,), strict=True))
    scale = max(1.0, float(np.abs(expected).max()))
    for i, neuron in enumerate(network.outputs.tolist()):
        id, index = contraction.place(neuron)
        for values in (made[id], printed[id].detach().numpy()):
            np.testing.assert_allclose(values[:, index], expected[:, i], rtol=0, atol=TOLERANCE * scale)


def parameters_of(plain: Plain) -> int:
    ties = plain.tie or (FREE,) * len(plain.back)
    biases = [
        tie
        for tie, symbol in zip(plain.bias_tie or (FREE,) * len(plain.symbol), plain.symbol, strict=True)
        if symbol != "data"
    ]
    return sum(column.count(FREE) + len({tie for tie in column if tie >= 0}) for column in (list(ties), biases))


def test_figure_20_comes_back_from_figure_22() -> None:
    drawing = draw("mlp")
    network = check(drawing).network
    weights = started(network)
    contraction = contract(expand(network, weights).drawing)
    assert list(contraction.drawing.capsules) == ["a", "b", "c", "d"]
    assert [c.symbol for c in contraction.drawing.connections.values()] == ["full"] * 3
    assert {id: c.output for id, c in contraction.network.capsules.items()} == {
        id: c.output for id, c in network.capsules.items()
    }
    assert contraction.weights.keys() == weights.keys()
    assert all(torch.equal(contraction.weights[name], value.double()) for name, value in weights.items())
    columns = contract(expand(network, weights, columns=True).drawing)
    assert [c.symbol for c in columns.drawing.connections.values()] == ["full"] * 3
    assert list(columns.drawing.capsules) == ["x", "h", "h2", "y"]


def figure_25() -> Drawing:
    drawing = Drawing("F25", "float64")
    for id, symbol, b in (
        ("x1", "data", None), ("x2", "data", None), ("h1", "relu", 1.5), ("h2", "relu", -1), ("h3", "relu", 2),
        ("o1", "identical", 0), ("o2", "identical", 1),
    ):  # fmt: skip
        drawing.add(id, f"{symbol} neuron", **({} if b is None else {"b": b}))
    for back, front, strength in (
        ("x1", "h1", 1), ("x2", "h1", -1), ("x1", "h2", 2), ("h1", "h2", 0.5), ("x2", "h3", -1), ("h1", "h3", 3),
        ("h2", "h3", -0.25), ("h2", "o1", 1), ("h3", "o1", 1), ("x1", "o1", 1), ("h3", "o2", 0.5), ("h1", "o2", -1),
    ):  # fmt: skip
        drawing.connect(back, front, "amplifying", strength=strength)
    return drawing


def test_c63_a_network_with_flexible_connections() -> None:
    drawing = figure_25()
    contraction = contract(drawing)
    network = contraction.network
    (o,) = run_network(network, contraction.weights, [np.array([[1.0, 2.0]])])
    np.testing.assert_allclose(o[0], (55 / 16, 35 / 32), rtol=0, atol=1e-12)
    assert check(contraction.drawing).parameters == check(drawing).parameters == 17
    assert contraction.place(5)[1] == 0
    assert contraction.place(6)[1] == 1
    assert [contraction.drawing.capsules[id].symbol for id in network.outputs] == ["identical"]


def test_lenet_expanded_and_contracted_computes_the_same() -> None:
    network = check(draw("lenet-digits")).network
    weights = started(network)
    expanded = expand(network, weights)
    contraction = contract(expanded.drawing)
    assert check(contraction.drawing).parameters == expanded.parameters == 53_002
    x = random_inputs([64])
    (expected,), (made,) = run_network(network, weights, x), run_network(contraction.network, contraction.weights, x)
    np.testing.assert_allclose(made, expected, rtol=0, atol=TOLERANCE)
    np.testing.assert_allclose(run_block(expanded.drawing, x)[0], expected, rtol=0, atol=TOLERANCE)
    # The printed module takes the very weights.
    module = build(contraction.network)
    load_weights(module, contraction.weights)
    small = torch.from_numpy(x[0]).float().reshape(-1, 1, 8, 8)
    torch.testing.assert_close(module(small), torch.from_numpy(expected).float(), rtol=1e-4, atol=1e-5)


@st.composite
def random_blocks(draw: st.DrawFn) -> Drawing:
    """Draw any plain block: any order, skips, several lines between two neurons, ties, fixed weights and biases."""
    data, computing = draw(st.integers(1, 4)), draw(st.integers(1, 12))
    count = data + computing
    symbol = ["data"] * data + draw(
        st.lists(st.sampled_from(["relu", "tanh", "identical", "sigmoid"]), min_size=computing, max_size=computing)
    )
    front = draw(st.lists(st.integers(data, count - 1), min_size=1, max_size=40))
    back = [draw(st.integers(0, h - 1)) for h in front]
    rng = np.random.default_rng(draw(st.integers(0, 2**32 - 1)))
    knots = draw(st.integers(0, 3))
    tie = rng.integers(FIXED, max(0, min(knots, len(front))) or 0, len(front)) if knots else np.full(len(front), FREE)
    bias_tie = rng.integers(FIXED, max(1, min(knots, count)), count) if knots else np.full(count, FREE)
    weight, bias = rng.standard_normal(len(front)), rng.standard_normal(count)
    shared = rng.standard_normal(4)
    weight, bias = np.where(tie >= 0, shared[tie], weight), np.where(bias_tie >= 0, shared[bias_tie], bias)
    bias[rng.random(count) < 0.2 * (bias_tie == FIXED)] = 0
    bias[:data] = 0
    if draw(st.booleans()):
        weight = np.where(tie == FIXED, 1.0, weight)
    order = rng.permutation(count)
    place = np.argsort(order)
    return block(
        Plain(
            tuple(np.array(symbol)[order].tolist()),
            tuple(bias[order].tolist()),
            tuple(place[back].tolist()),
            tuple(place[front].tolist()),
            tuple(weight.tolist()),
            tuple(tie.tolist()) if knots else (),
            tuple(bias_tie[order].tolist()) if knots else (),
        )
    )


@settings(max_examples=120, deadline=None)
@given(random_blocks())
def test_contracted_is_original(drawing) -> None:
    contraction = contract(drawing)
    report = check(contraction.drawing)
    assert report.well_formed, report.errors
    same_outputs(drawing, contraction)
    assert report.parameters == parameters_of(drawing.plain)
    assert from_text(contraction.drawing.to_text()) == contraction.drawing
    found = sorted(int(i) for id, members in contraction.neurons.items() for i in members)
    assert found == list(range(len(drawing.plain.symbol)))


@settings(max_examples=60, deadline=None)
@given(random_drawings())
def test_expanded_and_contracted_is_original(drawing) -> None:
    """There and back: also where capsules are kept, a block reads from them and writes into them."""
    network = check(drawing).network
    weights = started(network)
    try:
        expansion = expand(network, weights)
        contraction = contract(expansion.drawing)
    except ExpansionError:
        return
    except ContractionError:
        # A block among several data neurons or outputs: no connection joins a vector to a neuron.
        ends = (*network.inputs, *network.outputs)
        assert any(network.capsules[id].rank == 0 for id in ends)
        return
    assert prove_expansion(network, weights, expansion) <= 1e-9
    assert prove_contraction(expansion.drawing, contraction) <= 1e-9
    assert check(contraction.drawing).parameters == expansion.parameters
    assert from_text(contraction.drawing.to_text()) == contraction.drawing


def test_a_wrong_conversion_is_not_believed() -> None:
    network = check(draw("mlp")).network
    weights = started(network)
    expansion = expand(network, weights, columns=True)
    contraction = contract(expansion.drawing)
    with pytest.raises(NotEqual, match="outputs differ by"):
        prove_expansion(network, {name: value.double() * (1 + 1e-9) for name, value in weights.items()}, expansion)
    broken = replace(contraction, weights={name: value * 1.01 for name, value in contraction.weights.items()})
    with pytest.raises(NotEqual, match="please report it"):
        prove_contraction(expansion.drawing, broken)


def test_tied_layers_stay_tied_whole() -> None:
    drawing = Drawing("tied", "float64")
    drawing.add("x", "1D-data", dimension=3)
    drawing.add("h", "1D-tanh", dimension=3, bias="none")
    drawing.add("k", "1D-tanh", dimension=3, bias="none")
    drawing.connect("x", "h", "full", tie="w")
    drawing.connect("h", "k", "full", tie="w")
    contraction = contract(expand(check(drawing).network, columns=True).drawing)
    lines = contraction.drawing.connections.values()
    assert [line.symbol for line in lines] == ["full", "full"]
    assert len({line.tie for line in lines}) == 1
    assert check(contraction.drawing).parameters == 9


def test_new_weights_of_a_block_are_taken() -> None:
    network = check(draw("mlp")).network
    expansion = expand(network, columns=True)
    weights = {name: value + 1 for name, value in started(network).items()}
    contraction = contract(expansion.drawing, expansion.correspondence.carry(weights))
    (x,) = random_inputs([2])
    made, expected = (
        run_network(n, w, [x])[0] for n, w in ((contraction.network, contraction.weights), (network, weights))
    )
    np.testing.assert_allclose(made, expected, rtol=0, atol=1e-6)


def test_what_has_no_neurons_is_refused() -> None:
    with pytest.raises(ContractionError, match="the capsule a is no plain neuron but a 1D-data"):
        contract(draw("mlp"))


def test_a_cycle_is_refused() -> None:
    plain = Plain(("data", "relu", "relu"), (0, 0, 0), (0, 1, 2), (1, 2, 1), (1.0, 1.0, 1.0))
    with pytest.raises(ContractionError, match="neuron 1 is on a cycle"):
        contract(block(plain))
