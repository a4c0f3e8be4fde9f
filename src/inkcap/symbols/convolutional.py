"""The convolutional connection."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape, product
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.convolution_problems import find_problem
from inkcap.symbols.stated import INITIALISER_ATTRIBUTE, WEIGHT_ATTRIBUTES
from inkcap.symbols.symbol import (
    ConnectionSymbol,
    Given,
    Refusal,
    Sample,
    Weight,
)


def convolution(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Slides k kernels of m×n over the back end and sums over its channels.

    ``flip`` turns the kernels by 180°: then it is the paper's convolution (Eq. 24); without it, it is the
    cross-correlation that every framework computes. Kernels as large as the back end may give a vector.
    """
    kernel, kernels, table = given["weight"], attributes["kernels"], attributes["table"]
    if table:
        kernel = op.place_kernels(kernel, index=_listed(table, kernels), kernels=kernels, channels=y.shape[0])
    if attributes["flip"]:
        kernel = op.flip(kernel, axes=len(attributes["kernel"]))
    places: dict[str, Any] = {name: attributes[name] for name in ("stride", "padding", "dilation", "groups")}
    if table:
        places["pairs"] = sum(table)
    made = op.convolve(y, kernel, **places)
    if attributes["vector"]:
        made = op.reshape(made, shape=(kernels,))
    # A bias for every pair of a kernel and a map that it sees; what enters the sum is theirs.
    if not attributes["map_bias"]:
        return made
    return op.bias(made, op.total(given["shift"], axes=(-1,), keep=False), per="element")


def _listed(table: tuple[int, ...], kernels: int) -> tuple[int, ...]:
    """Give the places of the listed pairs in a kernel, kernel by kernel, from a table that goes channel by channel."""
    channels = len(table) // kernels
    return tuple(k * channels + c for k in range(kernels) for c in range(channels) if table[c * kernels + k])


