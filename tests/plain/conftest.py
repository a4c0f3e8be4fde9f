"""Networks for the tests of plain networks, and the ten lines that say what they compute."""

from collections.abc import Callable
from dataclasses import replace

import numpy as np
import pytest
import torch

from inkcap.engine.plain import Columns, PlainNetwork

SYMBOLS = ("identical", "relu", "sigmoid", "tanh", "step")

NUMPY = {
    "identical": lambda u: u,
    "relu": lambda u: np.maximum(u, 0),
    "sigmoid": lambda u: 1 / (1 + np.exp(-u)),
    "tanh": np.tanh,
    "step": lambda u: (u >= 0).astype(float),
}
TORCH = {
    "identical": lambda u: u,
    "relu": torch.relu,
    "sigmoid": torch.sigmoid,
    "tanh": torch.tanh,
    "step": lambda u: (u >= 0).to(u.dtype) + 0 * u,
}


def random_columns(seed, neurons=200, data=10, degree=5, reach=None, ties=0, symbols=SYMBOLS) -> Columns:
    """Random columns in a random order; a small ``reach`` makes them deep, ``ties`` is how many weights are shared."""
    rng = np.random.default_rng(seed)
    front = np.repeat(np.arange(data, neurons), degree)
    front = front[rng.random(front.size) < 0.8]
    low = np.zeros(front.size) if reach is None else np.maximum(front - reach, 0)
    back = (low + rng.random(front.size) * (front - low)).astype(np.int64)
    weight = rng.standard_normal(front.size) / np.sqrt(degree)
    tie = np.full(front.size, -1)
    if ties and front.size:
        tied = rng.random(front.size) < 0.5
        tie[tied] = rng.integers(0, min(ties, front.size), tied.sum())
        shared = rng.standard_normal(ties) / np.sqrt(degree)
        weight[tied] = shared[tie[tied]]
    new = rng.permutation(neurons)
    symbol = np.empty(neurons, "U9")
    symbol[new] = ["data"] * data + list(rng.choice(symbols, neurons - data))
    bias = np.where(symbol == "data", 0, rng.standard_normal(neurons) * 0.3)
    shuffle = rng.permutation(front.size)
    return Columns(symbol, bias, new[back][shuffle], new[front][shuffle], weight[shuffle], tie[shuffle])


def reference(columns: Columns, network: PlainNetwork, x: np.ndarray) -> np.ndarray:
    """Compute a plain network neuron by neuron, from the columns alone but for the order."""
    y = np.zeros((len(x), len(columns.symbol)))
    y[:, np.flatnonzero(np.asarray(columns.symbol) == "data")] = x
    by_front = np.argsort(columns.front, kind="stable")
    start = np.searchsorted(np.asarray(columns.front)[by_front], np.arange(len(columns.symbol) + 1))
    for h in network.layout.neuron[network.inputs.size :]:
        e = by_front[start[h] : start[h + 1]]
        y[:, h] = NUMPY[str(columns.symbol[h])](y[:, np.asarray(columns.back)[e]] @ columns.weight[e] + columns.bias[h])
    return y[:, network.outputs]


def on_tape(columns: Columns, network: PlainNetwork, x, weight, bias):
    """Compute it in torch with the tape on; weights and biases as a module holds them."""
    symbol = np.asarray(columns.symbol)
    per_connection = weight[torch.from_numpy(network.layout.weight_of_connection.astype(np.int64))]
    place = {int(h): i for i, h in enumerate(np.flatnonzero(symbol != "data"))}
    values = {int(z): x[:, i] for i, z in enumerate(np.flatnonzero(symbol == "data"))}
    for h in network.layout.neuron[network.inputs.size :].tolist():
        u = bias[place[h]].expand(len(x))
        for e in np.flatnonzero(np.asarray(columns.front) == h).tolist():
            u = u + per_connection[e] * values[int(columns.back[e])]
        values[h] = TORCH[str(symbol[h])](u)
    return torch.stack([values[int(o)] for o in network.outputs], 1)


def layered(sizes, seed=0, last="identical", hidden="relu", order="front") -> Columns:
    """A layered network drawn neuron by neuron: connections by front neuron, by back neuron, or shuffled."""
    rng = np.random.default_rng(seed)
    starts = np.cumsum((0, *sizes))
    symbol = ["data"] * sizes[0] + [hidden] * sum(sizes[1:-1]) + [last] * sizes[-1]
    pairs = [
        np.stack([np.tile(np.arange(a, b), c - b), np.repeat(np.arange(b, c), b - a)])
        for a, b, c in zip(starts, starts[1:], starts[2:], strict=False)
    ]
    if order == "back":
        pairs = [pair[:, np.lexsort((pair[1], pair[0]))] for pair in pairs]
    back, front = np.concatenate(pairs, 1)
    columns = Columns(symbol, np.zeros(starts[-1]), back, front, rng.standard_normal(back.size) / np.sqrt(sizes[0]))
    columns.bias[sizes[0] :] = rng.standard_normal(starts[-1] - sizes[0]) * 0.1
    if order == "shuffled":
        places = rng.permutation(back.size)
        columns = replace(columns, back=back[places], front=front[places], weight=columns.weight[places])
    return columns


@pytest.fixture(scope="session")
def draw_random() -> Callable[..., Columns]:
    return random_columns


@pytest.fixture(scope="session")
def draw_layered() -> Callable[..., Columns]:
    return layered


@pytest.fixture(scope="session")
def by_hand() -> Callable[..., np.ndarray]:
    return reference


@pytest.fixture(scope="session")
def by_tape() -> Callable[..., torch.Tensor]:
    return on_tape
