"""Networks of matrix capsules with EM routing (Hinton, Sabour and Frosst, 2018), as drawings."""

from __future__ import annotations

from functools import partial

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data
from inkcap.zoo.record import KnownNetwork, Reference, Sizes

STEREO: Sizes = (32, 32, 2)


def emcaps(
    a: int = 64,
    b: int = 8,
    c: int = 16,
    d: int = 16,
    name: str = "Matrix capsules",
    *,
    classes: int = 5,
    input: Sizes = STEREO,
) -> Drawing:
    """The network for smallNORB with A kernels and B, C, D types of capsules, five classes, and 32×32 stereo pairs."""
    drawing = Drawing(name)
    add_data(drawing, "image", input)
    drawing.then("conv1", "2D-relu", "convolution", kernels=a, kernel=5, stride=2)
    drawing.then("primary", "2D-primary-capsules", "convolution", kernels=17 * b, kernel=1)
    drawing.then("conv_caps1", "3D-em-routing", "matrix-vote", parents=c, kernel=3, stride=2)
    drawing.then("conv_caps2", "3D-em-routing", "matrix-vote", parents=d, kernel=3)
    drawing.then("class_caps", "2D-em-routing", "class-vote", parents=classes)
    return drawing


def emcaps_for_digits(classes: int = 10, input: Sizes = (8, 8, 1)) -> Drawing:
    """A small network of matrix capsules for the 8×8 images of the digits; it gives the activations of the classes."""
    drawing = Drawing("Matrix capsules for digits")
    add_data(drawing, "image", input)
    drawing.then("conv1", "2D-relu", "convolution", kernels=32, kernel=3)
    drawing.then("primary", "2D-primary-capsules", "convolution", kernels=17 * 4, kernel=1)
    # Fewer children than in the large network make smaller costs, so a larger λ makes activations as sharp.
    drawing.then("conv_caps", "3D-em-routing", "matrix-vote", parents=12, kernel=3, stride=2, inverse_temperature=0.1)
    drawing.then(
        "class_caps", "2D-em-routing", "class-vote", parents=classes, gives="activations", inverse_temperature=0.06
    )
    return drawing


HINTON = Reference("Hinton, Sabour and Frosst", 2018, "Matrix Capsules with EM Routing")

NETWORKS = (
    KnownNetwork("emcaps_A32_B32_C32_D32", "matrix capsules", HINTON, partial(emcaps, 32, 32, 32, 32), STEREO, 5),
    KnownNetwork("emcaps_A64_B8_C16_D16", "matrix capsules, few", HINTON, emcaps, STEREO, 5, ("emcaps",)),
    KnownNetwork("emcaps-digits", "matrix capsules for the digits of 8×8", HINTON, emcaps_for_digits, (8, 8, 1), 10),
)