def _weights(back: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    groups, kernels, kernel, table = (attributes[name] for name in ("groups", "kernels", "kernel", "table"))
    seen = product((back[0] // groups, *kernel))
    shape: Shape = (kernels, back[0] // groups, *kernel)
    if table:
        shape, seen = (sum(table), *kernel), max(sum(table) // kernels, 1) * product(kernel)
    weights = {"weight": Weight(shape, seen, kernels // groups * product(kernel))}
    if attributes["map_bias"]:
        maps = back[0] * (kernel[0] if len(kernel) == 3 else 1)
        weights["shift"] = Weight((kernels, maps), seen, 1)
    return weights


def _solve(attributes: Attributes, back: PartialShape, front: PartialShape) -> Attributes:
    found: dict[str, Any] = {}
    if attributes["vector"] is None:
        found["vector"] = len(front) == 1
    if attributes["channels"] is None and back[0] is not None:
        found["channels"] = back[0]
    if attributes["depthwise"] and back[0] is not None and attributes["groups"] != back[0]:
        found["groups"] = back[0]
    if attributes["kernels"] is None:
        several = front[0] if front[0] is not None else back[0] if attributes["depthwise"] else None
        found |= {} if several is None else {"kernels": several}
    # A kernel that keeps the size may have any odd size: that has to be said.
    if attributes["kernel"] is None and not attributes["same"]:
        places = zip(*(attributes[name] for name in ("stride", "padding", "dilation")), strict=True)
        counts = front[1:] if len(front) > 1 else (1,) * len(back[1:])
        strides = ((1, *rest) if len(front) == 1 else (s, *rest) for s, *rest in places)
        ends = zip(back[1:], counts, strides, strict=True)
        sizes = [_kernel_size(size, count, *place) for size, count, place in ends]
        if all(size is not None for size in sizes):
            found["kernel"] = tuple(sizes)
    elif attributes["kernel"] is not None and attributes["same"]:
        around = tuple(d * (m - 1) // 2 for m, d in zip(attributes["kernel"], attributes["dilation"], strict=True))
        found |= {} if attributes["padding"] == around else {"padding": around}
    return found


def _kernel_size(size: int | None, count: int | None, stride: int, padding: int, dilation: int) -> int | None:
    # With a stride, several kernels give the same count of positions: then the person has to say which.
    if size is None or count is None or stride != 1:
        return None
    reach = size + 2 * padding - count
    return reach // dilation + 1 if reach >= 0 and reach % dilation == 0 else None


def _back(front: PartialShape, attributes: Attributes) -> PartialShape:
    axes_count = len(attributes["stride"])
    if attributes["kernel"] is None or (attributes["same"] and len(front) == 1):
        return (attributes["channels"], *(None,) * axes_count)
    axes = zip(
        front[1:] if len(front) > 1 else (1,) * axes_count,
        attributes["kernel"],
        attributes["stride"],
        attributes["padding"],
        attributes["dilation"],
        strict=True,
    )
    sizes = (count + d * (m - 1) - 2 * p if count is not None and s == 1 else None for count, m, s, p, d in axes)
    return (attributes["channels"], *sizes)


CONVOLUTION = ConnectionSymbol(
    id="convolution",
    title="convolutional",
    mark="∗",
    formula="W ∗ Y",
    ranks=((2, 2), (3, 3), (2, 1), (3, 1)),
    forward=convolution,
    weights=_weights,
    solve=_solve,
    back=_back,
    problem=find_problem,
    attributes=(
        Attribute("kernels", "size", "Kernel number k: the channels of the front end.", letter="k"),
        Attribute("kernel", "axes", "Kernel height m and width n, a depth before them.", letter="m×n", axes=0),
        Attribute("channels", "size", "Channel number d of the back end.", inferred=True, letter="d"),
        Attribute("stride", "axes", "Stride s: steps from position to position.", default=1, letter="s", axes=0),
        Attribute("padding", "axes", "Zeros added around the back end.", default=0, minimum=0, axes=0),
        Attribute("same", "flag", "Padding that keeps the size where the stride is 1.", default=False),
        Attribute("dilation", "axes", "Distance between the numbers under a kernel.", default=1, axes=0),
        Attribute("groups", "size", "Groups of channels that are convolved apart.", default=1),
        Attribute("depthwise", "flag", "Every channel is a group of its own.", default=False),
        Attribute(
            "table",
            "list",
            "Which kernel sees which channel, 1 or 0, channel by channel: only those pairs have weights.",
            inferred=True,
        ),
        Attribute("flip", "flag", "Turn kernels by 180° (the paper's ∗) before sliding them.", default=False),
        Attribute("vector", "flag", "The kernels are as large as the back end and give a vector.", inferred=True),
        Attribute("map_bias", "flag", "A bias for every map that a kernel sees, into a vector.", default=False),
        INITIALISER_ATTRIBUTE,
        *WEIGHT_ATTRIBUTES,
    ),
    samples=(
        Sample({"kernels": 3, "kernel": (2, 3)}, (2, 4, 5)),
        Sample({"kernels": 2, "kernel": (2, 2), "flip": True}, (2, 3, 3)),
        Sample({"kernels": 4, "kernel": (3, 3), "stride": (2, 1), "padding": (1, 2), "groups": 2}, (2, 5, 4)),
        Sample({"kernels": 2, "kernel": (2, 2), "dilation": (2, 1), "stride": (2, 2)}, (1, 6, 5)),
        Sample({"kernels": 2, "kernel": (2, 1, 2), "stride": (1, 1, 2), "padding": (1, 0, 0)}, (2, 2, 2, 3)),
        Sample({"kernels": 1, "kernel": 2, "flip": True}, (1, 2, 3, 2)),
        Sample({"kernel": 3, "same": True, "depthwise": True}, (2, 3, 2)),
        Sample({"kernels": 3, "kernel": 2, "table": (1, 0, 1, 0, 1, 1)}, (2, 3, 3)),
        Sample({"kernels": 2, "map_bias": True}, (1, 2, 2, 2), front=(2,)),
        Sample({}, (2, 2, 3), front=(3,)),
    ),
    refusals=(
        Refusal({"kernels": 2, "kernel": (6, 2)}, (1, 5, 5), "window-too-large"),
        Refusal({"kernels": 2, "kernel": (2, 2)}, (1, 3, 5, 5), "structure-mismatch"),
        Refusal({"kernels": 3, "kernel": (2, 2), "groups": 2}, (2, 5, 5), "groups-do-not-divide"),
        Refusal({"kernels": 2, "kernel": (2, 2), "channels": 3}, (2, 5, 5), "structure-mismatch"),
        Refusal({"kernels": 2}, (2, 5, 5), "missing-attribute"),
        Refusal({"same": True}, (2, 5, 5), "missing-attribute", front=(2, 5, 5)),
        Refusal({"kernels": 2, "kernel": (2, 2)}, (2, 5, 5), "structure-mismatch", front_rank=1),
        Refusal({"kernels": 2, "kernel": (2, 2)}, (2, 5, 5), "rank-mismatch", front_rank=3),
        Refusal({"kernels": 2, "kernel": (2, 2)}, (2, 5, 5), "structure-mismatch", front=(2, 5, 5)),
        Refusal({"kernels": 2, "kernel": 2, "same": True}, (2, 5, 5), "attributes-clash"),
        Refusal({"kernels": 2, "kernel": 3, "map_bias": True}, (2, 5, 5), "attributes-clash"),
        Refusal({"kernels": 2, "kernel": 3, "table": (1, 1, 1)}, (2, 5, 5), "structure-mismatch"),
        Refusal({"kernels": 2, "kernel": (2, 2)}, (2, 5, 5), "not-floating", dtype="int64"),
    ),
)

SYMBOLS = (CONVOLUTION,)
