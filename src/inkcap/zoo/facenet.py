"""FaceNet: an image becomes a place on a sphere, near those of the same person."""

from __future__ import annotations

from functools import partial
from typing import Any

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data, convolve
from inkcap.zoo.record import KnownNetwork, Reference, Sizes

MODULES = {
    "3a": (64, 96, 128, 16, 32, "max", 32),
    "3b": (64, 96, 128, 32, 64, "L2", 64),
    "3c": (0, 128, 256, 32, 64, "halving", 0),
    "4a": (256, 96, 192, 32, 64, "L2", 128),
    "4b": (224, 112, 224, 32, 64, "L2", 128),
    "4c": (192, 128, 256, 32, 64, "L2", 128),
    "4d": (160, 144, 288, 32, 64, "L2", 128),
    "4e": (0, 160, 256, 64, 128, "halving", 0),
    "5a": (384, 192, 384, 48, 128, "L2", 128),
    "5b": (384, 192, 384, 48, 128, "max", 128),
}
"""Kernels of each module of NN2: 1×1, before 3×3, 3×3, before 5×5, 5×5, how windows are pooled, the projection."""
WIDTHS = ("ones", "reduce3", "threes", "reduce5", "fives", "pooled")
EMBEDDING = 128


def nn1(*, input: Sizes = (220, 220, 3), width: int = 64, dense: int = 4096, name: str = "FaceNet NN1") -> Drawing:
    """NN1: eleven convolutions and two full maxout layers."""
    drawing = Drawing(name)
    last = _stem(drawing, input, width)
    rest = (("3", 192, 384), ("4", 384, 256), ("5", 256, 256), ("6", 256, 256))
    for name, narrow, wide in rest:
        convolve(drawing, f"conv{name}a", "2D-relu", last, 1, kernels=narrow * width // 64)
        last = convolve(drawing, f"conv{name}", "2D-relu", f"conv{name}a", 3, kernels=wide * width // 64)
        if name in "36":
            last = _halve(drawing, f"pool{3 if name == '3' else 4}")
    drawing.then("flat", "1D-identical", "reshaping")
    for id in ("fc1", "fc2"):
        drawing.then(id, "1D-maxout", "full", height=2 * dense)
    _embed(drawing)
    return drawing


def nn2(*, input: Sizes = (224, 224, 3), width: int = 64) -> Drawing:
    """NN2: ten modules of the Inception kind, whose windows are pooled by L2 in part."""
    drawing = Drawing("FaceNet NN2")
    for kind in ("max", "L2", "halving"):
        drawing.define(_group(kind), _module(kind), inputs={"in": "x"}, outputs={"out": "cat"})
    last = _stem(drawing, input, width)
    for id, (*kernels, kind, projection) in MODULES.items():
        every = zip(WIDTHS, (*kernels, projection), strict=True)
        sizes: dict[str, Any] = {name: size * width // 64 for name, size in every if size}
        drawing.add(f"m{id}", _group(kind), **sizes)
        drawing.connect(last, f"m{id}")
        last = f"m{id}"
    drawing.then("average", "2D-downsampling", kind="average", bins=1)
    drawing.then("flat", "1D-identical", "reshaping")
    _embed(drawing)
    return drawing


def _group(kind: str) -> str:
    return f"inception-{kind.lower()}"


def _module(kind: str) -> Drawing:
    """A module whose windows are pooled by their maximum or their L2 norm, or one that halves the maps."""
    halving = kind == "halving"
    widths = [name for name in WIDTHS if not (halving and name in ("ones", "pooled"))]
    body = Drawing(_group(kind), arguments=dict.fromkeys(widths, 64))
    stride: dict[str, Any] = {"stride": 2} if halving else {}
    body.add("x", "2D-identical")
    branches = ["three", "five", "pool"] if halving else ["one", "three", "five", "projection"]
    if not halving:
        convolve(body, "one", "2D-relu", "x", 1, kernels="=ones")
    convolve(body, "reduce3", "2D-relu", "x", 1, kernels="=reduce3")
    convolve(body, "three", "2D-relu", "reduce3", 3, kernels="=threes", **stride)
    convolve(body, "reduce5", "2D-relu", "x", 1, kernels="=reduce5")
    convolve(body, "five", "2D-relu", "reduce5", 5, kernels="=fives", **stride)
    pooled = "L2" if kind == "L2" else "max"
    body.add("pool", "2D-downsampling", kind=pooled, window=3, stride=2 if halving else 1, padding=1, edge="floor")
    body.connect("x", "pool", "transfer")
    if not halving:
        convolve(body, "projection", "2D-relu", "pool", 1, kernels="=pooled")
    body.add("cat", "2D-identical")
    for branch in branches:
        body.connect(branch, "cat", "inject")
    return body


def _stem(drawing: Drawing, input: Sizes, width: int) -> str:
    add_data(drawing, "data", input)
    convolve(drawing, "conv1", "2D-relu", "data", 7, kernels=width, stride=2)
    _halve(drawing, "pool1")
    drawing.then("norm1", "2D-local-response", "transfer")
    drawing.then("conv2a", "2D-relu", "convolution", kernels=width, kernel=1)
    drawing.then("conv2", "2D-relu", "convolution", kernels=3 * width, kernel=3, padding=1)
    drawing.then("norm2", "2D-local-response", "transfer")
    return _halve(drawing, "pool2")


def _halve(drawing: Drawing, id: str) -> str:
    return drawing.then(id, "2D-downsampling", window=3, stride=2, padding=1, edge="floor")


def _embed(drawing: Drawing) -> None:
    drawing.then("embedding", "1D-l2-normalisation", "full", dimension=EMBEDDING)


SCHROFF = Reference(
    "Schroff, Kalenichenko and Philbin", 2015, "FaceNet: A Unified Embedding for Face Recognition and Clustering"
)
NETWORKS = (
    KnownNetwork("facenet_nn1", "FaceNet NN1, faces as places on a sphere", SCHROFF, nn1, (220, 220, 3)),
    KnownNetwork(
        "facenet_narrow",
        "narrow FaceNet for small pictures",
        SCHROFF,
        partial(nn1, input=(32, 32, 1), width=16, dense=128, name="narrow FaceNet"),
        (32, 32, 1),
    ),
    KnownNetwork("facenet_nn2", "FaceNet NN2, of Inception modules", SCHROFF, nn2, (224, 224, 3), None, ("facenet",)),
)
