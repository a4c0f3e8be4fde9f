"""FCN: the class of every pixel, on VGG-16 as Caffe has it and on ResNet as torchvision has it."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data, convolve
from inkcap.zoo.record import KnownNetwork, Reference, Sizes
from inkcap.zoo.resnet import NORM, add_stages
from inkcap.zoo.vgg import STAGES

BORDER = 100
"""Rows and columns of zeros around an image, so that small images come through as well."""
CROPS = {32: 19, 16: 27, 8: 31}
"""Where the image lies in what is laid out last, by its stride."""


def fcn_vgg(
    stride: int, *, classes: int = 21, input: Sizes = (500, 500, 3), width: int = 64, dense: int = 4096
) -> Drawing:
    """FCN-32s, 16s or 8s: VGG-16 as convolutions; scores of coarser maps are laid out wider and added to finer ones."""
    drawing = Drawing(f"FCN-{stride}s")
    add_data(drawing, "data", input)
    for stage, count in enumerate(STAGES[16], 1):
        for number in range(1, count + 1):
            padding = BORDER if (stage, number) == (1, 1) else 1
            kernels = min(width * 2 ** (stage - 1), width * 8)
            drawing.then(f"conv{stage}_{number}", "2D-relu", "convolution", kernels=kernels, kernel=3, padding=padding)
        drawing.then(f"pool{stage}", "2D-downsampling", window=2, edge="ceil")
    for id, kernel in (("fc6", 7), ("fc7", 1)):
        drawing.then(id, "2D-relu", "convolution", kernels=dense, kernel=kernel)
        drawing.wear(id, "dropout", probability=0.5)
    last = drawing.then("score_fr", "2D-identical", "convolution", kernels=classes, kernel=1)
    finest = {32: (), 16: (4,), 8: (4, 3)}[stride]
    for stage, offset in zip(finest, (5, 9), strict=False):
        last = _fuse(drawing, last, stage, offset, classes)
    _lay_out(drawing, last, f"upscore{stride}", classes, stride)
    drawing.add("score", "2D-softmax")
    drawing.connect(f"upscore{stride}", "score", "select", offset=CROPS[stride], size=input[:2])
    return drawing


def _fuse(drawing: Drawing, last: str, stage: int, offset: int, classes: int) -> str:
    """Lay scores out twice as wide, and add those of a finer stage, as far as both see the same image."""
    wide, scores, sum = f"upscore_pool{stage + 1}", f"score_pool{stage}", f"fuse_pool{stage}"
    _lay_out(drawing, last, wide, classes, 2)
    drawing.add(scores, "2D-identical")
    drawing.connect(f"pool{stage}", scores, "convolution", kernels=classes, kernel=1)
    drawing.add(sum, "2D-identical")
    drawing.connect(wide, sum, "transfer")
    drawing.connect(scores, sum, "select", offset=offset)
    return sum


def _lay_out(drawing: Drawing, back: str, id: str, classes: int, stride: int) -> None:
    """Fill in between neighbours, by kernels that stay as they are."""
    drawing.add(id, "2D-identical", bias="none")
    fixed: dict[str, Any] = {"initialiser": "bilinear", "trainable": False}
    drawing.connect(back, id, "transposed-convolution", kernels=classes, kernel=2 * stride, stride=stride, **fixed)


def fcn_resnet(layers: int, *, classes: int = 21, input: Sizes = (520, 520, 3), width: int = 64) -> Drawing:
    """FCN of ResNet-50 or 101, whose last stages keep their size; a second head helps the third stage learn."""
    drawing = Drawing(f"FCN of ResNet-{layers}")
    add_data(drawing, "data", input)
    add_stages(drawing, layers, width, dilations=(1, 1, 2, 4))
    for name, stage, kernels in (("cls", "L4", width * 8), ("aux", "L3", width * 4)):
        convolve(drawing, f"{name}-maps", "2D-relu", stage, 3, NORM, kernels=kernels)
        drawing.wear(f"{name}-maps", "dropout", probability=0.1)
        convolve(drawing, f"{name}-scores", "2D-identical", f"{name}-maps", 1, kernels=classes)
        drawing.then(f"{name}-pixels", "2D-softmax", "resampling", size=input[:2], mode="linear")
    return drawing


def fcn_narrow(*, classes: int = 4, input: Sizes = (64, 64, 3), width: int = 12) -> Drawing:
    """FCN of four sizes of maps for small pictures, drawn to be trained: few kernels, each with batch norm."""
    drawing = Drawing("narrow FCN")
    back = add_data(drawing, "data", input)
    kept: list[str] = []
    for level in range(4):
        if level:
            back = drawing.then(f"pool{level}", "2D-downsampling", window=2)
        for name in "ab":
            back = convolve(drawing, f"conv{level}{name}", "2D-relu", back, 3, {}, kernels=width * 2**level)
        kept.append(back)
    last = convolve(drawing, "scores3", "2D-identical", back, 1, kernels=classes)
    for level in reversed(range(3)):
        scores = convolve(drawing, f"scores{level}", "2D-identical", kept[level], 1, kernels=classes)
        drawing.add(f"wide{level}", "2D-identical", bias="none")
        shape: dict[str, Any] = {"kernels": classes, "kernel": 4, "stride": 2, "padding": 1, "initialiser": "bilinear"}
        drawing.connect(last, f"wide{level}", "transposed-convolution", **shape)
        last = drawing.add(f"fused{level}" if level else "pixels", "2D-identical" if level else "2D-softmax")
        for id in (scores, f"wide{level}"):
            drawing.connect(id, last, "transfer")
    return drawing


def _networks() -> Iterator[KnownNetwork]:
    paper = Reference("Long, Shelhamer and Darrell", 2015, "Fully Convolutional Networks for Semantic Segmentation")
    for stride in CROPS:
        title = f"FCN-{stride}s, which names the class of every pixel"
        aliases = ("fcn",) if stride == 8 else ()
        yield KnownNetwork(
            f"fcn{stride}s_vgg16_caffe", title, paper, partial(fcn_vgg, stride), (500, 500, 3), 21, aliases
        )
    for layers in (50, 101):
        title = f"FCN of ResNet of {layers} layers, two heads"
        yield KnownNetwork(f"fcn_resnet{layers}_tv", title, paper, partial(fcn_resnet, layers), (520, 520, 3), 21)
    title = "narrow FCN for small pictures"
    yield KnownNetwork("fcn_narrow", title, paper, fcn_narrow, (64, 64, 3), 4)


NETWORKS = tuple(_networks())
