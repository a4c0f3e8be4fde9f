"""SSD: boxes of six sizes of maps, each corrected and named by a convolution of its own."""

from __future__ import annotations

from functools import partial

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data, convolve
from inkcap.zoo.record import KnownNetwork, Reference, Sizes
from inkcap.zoo.vgg import STAGES

BOXES = (4, 6, 6, 6, 4, 4)
"""Default boxes at every place of each map."""
EXTRA = (("conv8", 256, 512, 2, 1), ("conv9", 128, 256, 2, 1), ("conv10", 128, 256, 1, 0), ("conv11", 128, 256, 1, 0))
"""Pairs behind VGG: kernels that narrow, kernels of 3×3, their stride and their padding."""


def ssd300(*, classes: int = 21, input: Sizes = (300, 300, 3), width: int = 64) -> Drawing:
    """SSD of 300×300 on VGG-16; classes count the background as the first."""
    drawing = Drawing("SSD300")
    add_data(drawing, "data", input)
    maps = _trunk(drawing, width)
    for name, numbers in (("cls", classes), ("loc", 4)):
        for number, (back, boxes) in enumerate(zip(maps, BOXES, strict=True)):
            head = convolve(drawing, f"{name}{number}", "2D-identical", back, 3, kernels=boxes * numbers)
            # The numbers of a box lie together, boxes place by place: a row for each box.
            drawing.add(f"{name}{number}-rows", "2D-identical", channels=1, width=numbers)
            drawing.connect(head, f"{name}{number}-rows", "reshaping", order=(1, 2, 0))
    for id, face, name in (("conf", "2D-row-softmax", "cls"), ("loc", "2D-identical", "loc")):
        drawing.add(id, face)
        for number in range(len(maps)):
            drawing.connect(f"{name}{number}-rows", id, "inject", axis="height")
    return drawing


def _trunk(drawing: Drawing, width: int) -> list[str]:
    """Add VGG-16 and what lies behind it, and give the maps that are looked at."""
    for stage, count in enumerate(STAGES[16], 1):
        kernels = min(width * 2 ** (stage - 1), width * 8)
        for number in range(1, count + 1):
            drawing.then(f"conv{stage}_{number}", "2D-relu", "convolution", kernels=kernels, kernel=3, padding=1)
        if stage < 5:
            drawing.then(f"pool{stage}", "2D-downsampling", window=2, edge="ceil" if stage == 3 else "floor")
    drawing.then("pool5", "2D-downsampling", window=3, stride=1, padding=1)
    drawing.then("fc6", "2D-relu", "convolution", kernels=width * 16, kernel=3, padding=6, dilation=6)
    drawing.then("fc7", "2D-relu", "convolution", kernels=width * 16, kernel=1)
    maps = ["conv4_3-norm", "fc7"]
    for id, narrow, wide, stride, padding in EXTRA:
        drawing.then(f"{id}_1", "2D-relu", "convolution", kernels=narrow * width // 64, kernel=1)
        last = drawing.then(
            f"{id}_2", "2D-relu", "convolution", kernels=wide * width // 64, kernel=3, stride=stride, padding=padding
        )
        maps.append(last)
    drawing.add("conv4_3-norm", "2D-l2-normalisation", scale=20)
    drawing.connect("conv4_3", "conv4_3-norm", "transfer")
    return maps


LIU = Reference("Liu, Anguelov, Erhan, Szegedy, Reed, Fu and Berg", 2016, "SSD: Single Shot MultiBox Detector")
NETWORKS = (
    KnownNetwork("ssd300_voc21", "SSD of 300×300, 20 classes and none", LIU, ssd300, (300, 300, 3), 21, ("ssd",)),
    KnownNetwork(
        "ssd300_tv_coco91", "SSD of 300×300, 90 classes and none", LIU, partial(ssd300, classes=91), (300, 300, 3), 91
    ),
)
