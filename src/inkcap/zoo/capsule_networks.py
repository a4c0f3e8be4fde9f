"""Networks of capsules in the narrow sense: vectors that vote, with routing by agreement."""

from __future__ import annotations

from functools import partial
from math import prod

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data
from inkcap.zoo.record import KnownNetwork, Reference, Sizes


def capsnet(
    kernel: int = 9,
    channels: int = 256,
    types: int = 32,
    decoder: tuple[int, int] = (512, 1024),
    name: str = "CapsNet",
    *,
    biased: bool = False,
    classes: int = 10,
    input: Sizes = (28, 28, 1),
) -> Drawing:
    """The network of Sabour, Frosst and Hinton (2017): capsules of 8 numbers vote for ten of 16, and a decoder.

    The decoder sees the capsule of the label, or the longest one, and draws the image anew. ``biased`` adds the
    biases of the ten capsules that the authors' code has and their paper has not.
    """
    drawing = Drawing(name)
    add_data(drawing, "image", input)
    drawing.then("Conv1", "2D-relu", "convolution", kernels=channels, kernel=kernel)
    drawing.then("PrimaryConv", "2D-identical", "convolution", kernels=8 * types, kernel=kernel, stride=2)
    drawing.add("PrimaryCaps", "2D-squash")
    drawing.connect("PrimaryConv", "PrimaryCaps", "reshaping", atoms=8)
    drawing.then("DigitCaps", "2D-routing", "vote", parents=classes, atoms=16)
    if biased:
        drawing.change("DigitCaps", biased=True)
    drawing.then("length", "2D-length", "transfer")
    drawing.add("label", "1D-data", dimension=classes)
    drawing.add("mask", "2D-mask")
    drawing.connect("DigitCaps", "mask", "transfer")
    drawing.connect("label", "mask", "transfer", port="label")
    drawing.add("dec1", "1D-relu", dimension=decoder[0])
    drawing.connect("mask", "dec1", "full")
    drawing.then("dec2", "1D-relu", "full", dimension=decoder[1])
    drawing.then("recon", "1D-sigmoid", "full", dimension=prod(input))
    return drawing


def capsnet_for_digits(classes: int = 10, input: Sizes = (8, 8, 1)) -> Drawing:
    """A narrow CapsNet for the 8×8 images of the digits: kernels 3×3 and 16 types of capsules."""
    return capsnet(3, 64, 16, (64, 128), "CapsNet for digits", classes=classes, input=input)


SABOUR = Reference("Sabour, Frosst and Hinton", 2017, "Dynamic Routing Between Capsules")

NETWORKS = (
    KnownNetwork("capsnet_sabour", "CapsNet with routing by agreement", SABOUR, capsnet, (28, 28, 1), 10, ("capsnet",)),
    KnownNetwork(
        "capsnet_sabour_tfcode",
        "CapsNet of its authors' code, with biases",
        SABOUR,
        partial(capsnet, name="CapsNet with biases", biased=True),
        (28, 28, 1),
        10,
    ),
    KnownNetwork("capsnet-digits", "CapsNet for the digits of 8×8", SABOUR, capsnet_for_digits, (8, 8, 1), 10),
)
