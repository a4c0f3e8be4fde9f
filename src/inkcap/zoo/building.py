"""Pieces of drawings that many networks of the zoo have."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inkcap.drawing import Drawing
from inkcap.structures import AXES, axes_count
from inkcap.zoo.record import Sizes


def add_data(drawing: Drawing, id: str, input: Sizes) -> str:
    """Add a data capsule whose sizes are given in reading order."""
    rank = next(rank for rank in AXES if axes_count(rank) == len(input))
    sizes: dict[str, Any] = dict(zip(AXES[rank], input, strict=True))
    return drawing.add(id, f"{rank}D-data", **sizes)


def convolve(
    drawing: Drawing,
    id: str,
    face: str,
    back: str,
    kernel: int,
    norm: Mapping[str, Any] | None = None,
    part: str = "batch-norm",
    **more: Any,
) -> str:
    """Add a capsule that a convolution enters, which keeps the size but for its stride.

    With ``norm`` it wears batch norm of these attributes, or another ``part``. ``more`` goes to the convolution.
    """
    drawing.add(id, face)
    more.setdefault("padding", kernel // 2)
    drawing.connect(back, id, "convolution", kernel=kernel, **more)
    if norm is not None:
        drawing.wear(id, part, **norm)
    return id


def classify(drawing: Drawing, classes: int, dense: int) -> None:
    """Add the end of AlexNet and its kin: two full connections with dropout, and the probabilities of the classes."""
    for id in ("fc6", "fc7"):
        drawing.then(id, "1D-relu", "full", dimension=dense)
        drawing.wear(id, "dropout", probability=0.5)
    drawing.then("prob", "1D-softmax", "full", dimension=classes)
