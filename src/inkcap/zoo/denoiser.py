"""A residual denoiser: seventeen convolutions find the noise of an image, and the image is added."""

from __future__ import annotations

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data, convolve
from inkcap.zoo.record import KnownNetwork, Reference, Sizes


def denoiser(*, input: Sizes = (40, 40, 1), width: int = 64, layers: int = 17) -> Drawing:
    """DnCNN: what the last convolution gives is added to the image, so that the others learn the noise alone."""
    drawing = Drawing("residual denoiser")
    add_data(drawing, "data", input)
    last = convolve(drawing, "conv1", "2D-relu", "data", 3, kernels=width)
    for number in range(2, layers):
        last = convolve(drawing, f"conv{number}", "2D-relu", last, 3, {}, kernels=width)
    convolve(drawing, "clean", "2D-identical", last, 3, kernels=input[-1])
    drawing.connect("data", "clean", "transfer")
    return drawing


ZHANG = Reference("Zhang, Zuo, Chen, Meng and Zhang", 2017, "Beyond a Gaussian Denoiser: Residual Learning of Deep CNN")
NETWORKS = (
    KnownNetwork("dncnn", "residual denoiser of seventeen layers", ZHANG, denoiser, (40, 40, 1), None, ("denoiser",)),
)
