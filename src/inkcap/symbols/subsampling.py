"""The subsampling connection: windows summed and multiplied by a number that is learnt, as LeNet-5 has them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.stated import WEIGHT_ATTRIBUTES
from inkcap.symbols.symbol import (
    ConnectionSymbol,
    Given,
    Problem,
    Refusal,
    Sample,
    Weight,
)


def subsampling(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Sums every window and multiplies the sums of a channel by one number."""
    window = attributes["window"]
    places: dict[str, Any] = {"stride": attributes["stride"] or window, "padding": (0,) * len(window), "edge": "floor"}
    return op.scale(op.window_sum(y, window=window, **places), given["weight"], per="channel")


def _weights(back: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    return {"weight": Weight(back[:1], 1, 1)}


def _solve(attributes: Attributes, back: PartialShape, front: PartialShape) -> Attributes:
    if attributes["window"] is not None or attributes["stride"] is not None:
        return {}
    sizes = [a // b if a and b and a % b == 0 else None for a, b in zip(back[1:], front[1:], strict=True)]
    return {"window": tuple(sizes)} if None not in sizes else {}


def _back(front: PartialShape, attributes: Attributes) -> PartialShape:
    window = attributes["window"]
    if window is None:
        return (front[0], *(None,) * (len(front) - 1))
    steps = zip(front[1:], window, attributes["stride"] or window, strict=True)
    return (front[0], *(None if count is None else (count - 1) * s + m for count, m, s in steps))


def _problem(shape: Shape, attributes: Attributes) -> Problem | None:
    window, stride = attributes["window"], attributes["stride"] or attributes["window"]
    for size, m, s in zip(shape[1:], window, stride, strict=True):
        if isinstance(size, int) and size >= m and (size - m) % s:
            return Problem(
                "window-does-not-divide",
                f"{size} does not divide into windows of {m} by steps of {s}: {(size - m) % s} would be left over; "
                "choose another window or stride",
                {"size": size, "window": m, "stride": s},
            )
    return None


SUBSAMPLING = ConnectionSymbol(
    id="subsampling",
    title="subsampling",
    mark="Σ",
    formula="w_c·Σ_{window} Y",
    ranks=((2, 2), (3, 3)),
    forward=subsampling,
    weights=_weights,
    solve=_solve,
    back=_back,
    problem=_problem,
    attributes=(
        Attribute("window", "axes", "Window λ×τ: rows and columns that are summed.", letter="λ×τ", axes=0),
        Attribute(
            "stride", "axes", "Steps from window to window; the window itself when empty.", inferred=True, axes=0
        ),
        Attribute(
            "initialiser",
            "choice",
            "How the number of a channel starts.",
            default="uniform",
            choices=("uniform", "normal", "zeros", "ones"),
        ),
        *WEIGHT_ATTRIBUTES,
    ),
    samples=(
        Sample({"window": 2}, (3, 4, 2)),
        Sample({"window": (2, 3), "stride": 1}, (2, 3, 4)),
        Sample({"window": (1, 2, 2)}, (2, 3, 2, 4)),
        Sample({}, (2, 4, 3), front=(2, 2, 1)),
    ),
    refusals=(
        Refusal({"window": 2}, (1, 5, 4), "window-does-not-divide"),
        Refusal({"window": (2, 2)}, (1, 2, 4, 4), "structure-mismatch"),
        Refusal({"window": 6}, (1, 4, 4), "window-too-large"),
        Refusal({}, (1, 4, 4), "missing-attribute"),
        Refusal({"window": 2}, (1, 4, 4), "structure-mismatch", front=(2, 2, 2)),
        Refusal({"window": 2}, (1, 4, 4), "not-floating", dtype="int64"),
    ),
)

SYMBOLS = (SUBSAMPLING,)
