"""AlexNet in its forms."""

from __future__ import annotations

from inkcap.drawing import Drawing
from inkcap.zoo.record import KnownNetwork, Reference, Sizes, add_data


def classify(drawing: Drawing, classes: int, dense: int) -> None:
    """Add the end of AlexNet and its kin: two full connections with dropout, and the probabilities of the classes."""
    for id in ("fc6", "fc7"):
        drawing.then(id, "1D-relu", "full", dimension=dense)
        drawing.wear(id, "dropout", probability=0.5)
    drawing.then("prob", "1D-softmax", "full", dimension=classes)


def alexnet_torchvision(
    classes: int = 1000, input: Sizes = (224, 224, 3), width: int = 64, dense: int = 4096
) -> Drawing:
    """AlexNet as torchvision has it: one tower of other widths, without local normalisation."""
    drawing = Drawing("AlexNet of torchvision")
    add_data(drawing, "data", input)

    def convolve(number: int, kernels: int, kernel: int, padding: int, stride: int = 1) -> None:
        sizes = {"kernels": kernels, "kernel": kernel, "padding": padding, "stride": stride}
        drawing.then(f"conv{number}", "2D-relu", "convolution", **sizes)

    def pool(number: int) -> None:
        drawing.then(f"pool{number}", "2D-downsampling", window=3, stride=2, edge="floor")

    convolve(1, width, 11, 2, stride=4)
    pool(1)
    convolve(2, 3 * width, 5, 2)
    pool(2)
    convolve(3, 6 * width, 3, 1)
    convolve(4, 4 * width, 3, 1)
    convolve(5, 4 * width, 3, 1)
    pool(5)
    drawing.then("flat", "1D-identical", "reshaping")
    classify(drawing, classes, dense)
    return drawing


KRIZHEVSKY = Reference(
    "Krizhevsky, Sutskever and Hinton", 2012, "ImageNet Classification with Deep Convolutional Neural Networks"
)
WEIRD_TRICK = Reference("Krizhevsky", 2014, "One Weird Trick for Parallelizing Convolutional Neural Networks")

NETWORKS = (
    KnownNetwork(
        "alexnet_torchvision",
        "AlexNet of torchvision",
        WEIRD_TRICK,
        alexnet_torchvision,
        (224, 224, 3),
        1000,
        ("alexnet-torchvision",),
    ),
)
