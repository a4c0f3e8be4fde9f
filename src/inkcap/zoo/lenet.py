"""LeNet in its forms: as the paper draws it, as Caffe ships it, fitted to small digits, and the CNN of Figure 2."""

from __future__ import annotations

from functools import partial
from typing import Any

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data
from inkcap.zoo.perceptrons import LI_SHAN
from inkcap.zoo.record import KnownNetwork, Reference, Sizes

DIGITS: Sizes = (28, 28, 1)
TABLE = (
    "1000111001111011",
    "1100011100111101",
    "1110001110010111",
    "0111001111001011",
    "0011100111101101",
    "0001110011110111",
)
"""Which of the six maps of S2 (rows) each of the sixteen maps of C3 (columns) sees."""


def cnn_figure_2(classes: int = 10, input: Sizes = DIGITS) -> Drawing:
    """The CNN of Figure 2, with the sizes of Caffe's LeNet: the paper gives none."""
    drawing = Drawing("CNN of Figure 2")
    add_data(drawing, "input", input)
    drawing.then("H1", "2D-relu", "convolution", kernels=20, kernel=5)
    drawing.then("H2", "2D-downsampling", "transfer", window=2)
    drawing.then("H3", "2D-relu", "convolution", kernels=50, kernel=5)
    drawing.then("H4", "2D-downsampling", "transfer", window=2)
    drawing.then("H5", "1D-identical", "reshaping")
    drawing.then("output", "1D-softmax", "full", dimension=classes)
    return drawing


def lenet_figure_21(
    kernel: int = 5,
    padding: int = 0,
    k: int = 32,
    k2: int = 64,
    g: int = 512,
    name: str = "LeNet",
    *,
    after: str = "relu",
    classes: int = 10,
    input: Sizes = DIGITS,
) -> Drawing:
    """The capsuled LeNet of Figure 21, for 28×28 images as printed; ``after`` follows the convolutions."""
    drawing = Drawing(name)
    add_data(drawing, "a", input)
    border = {"padding": padding} if padding else {}
    drawing.then("b", f"2D-{after}", "convolution", kernels=k, kernel=kernel, **border)
    drawing.then("c", "2D-downsampling", "transfer", window=2)
    drawing.then("d", f"2D-{after}", "convolution", kernels=k2, kernel=kernel, **border)
    drawing.then("e", "2D-downsampling", "transfer", window=2)
    drawing.then("f", "1D-identical", "reshaping")
    drawing.then("g", "1D-relu", "full", dimension=g)
    drawing.then("h", "1D-softmax", "full", dimension=classes)
    return drawing


def lenet_of_caffe(classes: int = 10, input: Sizes = DIGITS) -> Drawing:
    """LeNet as Caffe's example has it: 20-50-500-10, with no function after the convolutions."""
    return lenet_figure_21(k=20, k2=50, g=500, name="LeNet of Caffe", after="identical", classes=classes, input=input)


def lenet_5(classes: int = 10, input: Sizes = (32, 32, 1)) -> Drawing:
    """LeNet-5 of 1998: sums with coefficients, C3 that sees some maps of S2 by a table, and distances to codes."""
    drawing = Drawing("LeNet-5")
    squashed: dict[str, Any] = {"amplitude": 1.7159, "steepness": 2 / 3}
    pairs = [int(mark) for row in TABLE for mark in row]
    add_data(drawing, "in", input)
    drawing.then("C1", "2D-tanh", "convolution", kernels=6, kernel=5, **squashed)
    drawing.then("S2", "2D-tanh", "subsampling", window=2, **squashed)
    drawing.then("C3", "2D-tanh", "convolution", kernels=16, kernel=5, table=pairs, **squashed)
    drawing.then("S4", "2D-tanh", "subsampling", window=2, **squashed)
    drawing.then("C5", "2D-tanh", "convolution", kernels=120, kernel=5, **squashed)
    drawing.then("f", "1D-identical", "reshaping")
    drawing.then("F6", "1D-tanh", "full", dimension=84, **squashed)
    drawing.then("OUT", "1D-identical", "codes", height=classes, bias="none")
    return drawing


def lenet_for_digits(classes: int = 10, input: Sizes = (8, 8, 1)) -> Drawing:
    """LeNet fitted to the 8×8 images of the digits: kernels 3×3, padded by one."""
    return lenet_figure_21(
        kernel=3, padding=1, k=32, k2=64, g=128, name="LeNet for digits", classes=classes, input=input
    )


LECUN = Reference("LeCun, Bottou, Bengio and Haffner", 1998, "Gradient-Based Learning Applied to Document Recognition")
CAFFE = Reference("Jia and others", 2014, "Caffe: Convolutional Architecture for Fast Feature Embedding")

NETWORKS = (
    KnownNetwork("cnn", "CNN of Figure 2", LI_SHAN, cnn_figure_2, DIGITS, 10),
    *(
        KnownNetwork(
            f"lenet_fig21_32-64-{g}",
            f"LeNet of Figure 21 with {g} hidden neurons",
            LI_SHAN,
            partial(lenet_figure_21, g=g),
            DIGITS,
            10,
            ("lenet",) if g == 512 else (),
        )
        for g in (128, 512, 1024)
    ),
    KnownNetwork("lenet5_1998", "LeNet-5 as first published", LECUN, lenet_5, (32, 32, 1), 10, ("lenet5",)),
    KnownNetwork("lenet_caffe", "LeNet of Caffe's example", CAFFE, lenet_of_caffe, DIGITS, 10, ("lenet-caffe",)),
    KnownNetwork("lenet-digits", "LeNet for the digits of 8×8", LECUN, lenet_for_digits, (8, 8, 1), 10),
)
