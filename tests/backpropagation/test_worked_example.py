"""Section 3.4 on the worked example, to the last digit: Equations 4 to 12, Algorithms 1 and 2."""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from worked import INPUTS, SECOND_INPUTS, SECOND_TARGETS, TARGETS, WEIGHTS, draw_worked_example

from inkcap import backpropagate
from inkcap.drawing import Drawing
from inkcap.engine import BackpropagationError, Backpropagator
from inkcap.network import check
from inkcap.recipes import LossSpec

NETWORK = check(draw_worked_example()).network
BATCH_INPUTS = {id: [INPUTS[id], SECOND_INPUTS[id]] for id in INPUTS}
BATCH_TARGETS = {id: [TARGETS[id], SECOND_TARGETS[id]] for id in TARGETS}


def close(found: torch.Tensor, expected: object) -> None:
    np.testing.assert_allclose(found.numpy(), np.asarray(expected, float), rtol=1e-12, atol=1e-12)


def stepped(weights: dict, updates: dict, rate: float) -> dict:
    return {name: np.asarray(value, float) - rate * updates[name].numpy() for name, value in weights.items()}


def test_the_network_is_the_one_of_the_example() -> None:
    report = check(draw_worked_example())
    assert report.classification.kind == "skip"
    assert (len(report.inputs), len(report.hidden), len(report.outputs)) == (2, 2, 2)
    assert report.parameters == 23
    assert len(NETWORK.weights) == 9


def test_equations_4_to_8() -> None:
    found = backpropagate(NETWORK, WEIGHTS, INPUTS, TARGETS)
    close(found.loss, 3)
    close(found.losses["O1"], 1 / 2)
    close(found.losses["O2"], 5 / 2)
    for id, U in {"H1": (-2, 6), "H2": (2, 1), "O1": [3], "O2": (2, 4)}.items():
        close(found.U[id], U)
    close(found.Y["H1"], (0, 6))
    deltas = {"O1": [1], "O2": (-1, 2), "H2": (-2, 2), "H1": (0, -7 / 6), "X1": (-13 / 3, 5 / 6), "X2": (-1, 5 / 6)}
    for id, delta in deltas.items():
        close(found.delta[id], delta)
    updates = {
        "X1-H1.weight": [[0, 0], [-7 / 6, -7 / 3]],
        "H1-H2.weight": [[0, -12], [0, 12]],
        "H2-O1.weight": [[2, 1]],
        "H1-O1.weight": [[0, 6]],
        "H2-O2.weight": [[-2, -1], [4, 2]],
    }
    # Transfers carry no weight to train: nine blocks and no more (E25).
    assert found.weight_updates.keys() == updates.keys()
    for name, update in updates.items():
        close(found.weight_updates[name], update)
    biases = {"H1.bias": (0, -7 / 6), "H2.bias": (-2, 2), "O1.bias": [1], "O2.bias": (-1, 2)}
    assert found.bias_updates.keys() == biases.keys()
    for name, update in biases.items():
        close(found.bias_updates[name], update)


def test_algorithm_1() -> None:
    new = stepped(WEIGHTS, backpropagate(NETWORK, WEIGHTS, INPUTS, TARGETS).updates, 1 / 100)
    expected = {
        "X1-H1.weight": [[1, -1], [1207 / 600, 307 / 300]],
        "H1-H2.weight": [[1, 31 / 50], [0, -34 / 75]],
        "H2-O1.weight": [[49 / 50, -101 / 100]],
        "H1-O1.weight": [[3, 11 / 25]],
        "H2-O2.weight": [[51 / 50, 101 / 100], [-26 / 25, 99 / 50]],
        "H1.bias": (0, -593 / 600),
        "H2.bias": (-99 / 50, 49 / 50),
        "O1.bias": [-101 / 100],
        "O2.bias": (1 / 100, 49 / 50),
    }
    for name, value in expected.items():
        np.testing.assert_allclose(new[name], np.asarray(value, float), rtol=1e-12, atol=1e-12)
    after = backpropagate(NETWORK, new, INPUTS, TARGETS).loss
    assert float(after) == pytest.approx(1608229030657 / 562500000000, rel=1e-12)
    assert float(after) == pytest.approx(2.859073832279111, rel=1e-12)
    far = stepped(WEIGHTS, backpropagate(NETWORK, WEIGHTS, INPUTS, TARGETS).updates, 1 / 10)
    assert float(backpropagate(NETWORK, far, INPUTS, TARGETS).loss) == pytest.approx(434.2123791111111, rel=1e-12)


