"""Peers for graphs of neurons: neat-python, SciPy by level, torch by level. All train by plain descent.

The versions by level are given the neurons sorted by level and the connections sorted by front neuron, and their
backpropagation is written out, which is faster than torch's tape.
"""

from __future__ import annotations

from collections.abc import Callable
from importlib import import_module
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray

from inkcap.bench.cases import Case, Work
from inkcap.bench.plain_graphs import random_graph
from inkcap.bench.workload import Workload, repeated
from inkcap.engine.plain import PlainNetwork

Step = Callable[[], Any]
Array = NDArray[Any]
Cut = tuple[int, int, int, int, Array, Array, Array]
RATE = 1e-6


class Levels:
    """The network cut into levels: for each, its neurons, its connections and where its rows start."""

    def __init__(self, network: PlainNetwork) -> None:
        layout = network.layout
        s = layout.structure
        self.neurons, self.data, self.outputs = s.code.size, s.data, s.outputs.astype(np.int64)
        self.weight = network.weight[layout.weight_of_connection[layout.in_edge]].astype(np.float32)
        self.bias = np.zeros(self.neurons, np.float32)
        starts = np.searchsorted(layout.level, np.arange(1, network.levels + 1))
        self.cuts: list[Cut] = []
        for a, b in pairwise(starts):
            e, f = int(s.in_start[a]), int(s.in_start[b])
            front: Array = np.repeat(np.arange(int(b - a)), np.diff(s.in_start[a : b + 1]))
            self.cuts.append((int(a), int(b), e, f, s.back[e:f].astype(np.int64), front, s.in_start[a : b + 1] - e))


def neat_forward(network: PlainNetwork, x: Array) -> Step:
    """One sample through neat-python's feed-forward network, which takes one at a time."""
    activations: Any = import_module("neat.activations")
    aggregations: Any = import_module("neat.aggregations")
    networks: Any = import_module("neat.nn")
    relu, total = activations.relu_activation, aggregations.sum_aggregation
    layout = network.layout
    s = layout.structure
    weight = network.weight[layout.weight_of_connection[layout.in_edge]].tolist()
    back, start = s.back.tolist(), s.in_start.tolist()
    evaluations = [
        (h, relu, total, 0.0, 1.0, [(back[e], weight[e]) for e in range(start[h], start[h + 1])])
        for h in range(s.data, s.code.size)
    ]
    peer = networks.FeedForwardNetwork(list(range(s.data)), s.outputs.tolist(), evaluations)
    sample = x[0].tolist()
    return lambda: peer.activate(sample)


def scipy_steps(network: PlainNetwork, x: Array, target: Array) -> tuple[Step, Step]:
    """SciPy's CSR matrices, one per level."""
    sparse: Any = import_module("scipy.sparse")
    cut = Levels(network)
    matrices: list[Any] = [
        sparse.csr_array((cut.weight[e:f], back, start), shape=(b - a, a)) for a, b, e, f, back, _, start in cut.cuts
    ]
    values = np.zeros((cut.neurons, x.shape[0]), np.float32)
    delta = np.zeros_like(values)

    def forward() -> Array:
        values[: cut.data] = x.T
        for (a, b, *_), matrix in zip(cut.cuts, matrices, strict=True):
            u = matrix @ values[:a]
            u += cut.bias[a:b, None]
            np.maximum(u, 0, out=values[a:b])
        return values[cut.outputs].T

    def train() -> float:
        difference = forward() - target
        delta[:] = 0
        delta[cut.outputs] = difference.T * (2 / difference.size)
        for (a, b, e, f, back, front, _), matrix in zip(reversed(cut.cuts), reversed(matrices), strict=True):
            here = delta[a:b]
            here *= values[a:b] > 0
            delta[:a] += matrix.T @ here
            cut.bias[a:b] -= RATE * here.sum(1)
            cut.weight[e:f] -= RATE * np.einsum("eb,eb->e", here[front], values[back])
            matrix.data = cut.weight[e:f]
        return float(np.square(difference).mean())

    return forward, train


def torch_steps(network: PlainNetwork, x: Array, target: Array, how: str) -> tuple[Step, Step]:
    """Torch by level: ``sparse`` (CSR matrices) or ``gather`` (take the back neurons, add into the front neurons)."""
    cut = Levels(network)
    weight, bias = torch.from_numpy(cut.weight), torch.from_numpy(cut.bias)
    samples, wanted, outputs = torch.from_numpy(x).T, torch.from_numpy(target), torch.from_numpy(cut.outputs)
    values = torch.zeros(cut.neurons, x.shape[0])
    delta = torch.zeros_like(values)
    parts = [
        (
            a,
            b,
            weight[e:f],
            *(torch.from_numpy(part) for part in (back, front.astype(np.int64), start.astype(np.int64))),
        )
        for a, b, e, f, back, front, start in cut.cuts
    ]

    def matrix(a: int, b: int, w: torch.Tensor, back: torch.Tensor, start: torch.Tensor) -> torch.Tensor:
        return torch.sparse_csr_tensor(start, back, w, (b - a, a), check_invariants=False)

    def forward() -> torch.Tensor:
        values[: cut.data] = samples
        for a, b, w, back, front, start in parts:
            if how == "sparse":
                u = matrix(a, b, w, back, start) @ values[:a]
            else:
                u = torch.zeros(b - a, values.shape[1]).index_add_(0, front, values[back].mul_(w[:, None]))
            values[a:b] = u.add_(bias[a:b, None]).relu_()
        return values[outputs].T

    def train() -> float:
        difference = forward() - wanted
        delta.zero_()
        delta[outputs] = difference.T * (2 / difference.numel())
        for a, b, w, back, front, start in reversed(parts):
            here = delta[a:b].mul_(values[a:b] > 0)
            if how == "sparse":
                delta[:a] += matrix(a, b, w, back, start).t() @ here
                by_weight = (here[front] * values[back]).sum(1)
            else:
                edges = here[front]
                by_weight = (edges * values[back]).sum(1)
                delta.index_add_(0, back, edges.mul_(w[:, None]))
            bias[a:b] -= RATE * here.sum(1)
            w -= RATE * by_weight
        return float(difference.square().mean())

    return forward, train


def graph_samples(case: Case) -> tuple[PlainNetwork, Array, Array]:
    """Give the graph of a case, and its batch: samples and the numbers that the outputs should have."""
    network = PlainNetwork(random_graph(*case.sizes))
    rng = np.random.default_rng(1)
    x = rng.standard_normal((case.batch, network.inputs.size)).astype(np.float32)
    return network, x, rng.standard_normal((case.batch, network.outputs.size)).astype(np.float32)


def by_torch(case: Case, work: Work, how: str = "gather") -> Workload:
    """Torch by level."""
    forward, train = torch_steps(*graph_samples(case), how)
    return repeated(train if work == "training" else forward)


def by_scipy(case: Case, work: Work) -> Workload:
    """SciPy by level."""
    forward, train = scipy_steps(*graph_samples(case))
    return repeated(train if work == "training" else forward)


def by_neat(case: Case, work: Work) -> Workload:
    """neat-python, which takes one sample at a time: a step is as many of its calls as the batch has samples."""
    assert work == "inference"
    network, x, _ = graph_samples(case)
    one = neat_forward(network, x)
    return repeated(lambda: [one() for _ in range(case.batch)])
