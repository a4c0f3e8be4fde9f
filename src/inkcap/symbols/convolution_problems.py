"""What can be wrong with a convolutional connection, beyond what its operations refuse."""

from __future__ import annotations

import math
from typing import cast

from inkcap.structures import Shape
from inkcap.symbols.attributes import Attributes
from inkcap.symbols.symbol import Problem


def find_problem(shape: Shape, attributes: Attributes) -> Problem | None:
    """Find what is wrong with a back end of this shape."""
    channels, groups, kernels = shape[0], attributes["groups"], attributes["kernels"]
    if isinstance(channels, int) and attributes["channels"] not in (None, channels):
        return Problem(
            "structure-mismatch",
            f"the kernels are stated to have {attributes['channels']} channels, the back end has {channels}; "
            f"set channels to {channels} or leave it empty",
            {"channels": attributes["channels"], "back end": channels},
            {"channels": channels},
        )
    if problem := _table_problem(shape, attributes) or _size_problem(shape, attributes):
        return problem
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


def _table_problem(shape: Shape, attributes: Attributes) -> Problem | None:
    table, kernels, channels = attributes["table"], attributes["kernels"], shape[0]
    if not table:
        return None
    if len(table) != channels * kernels or max(table) > 1 or not sum(table) or attributes["groups"] != 1:
        return Problem(
            "structure-mismatch",
            f"a table of {channels} channels and {kernels} kernels has {channels}·{kernels} numbers, 1 where a kernel "
            f"sees a channel and 0 elsewhere, channel by channel, and no groups; this one has {len(table)}",
            {"channels": channels, "kernels": kernels, "table": len(table)},
            {"table": None},
        )
    return None


def _size_problem(shape: Shape, attributes: Attributes) -> Problem | None:
    kernel, dilation = attributes["kernel"], attributes["dilation"]
    if attributes["same"] and any(d * (m - 1) % 2 for m, d in zip(kernel, dilation, strict=True)):
        return Problem(
            "attributes-clash",
            f"a kernel of {'×'.join(map(str, kernel))} cannot keep the size: what it reaches over is odd; take an odd "
            "kernel, or state the padding instead of same",
            {"kernel": kernel},
            {"kernel": tuple(m + (d * (m - 1) % 2) for m, d in zip(kernel, dilation, strict=True))},
        )
    if attributes["map_bias"] and not attributes["vector"]:
        return Problem(
            "attributes-clash",
            "a bias for every map is there for kernels that are as large as the back end and give a vector",
            {"map_bias": True},
            {"map_bias": None},
        )
    if attributes["vector"] and any(m != size for m, size in zip(kernel, shape[1:], strict=True)):
        return Problem(
            "structure-mismatch",
            f"kernels of {'×'.join(map(str, kernel))} give more than one number of {'×'.join(map(str, shape[1:]))}, "
            "and the front end is a vector; leave kernel empty, or make the front end a matrix array",
            {"kernel": kernel, "back end": shape},
            {"kernel": None},
        )
    return None


def _unused_border(shape: Shape, attributes: Attributes) -> Problem | None:
    axes = zip(
        ("layers", "rows", "columns")[1 - len(shape) :],
        shape[1:],
        attributes["kernel"],
        attributes["stride"],
        attributes["padding"],
        attributes["dilation"],
        strict=True,
    )
    for name, size, m, s, p, d in axes:
        room = size + 2 * p - d * (m - 1) - 1
        if not isinstance(room, int) or room < 0:
            continue
        # What is left of the padding is nothing that a person would miss.
        unused = room % s - p
        if unused > 0:
            are = f"{name[:-1]} of the {size} is" if unused == 1 else f"{unused} {name} of the {size} are"
            return Problem(
                "unused-border",
                f"the last {are} never under a kernel of {m} by steps of {s}",
                {"size": size, "kernel": m, "stride": s, "unused": unused},
                severity="note",
            )
    return None