def test_algorithm_2() -> None:
    weights, losses = dict(WEIGHTS), []
    planned = Backpropagator(NETWORK)
    for iteration in range(4):
        found = planned(weights, BATCH_INPUTS, BATCH_TARGETS)
        losses.append(float(found.loss))
        if iteration == 0:
            close(found.U["H1"][1], (1, -1))
            close(found.delta["O2"][1], (3, 6))
            close(found.delta["H2"][1], (-5, 17))
            close(found.delta["H1"][1], (-11, 0))
            close(found.updates["X1-H1.weight"], [[0, -11], [-7 / 6, -7 / 3]])
            close(found.updates["H1-H2.weight"], [[-5, -12], [17, 12]])
            close(found.updates["H2-O1.weight"], [[4, -3]])
            close(found.updates["H1-O1.weight"], [[-2, 6]])
            close(found.updates["H2-O2.weight"], [[-5, 5], [-2, 14]])
            close(found.updates["H1.bias"], (-11, -7 / 6))
            close(found.updates["H2.bias"], (-7, 19))
            close(found.updates["O1.bias"], [-1])
            close(found.updates["O2.bias"], (2, 8))
        weights = stepped(weights, found.updates, 1 / 200)
    expected = [27.5, 21.023476977516268, 16.637418462983955, 13.551566611431973]
    assert losses == pytest.approx(expected, rel=1e-12)
    assert losses[1] == pytest.approx(1210952273904937 / 57600000000000, rel=1e-12)


def test_a_mean_is_the_sum_by_the_number_of_samples() -> None:
    whole = backpropagate(NETWORK, WEIGHTS, BATCH_INPUTS, BATCH_TARGETS)
    mean = backpropagate(NETWORK, WEIGHTS, BATCH_INPUTS, BATCH_TARGETS, reduction="mean")
    close(mean.loss, whole.loss / 2)
    for name, update in whole.updates.items():
        close(mean.updates[name], update / 2)


def test_what_would_show_a_misreading() -> None:
    """The bias once, not once a connection (E37): that would give U_H1 = (−2, 5) and L = 541/12."""
    doubled = {n: [2 * v for v in w] if n.endswith("bias") else w for n, w in WEIGHTS.items()}
    found = backpropagate(NETWORK, doubled, INPUTS, TARGETS)
    close(found.U["H1"], (-2, 5))
    close(found.loss, 541 / 12)


def test_a_trainable_identity_would_be_trained() -> None:
    """A full connection with I in the place of the transfer gets the update that a transfer must not have (E25)."""
    drawing = draw_worked_example()
    drawing.remove("X2-H1")
    drawing.connect("X2", "H1", "full")
    network = check(drawing).network
    found = backpropagate(network, {**WEIGHTS, "X2-H1.weight": [[1, 0], [0, 1]]}, INPUTS, TARGETS)
    close(found.weight_updates["X2-H1.weight"], [[0, 0], [7 / 6, -7 / 2]])
    close(found.loss, 3)


@pytest.mark.parametrize(
    ("u", "slope"), [(0, 0.25), (1, 0.19661193324148185), (-2, 0.1049935854035065), (0.5, 0.2350037122015945)]
)
def test_equation_9(u: float, slope: float) -> None:
    drawing = Drawing("sigmoid", "float64")
    drawing.add("x", "data neuron")
    drawing.add("h", "sigmoid neuron", bias="none")
    drawing.connect("x", "h", "transfer")
    network = check(drawing).network
    output = 1 / (1 + math.exp(-u))
    found = backpropagate(network, {}, {"x": u}, {"h": output - 1})
    assert float(found.delta["h"]) == pytest.approx(slope, rel=1e-12)


