"""Connection symbols: transfer, full, scale, amplifying, and reshaping in its own file."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape, partial, product
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.reshaping import RESHAPING
from inkcap.symbols.stated import INITIALISER_ATTRIBUTE, WEIGHT_ATTRIBUTES
from inkcap.symbols.symbol import (
    SAME_RANKS,
    ConnectionSymbol,
    Given,
    Problem,
    Refusal,
    Sample,
    Weight,
    keep_shape,
)


def transfer(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Carries the back end unchanged; no weight is stored, the identity is only its meaning."""
    return op.cast(y, dtype=attributes["cast"]) if attributes["cast"] else y


def full(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Multiplies the back end by a matrix: every element enters every element.

    Item by item it multiplies every row of a matrix array, or every matrix array of a list, by the same matrix.
    """
    if attributes["items"] and len(y.shape) == 4:
        y = op.permute(y, order=(1, 0, 2, 3)) if attributes["list"] == "depth" else y
        y = op.reshape(y, shape=(1, y.shape[0], product(y.shape[1:])))
    return op.matmul(given["weight"], y)


def scale(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Multiplies the back end by one number, by one per channel, or element by element."""
    return op.scale(y, given["weight"], per=attributes["per"] if len(y.shape) > 1 else _of_vector(attributes))


def amplifying(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Multiplies a scalar by the strength w."""
    return op.scale(y, given["weight"], per="one")


def _full_weights(back: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    return {"weight": Weight((attributes["height"], attributes["width"]), attributes["width"], attributes["height"])}


def solve_matrix(attributes: Attributes, back: PartialShape, front: PartialShape) -> Attributes:
    """Solve a matrix's height and width from the vectors at its ends."""
    found: dict[str, Any] = {}
    if attributes["height"] is None and front[0] is not None:
        found["height"] = front[0]
    if attributes["width"] is None and back[0] is not None:
        found["width"] = back[0]
    return found


def back_of_matrix(front: PartialShape, attributes: Attributes) -> PartialShape:
    """Give the vector that a matrix takes."""
    return (attributes["width"],)


def _item_size(back: PartialShape, along: str) -> int | None:
    """Give how many numbers an item has: a vector, a row of a matrix array, or a matrix array of a list."""
    item = back[-1:] if len(back) < 4 else (back[along == "channels"], *back[2:])
    return None if None in item else math.prod(size for size in item if size is not None)


def _full_solve(attributes: Attributes, back: PartialShape, front: PartialShape) -> Attributes:
    found: dict[str, Any] = {} if attributes["items"] is not None else {"items": len(front) > 1}
    return {**found, **solve_matrix(attributes, (_item_size(back, attributes["list"]),), front[-1:])}


def _full_back(front: PartialShape, attributes: Attributes) -> PartialShape:
    return (*front[:-1], attributes["width"])


def _full_problem(shape: Shape, attributes: Attributes) -> Problem | None:
    size = _item_size(partial(shape), attributes["list"])
    if size is not None and attributes["width"] not in (None, size):
        return Problem(
            "structure-mismatch",
            f"the matrix is {attributes['height']}×{attributes['width']}, so it takes a vector of "
            f"{attributes['width']}, but the back end has {size}; set width to {size} or leave it empty",
            {"width": attributes["width"], "back end": size},
            {"width": size},
        )
    return None


def _of_vector(attributes: Attributes) -> str:
    # A vector and a neuron have no channels: one number an element is what is meant.
    return "one" if attributes["per"] == "one" else "element"


def _scale_weights(back: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    per = attributes["per"] if len(back) > 1 else _of_vector(attributes)
    shape = {"one": (), "channel": back[:1], "element": back}[per]
    return {"weight": Weight(shape, 1, 1)}


def _amplifying_weights(back: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    return {"weight": Weight((), 1, 1)}


CAST_ATTRIBUTE = Attribute("cast", "dtype", "Turn the numbers into this data type on the way.", inferred=True)
STRENGTH_ATTRIBUTE = Attribute(
    "strength",
    "number",
    "Strength w with which training starts; drawn at random when empty.",
    inferred=True,
    letter="w",
)

TRANSFER = ConnectionSymbol(
    id="transfer",
    title="transfer",
    mark="→",
    formula="Y",
    ranks=SAME_RANKS,
    forward=transfer,
    back=keep_shape,
    structure_preserving=True,
    attributes=(CAST_ATTRIBUTE,),
    samples=(Sample({}, (4,)), Sample({}, (2, 3, 2)), Sample({"cast": "float32"}, (3,)), Sample({}, ())),
    refusals=(
        Refusal({}, (4,), "structure-mismatch", front=(5,)),
        Refusal({}, (2, 3, 3), "rank-mismatch", front_rank=1),
    ),
)

FULL = ConnectionSymbol(
    id="full",
    title="full",
    mark="×",
    formula="W × Y",
    ranks=((1, 1), (2, 2), (3, 2)),
    forward=full,
    weights=_full_weights,
    solve=_full_solve,
    back=_full_back,
    problem=_full_problem,
    attributes=(
        Attribute("height", "size", "Rows M of the matrix: the dimension of the front end.", letter="M"),
        Attribute("width", "size", "Columns N of the matrix: the dimension of the back end.", letter="N"),
        Attribute("items", "flag", "Every item of a list is multiplied by the same matrix.", inferred=True),
        Attribute("list", "choice", "What a volume array lists.", default="channels", choices=("channels", "depth")),
        INITIALISER_ATTRIBUTE,
        *WEIGHT_ATTRIBUTES,
    ),
    samples=(
        Sample({"height": 3}, (4,)),
        Sample({}, (2,), front=(5,)),
        Sample({"height": 2}, (1, 3, 4)),
        Sample({}, (3, 2, 1, 2), front=(1, 3, 2)),
        Sample({"height": 2, "list": "depth"}, (3, 2, 1, 2), front=(1, 2, 2)),
    ),
    refusals=(
        Refusal({}, (4,), "missing-attribute"),
        Refusal({"height": 3, "width": 5}, (4,), "structure-mismatch"),
        Refusal({"height": 3}, (4,), "structure-mismatch", front=(5,)),
        Refusal({"height": 3}, (1, 2, 2), "rank-mismatch", front_rank=1),
        Refusal({"height": 3}, (1, 2, 2), "structure-mismatch", front=(1, 3, 3)),
    ),
)

SCALE = ConnectionSymbol(
    id="scale",
    title="scale",
    mark="·",
    formula="w·Y",
    ranks=SAME_RANKS,
    forward=scale,
    weights=_scale_weights,
    back=keep_shape,
    structure_preserving=True,
    attributes=(
        Attribute(
            "per",
            "choice",
            "How many numbers: one, one per channel, or one per element.",
            default="one",
            choices=("one", "channel", "element"),
        ),
        Attribute(
            "initialiser",
            "choice",
            "How the weight starts.",
            default="ones",
            choices=("uniform", "normal", "zeros", "ones"),
        ),
        *WEIGHT_ATTRIBUTES,
    ),
    samples=(
        Sample({}, (3,)),
        Sample({"per": "channel"}, (2, 3, 2)),
        Sample({"per": "element"}, (2, 2, 2)),
        Sample({"per": "channel"}, (2, 2, 1, 2)),
        Sample({}, ()),
    ),
    refusals=(
        Refusal({}, (3,), "structure-mismatch", front=(4,)),
        Refusal({}, (3,), "not-floating", dtype="int64"),
    ),
)

AMPLIFYING = ConnectionSymbol(
    id="amplifying",
    title="amplifying",
    mark="·",
    formula="w·y",
    ranks=((0, 0),),
    forward=amplifying,
    weights=_amplifying_weights,
    back=keep_shape,
    structure_preserving=True,
    attributes=(
        STRENGTH_ATTRIBUTE,
        Attribute("arrow", "flag", "Drawn with an arrow; without one it is the plain amplifying line.", default=True),
        Attribute(
            "initialiser",
            "choice",
            "How the strength starts when none is stated.",
            default="uniform",
            choices=("uniform", "normal", "zeros", "ones"),
        ),
        *WEIGHT_ATTRIBUTES,
    ),
    samples=(Sample({}, ()), Sample({"strength": 2.5, "arrow": False}, ())),
    refusals=(Refusal({}, (1,), "rank-mismatch", front_rank=0),),
)

SYMBOLS = (TRANSFER, RESHAPING, FULL, SCALE, AMPLIFYING)
