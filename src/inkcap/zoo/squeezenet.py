"""SqueezeNet: fire modules that squeeze the channels before they expand them in two branches."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data
from inkcap.zoo.record import KnownNetwork, Reference, Sizes

FIRES = {2: (16, 64), 3: (16, 64), 4: (32, 128), 5: (32, 128), 6: (48, 192), 7: (48, 192), 8: (64, 256), 9: (64, 256)}
"""Kernels that squeeze, and kernels of each branch that expands, by the number of the module."""
POOLED = {"1.0": (4, 8), "1.1": (3, 5)}
"""After which modules the maps are halved, by version."""


def fire() -> Drawing:
    """A fire module: 1×1 kernels squeeze, 1×1 and 3×3 kernels expand side by side."""
    body = Drawing("fire", arguments={"squeeze": 16, "expand": 64})
    body.add("x", "2D-identical")
    body.then("squeeze", "2D-relu", "convolution", kernels="=squeeze", kernel=1)
    body.then("expand1", "2D-relu", "convolution", kernels="=expand", kernel=1)
    body.add("expand3", "2D-relu")
    body.connect("squeeze", "expand3", "convolution", kernels="=expand", kernel=3, padding=1)
    body.add("cat", "2D-identical")
    body.connect("expand1", "cat", "inject")
    body.connect("expand3", "cat", "inject")
    return body


def squeezenet(version: str, *, classes: int = 1000, input: Sizes = (224, 224, 3), shrink: int = 1) -> Drawing:
    """SqueezeNet 1.0 or 1.1; ``shrink`` divides all numbers of kernels."""
    drawing = Drawing(f"SqueezeNet {version}")
    drawing.define("fire", fire(), inputs={"in": "x"}, outputs={"out": "cat"})
    add_data(drawing, "data", input)
    kernels, kernel = (96, 7) if version == "1.0" else (64, 3)
    drawing.then("conv1", "2D-relu", "convolution", kernels=kernels // shrink, kernel=kernel, stride=2)
    drawing.then("pool1", "2D-downsampling", window=3, stride=2, edge="ceil")
    for number, (squeeze, expand) in FIRES.items():
        drawing.then(f"fire{number}", "fire", squeeze=squeeze // shrink, expand=expand // shrink)
        if number in POOLED[version]:
            drawing.then(f"pool{number}", "2D-downsampling", window=3, stride=2, edge="ceil")
    drawing.then("drop9", "2D-identical", "transfer")
    drawing.wear("drop9", "dropout", probability=0.5)
    drawing.then("conv10", "2D-relu", "convolution", kernels=classes, kernel=1)
    drawing.then("average", "2D-downsampling", kind="average", bins=1)
    drawing.then("prob", "1D-softmax", "reshaping")
    return drawing


def _networks() -> Iterator[KnownNetwork]:
    paper = Reference(
        "Iandola and others", 2016, "SqueezeNet: AlexNet-Level Accuracy with 50x Fewer Parameters and <0.5MB Model Size"
    )
    for version in POOLED:
        name = f"squeezenet{version.replace('.', '_')}"
        aliases = ("squeezenet",) if version == "1.0" else ()
        draw = partial(squeezenet, version)
        yield KnownNetwork(name, f"SqueezeNet {version}", paper, draw, (224, 224, 3), 1000, aliases)


NETWORKS = tuple(_networks())
