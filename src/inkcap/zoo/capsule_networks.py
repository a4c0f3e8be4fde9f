"""Networks of capsules in the narrow sense: vectors that vote, with routing by agreement."""

from __future__ import annotations

from inkcap.drawing import Drawing


def capsnet(
    size: int = 28,
    kernel: int = 9,
    channels: int = 256,
    types: int = 32,
    decoder: tuple[int, int] = (512, 1024),
    name: str = "CapsNet",
) -> Drawing:
    """The network of Sabour, Frosst and Hinton (2017): capsules of 8 numbers vote for ten of 16, and a decoder.

    The decoder sees the capsule of the label, or the longest one, and draws the image anew.
    """
    drawing = Drawing(name)
    drawing.add("image", "2D-data", height=size, width=size, channels=1)
    drawing.then("Conv1", "2D-relu", "convolution", kernels=channels, kernel=kernel)
    drawing.then("PrimaryConv", "2D-identical", "convolution", kernels=8 * types, kernel=kernel, stride=2)
    drawing.add("PrimaryCaps", "2D-squash")
    drawing.connect("PrimaryConv", "PrimaryCaps", "reshaping", atoms=8)
    drawing.then("DigitCaps", "2D-routing", "vote", parents=10, atoms=16)
    drawing.then("length", "2D-length", "transfer")
    drawing.add("label", "1D-data", dimension=10)
    drawing.add("mask", "2D-mask")
    drawing.connect("DigitCaps", "mask", "transfer")
    drawing.connect("label", "mask", "transfer", port="label")
    drawing.add("dec1", "1D-relu", dimension=decoder[0])
    drawing.connect("mask", "dec1", "full")
    drawing.then("dec2", "1D-relu", "full", dimension=decoder[1])
    drawing.then("recon", "1D-sigmoid", "full", dimension=size * size)
    return drawing


def capsnet_for_digits() -> Drawing:
    """A narrow CapsNet for the 8×8 images of the digits: kernels 3×3 and 16 types of capsules."""
    return capsnet(size=8, kernel=3, channels=64, types=16, decoder=(64, 128), name="CapsNet for digits")
