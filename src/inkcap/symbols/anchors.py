"""Anchors: the boxes about every place of a map, which a detector corrects; and what states them."""

from __future__ import annotations

import math
from itertools import product as pairs
from typing import Any

from inkcap.operations import ShapeError, Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import Shape
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.port import Port
from inkcap.symbols.symbol import CapsuleSymbol, Given, Glyph, Problem, Refusal, Sample

INK, WASH = "#8a4b12", "#f8ecdf"
Box = tuple[float, float, float, float]


def numbers(text: str) -> tuple[float, ...]:
    """Read numbers that a text lists, with spaces or commas between them."""
    try:
        found = tuple(float(word) for word in text.replace(",", " ").split())
    except ValueError:
        raise ValueError(f"must list numbers with spaces between them, such as '0.5 1 2', not {text!r}") from None
    if not found or not all(math.isfinite(number) and number > 0 for number in found):
        raise ValueError(f"must list numbers above 0, such as '0.5 1 2', not {text!r}")
    return found


def listed(value: Any) -> tuple[float, ...]:
    """Give the numbers that an attribute lists; one that is not stated yet has none."""
    if not isinstance(value, str):
        raise ShapeError("the list of numbers is not known")
    return numbers(value)


def anchors(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Gives the boxes about every place of a map, row by row: x1, y1, x2, y2 in pixels of the picture.

    Only the sizes of the map count, not its numbers.
    """
    stated = attributes["stride"]
    # The shape does not depend on a stride that is not known yet.
    stride = float(stated) if isinstance(stated, int | float) else 1.0
    return anchors_of(u, listed(attributes["scales"]), stride, attributes)


def anchors_of(map: Traced, scales: tuple[float, ...], stride: float | None, attributes: Attributes) -> Traced:
    """Trace the anchors of a map; without a stride it is the picture's size by the map's."""
    steps: tuple[Any, Any] = (stride, stride)
    if stride is None:
        picture = attributes["picture"]
        # Where the map is not known yet, nothing that is asked depends on it.
        down, right = (float(p / m) if isinstance(m, int) else 1.0 for p, m in zip(picture, map.shape[1:], strict=True))
        steps = (down, right)
    boxes = base_boxes(scales, listed(attributes["ratios"]), steps[0], attributes)
    return op.anchors(map, boxes=boxes, stride=steps, place=0.5 if attributes["place"] == "centre" else 0.0)


def base_boxes(
    scales: tuple[float, ...], ratios: tuple[float, ...], stride: float, attributes: Attributes
) -> tuple[Box, ...]:
    """Give the boxes about a place at 0, 0: every ratio with every scale, or each with its own."""
    if attributes["paired"] and len(scales) != len(ratios):
        raise ShapeError(f"{len(scales)} scales and {len(ratios)} ratios are no pairs; state as many of both")
    chosen = zip(ratios, scales, strict=True) if attributes["paired"] else pairs(ratios, scales)
    return tuple(_base_box(ratio, scale, stride, attributes["rounding"]) for ratio, scale in chosen)


def _base_box(ratio: float, scale: float, stride: float, rounding: str) -> Box:
    width, height = scale / math.sqrt(ratio), scale * math.sqrt(ratio)
    if rounding == "cell":
        cell = round(stride / math.sqrt(ratio))
        width, height = cell * scale / stride, round(cell * ratio) * scale / stride
    corner = (-width / 2, -height / 2)
    if rounding == "corners":
        corner = (float(round(corner[0])), float(round(corner[1])))
    return (*corner, -corner[0], -corner[1])


def count_of(scales: tuple[float, ...], attributes: Attributes) -> int:
    """Count the anchors at a place of a map with so many scales."""
    return len(scales) if attributes["paired"] else len(scales) * len(listed(attributes["ratios"]))


def _pairs(shape: Shape, attributes: Attributes) -> Problem | None:
    scales, ratios = listed(attributes["scales"]), listed(attributes["ratios"])
    if not attributes["paired"] or len(scales) == len(ratios):
        return None
    return Problem(
        "structure-mismatch",
        f"{len(scales)} scales and {len(ratios)} ratios are no pairs; state as many of both, or let every scale have "
        "every ratio",
        {"scales": len(scales), "ratios": len(ratios)},
        {"paired": False},
    )


RATIOS = Attribute(
    "ratios", "text", "Ratios height/width of the anchors, with spaces between them.", default="1", reads=numbers
)
PAIRED = Attribute(
    "paired",
    "flag",
    "Whether each scale has the ratio at the same place of the list alone, instead of every scale every ratio.",
    default=False,
)
ROUNDING = Attribute(
    "rounding",
    "choice",
    "What of an anchor is whole: nothing; its corners; or the box of one cell, stride×stride, before it is scaled.",
    default="none",
    choices=("none", "corners", "cell"),
)
PLACE = Attribute(
    "place",
    "choice",
    "Where an anchor stands: about the centre of its cell of stride×stride pixels, or about the corner.",
    default="centre",
    choices=("centre", "corner"),
)
SCALES_HELP = "Scales of the anchors in pixels, the roots of their areas, with spaces between them"

ANCHORS = CapsuleSymbol(
    id="anchors",
    title="anchors",
    family="ports",
    items="anchors",
    ranks=(2,),
    glyph=Glyph("M-.3 -.16H.3V.16H-.3ZM-.16 -.3H.16V.3H-.16ZM-.03 0H.03", INK, WASH),
    formula="Y = s·(j, i, j, i) + boxes, for every place i, j of U",
    forward=anchors,
    ports=(Port("in", "The map about whose places the anchors stand; only its sizes count.", kind="single"),),
    problem=_pairs,
    own_attributes=(
        Attribute("scales", "text", f"{SCALES_HELP}.", reads=numbers),
        RATIOS,
        Attribute("stride", "number", "Pixels s of the picture between two places of the map.", minimum=1e-3),
        PAIRED,
        ROUNDING,
        PLACE,
    ),
    samples=(
        Sample({"scales": "8 16", "ratios": "0.5 1 2", "stride": 4}, (2, 2, 3)),
        Sample({"scales": "20 30 20", "ratios": "1 1 2", "stride": 8, "paired": True, "place": "corner"}, (1, 2, 2)),
        Sample({"scales": "128", "ratios": "0.5 2", "stride": 16, "rounding": "cell"}, (1, 1, 2)),
        Sample({"scales": "32", "ratios": "0.5 2", "stride": 4, "rounding": "corners"}, (1, 2, 1)),
    ),
    refusals=(
        Refusal({"scales": "8 16", "ratios": "1", "stride": 4, "paired": True}, (1, 2, 2), "structure-mismatch"),
        Refusal({"scales": "8", "rounding": "cell"}, (1, 2, 2), "missing-attribute"),
        Refusal({"stride": 8}, (1, 2, 2), "missing-attribute"),
        Refusal({"scales": "8", "stride": 4}, (1, 2, 2), "not-floating", dtype="int64"),
    ),
)

SYMBOLS = (ANCHORS,)
