"""VGG: images halved five times between stages of 3×3 convolutions, then three full connections."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data, classify
from inkcap.zoo.record import KnownNetwork, Reference, Sizes

STAGES = {11: (1, 1, 2, 2, 2), 13: (2, 2, 2, 2, 2), 16: (2, 2, 3, 3, 3), 19: (2, 2, 4, 4, 4)}
"""How many convolutions each stage has, by how many layers with weights there are."""


def vgg(
    layers: int,
    *,
    normalised: bool = False,
    classes: int = 1000,
    input: Sizes = (224, 224, 3),
    width: int = 64,
    dense: int = 4096,
) -> Drawing:
    """VGG of 11 to 19 layers; ``normalised`` wears batch norm after every convolution."""
    drawing = Drawing(f"VGG-{layers}{' with batch norm' if normalised else ''}")
    add_data(drawing, "data", input)
    for stage, count in enumerate(STAGES[layers], 1):
        kernels = min(width * 2 ** (stage - 1), width * 8)
        for number in range(1, count + 1):
            id = drawing.then(f"conv{stage}_{number}", "2D-relu", "convolution", kernels=kernels, kernel=3, padding=1)
            if normalised:
                drawing.wear(id, "batch-norm")
                # Both the published networks and their weights keep the bias that the normalisation takes away.
                drawing.change(id, bias="channel")
        drawing.then(f"pool{stage}", "2D-downsampling", window=2, edge="floor")
    drawing.then("flat", "1D-identical", "reshaping")
    classify(drawing, classes, dense)
    return drawing


def _networks() -> Iterator[KnownNetwork]:
    paper = Reference(
        "Simonyan and Zisserman", 2014, "Very Deep Convolutional Networks for Large-Scale Image Recognition"
    )
    for normalised in (False, True):
        for layers in STAGES:
            name = f"vgg{layers}{'_bn' if normalised else ''}"
            title = f"VGG of {layers} layers{', normalised' if normalised else ''}"
            draw = partial(vgg, layers, normalised=normalised)
            yield KnownNetwork(name, title, paper, draw, (224, 224, 3), 1000, ("vgg",) if name == "vgg16" else ())


NETWORKS = tuple(_networks())
