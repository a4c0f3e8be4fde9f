"""SSD: boxes of six sizes of maps, each corrected and named by a convolution of its own."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import partial
from typing import Any

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data, convolve
from inkcap.zoo.record import KnownNetwork, Reference, Sizes
from inkcap.zoo.vgg import STAGES

BOXES = (4, 6, 6, 6, 4, 4)
"""Default boxes at every place of each map."""
SCALES = (0.07, 0.15, 0.33, 0.51, 0.69, 0.87, 1.05)
"""Scales of the default boxes of each map, as shares of the picture, and one beyond."""
STRIDES = (8, 16, 32, 64, 100, 300)
"""Pixels of a picture of 300×300 between the places of each map."""
RATIOS = {4: "1 1 0.5 2", 6: f"1 1 0.5 2 {1 / 3!r} 3"}
"""Ratios height/width of so many default boxes; the second is a square halfway to the next map's."""
EXTRA = (("conv8", 256, 512, 2, 1), ("conv9", 128, 256, 2, 1), ("conv10", 128, 256, 1, 0), ("conv11", 128, 256, 1, 0))
"""Pairs behind VGG: kernels that narrow, kernels of 3×3, their stride and their padding."""


def ssd300(*, classes: int = 21, input: Sizes = (300, 300, 3), width: int = 64, boxes: bool = False) -> Drawing:
    """SSD of 300×300 on VGG-16; classes count the background as the first.

    With ``boxes`` it is drawn to be trained: its default boxes are anchors, and the best of them its output.
    """
    drawing = Drawing(f"SSD300{', to be trained' if boxes else ''}")
    add_data(drawing, "data", input)
    maps = _trunk(drawing, width)
    _heads(drawing, maps, BOXES, classes, "2D-identical" if boxes else "2D-row-softmax")
    if boxes:
        strides = [stride * input[0] / 300 for stride in STRIDES]
        scales = [scale * input[0] for scale in SCALES]
        ends = {"count": 200, "overlap": 0.45, "least": 0.01}
        _detect(drawing, maps, BOXES, scales, strides, picture=input[:2], **ends)
    return drawing


def _heads(drawing: Drawing, maps: Sequence[str], counts: Sequence[int], classes: int, face: str) -> None:
    """Add what names and corrects the boxes of each map, a row for each box, and all rows together."""
    for name, numbers in (("cls", classes), ("loc", 4)):
        for number, (back, boxes) in enumerate(zip(maps, counts, strict=True)):
            head = convolve(drawing, f"{name}{number}", "2D-identical", back, 3, kernels=boxes * numbers)
            # The numbers of a box lie together, boxes place by place: a row for each box.
            drawing.add(f"{name}{number}-rows", "2D-identical", channels=1, width=numbers)
            drawing.connect(head, f"{name}{number}-rows", "reshaping", order=(1, 2, 0))
    for id, all_face, name in (("conf", face, "cls"), ("loc", "2D-identical", "loc")):
        drawing.add(id, all_face)
        for number in range(len(maps)):
            drawing.connect(f"{name}{number}-rows", id, "inject", axis="height")


def _detect(
    drawing: Drawing,
    maps: Sequence[str],
    counts: Sequence[int],
    scales: Sequence[float],
    strides: Sequence[float],
    **attributes: Any,
) -> None:
    """Add the anchors of each map, and the selection of the best that they become."""
    drawing.add("detections", "2D-selection", **attributes)
    for number, (back, count, stride) in enumerate(zip(maps, counts, strides, strict=True)):
        scale, wider = scales[number], math.sqrt(scales[number] * scales[number + 1])
        listed = " ".join(repr(one) for one in (scale, wider, *(scale,) * (count - 2)))
        drawing.add(f"anchors{number}", "2D-anchors", scales=listed, ratios=RATIOS[count], paired=True, stride=stride)
        drawing.connect(back, f"anchors{number}", "transfer")
        drawing.connect(f"anchors{number}", "detections", "inject", port="boxes", axis="height")
    drawing.connect("loc", "detections", "transfer")
    drawing.connect("conf", "detections", "transfer", port="scores")


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


def ssd_narrow(*, classes: int = 4, input: Sizes = (64, 64, 3), width: int = 16) -> Drawing:
    """SSD of three levels for small pictures, drawn to be trained: few kernels, each with batch norm."""
    drawing = Drawing("narrow SSD")
    back = add_data(drawing, "data", input)
    maps: list[str] = []
    for number, (times, stride) in enumerate(((1, 2), (2, 2), (3, 1), (4, 2), (4, 2)), 1):
        back = convolve(drawing, f"conv{number}", "2D-relu", back, 3, {}, kernels=times * width, stride=stride)
        maps += [back] if number > 2 else []
    counts = (4,) * len(maps)
    _heads(drawing, maps, counts, classes, "2D-identical")
    ends = {"count": 20, "before": 200, "overlap": 0.45, "least": 0.05}
    _detect(drawing, maps, counts, (11, 20, 34, 56), (4, 8, 16), picture=input[:2], **ends)
    return drawing


LIU = Reference("Liu, Anguelov, Erhan, Szegedy, Reed, Fu and Berg", 2016, "SSD: Single Shot MultiBox Detector")
NETWORKS = (
    KnownNetwork("ssd300_voc21", "SSD of 300×300, 20 classes and none", LIU, ssd300, (300, 300, 3), 21, ("ssd",)),
    KnownNetwork(
        "ssd300_tv_coco91", "SSD of 300×300, 90 classes and none", LIU, partial(ssd300, classes=91), (300, 300, 3), 91
    ),
    KnownNetwork("ssd_narrow", "narrow SSD for small pictures", LIU, ssd_narrow, (64, 64, 3), 4),
)
