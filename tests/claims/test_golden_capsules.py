"""Golden numbers of capsules as vectors: squashing, routing by agreement, the margin loss, the counts of CapsNet."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from inkcap import coupling
from inkcap.drawing import Drawing
from inkcap.engine import Backpropagator, CouplingError, build, load_weights, run_backwards, run_on_torch, source_of
from inkcap.engine.losses import loss_with_gradient
from inkcap.network import Network, check
from inkcap.program import lower_to_steps
from inkcap.recipes import LossSpec
from inkcap.training.facts import CapsuleFacts
from inkcap.training.losses import loss_function
from inkcap.zoo import draw

FLOAT = torch.float64


def close(result: torch.Tensor, expected, tolerance: float = 1e-14) -> None:
    np.testing.assert_allclose(result.detach().numpy(), np.array(expected), rtol=0, atol=tolerance)


def squashing(size: int) -> Network:
    drawing = Drawing("squash", "float64")
    drawing.add("x", "1D-data", dimension=size)
    drawing.then("y", "1D-squash", "transfer")
    return check(drawing).network


def squashed(vector: tuple[float, ...]) -> tuple[torch.Tensor, torch.Tensor]:
    """A squashed vector and its Jacobian, by the printed module's autograd and by the operations' own products."""
    network = squashing(len(vector))
    x = torch.tensor([vector], dtype=FLOAT)
    module = build(network)
    by_tape = torch.autograd.functional.jacobian(lambda x: module(x)[0], x)[:, 0]
    program = lower_to_steps(network)
    computed = run_on_torch(program.trace.steps, {program.inputs["x"]: x})
    rows = [
        run_backwards(program.trace.steps, computed, {program.outputs["y"]: row[None]})[program.inputs["x"]][0]
        for row in torch.eye(len(vector), dtype=FLOAT)
    ]
    torch.testing.assert_close(torch.stack(rows), by_tape, rtol=1e-12, atol=1e-15)
    return module(x)[0], by_tape


@pytest.mark.parametrize(
    ("vector", "expected", "length"),
    [
        ((3, 4), (15 / 26, 20 / 26), 25 / 26),
        ((1, 0), (0.5, 0), 0.5),
        ((0.3, -0.4), (0.12, -0.16), 0.2),
        ((1, 2, 2), (0.3, 0.6, 0.6), 0.9),
        ((30, 40), (0.6 * 2500 / 2501, 0.8 * 2500 / 2501), 0.9996001599360255),
        ((0, 0), (0, 0), 0),
        ((3e200, 4e200), (0.6, 0.8), 1),
    ],
)
def test_squash(vector, expected, length) -> None:
    result, _ = squashed(vector)
    close(result, expected)
    close(result.norm(), length)


def test_squash_of_a_tiny_vector() -> None:
    result, jacobian = squashed((1e-8, 0))
    np.testing.assert_allclose(result.numpy(), [1e-16, 0], rtol=1e-14)
    np.testing.assert_allclose(jacobian.numpy(), [[2e-8, 0], [0, 1e-8]], rtol=1e-12)


@pytest.mark.parametrize(
    ("vector", "jacobian"),
    [
        ((3, 4), np.array([[1085, -720], [-720, 665]]) / 8450),
        ((1, 2, 2), np.array([[82, -16, -16], [-16, 58, -32], [-16, -32, 58]]) / 300),
        ((0, 0), np.zeros((2, 2))),
    ],
)
def test_slope_of_squash(vector, jacobian) -> None:
    close(squashed(vector)[1], jacobian)


def test_length_of_rows_and_its_slope_at_zero() -> None:
    drawing = Drawing("length", "float64")
    drawing.add("x", "2D-data", height=3, width=2, channels=1)
    drawing.then("y", "2D-length", "transfer")
    x = torch.tensor([[[[3.0, 4.0], [0.0, 0.0], [3e200, 4e200]]]], dtype=FLOAT, requires_grad=True)
    y = build(check(drawing).network)(x)
    np.testing.assert_allclose(y.detach().numpy(), [[5, 0, 5e200]], rtol=1e-15)
    y.sum().backward()
    close(x.grad, [[[[0.6, 0.8], [0, 0], [0.6, 0.8]]]], 1e-15)


CHILDREN = [[[1.0, 0.0], [0.0, 1.0], [1.0, 1.0]]]
MATRICES = [
    [[[1, 0], [0, 1]], [[0, 1], [1, 0]]],
    [[[2, 0], [0, 1]], [[1, 1], [0, 1]]],
    [[[1, -1], [1, 1]], [[0.5, 0], [0, 0.5]]],
]


def routed(**attributes) -> Network:
    drawing = Drawing("routing", "float64")
    drawing.add("u", "2D-data", height=3, width=2, channels=1)
    drawing.then("v", "2D-routing", "vote", parents=2, atoms=2, **attributes)
    return check(drawing).network


def route(network: Network) -> tuple[torch.Tensor, torch.Tensor]:
    weights = {"u-v.weight": torch.tensor(MATRICES, dtype=FLOAT)}
    module = build(network)
    load_weights(module, weights)
    u = torch.tensor(CHILDREN, dtype=FLOAT)
    return module(u[None])[0, 0], coupling(network, weights, {"u": u})["v"]


def test_one_round_of_routing() -> None:
    v, c = route(routed(iterations=1))
    close(c, np.full((3, 2), 0.5))
    close(v, [[0.2258769757263128, 0.6776309271789384], [0.34985711369071804, 0.5830951894845301]])
    close(v.norm(dim=1), [5 / 7, 0.68])


def test_three_rounds_of_routing() -> None:
    v, c = route(routed())
    expected = [
        [0.3122490771253751, 0.6877509228746249],
        [0.39597981125116755, 0.6040201887488326],
        [0.8756361354425148, 0.12436386455748527],
    ]
    close(c, expected)
    close(v, [[0.11869425630902261, 0.816228157801157], [0.3067683571644034, 0.6234593644267746]])
    close(v.norm(dim=1), [0.8248131497910435, 0.6948441581022213])
    close(c.sum(1), [1, 1, 1])
    close(c.sum(0), [1.584, 1.416], 1e-3)  # the paper's Σ_i c_ij = 1 does not hold for the method that it cites


def test_the_papers_own_normalisation() -> None:
    v, c = route(routed(normalise="children"))
    close(v.norm(dim=1), [0.7162385847644227, 0.5305462601830417])
    close(c.sum(0), [1, 1])


def test_children_of_two_connections_are_routed_together() -> None:
    drawing = Drawing("two", "float64")
    drawing.add("a", "2D-data", height=1, width=2, channels=1)
    drawing.add("b", "2D-data", height=2, width=2, channels=1)
    drawing.add("v", "2D-routing", height=2, width=2)
    drawing.connect("a", "v", "vote")
    drawing.connect("b", "v", "vote")
    network = check(drawing).network
    matrices, u = torch.tensor(MATRICES, dtype=FLOAT), torch.tensor(CHILDREN, dtype=FLOAT)
    weights = {"a-v.weight": matrices[:1], "b-v.weight": matrices[1:]}
    given = {"a": u[:, :1], "b": u[:, 1:]}
    close(coupling(network, weights, given)["v"], route(routed())[1].numpy())


@pytest.mark.parametrize("normalise", ["parents", "children"])
def test_backpropagation_goes_through_all_rounds(normalise: str) -> None:
    drawing = Drawing("routing", "float64")
    drawing.add("x", "2D-data", height=3, width=3, channels=4)
    drawing.add("u", "2D-squash")
    drawing.connect("x", "u", "reshaping", atoms=2)
    drawing.then("v", "2D-routing", "vote", parents=3, atoms=4, iterations=3, normalise=normalise)
    drawing.then("y", "2D-length", "transfer")
    network = check(drawing).network
    generator = torch.Generator().manual_seed(0)
    weight = torch.randn(network.weights["u-v.weight"].structure.sizes, generator=generator, dtype=FLOAT)
    x = torch.randn((5, 4, 3, 3), generator=generator, dtype=FLOAT)
    labels = torch.tensor([0, 1, 2, 1, 0])
    found = Backpropagator(network, {"y": "margin"}, "all")({"u-v.weight": weight}, {"x": x}, {"y": labels})
    module = build(network)
    load_weights(module, {"u-v.weight": weight})
    spec = LossSpec("y", "margin", 1.0, {"upper": 0.9, "lower": 0.1, "share": 0.5})
    loss = loss_function(spec, CapsuleFacts("y", "length", (3,), "float64"))(module(x), labels)
    (expected,) = torch.autograd.grad(loss, list(module.parameters()))
    torch.testing.assert_close(found.loss, loss.detach(), rtol=1e-12, atol=1e-14)
    torch.testing.assert_close(found.weight_updates["u-v.weight"], expected, rtol=1e-10, atol=1e-13)


def test_channels_become_the_atoms_of_capsules() -> None:
    """Two types of three atoms at 1×2 positions: a row holds the three channels of a type at one position."""
    drawing = Drawing("atoms", "float64")
    drawing.add("x", "2D-data", height=1, width=2, channels=6)
    drawing.add("y", "2D-identical")
    drawing.connect("x", "y", "reshaping", atoms=3)
    x = torch.arange(12.0, dtype=FLOAT).reshape(1, 6, 1, 2)
    close(build(check(drawing).network)(x)[0, 0], [[0, 2, 4], [1, 3, 5], [6, 8, 10], [7, 9, 11]])


def test_a_mask_without_a_label_keeps_the_longest_row() -> None:
    drawing = Drawing("mask", "float64")
    drawing.add("x", "2D-data", height=3, width=2, channels=1)
    drawing.add("label", "1D-data", dimension=3)
    drawing.add("y", "2D-mask")
    drawing.connect("x", "y")
    drawing.connect("label", "y", port="label")
    rows = torch.tensor([[[1.0, 1.0], [0.0, -3.0], [2.0, 0.0]]], dtype=FLOAT)
    x = torch.stack([rows, rows]).requires_grad_()
    label = torch.tensor([[0.0, 0.0, 1.0], [0.0, 0.0, 0.0]], dtype=FLOAT)
    y = build(check(drawing).network)(x, label)
    assert y.tolist() == [[0, 0, 0, 0, 2, 0], [0, 0, 0, -3, 0, 0]]
    y.sum().backward()
    assert x.grad.flatten(1).tolist() == [[0, 0, 0, 0, 1, 1], [0, 0, 1, 1, 0, 0]]


@pytest.mark.parametrize(("label", "expected"), [(0, 0.13), (3, 0.45625)])
def test_margin_loss(label: int, expected: float) -> None:
    lengths, target = torch.tensor([[0.95, 0.2, 0.05, 0.6]], dtype=FLOAT), torch.tensor([label])
    options = {"upper": 0.9, "lower": 0.1, "share": 0.5}
    close(loss_with_gradient("margin")(lengths, target)[0], expected)
    facts = CapsuleFacts("y", "length", (4,), "float64")
    close(loss_function(LossSpec("y", "margin", 1.0, options), facts)(lengths, target), expected)


STRUCTURES = {
    "Conv1": (256, 20, 20),
    "PrimaryConv": (256, 6, 6),
    "PrimaryCaps": (1, 1152, 8),
    "DigitCaps": (1, 10, 16),
    "length": (10,),
    "mask": (160,),
    "recon": (784,),
}


def test_counts_of_capsnet() -> None:
    report = check(draw("capsnet"))
    assert report.well_formed
    assert (len(report.capsules), len(report.connections)) == (11, 10)
    assert (report.parameters, report.multiply_adds, report.depth) == (8_215_568, 202_280_960, 8)
    assert report.classification.kind == "skip"
    assert {id: report.capsules[id].output.sizes for id in STRUCTURES} == STRUCTURES
    votes = report.connections["PrimaryCaps-DigitCaps"]
    assert votes.weights["weight"].structure.sizes == (1152, 10, 16, 8)
    assert votes.multiply_adds == 1_474_560


def test_coupling_needs_no_label_and_sums_to_one_over_the_parents() -> None:
    network = check(draw("capsnet-digits")).network
    generator = torch.Generator().manual_seed(0)
    weights = {n: torch.randn(w.structure.sizes, generator=generator) / 3 for n, w in network.weights.items()}
    images = torch.rand((4, 1, 8, 8), generator=generator)
    c = coupling(network, weights, {"image": images})["DigitCaps"]
    children = network.capsules["DigitCaps"].total_input.sizes[0]
    assert c.shape == (4, children, 10)
    torch.testing.assert_close(c.sum(2), torch.ones(4, children))
    assert c.std() > 1e-3
    torch.testing.assert_close(coupling(network, weights, {"image": images[1]})["DigitCaps"], c[1])
    with pytest.raises(CouplingError, match="draw a routing capsule"):
        coupling(check(draw("mlp")).network, {}, {})


def test_a_capsule_may_be_called_as_a_printed_function_is() -> None:
    drawing = Drawing("names")
    drawing.add("vector_length", "2D-data", height=2, width=2, channels=1)
    drawing.then("squash_vectors", "2D-squash", "transfer")
    drawing.then("y", "2D-length", "transfer")
    network = check(drawing).network
    assert "squash_vectors_2 = squash_vectors(vector_length_2)" in source_of(network)
    assert build(network)(torch.ones(3, 1, 2, 2)).shape == (3, 2)
