"""Networks of neurons that the benchmarks measure, as columns."""

from __future__ import annotations

from typing import Any

import numpy as np

from inkcap.engine.plain import Columns


def random_graph(neurons: int, degree: int, levels: int, seed: int = 0) -> Columns:
    """A random graph of ReLU neurons on exactly so many levels, a tenth of them data.

    A neuron has one back neuron on the level before, and the rest anywhere below.
    """
    rng = np.random.default_rng(seed)
    data = neurons // 10
    level = np.concatenate([np.zeros(data, np.int64), 1 + np.arange(neurons - data) * levels // (neurons - data)])
    first = np.searchsorted(level, np.arange(levels + 2))
    front = np.repeat(np.arange(data, neurons), degree)
    below = first[level[front]]
    back = (rng.random(front.size) * below).astype(np.int64)
    near = np.arange(0, front.size, degree)
    lowest = first[level[front[near]] - 1]
    back[near] = lowest + (rng.random(near.size) * (below[near] - lowest)).astype(np.int64)
    symbol = np.array(["data", "relu"])[(level > 0).astype(int)]
    return Columns(symbol, np.zeros(neurons), back, front, rng.standard_normal(front.size) / np.sqrt(degree))


def drawn_mlp(sizes: tuple[int, ...], seed: int = 0) -> Columns:
    """A layered network drawn neuron by neuron, with the start that ``nn.Linear`` has."""
    rng = np.random.default_rng(seed)
    starts: list[int] = np.cumsum((0, *sizes)).tolist()
    symbol = ["data"] * sizes[0] + ["relu"] * sum(sizes[1:-1]) + ["identical"] * sizes[-1]
    back, front, weight = list[Any](), list[Any](), list[Any]()
    bias: list[Any] = [np.zeros(sizes[0])]
    for k in range(1, len(sizes)):
        bound = 1 / np.sqrt(sizes[k - 1])
        front.append(np.repeat(np.arange(starts[k], starts[k + 1]), sizes[k - 1]))
        back.append(np.tile(np.arange(starts[k - 1], starts[k]), sizes[k]))
        weight.append(rng.uniform(-bound, bound, sizes[k] * sizes[k - 1]))
        bias.append(rng.uniform(-bound, bound, sizes[k]))
    joined = (np.concatenate(part) for part in (bias, back, front, weight))
    return Columns(symbol, *joined)
