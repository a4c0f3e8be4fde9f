"""Connection symbols of matrix capsules: the matrix vote and the class vote."""

from __future__ import annotations

from collections.abc import Mapping

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape, product
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.matrix_capsules import NUMBERS, POSE, not_matrix_capsules
from inkcap.symbols.stated import WEIGHT_ATTRIBUTES
from inkcap.symbols.symbol import (
    ConnectionSymbol,
    Given,
    Refusal,
    Sample,
    Weight,
)


def matrix_vote(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Lets every matrix capsule under a sliding kernel vote for every type of parent: its pose times a matrix.

    The front end is (children, 16·parents + 1, rows, columns): for each child its votes, and last its activation.
    """
    return op.matrix_vote(
        y,
        given["weight"],
        kernel=attributes["kernel"],
        stride=attributes["stride"],
        padding=attributes["padding"],
    )


def class_vote(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Lets every matrix capsule of a map vote for every class; all places share their matrices and add where they are.

    The place is the scaled row and column, added to the first two numbers of the right column of the vote.
    """
    return op.class_vote(y, given["weight"])


def _weights(back: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    children = back[0] // NUMBERS * product(attributes["kernel"])
    return {"weight": Weight((children, attributes["parents"], 4, 4), 4, 4)}


def _class_weights(back: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    return {"weight": Weight((back[0] // NUMBERS, attributes["parents"], 4, 4), 4, 4)}


def _solve(attributes: Attributes, back: PartialShape, front: PartialShape) -> Attributes:
    numbers = front[1]
    if attributes["parents"] is not None or numbers is None or numbers == 1 or numbers % POSE != 1:
        return {}
    return {"parents": numbers // POSE}


def _back(front: PartialShape, attributes: Attributes) -> PartialShape:
    kernel = attributes["kernel"]
    if kernel is None:
        return (None, None, None)
    axes = zip(front[2:], kernel, attributes["stride"], attributes["padding"], strict=True)
    sizes = (count + m - 1 - 2 * p if count is not None and s == 1 else None for count, m, s, p in axes)
    return (None if front[0] is None else front[0] // (kernel[0] * kernel[1]) * NUMBERS, *sizes)


_PARENTS = Attribute("parents", "size", "Types of parents: each gets a vote of every child.", letter="C")
_INITIALISER = Attribute(
    "initialiser",
    "choice",
    "How the weight starts: 'glorot' keeps the spread of the poses, 'uniform' is ±1/2, 'normal' has deviation 0.01.",
    default="glorot",
    choices=("uniform", "he", "glorot", "normal", "zeros", "ones"),
)

MATRIX_VOTE = ConnectionSymbol(
    id="matrix-vote",
    title="matrix vote",
    mark="⊠",
    formula="V_{ij} = M_i·W_{ij}, and a_i",
    ranks=((2, 3),),
    forward=matrix_vote,
    weights=_weights,
    solve=_solve,
    back=_back,
    problem=not_matrix_capsules,
    attributes=(
        _PARENTS,
        Attribute("kernel", "axes", "Kernel height m and width n.", letter="m×n"),
        Attribute("stride", "axes", "Stride s: steps from position to position.", default=(1, 1), letter="s"),
        Attribute("padding", "axes", "Capsules of zeros added around the back end.", default=(0, 0), minimum=0),
        _INITIALISER,
        *WEIGHT_ATTRIBUTES,
    ),
    samples=(
        Sample({"parents": 2, "kernel": (2, 1)}, (34, 2, 2), front=(4, 33, 1, 2)),
        Sample({"kernel": (1, 2), "stride": (2, 1), "padding": (0, 1)}, (17, 3, 1), front=(2, 17, 2, 2)),
    ),
    refusals=(
        Refusal({"parents": 2, "kernel": (2, 2)}, (35, 3, 3), "structure-mismatch", front_rank=3),
        Refusal({"parents": 2, "kernel": (4, 2)}, (17, 3, 3), "window-too-large", front_rank=3),
        Refusal({"parents": 2}, (17, 3, 3), "missing-attribute", front_rank=3),
        Refusal({"kernel": (2, 2)}, (17, 3, 3), "missing-attribute", front_rank=3),
        Refusal({"parents": 2, "kernel": (2, 2)}, (17, 3, 3), "rank-mismatch", front_rank=2),
        Refusal({"parents": 2, "kernel": (2, 2)}, (17, 3, 3), "structure-mismatch", front=(4, 49, 2, 2)),
        Refusal({"parents": 2, "kernel": (2, 2)}, (17, 3, 3), "not-floating", dtype="int64", front_rank=3),
    ),
)

CLASS_VOTE = ConnectionSymbol(
    id="class-vote",
    title="class vote",
    mark="⊡",
    formula="V_{ij} = M_i·W_{t(i)j} + place of i, and a_i",
    ranks=((2, 2),),
    forward=class_vote,
    weights=_class_weights,
    solve=_solve,
    problem=not_matrix_capsules,
    attributes=(_PARENTS, _INITIALISER, *WEIGHT_ATTRIBUTES),
    samples=(
        Sample({"parents": 2}, (34, 2, 1)),
        Sample({}, (17, 1, 3), front=(3, 17, 1)),
    ),
    refusals=(
        Refusal({"parents": 2}, (18, 2, 2), "structure-mismatch"),
        Refusal({}, (17, 2, 2), "missing-attribute"),
        Refusal({"parents": 2}, (17, 2, 2), "rank-mismatch", front_rank=1),
        Refusal({"parents": 2}, (17, 2, 2), "structure-mismatch", front=(4, 49, 1)),
        Refusal({"parents": 2}, (17, 2, 2), "not-floating", dtype="int64"),
    ),
)

SYMBOLS = (MATRIX_VOTE, CLASS_VOTE)
