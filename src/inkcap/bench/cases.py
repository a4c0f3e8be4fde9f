"""What is measured: networks with the batch that they are given. Nothing here needs torch."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from inkcap.bench.errors import BenchError
from inkcap.drawing import Drawing
from inkcap.network import check
from inkcap.structures.errors import nearest
from inkcap.zoo import draw, mlp

Work = Literal["training", "inference"]
Floats = NDArray[np.float32]
Classes = NDArray[np.int64]

RATE, MOMENTUM = 1e-3, 0.9
"""Every contender learns by gradient descent with this rate and momentum."""
RECONSTRUCTION = 0.0005 * 784
"""What the mean squared error of CapsNet's decoder weighs beside the margin: 0.0005 of its sum."""
MOST_SIZES = 64


@dataclass(frozen=True)
class Case:
    """A network and its batch; ``family`` says which hand-written networks are the same."""

    name: str
    title: str
    family: str
    batch: int
    shape: tuple[int, ...]
    """The shape of one sample as torch has it, channels first."""
    classes: int = 10
    sizes: tuple[int, ...] = ()
    """What the family needs to know: the widths of a perceptron, channels and depth of a chain of convolutions."""
    drawn: Callable[[], Drawing] | None = None

    def drawing(self) -> Drawing:
        """Draw it."""
        if self.drawn is None:
            raise BenchError(f"{self.name} is a graph of neurons in columns, not a drawing of capsules")
        return self.drawn()

    def samples(self) -> tuple[Floats, Classes]:
        """Give the batch that every contender is given."""
        rng = np.random.default_rng(1)
        x = rng.standard_normal((self.batch, *self.shape)).astype(np.float32)
        if self.family == "capsnet":
            # The decoder draws grey values between 0 and 1.
            x = rng.random((self.batch, *self.shape), np.float32)
        return x, rng.integers(0, self.classes, self.batch)


@dataclass(frozen=True)
class Costs:
    """What a step of a case has to do at least."""

    parameters: int
    multiply_adds: int
    """Of one sample, forwards."""

    def operations(self, batch: int, work: Work) -> float:
        """Count the floating-point operations of a step: two a multiply-add, three passes when it learns."""
        return 2.0 * self.multiply_adds * batch * (3 if work == "training" else 1)


def costs_of(case: Case) -> Costs:
    """Count a case's parameters and multiply-adds, from its drawing or its columns."""
    if case.drawn is None:
        from inkcap.bench.plain_graphs import random_graph

        columns = random_graph(*case.sizes)
        connections, learning = len(columns.front), len(columns.symbol) - case.sizes[0] // 10
        return Costs(connections + learning, connections)
    report = check(case.drawing())
    return Costs(report.parameters, report.multiply_adds)


def perceptron(sizes: tuple[int, ...], batch: int, title: str = "") -> Case:
    """Make the case of a multilayer perceptron."""
    name = f"mlp-{'-'.join(map(str, sizes))}"
    title = title or f"MLP {'-'.join(map(str, sizes))}"
    drawn = partial(_perceptron, sizes)
    return Case(f"{name}@{batch}", title, "mlp", batch, (sizes[0],), sizes[-1], sizes, drawn)


def _perceptron(sizes: tuple[int, ...]) -> Drawing:
    if len(sizes) <= 20:
        return mlp(sizes, "MLP")
    drawing = Drawing("MLP")
    drawing.add("x", "1D-data", dimension=sizes[0])
    for number, size in enumerate(sizes[1:-1], 1):
        drawing.then(f"h{number}", "1D-relu", "full", dimension=size)
    drawing.then("y", "1D-identical", "full", dimension=sizes[-1])
    return drawing


def chain(channels: int, depth: int, batch: int) -> Case:
    """Make the case of a chain of 3×3 convolutions on images of 16×16."""
    title = f"{depth} convolutions of {channels} channels"
    drawn = partial(_chain, channels, depth)
    return Case(f"chain-{channels}x{depth}@{batch}", title, "chain", batch, (3, 16, 16), 10, (channels, depth), drawn)


def _chain(channels: int, depth: int) -> Drawing:
    drawing = Drawing("chain")
    drawing.add("x", "2D-data", height=16, width=16, channels=3)
    for number in range(1, depth + 1):
        drawing.then(f"c{number}", "2D-relu", "convolution", kernels=channels, kernel=3, padding=1)
    drawing.then("average", "2D-downsampling", kind="average", bins=1)
    drawing.then("flat", "1D-identical", "reshaping")
    drawing.then("y", "1D-softmax", "full", dimension=10)
    return drawing


def _known(name: str, title: str, known: str, side: int, channels: int = 3, batch: int = 64) -> Case:
    drawn = partial(draw, known, 10, (side, side, channels))
    return Case(name, title, name, batch, (channels, side, side), 10, (), drawn)


NETWORKS: Mapping[str, Case] = {
    "lenet": _known("lenet", "LeNet", "lenet", 28, 1),
    "mlp": perceptron((784, 512, 512, 10), 64),
    "alexnet": _known("alexnet", "AlexNet, 64×64", "alexnet_torchvision", 64),
    "googlenet": _known("googlenet", "GoogLeNet, 64×64", "googlenet_tv_main", 64),
    "densenet": _known("densenet", "DenseNet-121, 32×32", "densenet121", 32),
    "resnet18": _known("resnet18", "ResNet-18, 32×32", "resnet18", 32),
    "capsnet": _known("capsnet", "CapsNet", "capsnet_sabour", 28, 1),
    "figure20-16": perceptron((2, 6, 4, 2), 16, "Figure 20, MLP 2-6-4-2, batch 16"),
    "figure20-64": perceptron((2, 6, 4, 2), 64, "Figure 20, MLP 2-6-4-2, batch 64"),
    "dag": Case("dag", "graph of 10⁴ neurons, 10 levels", "dag", 256, (1000,), 0, (10_000, 10, 10)),
    "deep-dag": Case("deep-dag", "graph of 10⁴ neurons, 3000 levels", "dag", 256, (1000,), 0, (10_000, 10, 3000)),
}
"""The networks of the table, by the names that the command takes."""

_FORM = re.compile(r"(?:mlp-(?P<sizes>\d+(?:-\d+)+)|chain-(?P<channels>\d+)x(?P<depth>\d+))(?:@(?P<batch>\d+))?")


def find_case(name: str) -> Case:
    """Find a case by the name of a network, or by its sizes: ``mlp-784-512-10@64``, ``chain-32x4@64``."""
    if name in NETWORKS:
        return NETWORKS[name]
    if form := _FORM.fullmatch(name):
        batch = int(form["batch"] or 64)
        sizes = tuple(map(int, (form["sizes"] or f"{form['channels']}-{form['depth']}").split("-")))
        if min(*sizes, batch) < 1 or len(sizes) > MOST_SIZES:
            raise BenchError(f"{name}: sizes and batch must be at least 1, and there are at most {MOST_SIZES} sizes")
        return perceptron(sizes, batch) if form["sizes"] else chain(sizes[0], sizes[1], batch)
    near = nearest(name, NETWORKS, 1, 0.5)
    told = f"did you mean {near[0]}?" if near else "'inkcap bench --list' tells which there are"
    raise BenchError(f"there is no network {name!r} to measure; {told}")
