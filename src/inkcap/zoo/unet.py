"""U-Net: maps are halved four times and doubled again, and each size sees again what it saw on the way down."""

from __future__ import annotations

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data, convolve
from inkcap.zoo.record import KnownNetwork, Reference, Sizes

DEPTH = 4


def unet(*, classes: int = 2, input: Sizes = (572, 572, 1), width: int = 64, depth: int = DEPTH) -> Drawing:
    """U-Net as published: every convolution takes a border off, and what is seen again is cut to what is left."""
    drawing = Drawing("U-Net")
    drawing.define("pair", pair(), inputs={"in": "x"}, outputs={"out": "b"})
    drawing.define("again", again(), inputs={"below": "below", "before": "before"}, outputs={"out": "b"})
    add_data(drawing, "data", input)
    # What is lost at the border is the same along both sides.
    sides: list[int] = []
    side = input[0]
    for level in range(depth + 1):
        if level:
            drawing.then(f"pool{level}", "2D-downsampling", window=2, edge="floor")
        drawing.then(f"down{level}", "pair", width=width * 2**level)
        side -= 4
        sides.append(side)
        side //= 2
    last, side = f"down{depth}", sides[-1]
    for level in reversed(range(depth)):
        side = 2 * side
        border = (sides[level] - side) // 2
        last = _join(drawing, last, level, width * 2**level, border)
        side -= 4
    drawing.then("pixels", "2D-softmax", "convolution", kernels=classes, kernel=1)
    return drawing


def _join(drawing: Drawing, below: str, level: int, kernels: int, border: int) -> str:
    id = f"up{level}"
    drawing.add(id, "again", kernels=kernels, border=border)
    drawing.connect(below, id, port="below")
    drawing.connect(f"down{level}", id, port="before")
    return id


def pair() -> Drawing:
    """Two convolutions of 3×3."""
    body = Drawing("pair", arguments={"width": 64})
    body.add("x", "2D-identical")
    body.then("a", "2D-relu", "convolution", kernels="=width", kernel=3)
    body.then("b", "2D-relu", "convolution", kernels="=width", kernel=3)
    return body


def again() -> Drawing:
    """The maps below are laid out twice as wide, beside what was there before, and convolved twice."""
    body = Drawing("again", arguments={"kernels": 64, "border": 4})
    body.add("below", "2D-identical")
    body.add("before", "2D-identical")
    body.add("wide", "2D-identical")
    body.connect("below", "wide", "transposed-convolution", kernels="=kernels", kernel=2, stride=2)
    body.add("cut", "2D-identical")
    body.connect("before", "cut", "select", offset="=border")
    body.add("both", "2D-identical")
    for id in ("cut", "wide"):
        body.connect(id, "both", "inject")
    body.add("a", "2D-relu")
    body.connect("both", "a", "convolution", kernels="=kernels", kernel=3)
    body.then("b", "2D-relu", "convolution", kernels="=kernels", kernel=3)
    return body


def unet_narrow(*, classes: int = 4, input: Sizes = (64, 64, 3), width: int = 12, depth: int = 3) -> Drawing:
    """U-Net for small pictures, drawn to be trained: few kernels, each with batch norm, and no border is lost."""
    drawing = Drawing("narrow U-Net")
    back = add_data(drawing, "data", input)
    kept: list[str] = []
    for level in range(depth + 1):
        if level:
            back = drawing.then(f"pool{level}", "2D-downsampling", window=2)
        back = convolve(drawing, f"down{level}", "2D-relu", back, 3, {}, kernels=width * 2**level)
        kept.append(back)
    for level in reversed(range(depth)):
        drawing.add(f"wide{level}", "2D-identical")
        drawing.connect(*(back, f"wide{level}", "transposed-convolution"), kernels=width * 2**level, kernel=2, stride=2)
        drawing.add(f"both{level}", "2D-identical")
        for id in (kept[level], f"wide{level}"):
            drawing.connect(id, f"both{level}", "inject")
        back = convolve(drawing, f"up{level}", "2D-relu", f"both{level}", 3, {}, kernels=width * 2**level)
    convolve(drawing, "pixels", "2D-softmax", back, 1, kernels=classes)
    return drawing


RONNEBERGER = Reference(
    "Ronneberger, Fischer and Brox", 2015, "U-Net: Convolutional Networks for Biomedical Image Segmentation"
)
NETWORKS = (
    KnownNetwork("unet", "U-Net, the class of every pixel", RONNEBERGER, unet, (572, 572, 1), 2),
    KnownNetwork("unet_narrow", "narrow U-Net for small pictures", RONNEBERGER, unet_narrow, (64, 64, 3), 4),
)
