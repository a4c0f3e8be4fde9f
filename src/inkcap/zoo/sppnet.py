"""SPPNet: a pyramid of bins between the convolutions and the full connections, so that images may have any size."""

from __future__ import annotations

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data, classify
from inkcap.zoo.record import KnownNetwork, Reference, Sizes

PYRAMID = (1, 2, 3, 6)
"""Bins along each side, level by level."""


def sppnet(classes: int = 1000, input: Sizes = (224, 224, 3), width: int = 96, dense: int = 4096) -> Drawing:
    """SPPNet on the network of Zeiler and Fergus with five convolutions and a pyramid of four levels."""
    drawing = Drawing("SPPNet")
    add_data(drawing, "data", input)
    wide, widest = 8 * width // 3, 4 * width
    drawing.then("conv1", "2D-relu", "convolution", kernels=width, kernel=7, stride=2, padding=1)
    _normalise_and_pool(drawing, 1)
    drawing.then("conv2", "2D-relu", "convolution", kernels=wide, kernel=5, stride=2)
    _normalise_and_pool(drawing, 2)
    for number, kernels in ((3, widest), (4, widest), (5, wide)):
        drawing.then(f"conv{number}", "2D-relu", "convolution", kernels=kernels, kernel=3, padding=1)
    for bins in PYRAMID:
        drawing.add(f"bins{bins}", "2D-downsampling", bins=bins, bin_rule="pyramid")
        drawing.connect("conv5", f"bins{bins}", "transfer")
        drawing.then(f"flat{bins}", "1D-identical", "reshaping")
    drawing.add("pyramid", "1D-identical")
    for bins in PYRAMID:
        drawing.connect(f"flat{bins}", "pyramid", "inject")
    classify(drawing, classes, dense)
    return drawing


def _normalise_and_pool(drawing: Drawing, number: int) -> None:
    drawing.then(f"norm{number}", "2D-local-response", "transfer", over="positions", size=3, alpha=5e-5)
    drawing.then(f"pool{number}", "2D-downsampling", window=3, stride=2, edge="ceil")


NETWORKS = (
    KnownNetwork(
        "sppnet_zf5",
        "SPPNet with a pyramid of four levels",
        Reference(
            "He, Zhang, Ren and Sun",
            2014,
            "Spatial Pyramid Pooling in Deep Convolutional Networks for Visual Recognition",
        ),
        sppnet,
        (224, 224, 3),
        1000,
        ("sppnet",),
    ),
)
