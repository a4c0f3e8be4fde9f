"""Golden numbers of the paper's claims, through drawings, checks and the program. Each test names its claim."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import torch

from inkcap.drawing import Drawing
from inkcap.engine import build, dense_matrix, initialise, load_weights, named_weights
from inkcap.network import as_plain, check
from inkcap.zoo import draw, lenet_figure_21

FLOAT = torch.float64


def run(drawing: Drawing, *inputs, **weights):
    """Build a drawing, load the weights given by their names, and compute its outputs."""
    network = check(drawing).network
    module = build(network)
    stored = named_weights(module)
    values = {name: torch.zeros_like(p) for name, p in stored.items()}
    for name, value in weights.items():
        key = name.replace("__", "-").replace("_", ".")
        assert key in values, (key, list(values))
        values[key] = torch.tensor(value, dtype=stored[key].dtype).reshape(stored[key].shape)
    load_weights(module, values)
    dtype = {c.id: getattr(torch, c.output.dtype) for c in network.capsules.values()}
    return module(*(torch.tensor([x], dtype=dtype[i]) for i, x in zip(network.inputs, inputs, strict=True)))


def vector(size: int, symbol: str, **attributes) -> Drawing:
    drawing = Drawing("vector", "float64")
    drawing.add("x", "1D-data", dimension=size)
    drawing.then("y", f"1D-{symbol}", "transfer", **attributes)
    return drawing


def matrices(shape, symbol: str, by: str = "transfer", **attributes) -> Drawing:
    drawing = Drawing("matrices", "float64")
    drawing.add("x", "2D-data", channels=shape[0], height=shape[1], width=shape[2])
    drawing.then("y", f"2D-{symbol}", by, **attributes)
    return drawing


def same(result, expected, tolerance=1e-12) -> None:
    np.testing.assert_allclose(result.detach().numpy(), np.array(expected, dtype=float)[None], atol=tolerance, rtol=0)


# Introduction ----------------------------------------------------------------------------------------------------


def test_c1_c2_depth_and_size_of_figure_1() -> None:
    report = check(draw("mlp-figure-1"))
    assert (report.depth, report.parameters, report.multiply_adds) == (4, 186, 161)
    assert report.to_json()["deep"] is True
    biases = sum(c.bias.structure.elements for c in report.capsules.values() if c.bias)
    assert biases == 25
    assert sum(c.output.elements for c in report.capsules.values()) == 30
    assert check(draw("mlp")).depth == 3
    assert check(draw("lenet")).depth == 7
    single = Drawing()
    single.add("x", "data neuron")
    single.then("y", "relu neuron")
    report = check(single)
    assert report.depth == 1
    assert report.to_json()["deep"] is False


def neurons(weights, bias: float) -> Drawing:
    drawing = Drawing("mp", "float64")
    for i in range(len(weights)):
        drawing.add(f"x{i}", "data neuron")
    drawing.add("h", "step neuron", b=bias)
    for i, strength in enumerate(weights):
        drawing.connect(f"x{i}", "h", "amplifying", strength=strength)
    return drawing


def truth(drawing: Drawing) -> list[int]:
    network = check(drawing).network
    module = build(network)
    from inkcap.engine import initialise

    initialise(module, network, 0)
    rows = itertools.product((0.0, 1.0), repeat=len(network.inputs))
    return [int(module(*(torch.tensor([v], dtype=FLOAT) for v in row))) for row in rows]


def test_c3_one_step_neuron_does_logic() -> None:
    assert truth(neurons((1, 1), -2)) == [0, 0, 0, 1]
    assert truth(neurons((1, 1), -1)) == [0, 1, 1, 1]
    assert truth(neurons((-1,), 0)) == [1, 0]


def test_c3_xor_needs_a_hidden_layer() -> None:
    # One neuron cannot: f(0,0)=0 and f(1,1)=0 ask b<0 and w1+w2+b<0, the others w1+b≥0 and w2+b≥0; their sum w1+w2+2b
    # is then at least 0 and, as a sum of two negatives, below 0.
    grid = [-2, -1.5, -1, -0.5, 0, 0.5, 1, 1.5, 2]
    for w1, w2, b in itertools.product(grid, repeat=3):
        table = [int(x * w1 + y * w2 + b >= 0) for x, y in itertools.product((0, 1), repeat=2)]
        assert table != [0, 1, 1, 0]
    drawing = Drawing("xor", "float64")
    drawing.add("x0", "data neuron")
    drawing.add("x1", "data neuron")
    for name, bias in (("either", -1), ("both", -2)):
        drawing.add(name, "step neuron", b=bias)
        for x in ("x0", "x1"):
            drawing.connect(x, name, strength=1)
    drawing.add("xor", "step neuron", b=-1)
    drawing.connect("either", "xor", strength=1)
    drawing.connect("both", "xor", strength=-1)
    assert truth(drawing) == [0, 1, 1, 0]


def test_c4_a_convolution_is_a_special_full_connection() -> None:
    drawing = matrices((1, 3, 3), "identical", "convolution", kernels=1, kernel=2, flip=True, bias="none")
    network = check(drawing).network
    weight = torch.tensor([[[[1.0, 2], [3, 4]]]], dtype=FLOAT)
    matrix = dense_matrix(network, "x-y", {"weight": weight})
    expected = [
        [4, 3, 0, 2, 1, 0, 0, 0, 0],
        [0, 4, 3, 0, 2, 1, 0, 0, 0],
        [0, 0, 0, 4, 3, 0, 2, 1, 0],
        [0, 0, 0, 0, 4, 3, 0, 2, 1],
    ]
    assert matrix.tolist() == expected
    assert int((matrix != 0).sum()) == 16
    x = torch.randn(1, 9, dtype=FLOAT)
    same(run(drawing, x.reshape(1, 3, 3).tolist(), x__y_weight=[1, 2, 3, 4]).flatten(1), (x @ matrix.T)[0].tolist())


def test_c5_c37_the_cnn_of_figure_2() -> None:
    report = check(draw("cnn"))
    assert (len(report.capsules), len(report.connections), report.depth) == (7, 6, 6)
    assert report.classification.kind == "layered"
    assert [c.record.mark for c in report.connections.values()] == ["∗", "→", "∗", "→", "◁", "×"]
    functions = ["data", "relu", "downsampling", "relu", "downsampling", "identical", "softmax"]
    assert [c.symbol for c in report.capsules.values()] == functions


def test_c8_activations() -> None:
    same(run(vector(3, "sigmoid"), [0, 1, -2]), [0.5, 0.7310585786300049, 0.11920292202211755])
    same(run(vector(1, "tanh"), [1]), [0.7615941559557649])
    same(run(vector(2, "relu"), [-3, 2.5]), [0, 2.5])


# Capsules --------------------------------------------------------------------------------------------------------


def two_ways() -> Drawing:
    drawing = Drawing("c31", "float64")
    drawing.add("X1", "1D-data", dimension=2)
    drawing.add("X2", "1D-data", dimension=2)
    drawing.add("H", "1D-relu")
    drawing.connect("X1", "H", "full", height=2)
    drawing.connect("X2", "H", "transfer")
    return drawing


def test_c31_connections_of_different_kinds_sum() -> None:
    same(run(two_ways(), [1, 2], [-1, 3], X1__H_weight=[1, -1, 2, 1], H_bias=[0, -1]), [0, 6])


def test_c32_weighting_operations() -> None:
    scaled = Drawing("scale", "float64")
    scaled.add("x", "1D-data", dimension=2)
    scaled.then("y", "1D-identical", "scale", bias="none")
    same(run(scaled, [1, 2], x__y_weight=3), [3, 6])
    dot = Drawing("dot", "float64")
    dot.add("x", "1D-data", dimension=3)
    dot.then("y", "1D-identical", "full", dimension=1, bias="none")
    same(run(dot, [1, 2, 3], x__y_weight=[4, 5, 6]), [32])
    times = Drawing("times", "float64")
    times.add("x", "1D-data", dimension=2)
    times.then("y", "1D-identical", "full", dimension=2, bias="none")
    same(run(times, [1, 1], x__y_weight=[1, 2, 3, 4]), [3, 7])


def test_c33_unequal_structures_are_refused_and_shared_biases_allowed() -> None:
    drawing = Drawing("c33")
    drawing.add("a", "1D-data", dimension=4)
    drawing.add("b", "1D-data", dimension=5)
    drawing.add("h", "1D-relu")
    drawing.connect("a", "h", "transfer")
    drawing.connect("b", "h", "transfer")
    errors = check(drawing).errors
    assert [e.rule for e in errors] == ["structure-mismatch"]
    assert "4" in errors[0].message
    assert "5" in errors[0].message
    report = check(lenet_figure_21())
    assert report.capsules["b"].bias.structure.shape == (32,)


def test_c34_a_capsule_of_dimension_one_is_a_neuron() -> None:
    neuron = Drawing("n", "float64")
    neuron.add("x", "data neuron")
    neuron.then("y", "relu neuron", "amplifying")
    capsule = Drawing("c", "float64")
    capsule.add("x", "1D-data", dimension=1)
    capsule.then("y", "1D-relu", "full", dimension=1)
    for x in (-2.0, 0.5, 3.0):
        one = run(neuron, x, x__y_weight=1.5, y_bias=-0.25)
        other = run(capsule, [x], x__y_weight=[1.5], y_bias=[-0.25])
        assert one.item() == other.item()


def test_c35_c36_figure_13() -> None:
    report = check(draw("mlp-figure-1"))
    assert (report.inputs, report.hidden, report.outputs) == (("a",), ("b", "c", "d"), ("e",))
    shapes = [c.weights["weight"].structure.shape for c in report.connections.values()]
    assert shapes == [(7, 5), (7, 7), (7, 7), (4, 7)]
    assert report.classification.kind == "layered"
    assert len(report.classification.layers) == 5


def test_c39_lenet_is_a_path() -> None:
    report = check(draw("lenet"))
    assert (len(report.capsules), len(report.connections)) == (8, 7)
    assert all(len(layer) == 1 for layer in report.classification.layers)


# Symbols ---------------------------------------------------------------------------------------------------------

SOFTMAX = [
    ([1, 2, 3], [0.09003057317038046, 0.24472847105479764, 0.6652409557748218]),
    ([1000, 1001, 1002], [0.09003057317038046, 0.24472847105479764, 0.6652409557748218]),
    ([0, 0, 0, 0], [0.25] * 4),
    ([-1, 0, 1, 2], [0.03205860328008499, 0.08714431874203257, 0.23688281808991013, 0.6439142598879724]),
]


@pytest.mark.parametrize(("x", "y"), SOFTMAX)
def test_c49_softmax(x, y) -> None:
    same(run(vector(len(x), "softmax"), x), y)


def test_c49_softmax_jacobian() -> None:
    network = check(vector(3, "softmax")).network
    module = build(network)
    point = torch.tensor([1.0, 2, 3], dtype=FLOAT)
    jacobian = torch.autograd.functional.jacobian(lambda x: module(x[None])[0], point)
    a, b, c = 0.08192506906499324, 0.1848364465099787, 0.22269542653462338
    d, e, f = -0.022033044520174298, -0.05989202454481893, -0.1628034019898044
    np.testing.assert_allclose(jacobian.numpy(), [[a, d, e], [d, b, f], [e, f, c]], atol=1e-12)


def test_c49_the_other_symbols_of_table_1() -> None:
    data = Drawing("d", "float64")
    data.add("x", "2D-data", height=28, width=28, channels=1)
    assert check(data).capsules["x"].output.elements == 784
    same(run(matrices((1, 2, 2), "relu"), [[[-1, 2], [0, -3]]]), [[[0, 2], [0, 0]]])
    same(run(vector(3, "identical"), [1, 2, 3]), [1, 2, 3])
    same(run(vector(3, "relu"), [-1, 0, 2]), [0, 0, 2])


P = [[1, 3, 2, 1], [4, 6, 5, 0], [7, 2, 9, 8], [1, 0, 3, 4]]
Q = [[3, 1, 4, 1, 5], [9, 2, 6, 5, 3], [5, 8, 9, 7, 9], [3, 2, 3, 8, 4], [6, 2, 6, 4, 3]]
DOWNSAMPLING = [
    (P, {"window": [2, 2]}, [[6, 5], [7, 9]]),
    (P, {"window": [2, 1]}, [[4, 6, 5, 1], [7, 2, 9, 8]]),
    (P, {"window": [1, 2]}, [[3, 2], [6, 5], [7, 9], [1, 4]]),
    (P, {"window": [4, 4]}, [[9]]),
    (Q, {"window": 2, "edge": "floor"}, [[9, 6], [8, 9]]),
    (Q, {"window": 2, "edge": "ceil"}, [[9, 6, 5], [8, 9, 9], [6, 6, 3]]),
    (Q, {"window": 3, "stride": 2}, [[9, 9], [9, 9]]),
    (Q, {"window": 3, "stride": 2, "padding": 1}, [[9, 6, 5], [9, 9, 9], [6, 8, 8]]),
]


@pytest.mark.parametrize(("x", "attributes", "y"), DOWNSAMPLING)
def test_c50_maximum_downsampling(x, attributes, y) -> None:
    same(run(matrices((1, len(x), len(x)), "downsampling", **attributes), [x]), [y])


def test_c50_a_window_that_does_not_divide_is_an_error() -> None:
    report = check(matrices((1, 5, 5), "downsampling", window=2))
    assert [d.rule for d in report.errors] == ["window-does-not-divide"]
    assert "floor" in report.errors[0].message
    assert "ceil" in report.errors[0].message


def test_c51_front_ends_of_table_2() -> None:
    report = check(draw("lenet"))
    first = report.connections["a-b"]
    assert first.weights["weight"].structure.elements == 800
    assert first.front_end.shape == (32, 24, 24)
    assert report.connections["b-c"].front_end.shape == (32, 24, 24)
    assert not report.connections["b-c"].weights
    assert report.connections["e-f"].front_end.shape == (1024,)
    full = check(draw("mlp")).connections["a-b"]
    assert full.weights["weight"].structure.shape == (6, 2)
    assert full.front_end.shape == (6,)


C52_X = [[[1, 2, 0], [0, 1, 3], [2, 1, 1]], [[0, 1, 1], [2, 0, 1], [1, 3, 0]]]
C52_W = [[[[1, 0], [0, 1]], [[0, 1], [1, 0]]], [[[1, -1], [2, 0]], [[1, 1], [1, 1]]]]


@pytest.mark.parametrize(("flip", "second"), [(True, [[8, 5], [7, 10]]), (False, [[2, 7], [9, 4]])])
def test_c52_kernels_and_channels(flip, second) -> None:
    drawing = matrices((2, 3, 3), "identical", "convolution", kernels=2, kernel=2, flip=flip, bias="none")
    same(run(drawing, C52_X, x__y_weight=C52_W), [[[5, 6], [2, 6]], second])


C53 = [
    (4, 1, True, [[26, 36, 46], [66, 76, 86], [106, 116, 126]]),
    (4, 2, True, [[26, 46], [106, 126]]),
    (4, 1, False, [[44, 54, 64], [84, 94, 104], [124, 134, 144]]),
    (4, 2, False, [[44, 64], [124, 144]]),
    (5, 1, True, [[29, 39, 49, 59], [79, 89, 99, 109], [129, 139, 149, 159], [179, 189, 199, 209]]),
    (5, 1, False, [[51, 61, 71, 81], [101, 111, 121, 131], [151, 161, 171, 181], [201, 211, 221, 231]]),
    (5, 3, True, [[29, 59], [179, 209]]),
    (5, 3, False, [[51, 81], [201, 231]]),
]


@pytest.mark.parametrize(("size", "stride", "flip", "y"), C53)
def test_c53_matrix_convolution(size, stride, flip, y) -> None:
    drawing = matrices(
        (1, size, size), "identical", "convolution", kernels=1, kernel=2, stride=stride, flip=flip, bias="none"
    )
    x = np.arange(1, size * size + 1).reshape(1, size, size).tolist()
    same(run(drawing, x, x__y_weight=[1, 2, 3, 4]), [y])


@pytest.mark.parametrize(("size", "kernel", "stride", "count"), [(28, 5, 1, 24), (227, 11, 4, 55), (5, 2, 2, 2)])
def test_c53_sizes(size, kernel, stride, count) -> None:
    drawing = matrices((1, size, size), "identical", "convolution", kernels=1, kernel=kernel, stride=stride)
    assert check(drawing).capsules["y"].output.shape == (1, count, count)


def test_c54_transfer_changes_nothing_and_stores_nothing() -> None:
    drawing = matrices((2, 3, 4), "identical")
    x = np.random.default_rng(0).normal(size=(2, 3, 4)).tolist()
    same(run(drawing, x), x)
    assert check(drawing).parameters == 0


def test_c55_reshaping_goes_by_channel_then_row() -> None:
    drawing = Drawing("c55", "float64")
    drawing.add("x", "2D-data", height=2, width=3, channels=2)
    drawing.then("y", "1D-identical", "reshaping")
    x = [[[1, 2, 3], [4, 5, 6]], [[7, 8, 9], [10, 11, 12]]]
    same(run(drawing, x), list(range(1, 13)))


def test_c56_full() -> None:
    drawing = Drawing("c56", "float64")
    drawing.add("x", "1D-data", dimension=3)
    drawing.then("y", "1D-identical", "full", dimension=2, bias="none")
    same(run(drawing, [1, 2, 3], x__y_weight=[1, 0, 2, -1, 3, 1]), [7, 8])


# Figures 20 and 21 -----------------------------------------------------------------------------------------------

W1 = [[-0.2, 0.5], [0.1, -0.3], [0.4, 0], [-0.4, 0.3], [-0.1, -0.5], [0.2, -0.2]]
W2 = [[0.1, 0.5, -0.2, 0.2, -0.5, -0.1], [0.3, -0.4, 0, 0.4, -0.3, 0.1], [0.5, -0.2, 0.2, -0.5, -0.1, 0.3],
      [-0.4, 0, 0.4, -0.3, 0.1, 0.5]]  # fmt: skip
W3 = [[0.3, -0.5, -0.2, 0.1], [0.4, -0.4, -0.1, 0.2]]
BIASES = [-0.3, 0.2, -0.4, 0.1, -0.5, 0]


def figure_20() -> Drawing:
    from inkcap.zoo import mlp

    return mlp((2, 6, 4, 2), "Figure 20", "float64")


def test_c58_the_nine_structures_follow() -> None:
    report = check(figure_20())
    found = [
        (str(c.back_end), "×".join(map(str, c.weights["weight"].structure.shape)), str(c.front_end))
        for c in report.connections.values()
    ]
    assert found == [
        ("2 float64", "6×2", "6 float64"),
        ("6 float64", "4×6", "4 float64"),
        ("4 float64", "2×4", "2 float64"),
    ]
    assert (report.parameters, report.multiply_adds) == (56, 44)


def test_c58_outputs_with_and_without_bias() -> None:
    weights = {"a__b_weight": W1, "b__c_weight": W2, "c__d_weight": W3}
    biases = {"b_bias": BIASES, "c_bias": BIASES[:4], "d_bias": BIASES[:2]}
    same(run(figure_20(), [1, -2], **weights, **biases), [-0.256, 0.288])
    same(run(figure_20(), [1, -2], **weights), [0.049, 0.107])


@pytest.mark.parametrize(
    ("g", "parameters", "multiply_adds", "full_biases"),
    [(128, 184_586, 3_869_952, 207_018), (512, 582_026, 4_267_008, 604_458), (1024, 1_111_946, 4_796_416, 1_134_378)],
)
def test_c60_lenet_follows_from_the_fewest_attributes(g, parameters, multiply_adds, full_biases) -> None:
    drawing = lenet_figure_21(g=g)
    report = check(drawing)
    assert report.well_formed
    assert (report.parameters, report.multiply_adds) == (parameters, multiply_adds)
    shapes = {id: c.output.shape for id, c in report.capsules.items()}
    assert shapes == {
        "a": (1, 28, 28), "b": (32, 24, 24), "c": (32, 12, 12), "d": (64, 8, 8), "e": (64, 4, 4), "f": (1024,),
        "g": (g,), "h": (10,),
    }  # fmt: skip
    drawing.change("b", bias="full")
    drawing.change("d", bias="full")
    assert check(drawing).parameters == full_biases


def test_c60_caffe_sizes() -> None:
    assert check(lenet_figure_21(k=20, k2=50, g=500)).parameters == 431_080


# Types -----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
def test_c67_floating_types_run(dtype) -> None:
    drawing = Drawing("t", dtype)
    drawing.add("x", "1D-data", dimension=3)
    drawing.then("y", "1D-softmax", "full", dimension=2)
    report = check(drawing)
    assert {c.output.dtype for c in report.capsules.values()} == {dtype}
    assert run(drawing, [1.0, 2, 3]).dtype == getattr(torch, dtype)


def test_c67_a_mismatch_is_refused_and_a_cast_mends_it() -> None:
    drawing = Drawing("t", "float32")
    drawing.add("x", "1D-data", dimension=3, dtype="int64")
    drawing.add("y", "1D-identical", dtype="float32")
    drawing.connect("x", "y", "transfer")
    errors = check(drawing).errors
    assert [e.rule for e in errors] == ["dtype-mismatch"]
    drawing.apply(errors[0].fix)
    assert check(drawing).well_formed
    assert run(drawing, [1, 2, 3]).dtype == torch.float32


def test_figure_25_computes_its_golden_numbers() -> None:
    """C63: o = (55/16, 35/32) at (1, 2); a skip network of 7 neurons and 12 connections."""
    report = check(draw("figure-25"))
    assert (len(report.capsules), len(report.connections)) == (7, 12)
    assert report.classification is not None
    assert report.classification.kind == "skip"
    network = as_plain(report.network)
    module = build(network)
    initialise(module, network, 0)
    assert module(torch.tensor([[1.0, 2.0]], dtype=torch.float64)).tolist() == [[55 / 16, 35 / 32]]


@pytest.mark.parametrize(
    ("name", "kind", "ends"),
    [("figure-15", "layered", (2, 3)), ("figure-16", "skip", (2, 3)), ("figure-26", "skip", (2, 2))],
)
def test_networks_with_flexible_connections(name: str, kind: str, ends: tuple[int, int]) -> None:
    """C40, C41, C63: layered and skip capsule networks with several inputs and outputs."""
    report = check(draw(name))
    assert report.well_formed
    assert report.classification is not None
    assert report.classification.kind == kind
    assert (len(report.inputs), len(report.outputs)) == ends
