"""The convolutional connection."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any, cast

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape, product
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.symbol import (
    INITIALISER_ATTRIBUTE,
    WEIGHT_ATTRIBUTES,
    ConnectionSymbol,
    Given,
    Problem,
    Refusal,
    Sample,
    Weight,
)


def convolution(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Slides k kernels of m×n over the back end and sums over its channels.

    ``flip`` turns the kernels by 180°: then it is the paper's convolution (Eq. 24); without it, it is the
    cross-correlation that every framework computes.
    """
    kernel = given["weight"]
    if attributes["flip"]:
        kernel = op.flip(kernel, axes=2)
    return op.convolve(
        y,
        kernel,
        stride=attributes["stride"],
        padding=attributes["padding"],
        dilation=attributes["dilation"],
        groups=attributes["groups"],
    )


def _weights(back: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    groups = attributes["groups"]
    kernel = attributes["kernel"]
    shape = (attributes["kernels"], back[0] // groups, *kernel)
    return {"weight": Weight(shape, product(shape[1:]), attributes["kernels"] // groups * product(kernel))}


def _solve(attributes: Attributes, back: PartialShape, front: PartialShape) -> Attributes:
    found: dict[str, Any] = {}
    if attributes["kernels"] is None and front[0] is not None:
        found["kernels"] = front[0]
    if attributes["channels"] is None and back[0] is not None:
        found["channels"] = back[0]
    if attributes["kernel"] is None:
        sizes = [
            _kernel_size(size, count, s, p, d)
            for size, count, s, p, d in zip(
                back[1:], front[1:], attributes["stride"], attributes["padding"], attributes["dilation"], strict=True
            )
        ]
        if all(size is not None for size in sizes):
            found["kernel"] = tuple(sizes)
    return found


def _kernel_size(size: int | None, count: int | None, stride: int, padding: int, dilation: int) -> int | None:
    # With a stride, several kernels give the same count of positions: then the person has to say which.
    if size is None or count is None or stride != 1:
        return None
    reach = size + 2 * padding - count
    return reach // dilation + 1 if reach >= 0 and reach % dilation == 0 else None


def _back(front: PartialShape, attributes: Attributes) -> PartialShape:
    if attributes["kernel"] is None:
        return (attributes["channels"], None, None)
    axes = zip(
        front[1:],
        attributes["kernel"],
        attributes["stride"],
        attributes["padding"],
        attributes["dilation"],
        strict=True,
    )
    sizes = (count + d * (m - 1) - 2 * p if count is not None and s == 1 else None for count, m, s, p, d in axes)
    return (attributes["channels"], *sizes)


def _problem(shape: Shape, attributes: Attributes) -> Problem | None:
    channels, groups, kernels = shape[0], attributes["groups"], attributes["kernels"]
    if isinstance(channels, int) and attributes["channels"] not in (None, channels):
        return Problem(
            "structure-mismatch",
            f"the kernels are stated to have {attributes['channels']} channels, the back end has {channels}; "
            f"set channels to {channels} or leave it empty",
            {"channels": attributes["channels"], "back end": channels},
            {"channels": channels},
        )
    for what, number in (("channels of the back end", channels), ("kernels", kernels)):
        if isinstance(number, int) and number % groups:
            fitting = math.gcd(math.gcd(cast("int", channels), kernels), groups)
            return Problem(
                "groups-do-not-divide",
                f"the {number} {what} do not divide into {groups} groups; {fitting} would do",
                {"groups": groups, "channels": channels, "kernels": kernels},
                {"groups": fitting},
            )
    return _unused_border(shape, attributes)


def _unused_border(shape: Shape, attributes: Attributes) -> Problem | None:
    axes = zip(
        ("rows", "columns"),
        shape[1:],
        attributes["kernel"],
        attributes["stride"],
        attributes["padding"],
        attributes["dilation"],
        strict=True,
    )
    for name, size, m, s, p, d in axes:
        room = size + 2 * p - d * (m - 1) - 1
        if isinstance(room, int) and room >= 0 and room % s:
            return Problem(
                "unused-border",
                f"the last {room % s} {name} of the {size} are never under a kernel of {m} by steps of {s}",
                {"size": size, "kernel": m, "stride": s, "unused": room % s},
                severity="note",
            )
    return None


CONVOLUTION = ConnectionSymbol(
    id="convolution",
    title="convolutional",
    mark="∗",
    formula="W ∗ Y",
    ranks=((2, 2),),
    forward=convolution,
    weights=_weights,
    solve=_solve,
    back=_back,
    problem=_problem,
    attributes=(
        Attribute("kernels", "size", "Kernel number k: the channels of the front end.", letter="k"),
        Attribute("kernel", "axes", "Kernel height m and width n.", letter="m×n"),
        Attribute("channels", "size", "Channel number d of the back end.", inferred=True, letter="d"),
        Attribute("stride", "axes", "Stride s: steps from position to position.", default=(1, 1), letter="s"),
        Attribute("padding", "axes", "Zeros added around the back end.", default=(0, 0), minimum=0),
        Attribute("dilation", "axes", "Distance between the numbers under a kernel.", default=(1, 1)),
        Attribute("groups", "size", "Groups of channels that are convolved apart.", default=1),
        Attribute("flip", "flag", "Turn kernels by 180° (the paper's ∗) before sliding them.", default=False),
        INITIALISER_ATTRIBUTE,
        *WEIGHT_ATTRIBUTES,
    ),
    samples=(
        Sample({"kernels": 3, "kernel": (2, 3)}, (2, 4, 5)),
        Sample({"kernels": 2, "kernel": (2, 2), "flip": True}, (2, 3, 3)),
        Sample({"kernels": 4, "kernel": (3, 3), "stride": (2, 1), "padding": (1, 2), "groups": 2}, (2, 5, 4)),
        Sample({"kernels": 2, "kernel": (2, 2), "dilation": (2, 1), "stride": (2, 2)}, (1, 6, 5)),
    ),
    refusals=(
        Refusal({"kernels": 2, "kernel": (6, 2)}, (1, 5, 5), "window-too-large"),
        Refusal({"kernels": 3, "kernel": (2, 2), "groups": 2}, (2, 5, 5), "groups-do-not-divide"),
        Refusal({"kernels": 2, "kernel": (2, 2), "channels": 3}, (2, 5, 5), "structure-mismatch"),
        Refusal({"kernels": 2}, (2, 5, 5), "missing-attribute"),
        Refusal({"kernels": 2, "kernel": (2, 2)}, (2, 5, 5), "rank-mismatch", front_rank=1),
        Refusal({"kernels": 2, "kernel": (2, 2)}, (2, 5, 5), "structure-mismatch", front=(2, 5, 5)),
        Refusal({"kernels": 2, "kernel": (2, 2)}, (2, 5, 5), "not-floating", dtype="int64"),
    ),
)

SYMBOLS = (CONVOLUTION,)
