"""GoogLeNet: nine Inception modules of four branches each, as Caffe and as torchvision have it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data, convolve
from inkcap.zoo.record import KnownNetwork, Reference, Sizes

MODULES = {
    "3a": (64, 96, 128, 16, 32, 32),
    "3b": (128, 128, 192, 32, 96, 64),
    "4a": (192, 96, 208, 16, 48, 64),
    "4b": (160, 112, 224, 24, 64, 64),
    "4c": (128, 128, 256, 24, 64, 64),
    "4d": (112, 144, 288, 32, 64, 64),
    "4e": (256, 160, 320, 32, 128, 128),
    "5a": (256, 160, 320, 32, 128, 128),
    "5b": (384, 192, 384, 48, 128, 128),
}
"""Kernels of each module: 1×1, reduction before 3×3, 3×3, reduction before 5×5, 5×5, projection after the pool."""
EPSILON = {"epsilon": 1e-3}
WIDTHS = ("ones", "reduce3", "threes", "reduce5", "fives", "pooled")


def inception(normalised: bool) -> Drawing:
    """A module: four branches see the same maps, and what they give is laid one behind another."""
    body = Drawing("inception", arguments=dict.fromkeys(WIDTHS, 64))
    norm = EPSILON if normalised else None
    body.add("x", "2D-identical")
    # torchvision's weights were trained with 3×3 in the branch that the paper calls 5×5.
    wide = 3 if normalised else 5
    convolve(body, "one", "2D-relu", "x", 1, norm, kernels="=ones")
    convolve(body, "reduce3", "2D-relu", "x", 1, norm, kernels="=reduce3")
    convolve(body, "three", "2D-relu", "reduce3", 3, norm, kernels="=threes")
    convolve(body, "reduce5", "2D-relu", "x", 1, norm, kernels="=reduce5")
    convolve(body, "five", "2D-relu", "reduce5", wide, norm, kernels="=fives")
    body.add("pool", "2D-downsampling", window=3, stride=1, padding=1)
    body.connect("x", "pool", "transfer")
    convolve(body, "projection", "2D-relu", "pool", 1, norm, kernels="=pooled")
    body.add("cat", "2D-identical")
    for branch in ("one", "three", "five", "projection"):
        body.connect(branch, "cat", "inject")
    return body


def auxiliary(normalised: bool) -> Drawing:
    """A head that helps the early modules learn: it guesses the class from the middle of the network."""
    norm = EPSILON if normalised else None
    body = Drawing("auxiliary", arguments={"classes": 1000, "kernels": 128, "dense": 1024})
    if normalised:
        body.add("average", "2D-downsampling", kind="average", bins=4)
    else:
        body.add("average", "2D-downsampling", kind="average", window=5, stride=3, edge="ceil")
    convolve(body, "conv", "2D-relu", "average", 1, norm, kernels="=kernels")
    body.then("flat", "1D-identical", "reshaping")
    body.then("fc", "1D-relu", "full", dimension="=dense")
    body.wear("fc", "dropout", probability=0.7)
    body.then("prob", "1D-softmax", "full", dimension="=classes")
    return body


def googlenet(
    *,
    normalised: bool,
    heads: bool,
    classes: int = 1000,
    input: Sizes = (224, 224, 3),
    shrink: int = 1,
) -> Drawing:
    """GoogLeNet with local normalisation as Caffe has it, or with batch norm as torchvision has it.

    ``heads`` adds the two auxiliary ones. ``shrink`` divides all numbers of kernels.
    """
    drawing = Drawing(f"GoogLeNet of {'torchvision' if normalised else 'Caffe'}{', three heads' if heads else ''}")
    drawing.define("inception", inception(normalised), inputs={"in": "x"}, outputs={"out": "cat"})
    if heads:
        drawing.define("auxiliary", auxiliary(normalised), inputs={"in": "average"}, outputs={"out": "prob"})
    last = _stem(drawing, normalised, input, shrink)
    for id, widths in MODULES.items():
        sizes: dict[str, Any] = {name: max(width // shrink, 1) for name, width in zip(WIDTHS, widths, strict=True)}
        drawing.add(f"m{id}", "inception", **sizes)
        drawing.connect(last, f"m{id}")
        last = f"m{id}"
        if id in ("3b", "4e"):
            window = 2 if normalised and id == "4e" else 3
            last = f"pool{id[0]}"
            drawing.then(last, "2D-downsampling", window=window, stride=2, edge="ceil")
    drawing.then("pool5", "2D-downsampling", kind="average", bins=1)
    drawing.wear("pool5", "dropout", probability=0.2 if normalised else 0.4)
    drawing.then("flat", "1D-identical", "reshaping")
    drawing.then("prob", "1D-softmax", "full", dimension=classes)
    for number, id in enumerate(("4a", "4d") if heads else (), 1):
        chosen: dict[str, Any] = {"classes": classes, "kernels": max(128 // shrink, 1), "dense": max(1024 // shrink, 1)}
        drawing.add(f"aux{number}", "auxiliary", **chosen)
        drawing.connect(f"m{id}", f"aux{number}")
    return drawing


def _stem(drawing: Drawing, normalised: bool, input: Sizes, shrink: int) -> str:
    norm = EPSILON if normalised else None
    add_data(drawing, "data", input)
    convolve(drawing, "conv1", "2D-relu", "data", 7, norm, kernels=64 // shrink, stride=2)
    last = drawing.then("pool1", "2D-downsampling", window=3, stride=2, edge="ceil")
    if not normalised:
        last = drawing.then("norm1", "2D-local-response", "transfer")
    convolve(drawing, "conv2_reduce", "2D-relu", last, 1, norm, kernels=64 // shrink)
    last = convolve(drawing, "conv2", "2D-relu", "conv2_reduce", 3, norm, kernels=192 // shrink)
    if not normalised:
        last = drawing.then("norm2", "2D-local-response", "transfer")
    return drawing.then("pool2", "2D-downsampling", window=3, stride=2, edge="ceil")


def _networks() -> Iterator[KnownNetwork]:
    paper = Reference("Szegedy and others", 2014, "Going Deeper with Convolutions")
    for normalised in (False, True):
        for heads in (False, True):
            name = f"googlenet_{'tv' if normalised else 'caffe'}_{'aux' if heads else 'main'}"
            title = f"GoogLeNet of {'torchvision' if normalised else 'Caffe'}{', three heads' if heads else ''}"
            draw = partial(googlenet, normalised=normalised, heads=heads)
            aliases = ("googlenet",) if name == "googlenet_caffe_main" else ()
            yield KnownNetwork(name, title, paper, draw, (224, 224, 3), 1000, aliases)


NETWORKS = tuple(_networks())
