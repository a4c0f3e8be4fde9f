"""DenseNet: every layer of a block sees what all layers before it gave."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data
from inkcap.zoo.record import KnownNetwork, Reference, Sizes

BLOCKS = {121: (6, 12, 24, 16), 161: (6, 12, 36, 24), 169: (6, 12, 32, 32), 201: (6, 12, 48, 32)}
"""Dense layers of each of the four blocks, by the number of layers with weights."""


def dense_layer() -> Drawing:
    """A dense layer: all that came before, normalised, through 1×1 kernels to a few new channels."""
    body = Drawing("dense", arguments={"growth": 32})
    body.add("cat", "2D-relu")
    body.wear("cat", "batch-norm")
    body.then("narrow", "2D-relu", "convolution", kernels="=4*growth", kernel=1)
    body.wear("narrow", "batch-norm")
    body.then("new", "2D-identical", "convolution", kernels="=growth", kernel=3, padding=1, bias="none")
    return body


def dense_block(layers: int) -> Drawing:
    """A block: every layer is given what all layers before it gave, and all of it together is normalised in the end."""
    body = Drawing("block", arguments={"growth": 32})
    body.define("dense", dense_layer(), inputs={"in": "cat"}, outputs={"out": "new"})
    seen = [body.add("x", "2D-identical")]
    fronts = [body.add(f"l{number}", "dense", growth="=growth") for number in range(1, layers + 1)]
    fronts.append(body.add("cat", "2D-relu"))
    body.wear("cat", "batch-norm")
    for front in fronts:
        for back in seen:
            body.connect(back, front, "inject")
        seen.append(front)
    return body


def transition() -> Drawing:
    """What is between two blocks: half the channels, and half the height and width."""
    body = Drawing("transition", arguments={"channels": 128})
    body.add("x", "2D-identical")
    body.then("narrow", "2D-identical", "convolution", kernels="=channels", kernel=1, bias="none")
    body.then("pool", "2D-downsampling", kind="average", window=2, edge="floor")
    return body


def densenet(layers: int, *, classes: int = 1000, input: Sizes = (224, 224, 3), growth: int | None = None) -> Drawing:
    """DenseNet of 121 to 201 layers; ``growth`` is how many channels a layer adds, 48 for 161 layers and else 32."""
    growth = growth or (48 if layers == 161 else 32)
    drawing = Drawing(f"DenseNet-{layers}")
    drawing.define("transition", transition())
    add_data(drawing, "data", input)
    channels = 2 * growth
    drawing.then("conv0", "2D-relu", "convolution", kernels=channels, kernel=7, stride=2, padding=3)
    drawing.wear("conv0", "batch-norm")
    drawing.then("pool0", "2D-downsampling", window=3, stride=2, padding=1, edge="floor")
    for block, count in enumerate(BLOCKS[layers], 1):
        # Blocks of different length are different groups: each layer has one connection more than the one before.
        group = drawing.define(f"block{count}", dense_block(count), inputs={"in": "x"}, outputs={"out": "cat"})
        drawing.then(f"B{block}", group, growth=growth)
        channels += count * growth
        if block < len(BLOCKS[layers]):
            channels //= 2
            drawing.then(f"T{block}", "transition", channels=channels)
    drawing.then("average", "2D-downsampling", kind="average", bins=1)
    drawing.then("flat", "1D-identical", "reshaping")
    drawing.then("prob", "1D-softmax", "full", dimension=classes)
    return drawing


def _networks() -> Iterator[KnownNetwork]:
    paper = Reference("Huang, Liu, van der Maaten and Weinberger", 2016, "Densely Connected Convolutional Networks")
    for layers in BLOCKS:
        aliases = ("densenet",) if layers == 121 else ()
        draw = partial(densenet, layers)
        yield KnownNetwork(
            f"densenet{layers}", f"DenseNet of {layers} layers", paper, draw, (224, 224, 3), 1000, aliases
        )


NETWORKS = tuple(_networks())
