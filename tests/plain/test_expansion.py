"""Expansion: capsules as neurons. The golden numbers are those of Figures 20 and 22."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from drawn import random_drawings
from hypothesis import given, settings

from inkcap.drawing import Drawing, from_text, limits
from inkcap.drawing.plain import FIXED, FREE
from inkcap.engine import ExpansionError, build, expand, initialise, load_weights, weights_of
from inkcap.engine.patterns import find_pattern
from inkcap.engine.proof import TOLERANCE, random_inputs, run_block, run_network
from inkcap.network import check
from inkcap.zoo import draw, lenet_figure_21

W1 = [[-0.2, 0.5], [0.1, -0.3], [0.4, 0], [-0.4, 0.3], [-0.1, -0.5], [0.2, -0.2]]
W2 = [
    [0.1, 0.5, -0.2, 0.2, -0.5, -0.1],
    [0.3, -0.4, 0, 0.4, -0.3, 0.1],
    [0.5, -0.2, 0.2, -0.5, -0.1, 0.3],
    [-0.4, 0, 0.4, -0.3, 0.1, 0.5],
]
W3 = [[0.3, -0.5, -0.2, 0.1], [0.4, -0.4, -0.1, 0.2]]
B = ([-0.3, 0.2, -0.4, 0.1, -0.5, 0], [-0.3, 0.2, -0.4, 0.1], [-0.3, 0.2])


def figure_20(bias: str | None = None) -> tuple[Drawing, dict[str, torch.Tensor]]:
    drawing = Drawing("MLP", "float64")
    drawing.add("a", "1D-data", dimension=2)
    stated = {"bias": bias} if bias else {}
    for id, symbol, size in (("b", "relu", 6), ("c", "relu", 4), ("d", "identical", 2)):
        drawing.then(id, f"1D-{symbol}", "full", dimension=size, **stated)
    values = {"a-b.weight": W1, "b-c.weight": W2, "c-d.weight": W3}
    if bias != "none":
        values |= {"b.bias": B[0], "c.bias": B[1], "d.bias": B[2]}
    return drawing, {name: torch.tensor(value, dtype=torch.float64) for name, value in values.items()}


def started(network) -> dict[str, torch.Tensor]:
    module = build(network)
    initialise(module, network, 0)
    return weights_of(module)


def neuron_outputs(drawing: Drawing, weights, x) -> np.ndarray:
    """Compute a drawing of neurons one by one: every data neuron is an input, every output a number."""
    columns = [x[:, [i]] for i in range(x.shape[1])]
    return np.stack(run_network(check(drawing).network, weights, columns), 1)


@pytest.mark.parametrize(("bias", "parameters", "out"), [(None, 56, (-0.256, 0.288)), ("none", 44, (0.049, 0.107))])
def test_c59_figure_20_is_figure_22(bias, parameters, out) -> None:
    drawing, weights = figure_20(bias)
    expansion = expand(check(drawing).network, weights)
    assert (expansion.neurons, expansion.connections, expansion.parameters) == (14, 44, parameters)
    report = check(expansion.drawing)
    assert report.parameters == parameters
    symbols = [capsule.symbol for capsule in expansion.drawing.capsules.values()]
    assert [symbols.count(name) for name in ("data", "relu", "identical")] == [2, 10, 2]
    assert {capsule.rank for capsule in expansion.drawing.capsules.values()} == {0}
    assert report.classification.kind == "layered"
    carried = expansion.correspondence.carry(weights)
    x = np.array([[1.0, -2.0]])
    np.testing.assert_allclose(neuron_outputs(expansion.drawing, carried, x)[0], out, rtol=0, atol=1e-12)
    # Without weights of its own the drawing of neurons starts from them: they stand in it.
    np.testing.assert_allclose(neuron_outputs(expansion.drawing, started(report.network), x)[0], out, atol=1e-12)
    block = expand(check(drawing).network, weights, columns=True)
    np.testing.assert_allclose(run_block(block.drawing, [x])[0][0], out, rtol=0, atol=1e-12)


def test_weights_go_both_ways() -> None:
    drawing, weights = figure_20()
    network = check(drawing).network
    for columns in (False, True):
        there = expand(network, weights, columns=columns).correspondence
        carried = there.carry(weights)
        assert sum(value.numel() for value in carried.values()) == 56
        back = there.carry_back(carried, {name: value * 0 for name, value in weights.items()})
        assert all(torch.equal(back[name], value) for name, value in weights.items())


def convolution_of_c4() -> tuple[Drawing, dict[str, torch.Tensor]]:
    drawing = Drawing("C4", "float64")
    drawing.add("x", "2D-data", height=3, width=3, channels=1)
    drawing.then("y", "2D-identical", "convolution", kernels=1, kernel=2, flip=True, bias="none")
    return drawing, {"x-y.weight": torch.tensor([[[[1.0, 2.0], [3.0, 4.0]]]], dtype=torch.float64)}


def test_c4_a_convolution_is_a_matrix_of_shared_weights() -> None:
    drawing, weights = convolution_of_c4()
    expansion = expand(check(drawing).network, weights, columns=True)
    plain = expansion.drawing.plain
    matrix = np.zeros((4, 9))
    matrix[np.array(plain.front) - 9, plain.back] = plain.weight
    rows = ([4, 3, 0, 2, 1, 0, 0, 0, 0], [0, 4, 3, 0, 2, 1, 0, 0, 0], [0, 0, 0, 4, 3, 0, 2, 1, 0])
    np.testing.assert_array_equal(matrix, [*rows, [0, 0, 0, 0, 4, 3, 0, 2, 1]])
    assert (expansion.connections, expansion.parameters) == (16, 4)
    assert len(set(plain.tie)) == 4
    assert FREE not in plain.tie
    # Neuron by neuron it has the same four weights, tied by name.
    drawn = expand(check(drawing).network, weights)
    report = check(drawn.drawing)
    assert (len(report.connections), report.parameters) == (16, 4)


def test_a_pattern_names_every_weight() -> None:
    connection = check(convolution_of_c4()[0]).network.connections["x-y"]
    pattern = find_pattern(connection, 100)
    assert pattern.rows.tolist() == [row for row in range(4) for _ in range(4)]
    assert pattern.columns[:4].tolist() == [0, 1, 3, 4]
    assert pattern.number[:4].tolist() == [3, 2, 1, 0]


def test_biases_per_channel_are_tied_in_a_block() -> None:
    drawing = Drawing("channels", "float64")
    drawing.add("x", "2D-data", height=4, width=4, channels=2)
    drawing.then("h", "2D-relu", "convolution", kernels=3, kernel=3)
    drawing.then("y", "1D-identical", "reshaping")
    network = check(drawing).network
    expansion = expand(network)
    plain = expansion.drawing.plain
    assert expansion.parameters == check(drawing).parameters == 3 * 18 + 3
    ties = plain.bias_tie[32:44]
    assert [ties.count(tie) for tie in sorted(set(ties))] == [4, 4, 4]
    assert set(plain.bias_tie[44:]) == {FIXED}
    assert plain.tie.count(FIXED) == 12
    assert from_text(expansion.drawing.to_text()) == expansion.drawing


def test_what_training_leaves_alone_is_fixed_and_ties_stay() -> None:
    drawing = Drawing("tied", "float64")
    drawing.add("x", "1D-data", dimension=3)
    drawing.add("h", "1D-tanh", dimension=3, bias="none")
    drawing.add("k", "1D-tanh", dimension=3, bias="none")
    drawing.add("y", "1D-sigmoid", dimension=2, bias="none")
    drawing.connect("x", "h", "full", tie="w")
    drawing.connect("h", "k", "full", tie="w")
    drawing.connect("k", "y", "full", trainable=False)
    network = check(drawing).network
    for columns in (False, True):
        expansion = expand(network, columns=columns)
        assert expansion.parameters == 9
        assert expansion.connections == 24
        if columns:
            tie = expansion.drawing.plain.tie
            assert tie[:9] == tie[9:18]
            assert set(tie[18:]) == {FIXED}
        else:
            report = check(expansion.drawing)
            assert (report.parameters, report.frozen_parameters) == (9, 6)


def test_unused_neurons_are_left_out() -> None:
    drawing = Drawing("strides", "float64")
    drawing.add("x", "2D-data", height=4, width=4, channels=1)
    drawing.then("h", "2D-relu", "convolution", kernels=1, kernel=1)
    drawing.then("y", "2D-identical", "convolution", kernels=1, kernel=1, stride=2)
    network = check(drawing).network
    expansion = expand(network)
    assert expansion.neurons == 16 + 4 + 4
    x = random_inputs([16])
    np.testing.assert_allclose(
        run_block(expansion.drawing, x)[0], run_network(network, started(network), x)[0], atol=TOLERANCE
    )


@settings(max_examples=60, deadline=None)
@given(random_drawings())
def test_expanded_is_original(drawing) -> None:
    """What a random capsule network computes, its neurons compute, in one block or among capsules that are kept."""
    report = check(drawing)
    if not report.connections:
        return
    network = report.network
    try:
        expansion = expand(network, columns=True)
    except ExpansionError:
        # Ports, what capsules learn by themselves, and connections under random masks have no neurons.
        refused = any(c.ports or c.parameters or any(p.weights for p in c.parts) for c in network.capsules.values())
        masked = any(c.attributes.get("dropconnect") for c in network.connections.values())
        assert refused or masked or not report.parameters
        return
    x = random_inputs([network.capsules[id].output.elements for id in network.inputs])
    block = expansion.drawing
    order = [id for id in block.capsules if id in network.inputs] or list(network.inputs)
    given = dict(zip(network.inputs, x, strict=True))
    made = run_block(block, [given[id] for id in order])
    ends = [id for id in block.capsules if id in network.outputs] or list(network.outputs)
    expected = dict(zip(network.outputs, run_network(network, started(network), x), strict=True))
    for id, value in zip(ends, made, strict=True):
        scale = max(1.0, float(np.abs(expected[id]).max()))
        np.testing.assert_allclose(value.reshape(8, -1), expected[id].reshape(8, -1), rtol=0, atol=TOLERANCE * scale)
    assert expansion.parameters <= report.parameters
    assert from_text(block.to_text()) == block


def test_a_mixed_block_reads_and_writes_whole_capsules() -> None:
    network = check(draw("lenet-digits")).network
    plain = expand(network).drawing.plain
    assert list(plain.reads) == ["a", "c", "e"]
    assert list(plain.writes) == ["c", "e", "h"]
    data = {i for first, count in plain.reads.values() for i in range(first, first + count)}
    assert data == {i for i, symbol in enumerate(plain.symbol) if symbol == "data"}
    written = {i for first, count in plain.writes.values() for i in range(first, first + count)}
    assert set(range(len(plain.symbol))) - set(plain.back) - data <= written


def test_a_mixed_drawing_builds_and_computes_the_same() -> None:
    network = check(draw("lenet-digits")).network
    weights = started(network)
    expansion = expand(network, weights)
    module = build(check(expansion.drawing).network)
    load_weights(module, expansion.correspondence.carry(weights))
    original = build(network)
    load_weights(original, weights)
    x = torch.rand(4, 1, 8, 8)
    torch.testing.assert_close(module(x), original(x))


def test_too_large_is_refused_before_anything_is_built() -> None:
    with pytest.raises(ExpansionError, match=r"about 158,389,568 .* 5,000,000 are allowed"):
        expand(check(lenet_figure_21(input=(112, 112, 1))).network)


def test_what_is_just_too_large_is_counted(monkeypatch) -> None:
    monkeypatch.setattr(limits, "PLAIN_CONNECTIONS", 40)
    with pytest.raises(ExpansionError, match="more than 40 amplifying connections"):
        expand(check(figure_20()[0]).network)


def test_nothing_to_expand_is_said() -> None:
    drawing = Drawing("pool")
    drawing.add("x", "2D-data", height=4, width=4, channels=1)
    drawing.then("y", "2D-downsampling", "transfer", window=2)
    with pytest.raises(ExpansionError, match="there is nothing to expand"):
        expand(check(drawing).network)


def test_two_data_types_are_refused() -> None:
    drawing = Drawing("cast")
    drawing.add("x", "1D-data", dimension=2, dtype="int64")
    drawing.add("h", "1D-relu", dimension=2, dtype="float32")
    drawing.connect("x", "h", "transfer", cast="float32")
    with pytest.raises(ExpansionError, match=r"float32 \(h\) and int64 \(x\)"):
        expand(check(drawing).network)
