"""The hardwired connection: what is known of images beforehand, without a weight."""

from __future__ import annotations

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.symbol import ConnectionSymbol, Given, Problem, Refusal, Sample

AXES_OF = {"gradient-x": -1, "gradient-y": -2}


def hardwired(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Gives an image as it is, its slope across or down, or its change from layer to layer of the depth.

    A slope is what the right and the left neighbour differ by, zeros beyond the border; a change is what the next
    frame and this one differ by, so there is one layer less.
    """
    kind = attributes["filter"]
    if kind == "gray":
        return y
    if kind == "change":
        return op.difference(y, axis=-3, apart=1)
    border = tuple(int(i - len(y.shape) == AXES_OF[kind]) for i in range(len(y.shape)))
    return op.difference(op.pad(y, before=border, after=border), axis=AXES_OF[kind], apart=2)


def _back(front: PartialShape, attributes: Attributes) -> PartialShape:
    if attributes["filter"] != "change" or len(front) != 4 or front[1] is None:
        return front
    return (front[0], front[1] + 1, *front[2:])


def _problem(shape: Shape, attributes: Attributes) -> Problem | None:
    if attributes["filter"] != "change" or len(shape) == 4:
        return None
    return Problem(
        "structure-mismatch",
        "a change goes from layer to layer of a depth, which a matrix array does not have; draw the frames as a volume "
        "array, or take a gradient",
        {"back end": shape},
        {"filter": "gradient-x"},
    )


HARDWIRED = ConnectionSymbol(
    id="hardwired",
    title="hardwired",
    mark="⊙",
    formula="Y_{j+1} − Y_{j−1}",
    ranks=((2, 2), (3, 3)),
    forward=hardwired,
    back=_back,
    problem=_problem,
    attributes=(
        Attribute(
            "filter",
            "choice",
            "What it gives: the image itself (gray), its slope across or down, or its change along the depth.",
            default="gray",
            choices=("gray", "gradient-x", "gradient-y", "change"),
        ),
    ),
    samples=(
        Sample({"filter": "gradient-x"}, (2, 3, 4)),
        Sample({"filter": "gradient-y"}, (1, 2, 4, 3)),
        Sample({"filter": "change"}, (2, 3, 2, 2)),
        Sample({}, (1, 2, 2)),
    ),
    refusals=(
        Refusal({"filter": "change"}, (1, 3, 3), "structure-mismatch"),
        Refusal({"filter": "change"}, (1, 1, 3, 3), "structure-mismatch"),
        Refusal({}, (1, 3, 3), "rank-mismatch", front_rank=1),
    ),
)

SYMBOLS = (HARDWIRED,)
