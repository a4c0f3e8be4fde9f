"""The locally connected connection: a convolution whose positions do not share their kernels."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inkcap.operations import Traced, window_count
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape, product
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.stated import INITIALISER_ATTRIBUTE, WEIGHT_ATTRIBUTES
from inkcap.symbols.symbol import (
    ConnectionSymbol,
    Given,
    Refusal,
    Sample,
    Weight,
)

PLACES = ("stride", "padding", "dilation")


def local(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Weighs what lies under each position by k kernels of its own."""
    places: dict[str, Any] = {name: attributes[name] for name in PLACES}
    return op.convolve_local(y, given["weight"], **places)


def _weights(back: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    kernel, kernels = attributes["kernel"], attributes["kernels"]
    axes = zip(back[1:], kernel, *(attributes[name] for name in PLACES), strict=True)
    positions = tuple(window_count(size, m, s, p, d) for size, m, s, p, d in axes)
    seen = product((back[0], *kernel))
    return {"weight": Weight((kernels, back[0], *kernel, *positions), seen, kernels * product(kernel))}


def _solve(attributes: Attributes, back: PartialShape, front: PartialShape) -> Attributes:
    return {"kernels": front[0]} if attributes["kernels"] is None and front[0] is not None else {}


LOCAL = ConnectionSymbol(
    id="local-convolution",
    title="locally connected",
    mark="⊞",
    formula="W_{ij} ∗ Y",
    ranks=((2, 2),),
    forward=local,
    weights=_weights,
    solve=_solve,
    attributes=(
        Attribute("kernels", "size", "Kernel number k: the channels of the front end.", letter="k"),
        Attribute("kernel", "axes", "Kernel height m and width n.", letter="m×n"),
        Attribute("stride", "axes", "Stride s: steps from position to position.", default=(1, 1), letter="s"),
        Attribute("padding", "axes", "Zeros added around the back end.", default=(0, 0), minimum=0),
        Attribute("dilation", "axes", "Distance between the numbers under a kernel.", default=(1, 1)),
        INITIALISER_ATTRIBUTE,
        *WEIGHT_ATTRIBUTES,
    ),
    samples=(
        Sample({"kernels": 2, "kernel": 2}, (2, 3, 3)),
        Sample({"kernel": (1, 2), "stride": (1, 2), "padding": (0, 1), "dilation": (1, 2)}, (1, 2, 3), front=(2, 2, 2)),
    ),
    refusals=(
        Refusal({"kernels": 2, "kernel": 4}, (1, 3, 3), "window-too-large"),
        Refusal({"kernels": 2}, (1, 3, 3), "missing-attribute"),
        Refusal({"kernels": 2, "kernel": 2}, (1, 3, 3), "structure-mismatch", front=(2, 3, 3)),
        Refusal({"kernels": 2, "kernel": 2}, (1, 3, 3), "not-floating", dtype="int64"),
    ),
)

SYMBOLS = (LOCAL,)
