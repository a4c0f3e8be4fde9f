"""YOLO: one look at an image gives, for each of 7×7 cells, boxes with how sure they are, and a class."""

from __future__ import annotations

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data
from inkcap.zoo.record import KnownNetwork, Reference, Sizes

PAIRS = ((256, 512),) * 4 + ((512, 1024),)
"""The fourth stage: a 1×1 that narrows before each 3×3."""
CELLS = 7
LEAK = {"slope": 0.1}


def yolo(
    *,
    published: bool = True,
    classes: int = 20,
    input: Sizes = (448, 448, 3),
    width: int = 64,
    dense: int = 4096,
) -> Drawing:
    """YOLO as published, two boxes a cell; or as darknet's file has it: normalised, a layer unshared."""
    drawing = Drawing(f"YOLO v1{'' if published else ' of darknet'}")
    add_data(drawing, "data", input)
    number = 0

    def convolve(kernels: int, kernel: int, stride: int = 1) -> None:
        nonlocal number
        number += 1
        id = drawing.then(
            f"conv{number}", "2D-relu", "convolution",
            kernels=kernels * width // 64, kernel=kernel, stride=stride, padding=kernel // 2,
        )  # fmt: skip
        drawing.change(id, **LEAK)
        if not published:
            drawing.wear(id, "batch-norm")

    def halve(stage: int) -> None:
        drawing.then(f"pool{stage}", "2D-downsampling", window=2, edge="floor")

    convolve(64, 7, 2)
    halve(1)
    convolve(192, 3)
    halve(2)
    for kernels, kernel in ((128, 1), (256, 3), (256, 1), (512, 3)):
        convolve(kernels, kernel)
    halve(3)
    for narrow, wide in PAIRS:
        convolve(narrow, 1)
        convolve(wide, 3)
    halve(4)
    for _ in range(2):
        convolve(512, 1)
        convolve(1024, 3)
    convolve(1024, 3)
    convolve(1024, 3, 2)
    convolve(1024, 3)
    convolve(1024, 3)
    _answer(drawing, published, classes, width, dense)
    return drawing


def _answer(drawing: Drawing, published: bool, classes: int, width: int, dense: int) -> None:
    """Add the end: numbers of every cell, from all that the image holds."""
    if published:
        drawing.then("flat", "1D-identical", "reshaping")
        drawing.then("fc1", "1D-relu", "full", dimension=dense)
        drawing.change("fc1", **LEAK)
        drawing.wear("fc1", "dropout", probability=0.5)
        numbers = 2 * 5 + classes
        drawing.then("fc2", "1D-identical", "full", dimension=CELLS * CELLS * numbers)
        drawing.then("out", "2D-identical", "reshaping", shape=(numbers, CELLS, CELLS))
        return
    drawing.then("local", "2D-relu", "local-convolution", kernels=256 * width // 64, kernel=3, padding=1)
    drawing.change("local", **LEAK, bias="full")
    drawing.wear("local", "dropout", probability=0.5)
    drawing.then("flat", "1D-identical", "reshaping")
    drawing.then("det", "1D-identical", "full", dimension=CELLS * CELLS * (3 * 5 + classes))


def yolo_of_darknet(classes: int = 20, input: Sizes = (448, 448, 3), width: int = 64) -> Drawing:
    """YOLO as darknet's own file has it, three boxes a cell."""
    return yolo(published=False, classes=classes, input=input, width=width)


REDMON = Reference(
    "Redmon, Divvala, Girshick and Farhadi", 2016, "You Only Look Once: Unified, Real-Time Object Detection"
)
NETWORKS = (
    KnownNetwork("yolov1_paper", "YOLO v1, boxes of 7×7 cells", REDMON, yolo, (448, 448, 3), 20, ("yolo",)),
    KnownNetwork("yolov1_darknet_cfg", "YOLO v1 of darknet's file", REDMON, yolo_of_darknet, (448, 448, 3), 20),
)
