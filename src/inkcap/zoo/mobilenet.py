"""MobileNet v2: blocks that widen, look at each channel alone, and narrow again; narrow ends are added."""

from __future__ import annotations

from typing import Any

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data, convolve
from inkcap.zoo.record import KnownNetwork, Reference, Sizes

STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))
"""How many times wider, channels, blocks and stride of each stage."""
NORM: dict[str, Any] = {}
CLIPPED = "2D-hard-tanh"
"""ReLU that ends at 6."""
BOUNDS = {"low": 0, "high": 6}


def mobilenet_v2(*, classes: int = 1000, input: Sizes = (224, 224, 3), shrink: int = 1) -> Drawing:
    """MobileNet v2 of width 1; ``shrink`` divides all numbers of kernels."""
    drawing = Drawing("MobileNet v2")
    for name, widened, added in (("separable", False, False), ("inverted", True, False), ("residual", True, True)):
        drawing.define(name, block(widened, added), inputs={"in": "x"}, outputs={"out": "sum" if added else "narrow"})
    add_data(drawing, "data", input)
    _clipped(drawing, "conv1", "data", 3, kernels=32 // shrink, stride=2)
    channels = 32 // shrink
    for stage, (times, width, count, stride) in enumerate(STAGES, 1):
        out = max(width // shrink, 1)
        group = "inverted" if times > 1 else "separable"
        drawing.then(f"B{stage}-0", group, hidden=times * channels, width=out, stride=stride)
        if count > 1:
            drawing.then(f"B{stage}", "residual", repeat=count - 1, hidden=times * out, width=out, stride=1)
        channels = out
    last = f"B{len(STAGES)}-0"
    _clipped(drawing, "conv2", last, 1, kernels=1280 // shrink)
    drawing.then("average", "2D-downsampling", kind="average", bins=1)
    drawing.wear("average", "dropout", probability=0.2)
    drawing.then("flat", "1D-identical", "reshaping")
    drawing.then("prob", "1D-softmax", "full", dimension=classes)
    return drawing


def block(widened: bool, added: bool) -> Drawing:
    """A block; where it is ``added``, its input goes around it."""
    body = Drawing("block", arguments={"hidden": 96, "width": 24, "stride": 1})
    body.add("x", "2D-identical")
    last = "x"
    if widened:
        last = _clipped(body, "wide", "x", 1, kernels="=hidden")
    _clipped(body, "each", last, 3, kernels="=hidden", groups="=hidden", stride="=stride")
    convolve(body, "narrow", "2D-identical", "each", 1, NORM, kernels="=width")
    if added:
        body.add("sum", "2D-identical")
        for id in ("narrow", "x"):
            body.connect(id, "sum", "transfer")
    return body


def _clipped(drawing: Drawing, id: str, back: str, kernel: int, **more: Any) -> str:
    convolve(drawing, id, CLIPPED, back, kernel, NORM, **more)
    drawing.change(id, **BOUNDS)
    return id


SANDLER = Reference(
    "Sandler, Howard, Zhu, Zhmoginov and Chen", 2018, "MobileNetV2: Inverted Residuals and Linear Bottlenecks"
)
NETWORKS = (KnownNetwork("mobilenet_v2", "MobileNet v2", SANDLER, mobilenet_v2, (224, 224, 3), 1000, ("mobilenet",)),)