@pytest.mark.parametrize(("weight", "symbol", "x", "factor"), [(1, "sigmoid", 0.5, 0.25), (2, "identical", 1, 2)])
def test_signals_vanish_and_explode_with_depth(weight: float, symbol: str, x: float, factor: float) -> None:
    drawing = Drawing("path", "float64")
    drawing.add("h0", "data neuron")
    weights = {}
    for i in range(1, 12):
        drawing.add(f"h{i}", f"{symbol} neuron")
        drawing.connect(f"h{i - 1}", f"h{i}", "amplifying")
        weights |= {f"h{i - 1}-h{i}.weight": weight, f"h{i}.bias": -0.5 if symbol == "sigmoid" else 0}
    found = backpropagate(check(drawing).network, weights, {"h0": x}, {"h11": 0.25})
    if symbol == "sigmoid":
        assert all(float(found.U[f"h{i}"]) == 0 for i in range(1, 12))
    for i in range(1, 11):
        assert float(found.delta[f"h{i}"] / found.delta[f"h{i + 1}"]) == factor
    assert float(found.delta["h1"] / found.delta["h11"]) == {"sigmoid": 9.5367431640625e-07, "identical": 1024}[symbol]


def test_losses_by_kind_weight_and_function() -> None:
    network = check(draw_worked_example()).network
    plain = backpropagate(network, WEIGHTS, INPUTS, TARGETS)

    def squares(value: torch.Tensor, target: torch.Tensor) -> torch.Tensor:
        return ((value - target) ** 2).sum()

    halves = {"O1": LossSpec("O1", "mean-squared-error", 0.5), "O2": squares}
    found = backpropagate(network, WEIGHTS, INPUTS, TARGETS, losses=halves)
    close(found.losses["O1"], plain.losses["O1"])
    close(found.losses["O2"], 2 * plain.losses["O2"])
    close(found.delta["O1"], plain.delta["O1"])
    close(found.delta["O2"], 2 * plain.delta["O2"])


def test_labels_for_cross_entropy_on_a_softmax_capsule() -> None:
    drawing = Drawing("classes", "float64")
    drawing.add("x", "1D-data", dimension=3)
    drawing.add("h", "1D-softmax", bias="none")
    drawing.connect("x", "h", "transfer")
    network = check(drawing).network
    x = torch.tensor([1.0, 2.0, -1.0], dtype=torch.float64)
    found = backpropagate(network, {}, {"x": x}, {"h": 1}, losses={"h": "cross-entropy"})
    # Softmax and cross-entropy together: δ = Y − T.
    close(found.delta["h"], torch.softmax(x, 0) - torch.tensor([0, 1.0, 0]))
    close(found.delta["x"], found.delta["h"])
    close(found.loss, -torch.log_softmax(x, 0)[1])


@pytest.mark.parametrize(
    ("change", "told"),
    [
        ({"weights": {"H1.bias": [0, 0]}}, "no weight for X1-H1.weight, H1-H2.weight"),
        ({"weights": {**WEIGHTS, "H1.bias": [0, 0, 0]}}, r"the weight H1.bias has the shape \(3,\), the network needs"),
        ({"weights": {**WEIGHTS, "Z": 1}}, "no weight Z; it has X1-H1.weight"),
        ({"inputs": {"X1": [1, 2]}}, "inputs: no input for X2"),
        (
            {"inputs": {"X1": [1, 2, 3], "X2": [1, 2]}},
            r"the input X1 has the shape \(3,\); .* give \(2,\) for one sample",
        ),
        ({"inputs": {"X1": [[1, 2]], "X2": [[1, 2], [3, 4]]}}, "X1 has 1, X2 has 2"),
        ({"inputs": {"X1": ["a", "b"], "X2": [1, 2]}}, "the input X1 is no array of numbers"),
        ({"targets": {"O1": [1.0]}}, "no target for O2"),
        ({"targets": {"O1": [[1.0], [2.0]], "O2": [3.0, 2.0]}}, "the target O1 has 2 samples, the inputs have 1"),
        ({"losses": {"H1": "margin"}}, "'H1' is no output; the outputs are O1, O2"),
        ({"losses": {"O1": "hinge"}}, "there is no 'hinge'; there are cross-entropy"),
        ({"reduction": "median"}, "'median' is not one of sum, mean"),
    ],
)
def test_what_does_not_fit_is_told(change: dict, told: str) -> None:
    given = {"weights": WEIGHTS, "inputs": INPUTS, "targets": TARGETS} | change
    with pytest.raises(BackpropagationError, match=told):
        backpropagate(NETWORK, **given)
