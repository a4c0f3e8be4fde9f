"""Networks of matrix capsules with EM routing (Hinton, Sabour and Frosst, 2018), as drawings."""

from __future__ import annotations

from typing import Any

from inkcap.drawing import Drawing


def emcaps(
    a: int = 64, b: int = 8, c: int = 16, d: int = 16, channels: int = 2, name: str = "Matrix capsules"
) -> Drawing:
    """The network for smallNORB with A kernels and B, C, D types of capsules, five classes, and 32×32 stereo pairs."""
    drawing = Drawing(name)
    drawing.add("image", "2D-data", height=32, width=32, channels=channels)
    drawing.then("conv1", "2D-relu", "convolution", kernels=a, kernel=5, stride=2)
    drawing.then("primary", "2D-primary-capsules", "convolution", kernels=17 * b, kernel=1)
    drawing.then("conv_caps1", "3D-em-routing", "matrix-vote", parents=c, kernel=3, stride=2)
    drawing.then("conv_caps2", "3D-em-routing", "matrix-vote", parents=d, kernel=3)
    drawing.then("class_caps", "2D-em-routing", "class-vote", parents=5)
    return drawing


def emcaps_for_digits() -> Drawing:
    """A small network of matrix capsules for the 8×8 images of the digits; it gives the activations of the classes."""
    drawing = Drawing("Matrix capsules for digits")
    drawing.add("image", "2D-data", height=8, width=8, channels=1)
    drawing.then("conv1", "2D-relu", "convolution", kernels=32, kernel=3)
    drawing.then("primary", "2D-primary-capsules", "convolution", kernels=17 * 4, kernel=1)
    # Fewer children than in the large network make smaller costs, so a larger λ makes activations as sharp.
    sharp: dict[str, Any] = {"inverse_temperature": 0.1}
    soft: dict[str, Any] = {"inverse_temperature": 0.06}
    drawing.then("conv_caps", "3D-em-routing", "matrix-vote", parents=12, kernel=3, stride=2, **sharp)
    drawing.then("class_caps", "2D-em-routing", "class-vote", parents=10, gives="activations", **soft)
    return drawing
