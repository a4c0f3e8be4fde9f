"""Columns: what cannot be a plain network is refused in one line that names the place."""

from dataclasses import replace

import numpy as np
import pytest

from inkcap.drawing.plain import Plain
from inkcap.engine.plain import Columns, PlainError, PlainNetwork
from inkcap.structures import InkcapError

GOOD = Columns(
    ["data", "relu", "relu", "identical"],
    [0, 0.5, 0, 0],
    [0, 0, 1, 2],
    [1, 2, 3, 3],
    [1.0, 2.0, 3.0, 3.0],
    [-1, -1, 0, 0],
)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (
            {"symbol": ["data", "relu", "softmax", "relu"]},
            "symbol[2]: there is no neuron 'softmax'; there are identical",
        ),
        ({"symbol": []}, "at least one neuron"),
        ({"symbol": ["relu"] * 4}, "there is no data neuron"),
        ({"symbol": ["data"] * 4, "bias": [0] * 4}, "there are only data neurons"),
        ({"symbol": ["data", "data", "relu", "relu"]}, "front[0]: neuron 1 is a data neuron"),
        ({"bias": [0, 0, 0]}, "bias: has the shape (3,), (4,) is needed"),
        ({"bias": [1, 0, 0, 0]}, "bias[0]: neuron 0 is a data neuron and has none; write 0 instead of 1"),
        ({"bias": [0, np.nan, 0, 0]}, "bias[1]: nan is not a finite number"),
        ({"bias": [0, "a", 0, 0]}, "bias: every entry must be a number"),
        ({"back": [0, 0, 1, 4]}, "back[3]: 4 is not from 0 to 3"),
        ({"back": [0.5, 0, 1, 2]}, "back: the numbers must be whole, not float64"),
        ({"front": [1, 2, -1, 3]}, "front[2]: -1 is not from 0 to 3"),
        ({"front": [1, 2, 3]}, "front: has the shape (3,), (4,) is needed"),
        ({"weight": [1.0, 2.0, np.inf, 3.0]}, "weight[2]: inf is not a finite number"),
        ({"weight": [1.0, 2.0, 3.0, 4.0]}, "weight[3]: 4, but connection 2 shares tie 0 and has 3"),
        ({"tie": [0, 0]}, "tie: has the shape (2,), (4,) is needed"),
        ({"tie": [-2, -1, -1, -1]}, "tie[0]: -2 is not from -1 to 3"),
        ({"back": [2, 1, 1, 2], "front": [1, 2, 3, 3]}, "the neurons 1→2→1 form a cycle"),
        ({"back": [1, 0, 1, 2], "front": [1, 2, 3, 3]}, "the neurons 1→1 form a cycle"),
    ],
)
def test_what_is_wrong_is_named_with_its_place(change, said):
    with pytest.raises(PlainError) as refused:
        PlainNetwork(replace(GOOD, **change))
    assert said in str(refused.value)
    assert "\n" not in str(refused.value)
    assert isinstance(refused.value, InkcapError)


def test_a_long_cycle_is_named_by_one_of_its_neurons():
    n = 1000
    back, front = np.arange(n), np.arange(1, n + 1)
    back, front = np.append(back, n), np.append(front, 500)
    columns = Columns(["data"] + ["relu"] * n, np.zeros(n + 1), back, front, np.ones(n + 1))
    with pytest.raises(PlainError, match="neuron 500 is on a cycle of 501 neurons"):
        PlainNetwork(columns)


@pytest.mark.parametrize(
    ("outputs", "said"),
    [([], "at least one"), ([3, 3], "each once"), ([4], "4 is not from 0 to 3"), ([0], "neuron 0 is a data neuron")],
)
def test_outputs_must_be_neurons_that_compute(outputs, said):
    with pytest.raises(PlainError, match=said):
        PlainNetwork(GOOD, outputs)


def test_the_plain_block_of_a_drawing_is_taken_as_it_is():
    plain = Plain.from_json(
        {"symbol": ["data", "relu"], "bias": [0, 0.5], "back": [0], "front": [1], "weight": [2.0]}, "plain"
    )
    assert PlainNetwork(plain).forward(np.array([[1.5], [-1.0]])).tolist() == [[3.5], [0.0]]


def test_tied_connections_have_one_weight_and_data_neurons_no_bias():
    network = PlainNetwork(GOOD)
    assert network.weight.tolist() == [1, 2, 3]
    assert network.bias.tolist() == [0.5, 0, 0]
    assert (network.neurons, network.connections, network.levels) == (4, 4, 3)
