"""ResNet: blocks whose input is added to what they give, 18 to 152 layers deep."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data, convolve
from inkcap.zoo.record import KnownNetwork, Reference, Sizes

BLOCKS = {18: (2, 2, 2, 2), 34: (3, 4, 6, 3), 50: (3, 4, 6, 3), 101: (3, 4, 23, 3), 152: (3, 8, 36, 3)}
"""Blocks of each of the four stages, by the number of layers with weights."""
NORM: dict[str, Any] = {}
"""Batch norm as it is."""


def basic(projected: bool) -> Drawing:
    """A block of two 3×3 convolutions; ``projected`` brings the input to the new size before it is added."""
    body = Drawing("basic", arguments={"width": 64, "stride": 1})
    body.add("x", "2D-identical")
    convolve(body, "a", "2D-relu", "x", 3, NORM, kernels="=width", stride="=stride")
    convolve(body, "b", "2D-identical", "a", 3, NORM, kernels="=width")
    return _added(body, "b", projected, "=width")


def bottleneck(projected: bool, original: bool, dilated: bool = False, part: str = "batch-norm") -> Drawing:
    """A block that goes through fewer channels; the stride is in its 3×3, in the ``original`` in its first 1×1.

    A ``dilated`` one has the numbers of its 3×3 kernels apart.
    """
    apart = {"dilation": 1} if dilated else {}
    body = Drawing("bottleneck", arguments={"width": 64, "stride": 1} | apart)
    first, middle = ({"stride": "=stride"}, {}) if original else ({}, {"stride": "=stride"})
    if dilated:
        middle |= {"dilation": "=dilation", "padding": "=dilation"}
    body.add("x", "2D-identical")
    convolve(body, "a", "2D-relu", "x", 1, NORM, part, kernels="=width", **first)
    convolve(body, "b", "2D-relu", "a", 3, NORM, part, kernels="=width", **middle)
    convolve(body, "c", "2D-identical", "b", 1, NORM, part, kernels="=4*width")
    return _added(body, "c", projected, "=4*width", part)


def _added(body: Drawing, last: str, projected: bool, kernels: str, part: str = "batch-norm") -> Drawing:
    shortcut = "x"
    if projected:
        shortcut = "projection"
        convolve(body, shortcut, "2D-identical", "x", 1, NORM, part, kernels=kernels, stride="=stride")
    body.add("sum", "2D-relu")
    body.connect(last, "sum", "transfer")
    body.connect(shortcut, "sum", "transfer")
    return body


def resnet(
    layers: int,
    *,
    original: bool = False,
    classes: int = 1000,
    input: Sizes = (224, 224, 3),
    width: int = 64,
) -> Drawing:
    """ResNet of 18 to 152 layers; ``original`` has its strides where the paper had them first."""
    drawing = Drawing(f"ResNet-{layers}{', original strides' if original else ''}")
    add_data(drawing, "data", input)
    add_stages(drawing, layers, width, original=original)
    drawing.then("average", "2D-downsampling", kind="average", bins=1)
    drawing.then("flat", "1D-identical", "reshaping")
    drawing.then("prob", "1D-softmax", "full", dimension=classes)
    return drawing


def add_stages(
    drawing: Drawing,
    layers: int,
    width: int,
    *,
    original: bool = False,
    dilations: tuple[int, ...] = (),
    part: str = "batch-norm",
) -> None:
    """Add all of a ResNet that lies between the data and the average: the first convolution and stages L1 to L4.

    A stage with a dilation keeps its size: in place of a stride, its kernels reach further. A deep one may wear another
    ``part`` than batch norm.
    """
    deep = layers >= 50
    for name, projected in (("block", False), ("widen", True)):
        body = bottleneck(projected, original, bool(dilations), part) if deep else basic(projected)
        drawing.define(name, body, inputs={"in": "x"}, outputs={"out": "sum"})
    convolve(drawing, "conv1", "2D-relu", "data", 7, NORM, part, kernels=width, stride=2)
    drawing.then("pool1", "2D-downsampling", window=3, stride=2, padding=1, edge="floor")
    reach = 1
    for stage, count in enumerate(BLOCKS[layers], 1):
        wide = width * 2 ** (stage - 1)
        before, reach = reach, dilations[stage - 1] if dilations else 1
        # The first stage of a shallow network keeps its size, so that its first block is like all others.
        changed = deep or stage > 1
        if changed:
            stride = 1 if stage == 1 or reach > 1 else 2
            # The first block still sees the places as the stage before left them.
            first: dict[str, Any] = {"dilation": before} if dilations else {}
            drawing.then(f"L{stage}-0", "widen", width=wide, stride=stride, **first)
        rest: dict[str, Any] = {"dilation": reach} if dilations else {}
        drawing.then(f"L{stage}", "block", repeat=count - changed, width=wide, **rest)


def _networks() -> Iterator[KnownNetwork]:
    paper = Reference("He, Zhang, Ren and Sun", 2015, "Deep Residual Learning for Image Recognition")
    for original in (False, True):
        for layers in BLOCKS:
            # Only a bottleneck has a choice where to put its stride.
            if layers >= 50 or not original:
                name = f"resnet{layers}{'_original' if original else ''}"
                title = f"ResNet of {layers} layers{', strides as first published' if original else ''}"
                draw = partial(resnet, layers, original=original)
                aliases = ("resnet",) if name == "resnet50" else ()
                yield KnownNetwork(name, title, paper, draw, (224, 224, 3), 1000, aliases)


NETWORKS = tuple(_networks())
