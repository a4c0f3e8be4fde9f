"""Golden numbers of capsule functions: what the networks of the paper compute with them, and what happens at kinks."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch

from inkcap.drawing import Drawing, DrawingError
from inkcap.engine import build, initialise, run_backwards, run_on_torch, source_of, weights_of
from inkcap.engine.gradient_check import check_gradients
from inkcap.network import Network, check
from inkcap.program import lower_to_steps

FLOAT = torch.float64


def capsule(face: str, shape: int | tuple[int, int, int], **attributes) -> Network:
    """A data capsule and a capsule with this function behind it."""
    drawing = Drawing("function", "float64")
    sizes = (
        {"dimension": shape}
        if isinstance(shape, int)
        else dict(zip(("channels", "height", "width"), shape, strict=True))
    )
    drawing.add("x", f"{face[:2]}-data", **sizes)
    drawing.then("y", face, "transfer", **attributes)
    return check(drawing).network


def values(network: Network, *inputs) -> np.ndarray:
    module = build(network).eval()
    initialise(module, network, 0)
    with torch.no_grad():
        return module(*(torch.tensor([x], dtype=FLOAT) for x in inputs))[0].numpy()


def slopes(network: Network, x: list[float]) -> tuple[list[float], list[float]]:
    """∂ΣY/∂U by the operations' products and by the printed module's autograd."""
    program = lower_to_steps(network)
    module = build(network).eval()
    initialise(module, network, 0)
    given = torch.tensor([x], dtype=FLOAT)
    held = {program.weights[name]: value for name, value in weights_of(module).items()}
    computed = run_on_torch(program.trace.steps, {program.inputs["x"]: given, **held})
    y = computed[program.outputs["y"]]
    ours = run_backwards(program.trace.steps, computed, {program.outputs["y"]: torch.ones_like(y)})
    leaf = given.clone().requires_grad_()
    (theirs,) = torch.autograd.grad(module(leaf).sum(), leaf)
    return ours[program.inputs["x"]][0].tolist(), theirs[0].tolist()


def test_the_scaled_tanh_of_lenet_5() -> None:
    network = capsule("1D-tanh", 1, amplitude=1.7159, steepness=2 / 3)
    assert values(network, [1.0])[0] == pytest.approx(0.9999972559224791, abs=1e-15)
    assert "1.7159 * torch.tanh(0.6666666666666666 * x)" in source_of(network)


KRIZHEVSKY = (
    0.5942915817132711, 1.1878710105259485, 1.7801403935901126, 2.370418559043777, 2.963465738301859, 3.557354419541988
)  # fmt: skip
CAFFE = (
    0.9997900514367979, 1.9991004722402714, 2.9975273797879356, 3.994608490990391, 4.993559691969542, 5.993079325011614
)  # fmt: skip
STRONG = (
    0.4082482904638631, 0.5163977794943222, 0.5477225575051661, 0.5601120336112039, 0.5661385170722978, .762000762001143
)  # fmt: skip


@pytest.mark.parametrize(
    ("attributes", "expected"),
    [
        ({"k": 2, "divided": False}, KRIZHEVSKY),
        ({}, CAFFE),
        ({"size": 3, "alpha": 1, "beta": 0.5, "divided": False}, STRONG),
    ],
    ids=["as AlexNet's paper", "as Caffe and PyTorch", "strong"],
)
def test_local_response_normalisation_across_channels(attributes, expected) -> None:
    network = capsule("2D-local-response", (6, 1, 1), **attributes)
    found = values(network, [[[c]] for c in (1.0, 2.0, 3.0, 4.0, 5.0, 6.0)])
    np.testing.assert_allclose(found.ravel(), expected, rtol=0, atol=1e-14)
    assert "F.local_response_norm(" in source_of(network)


def test_local_response_normalisation_within_a_channel() -> None:
    network = capsule("2D-local-response", (1, 1, 3), over="positions", size=3, alpha=9, beta=0.5)
    found = values(network, [[[1.0, 2.0, 2.0]]])
    np.testing.assert_allclose(found.ravel(), [1 / 6**0.5, 2 / 10**0.5, 2 / 3], rtol=0, atol=1e-15)


@pytest.mark.parametrize(
    ("face", "attributes", "x", "expected"),
    [
        ("relu", {}, [-2.0, 0.0, 3.0], [0, 0, 1]),
        ("relu", {"slope": 0.1}, [-2.0, 0.0, 3.0], [0.1, 0.1, 1]),
        ("prelu", {}, [-2.0, 0.0, 3.0], [0.25, 0.25, 1]),
        ("elu", {"alpha": 0.5}, [-1.0, 0.0, 3.0], [0.5 * math.exp(-1), 0.5, 1]),
        ("hard-sigmoid", {}, [-3.0, 0.0, 3.0], [0, 1 / 6, 0]),
        ("hard-tanh", {}, [-1.0, 0.5, 1.0], [0, 1, 0]),
        ("hard-swish", {}, [-3.0, 0.0, 3.0, 4.0], [0, 0.5, 1, 1]),
        ("maxout", {"pieces": 3}, [2.0, 2.0, 1.0, 0.0, 4.0, 4.0], [1, 0, 0, 0, 1, 0]),
        ("step", {"threshold": 1}, [0.5, 1.0, 1.5], [0, 0, 0]),
        ("l2-normalisation", {}, [0.0, 0.0, 0.0], [0, 0, 0]),
        ("expression", {"expression": "max(x, 0)"}, [-1.0, 0.0, 1.0], [0, 1, 1]),
        ("expression", {"expression": "max(0, x)"}, [-1.0, 0.0, 1.0], [0, 0, 1]),
        ("expression", {"expression": "max(2, x)"}, [1.0, 2.0, 3.0], [0, 0, 1]),
        ("expression", {"expression": "min(x, 2)"}, [1.0, 2.0, 3.0], [1, 1, 0]),
        ("expression", {"expression": "min(2, x)"}, [1.0, 2.0, 3.0], [1, 0, 0]),
        ("expression", {"expression": "max(x, 2*x)"}, [-1.0, 0.0, 1.0], [1, 1, 2]),
        ("expression", {"expression": "sqrt(max(x, 0))"}, [-1.0, 0.0, 4.0], [0, 0, 0.25]),
        ("expression", {"expression": "abs(x)"}, [-1.0, 0.0, 4.0], [-1, 0, 1]),
        ("expression", {"expression": "x^0"}, [-1.0, 0.0, 4.0], [0, 0, 0]),
    ],
    ids=lambda value: str(value) if not isinstance(value, list) else "",
)
def test_slopes_at_kinks_and_ties(face, attributes, x, expected) -> None:
    network = capsule(f"1D-{face}", len(x), **attributes)
    if face == "step":
        assert slopes_of_step(network, x) == expected
        return
    ours, theirs = slopes(network, x)
    np.testing.assert_allclose(ours, expected, rtol=0, atol=1e-8)
    np.testing.assert_allclose(ours, theirs, rtol=0, atol=1e-15)


def slopes_of_step(network: Network, x: list[float]) -> list[float]:
    program = lower_to_steps(network)
    computed = run_on_torch(program.trace.steps, {program.inputs["x"]: torch.tensor([x], dtype=FLOAT)})
    y = computed[program.outputs["y"]]
    assert y[0].tolist() == [0.0, 1.0, 1.0]
    return run_backwards(program.trace.steps, computed, {program.outputs["y"]: torch.ones_like(y)})[
        program.inputs["x"]
    ][0].tolist()


@pytest.mark.parametrize(
    ("face", "x", "expected"),
    [
        ("gelu", 1.0, 0.8413447460685429),
        ("silu", 1.0, 0.7310585786300049),
        ("softplus", 0.0, math.log(2)),
        ("softplus", 1000.0, 1000.0),
        ("elu", -1.0, math.exp(-1) - 1),
        ("hard-swish", 1.0, 2 / 3),
        ("hard-sigmoid", 1.5, 0.75),
        ("hard-tanh", -7.0, -1.0),
    ],
)
def test_values_of_activations(face, x, expected) -> None:
    assert values(capsule(f"1D-{face}", 1), [x])[0] == pytest.approx(expected, abs=1e-8)


def test_vectors_get_length_one_and_ssd_starts_at_twenty() -> None:
    huge = values(capsule("1D-l2-normalisation", 2), [3e200, 4e200])
    np.testing.assert_allclose(huge, [0.6, 0.8], rtol=0, atol=1e-15)
    network = capsule("2D-l2-normalisation", (2, 1, 2), scale=20)
    found = values(network, [[[3.0, 0.0]], [[4.0, 0.0]]])
    np.testing.assert_allclose(found[:, 0], [[12, 0], [16, 0]], rtol=0, atol=1e-13)
    assert check(network.drawing).parameters == 2


def test_facenet_halves_its_embedding_by_maxout() -> None:
    drawing = Drawing("maxout")
    drawing.add("x", "1D-data", dimension=8192)
    drawing.then("m", "1D-maxout", "transfer", pieces=2)
    assert check(drawing).capsules["m"].output.sizes == (4096,)
    back = Drawing("maxout backwards")
    back.add("x", "1D-data", dimension=10)
    back.then("m", "1D-maxout", "full", pieces=2)
    back.then("y", "1D-identical", "transfer", dimension=3)
    assert check(back).connections["x-m"].attributes["height"] == 6


def ratio(**attributes) -> Network:
    drawing = Drawing("ratio", "float64")
    drawing.add("u", "1D-data", dimension=1)
    drawing.add("v", "1D-data", dimension=1)
    drawing.add("y", "1D-product", operation="quotient", **attributes)
    drawing.connect("u", "y", "transfer")
    drawing.connect("v", "y", "transfer", port="by")
    return check(drawing).network


def test_the_shunting_ratio_of_the_neocognitron() -> None:
    """With e = 0.8, b·v = 0.5 and r = 4, the inhibition counts 2r/(1+r) in the first form and r/(1+r) in the later."""
    network = ratio(offset=1)
    assert values(network, [0.8], [0.5 * 8 / 5])[0] == 0
    assert 4 * max(values(network, [0.8], [0.5 * 4 / 5])[0], 0) == pytest.approx(1.1428571428571432, abs=1e-15)


def test_a_quotient_has_a_least_denominator() -> None:
    network = ratio(least=0.5)
    assert values(network, [3.0], [2.0])[0] == 1.5
    assert [values(network, [3.0], [v])[0] for v in (0.5, 0.0, -7.0)] == [6, 6, 6]


def test_the_radial_basis_functions_of_lenet_5() -> None:
    drawing = Drawing("rbf", "float64")
    drawing.add("f6", "1D-data", dimension=84)
    drawing.then("out", "1D-identical", "codes", dimension=10)
    report = check(drawing)
    assert (report.parameters, report.frozen_parameters, report.multiply_adds) == (0, 840, 840)
    network = report.network
    codes = weights_of(start(network))["f6-out.weight"]
    assert set(codes.flatten().tolist()) == {-1.0, 1.0}
    y = torch.linspace(-1, 1, 84, dtype=FLOAT)
    expected = [float(((y - code) ** 2).sum()) for code in codes]
    np.testing.assert_allclose(values(network, y.tolist()), expected, rtol=1e-14)


def start(network: Network) -> torch.nn.Module:
    module = build(network)
    initialise(module, network, 0)
    return module


def test_codes_are_read_as_bits() -> None:
    drawing = Drawing("rbf", "float64")
    drawing.add("f", "1D-data", dimension=3)
    drawing.then("out", "1D-identical", "codes", height=2, bits=[0, 1, 1, 1, 0, 0])
    assert values(check(drawing).network, [0.0, 1.0, -1.0]).tolist() == [1 + 0 + 4, 1 + 4 + 0]
    drawing.change("f-out", bits=[0, 1])
    (found,) = check(drawing).errors
    assert "2 codes of 3 numbers need 6 bits, each 0 or 1, but 2 are stated" in found.message


def test_a_distance_between_two_ports_and_a_selection() -> None:
    drawing = Drawing("two", "float64")
    drawing.add("a", "1D-data", dimension=3)
    drawing.add("b", "1D-data", dimension=3)
    drawing.add("d", "1D-distance")
    drawing.add("s", "1D-pick")
    for port, id in (("to", "d"), ("choice", "s")):
        drawing.connect("a", id, "transfer")
        drawing.connect("b", id, "transfer", port=port)
    module = build(check(drawing).network)
    rows = torch.tensor([[1.0, 2.0, 3.0]], dtype=FLOAT), torch.tensor([[4.0, 4.0, 1.0]], dtype=FLOAT)
    squared, chosen = module(*rows)
    assert (squared.tolist(), chosen.tolist()) == ([17.0], [[1.0]])


@pytest.mark.parametrize(("index", "expected"), [(0.0, 5.0), (1.6, 7.0), (-1.0, 0.0), (3.0, 0.0)])
def test_an_index_outside_selects_nothing(index, expected) -> None:
    drawing = Drawing("index", "float64")
    drawing.add("x", "1D-data", dimension=3)
    drawing.add("i", "1D-data", dimension=1)
    drawing.add("y", "1D-pick", by="index")
    drawing.connect("x", "y", "transfer")
    drawing.connect("i", "y", "transfer", port="choice")
    assert values(check(drawing).network, [5.0, 6.0, 7.0], [index]).tolist() == [expected]


def test_a_stochastic_binary_capsule_draws_bits_by_their_probability() -> None:
    network = capsule("1D-stochastic-binary", 3)
    module = build(network).train()
    u = torch.tensor([[-1.0, 0.0, 2.0]], dtype=FLOAT).expand(20000, -1)
    torch.manual_seed(3)
    drawn = module(u)
    assert set(drawn.unique().tolist()) == {0.0, 1.0}
    probability = torch.sigmoid(u[0])
    deviation = (probability * (1 - probability) / 20000).sqrt()
    assert ((drawn.mean(0) - probability).abs() < 4 * deviation).all()
    torch.manual_seed(3)
    assert torch.equal(module(u), drawn)
    leaf = u[:1].clone().requires_grad_()
    (slope,) = torch.autograd.grad(module(leaf).sum(), leaf)
    torch.testing.assert_close(slope[0], probability * (1 - probability))
    assert torch.equal(module.eval()(u[:1])[0], probability)


def test_a_group_softmax_sums_to_one_in_each_group() -> None:
    found = values(capsule("1D-group-softmax", 6, group=3), [1.0, 2.0, 3.0, 0.0, 0.0, 0.0])
    np.testing.assert_allclose(found, [0.09003057317038046, 0.24472847105479767, 0.6652409557748219, *[1 / 3] * 3])


@pytest.mark.parametrize(
    ("text", "x", "expected"),
    [
        ("x/(1+abs(x))", -3.0, -0.75),
        ("-x^2", 3.0, -9.0),
        ("2^3^2 - x", 2.0, 510.0),
        ("(2 - 1 - 1)*x + 8/2/2", 5.0, 2.0),
        ("2^-x", 1.0, 0.5),
        ("1.5e1·x ÷ 3 − 1", 2.0, 9.0),
        ("x^0.5", 9.0, 3.0),
    ],
)
def test_expressions_mean_what_they_say(text, x, expected) -> None:
    assert values(capsule("1D-expression", 1, expression=text), [x])[0] == pytest.approx(expected, abs=1e-12)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "column 1: expected a number, a name or '(', found the end"),
        ("x +", "column 4: expected a number, a name or '(', found the end"),
        ("x x", "column 3: expected an operator or the end, found 'x'"),
        ("(x", "column 3: expected an operator or ')', found the end"),
        ("x ** 2", "column 4: expected a number, a name or '(', found '*'"),
        ("y + 1", "column 1: there is no 'y'; there is x"),
        ("eval(x)", "column 1: there is no function 'eval'; there are abs, atan"),
        ("max(x)", "column 1: max takes 2 arguments, not 1"),
        ("sin", "column 1: sin is a function: write sin(…)"),
        ("x @ 2", "column 3: '@' has no meaning here"),
        ("x.real", "column 2: '.' has no meaning here"),
        ("__import__('os')", 'column 12: "\'" has no meaning here'),
        ("1 + 2", "x does not occur in it"),
        ("x^x", "column 2: x stands in base and exponent"),
        ("x/(1-1)", "column 2: division by 0"),
        ("x + sqrt(-1)", "column 5: this has no value"),
        ("x + exp(10^4)", "column 5: this has no value"),
        ("(0-2)^x", "column 6: the base of an exponent with x must be above 0"),
        ("(" * 60 + "x" + ")" * 60, "stand deeper than 40"),
        ("x" + "+1" * 150, "at most 200 characters"),
        ("x +\n1", "must be one line"),
        (3, "must be a text, not 3"),
    ],
)
def test_a_wrong_expression_is_told_with_its_column(text, message) -> None:
    drawing = Drawing("expression")
    with pytest.raises(DrawingError) as told:
        drawing.add("y", "1D-expression", expression=text)
    assert message in str(told.value)
    assert "expression" in str(told.value)


def test_weights_into_every_rectifier_start_wider() -> None:
    for face, initialiser in (("relu", "he"), ("prelu", "he"), ("gelu", "he"), ("tanh", "uniform")):
        drawing = Drawing("start")
        drawing.add("x", "1D-data", dimension=4)
        drawing.then("y", f"1D-{face}", "full", dimension=3)
        assert check(drawing).connections["x-y"].weights["weight"].initialiser == initialiser


def test_a_prelu_is_a_layer_and_leaves_the_bias_to_the_next_capsule() -> None:
    drawing = Drawing("net")
    drawing.add("x", "2D-data", height=4, width=4, channels=2)
    drawing.then("a", "2D-prelu", "convolution", kernels=3, kernel=3)
    drawing.then("b", "2D-relu", "transfer", bias="channel", slope=0.1)
    source = source_of(check(drawing).network)
    assert "self.a_slope = nn.PReLU(3)" in source
    assert "a = self.a_slope(self.a(x))" in source
    assert "F.leaky_relu(a + self.b_bias[:, None, None], 0.1)" in source


def test_a_relu_without_a_slope_is_written_as_before() -> None:
    text = capsule("1D-relu", 2).drawing.to_text()
    assert "slope" not in text


def test_the_gradient_check_knows_the_kinks() -> None:
    for face, attributes in (
        ("maxout", {}),
        ("hard-tanh", {"low": -0.1, "high": 0.1}),
        ("prelu", {}),
        ("expression", {"expression": "max(x, 3*x) + abs(x)"}),
    ):
        drawing = Drawing("kinks")
        drawing.add("x", "1D-data", dimension=4)
        drawing.then("h", f"1D-{face}", "full", **({"dimension": 6} | attributes))
        drawing.then("y", "1D-identical", "full", dimension=2)
        assert all(found.passed for found in check_gradients(check(drawing).network)), face


def test_a_neuron_with_a_slope_is_no_plain_one() -> None:
    from inkcap.network.plain_form import as_plain

    drawing = Drawing("neurons")
    drawing.add("x", "data neuron")
    drawing.then("y", "relu neuron", "amplifying")
    assert as_plain(check(drawing).network).plain is not None
    drawing.change("y", slope=0.2)
    assert as_plain(check(drawing).network).plain is None


def test_positions_are_waves_of_the_number_of_a_row() -> None:
    network = capsule("2D-sinusoidal-positions", (1, 3, 4))
    found = values(network, [[[1.0] * 4] * 3])[0] - 1
    # Vaswani and others, §3.5: the first pair turns by 1 from row to row, the second by 10000^(−2/4) = 0.01.
    assert found[0].tolist() == [0, 1, 0, 1]
    assert found[1] == pytest.approx([0.8414709848, 0.5403023059, 0.0099998333, 0.9999500004], abs=1e-9)
    assert found[2] == pytest.approx([0.9092974268, -0.4161468365, 0.0199986667, 0.9998000067], abs=1e-9)
    # A pair of one row times a rotation is that of the row k behind it, whatever the row.
    long = values(capsule("2D-sinusoidal-positions", (1, 50, 5), base=100.0), [[[0.0] * 5] * 50])[0]
    turn = 7 * 100.0 ** (-2 / 5)
    expected = long[:-7, 2] * math.cos(turn) + long[:-7, 3] * math.sin(turn)
    assert long[7:, 2] == pytest.approx(expected, abs=1e-12)
    assert "add_positions(x, base=10000.0)" in source_of(network)
    assert all(found.passed for found in check_gradients(network))
