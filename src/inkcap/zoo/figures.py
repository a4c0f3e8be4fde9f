"""Networks of the paper's figures, as drawings."""

from __future__ import annotations

from collections.abc import Callable

from inkcap.drawing import Drawing
from inkcap.structures import InkcapError
from inkcap.symbols import suggest
from inkcap.zoo.capsule_networks import capsnet, capsnet_for_digits
from inkcap.zoo.flexible import (
    capsules_figure_26,
    layered_figure_15,
    mlp_figure_22,
    neurons_figure_25,
    skip_figure_16,
)
from inkcap.zoo.matrix_capsules import emcaps, emcaps_for_digits


class UnknownNetwork(InkcapError):
    """A network that the zoo does not have."""


def mlp(sizes: tuple[int, ...], name: str, dtype: str = "float32", last: str = "identical") -> Drawing:
    """Draw a multilayer perceptron: data, ReLU capsules, and one last capsule, joined by full connections."""
    drawing = Drawing(name, dtype)
    drawing.add("a", "1D-data", dimension=sizes[0])
    letters = "bcdefghijklmnopqrstuvwxyz"
    for letter, size in zip(letters, sizes[1:-1], strict=False):
        drawing.then(letter, "1D-relu", "full", dimension=size)
    drawing.then(letters[len(sizes) - 2], f"1D-{last}", "full", dimension=sizes[-1])
    return drawing


def mlp_figure_1() -> Drawing:
    """The MLP of Figure 1: 5-7-7-7-4."""
    return mlp((5, 7, 7, 7, 4), "MLP of Figure 1")


def mlp_figure_20() -> Drawing:
    """The capsuled MLP of Figure 20: 2-6-4-2."""
    return mlp((2, 6, 4, 2), "MLP")


def cnn_figure_2() -> Drawing:
    """The CNN of Figure 2, with the sizes of Caffe's LeNet: the paper gives none."""
    drawing = Drawing("CNN of Figure 2")
    drawing.add("input", "2D-data", height=28, width=28, channels=1)
    drawing.then("H1", "2D-relu", "convolution", kernels=20, kernel=5)
    drawing.then("H2", "2D-downsampling", "transfer", window=2)
    drawing.then("H3", "2D-relu", "convolution", kernels=50, kernel=5)
    drawing.then("H4", "2D-downsampling", "transfer", window=2)
    drawing.then("H5", "1D-identical", "reshaping")
    drawing.then("output", "1D-softmax", "full", dimension=10)
    return drawing


def lenet_figure_21(
    size: int = 28, kernel: int = 5, padding: int = 0, k: int = 32, k2: int = 64, g: int = 512, name: str = "LeNet"
) -> Drawing:
    """The capsuled LeNet of Figure 21, for 28×28 images as printed."""
    drawing = Drawing(name)
    drawing.add("a", "2D-data", height=size, width=size, channels=1)
    border = {"padding": padding} if padding else {}
    drawing.then("b", "2D-relu", "convolution", kernels=k, kernel=kernel, **border)
    drawing.then("c", "2D-downsampling", "transfer", window=2)
    drawing.then("d", "2D-relu", "convolution", kernels=k2, kernel=kernel, **border)
    drawing.then("e", "2D-downsampling", "transfer", window=2)
    drawing.then("f", "1D-identical", "reshaping")
    drawing.then("g", "1D-relu", "full", dimension=g)
    drawing.then("h", "1D-softmax", "full", dimension=10)
    return drawing


def lenet_for_digits() -> Drawing:
    """LeNet fitted to the 8×8 images of the digits: kernels 3×3, padded by one."""
    return lenet_figure_21(size=8, kernel=3, padding=1, k=32, k2=64, g=128, name="LeNet for digits")


NETWORKS: dict[str, Callable[[], Drawing]] = {
    "mlp": mlp_figure_20,
    "mlp-figure-1": mlp_figure_1,
    "mlp-figure-22": mlp_figure_22,
    "cnn": cnn_figure_2,
    "lenet": lenet_figure_21,
    "lenet-digits": lenet_for_digits,
    "figure-15": layered_figure_15,
    "figure-16": skip_figure_16,
    "figure-25": neurons_figure_25,
    "figure-26": capsules_figure_26,
    "capsnet": capsnet,
    "capsnet-digits": capsnet_for_digits,
    "emcaps": emcaps,
    "emcaps-digits": emcaps_for_digits,
}


def draw(name: str) -> Drawing:
    """Draw a network of the zoo by its name."""
    if name not in NETWORKS:
        raise UnknownNetwork(f"there is no network {name!r}; {suggest(name, NETWORKS)}")
    return NETWORKS[name]()
