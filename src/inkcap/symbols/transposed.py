"""The transposed convolutional connection: the way back of a convolution, which makes structures larger."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, cast

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape, product
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.stated import INITIALISER_ATTRIBUTE, WEIGHT_ATTRIBUTES
from inkcap.symbols.symbol import (
    ConnectionSymbol,
    Given,
    Problem,
    Refusal,
    Sample,
    Weight,
)

PLACES = ("stride", "padding", "output_padding", "dilation")


def transposed(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Lays k kernels of m×n down at every position of the back end, each times the number there, and sums."""
    places: dict[str, Any] = {name: attributes[name] for name in PLACES}
    return op.deconvolve(y, given["weight"], **places, groups=attributes["groups"])


def _weights(back: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    kernels, groups, kernel = attributes["kernels"], attributes["groups"], attributes["kernel"]
    shape = (back[0], kernels // groups, *kernel)
    # A number of the front end sees every s-th number of a kernel along an axis.
    seen = back[0] // groups * product(kernel)
    return {"weight": Weight(shape, seen, product(shape[1:]))}


def _axes(attributes: Attributes) -> zip[tuple[int, ...]]:
    return zip(*(attributes[name] for name in PLACES), strict=True)


def _solve(attributes: Attributes, back: PartialShape, front: PartialShape) -> Attributes:
    found: dict[str, Any] = {}
    if attributes["kernels"] is None and front[0] is not None:
        found["kernels"] = front[0]
    if attributes["channels"] is None and back[0] is not None:
        found["channels"] = back[0]
    if attributes["kernel"] is None:
        sizes: list[int] = []
        for size, made, (s, p, o, d) in zip(back[1:], front[1:], _axes(attributes), strict=True):
            reach = -1 if size is None or made is None else made + 2 * p - o - 1 - (size - 1) * s
            sizes += [reach // d + 1] if reach >= 0 and reach % d == 0 else []
        if len(sizes) == len(back) - 1:
            found["kernel"] = tuple(sizes)
    return found


def _back(front: PartialShape, attributes: Attributes) -> PartialShape:
    kernel = attributes["kernel"]
    if kernel is None:
        return (attributes["channels"], *(None,) * (len(front) - 1))
    sizes: list[int | None] = []
    for made, m, (s, p, o, d) in zip(front[1:], kernel, _axes(attributes), strict=True):
        room = None if made is None else made + 2 * p - d * (m - 1) - o - 1
        sizes.append(room // s + 1 if room is not None and room >= 0 and room % s == 0 else None)
    return (attributes["channels"], *sizes)


def _problem(shape: Shape, attributes: Attributes) -> Problem | None:
    channels, kernels, groups = shape[0], attributes["kernels"], attributes["groups"]
    if isinstance(channels, int) and attributes["channels"] not in (None, channels):
        return Problem(
            "structure-mismatch",
            f"the kernels are stated to have {attributes['channels']} channels, the back end has {channels}; "
            f"set channels to {channels} or leave it empty",
            {"channels": attributes["channels"], "back end": channels},
            {"channels": channels},
        )
    if isinstance(channels, int) and (channels % groups or kernels % groups):
        fitting = math.gcd(math.gcd(channels, cast("int", kernels)), groups)
        return Problem(
            "groups-do-not-divide",
            f"{channels} channels and {kernels} kernels do not divide into {groups} groups; {fitting} would do",
            {"groups": groups, "channels": channels, "kernels": kernels},
            {"groups": fitting},
        )
    if any(o >= max(s, d) for s, _, o, d in _axes(attributes)):
        return Problem(
            "padding-too-large",
            "output_padding must be less than the stride or the dilation: beyond it nothing reaches",
            {"output_padding": attributes["output_padding"], "stride": attributes["stride"]},
            {"output_padding": None},
        )
    return None


TRANSPOSED = ConnectionSymbol(
    id="transposed-convolution",
    title="transposed convolutional",
    mark="⊛",
    formula="W ∗ᵀ Y",
    ranks=((2, 2), (3, 3)),
    forward=transposed,
    weights=_weights,
    solve=_solve,
    back=_back,
    problem=_problem,
    attributes=(
        Attribute("kernels", "size", "Kernel number k: the channels of the front end.", letter="k"),
        Attribute("kernel", "axes", "Kernel height m and width n, a depth before them.", letter="m×n", axes=0),
        Attribute("channels", "size", "Channel number d of the back end.", inferred=True, letter="d"),
        Attribute("stride", "axes", "Stride s: steps from kernel to kernel.", default=1, letter="s", axes=0),
        Attribute("padding", "axes", "Border that is taken off the front end.", default=0, minimum=0, axes=0),
        Attribute("output_padding", "axes", "Rows and columns added at the end alone.", default=0, minimum=0, axes=0),
        Attribute("dilation", "axes", "Distance between the numbers of a kernel.", default=1, axes=0),
        Attribute("groups", "size", "Groups of channels that are convolved apart.", default=1),
        replace(
            INITIALISER_ATTRIBUTE,
            help=f"{INITIALISER_ATTRIBUTE.help[:-1]}; 'bilinear' fills in between neighbours, channel by channel.",
            choices=(*INITIALISER_ATTRIBUTE.choices, "bilinear"),
        ),
        *WEIGHT_ATTRIBUTES,
    ),
    samples=(
        Sample({"kernels": 2, "kernel": 3, "stride": 2}, (1, 2, 3)),
        Sample({"kernels": 4, "kernel": (2, 3), "stride": 2, "padding": (0, 1), "groups": 2}, (2, 2, 2)),
        Sample({"kernels": 1, "kernel": 2, "stride": 2, "output_padding": 1, "dilation": (1, 2)}, (2, 2, 2)),
        Sample({"kernels": 1, "kernel": (1, 2, 2), "stride": (1, 2, 1)}, (2, 2, 1, 2)),
        Sample({"stride": 2, "initialiser": "bilinear", "trainable": False}, (2, 2, 2), front=(2, 6, 6)),
    ),
    refusals=(
        Refusal({"kernels": 2}, (2, 5, 5), "missing-attribute"),
        Refusal({"kernels": 3, "kernel": 2, "groups": 2}, (2, 3, 3), "groups-do-not-divide"),
        Refusal({"kernels": 2, "kernel": 2, "channels": 3}, (2, 3, 3), "structure-mismatch"),
        Refusal({"kernels": 2, "kernel": 2, "output_padding": 1}, (2, 3, 3), "padding-too-large"),
        Refusal({"kernels": 2, "kernel": (2, 2)}, (2, 3, 3, 3), "structure-mismatch"),
        Refusal({"kernels": 2, "kernel": 2}, (2, 3, 3), "not-floating", dtype="int64"),
    ),
)

SYMBOLS = (TRANSPOSED,)
