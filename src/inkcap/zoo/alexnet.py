"""AlexNet in its forms: two towers as first published, one tower with groups or without, and torchvision's."""

from __future__ import annotations

from functools import partial
from typing import Any

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data, classify
from inkcap.zoo.record import KnownNetwork, Reference, Sizes

IMAGES: Sizes = (227, 227, 3)


def _strengthen(drawing: Drawing, number: int, **normal: Any) -> None:
    """Normalise over near channels, and downsample by windows that overlap."""
    drawing.then(f"norm{number}", "2D-local-response", "transfer", **normal)
    drawing.then(f"pool{number}", "2D-downsampling", window=3, stride=2, edge="ceil")


def alexnet(groups: int, *, classes: int = 1000, input: Sizes = IMAGES, width: int = 96, dense: int = 4096) -> Drawing:
    """AlexNet in one tower: with two groups of channels that do not see each other, as Caffe has it, or with one."""
    drawing = Drawing(f"AlexNet{' of Caffe' if groups > 1 else ''}")
    wide, widest = 8 * width // 3, 4 * width
    add_data(drawing, "data", input)
    drawing.then("conv1", "2D-relu", "convolution", kernels=width, kernel=11, stride=4)
    _strengthen(drawing, 1)
    drawing.then("conv2", "2D-relu", "convolution", kernels=wide, kernel=5, padding=2, groups=groups)
    _strengthen(drawing, 2)
    drawing.then("conv3", "2D-relu", "convolution", kernels=widest, kernel=3, padding=1)
    drawing.then("conv4", "2D-relu", "convolution", kernels=widest, kernel=3, padding=1, groups=groups)
    drawing.then("conv5", "2D-relu", "convolution", kernels=wide, kernel=3, padding=1, groups=groups)
    drawing.then("pool5", "2D-downsampling", window=3, stride=2, edge="ceil")
    drawing.then("flat", "1D-identical", "reshaping")
    classify(drawing, classes, dense)
    return drawing


def tower_front(width: int) -> Drawing:
    """The first two convolutions of a tower, which sees nothing of the other."""
    body = Drawing("front")
    body.add("conv1", "2D-relu")
    # The paper's own normalisation: k is 2, and α is not divided by the number of channels.
    _strengthen(body, 1, k=2, divided=False)
    body.then("conv2", "2D-relu", "convolution", kernels=8 * width // 3, kernel=5, padding=2)
    _strengthen(body, 2, k=2, divided=False)
    return body


def tower_back(width: int) -> Drawing:
    """The other three convolutions of a tower; its first one is entered from both."""
    body = Drawing("back")
    body.add("conv3", "2D-relu")
    body.then("conv4", "2D-relu", "convolution", kernels=4 * width, kernel=3, padding=1)
    body.then("conv5", "2D-relu", "convolution", kernels=8 * width // 3, kernel=3, padding=1)
    body.then("pool5", "2D-downsampling", window=3, stride=2, edge="ceil")
    body.then("flat", "1D-identical", "reshaping")
    return body


def alexnet_two_towers(classes: int = 1000, input: Sizes = IMAGES, width: int = 48, dense: int = 2048) -> Drawing:
    """AlexNet as first published, on two processors: the towers meet at conv3 and in the full connections."""
    drawing = Drawing("AlexNet of two towers")
    drawing.define("front", tower_front(width), inputs={"in": "conv1"}, outputs={"out": "pool2"})
    drawing.define("back", tower_back(width), inputs={"in": "conv3"}, outputs={"out": "flat"})
    add_data(drawing, "data", input)
    for tower in ("a", "b"):
        drawing.add(f"front-{tower}", "front")
        drawing.connect("data", f"front-{tower}", "convolution", kernels=width, kernel=11, stride=4)
    for tower in ("a", "b"):
        drawing.add(f"back-{tower}", "back")
        for seen in ("front-a", "front-b"):
            drawing.connect(seen, f"back-{tower}", "convolution", kernels=4 * width, kernel=3, padding=1)
    before = ["back-a", "back-b"]
    for id in ("fc6", "fc7"):
        layer = [drawing.add(f"{id}{tower}", "1D-relu", dimension=dense) for tower in ("a", "b")]
        for front in layer:
            drawing.wear(front, "dropout", probability=0.5)
            for back in before:
                drawing.connect(back, front, "full")
        before = layer
    drawing.add("prob", "1D-softmax", dimension=classes)
    for back in before:
        drawing.connect(back, "prob", "full")
    return drawing


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
        "alexnet_two_tower_2012", "AlexNet of two towers", KRIZHEVSKY, alexnet_two_towers, IMAGES, 1000, ("alexnet",)
    ),
    KnownNetwork("alexnet_caffe_groups", "AlexNet of Caffe", KRIZHEVSKY, partial(alexnet, 2), IMAGES, 1000),
    KnownNetwork("alexnet_nogroups", "AlexNet without groups", KRIZHEVSKY, partial(alexnet, 1), IMAGES, 1000),
    KnownNetwork(
        "alexnet_torchvision", "AlexNet of torchvision", WEIRD_TRICK, alexnet_torchvision, (224, 224, 3), 1000
    ),
)
