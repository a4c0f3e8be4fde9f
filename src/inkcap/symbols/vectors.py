"""Symbols of vector capsules: squash, length, the vote connection, and routing by agreement.

n capsules of a numbers each are a 2D structure of one channel, n rows and a columns. The votes of m children for n
parents have m channels, so that a port that gathers lays the children of several connections one behind another.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.port import MAIN_PORT, Port
from inkcap.symbols.stated import INITIALISER_ATTRIBUTE, WEIGHT_ATTRIBUTES
from inkcap.symbols.symbol import (
    CapsuleSymbol,
    ConnectionSymbol,
    Given,
    Glyph,
    Problem,
    Refusal,
    Sample,
    Weight,
    keep_shape,
)

_INK, _WASH = "#0b6b6b", "#e0f3f1"


def squash(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Shortens every vector to a length below 1 and keeps its direction (Eq. 1); zero stays zero."""
    atoms = attributes["atoms"]
    if atoms is None:
        return op.squash(u)
    vectors = op.reshape(u, shape=(*u.shape[:-1], u.shape[-1] // atoms, atoms))
    return op.reshape(op.squash(vectors), shape=u.shape)


def length(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Gives the length of every row: how sure a capsule is of what it stands for."""
    return op.norm(u, axes=(-3, -1))


def vote(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Multiplies every child by a matrix for each parent, and sums nothing: the votes of m children for n parents."""
    return op.vote(given["weight"], y)


def routing(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Sums the votes for every parent, most for those that agree, and squashes: routing by agreement."""
    axis = -1 if attributes["normalise"] == "parents" else -2
    coefficients = op.couple(u, *given.values(), iterations=attributes["iterations"], axis=axis)
    total = op.combine(coefficients, u)
    return op.squash(op.bias(total, given["offset"], per="element") if given else total)


def _whole_vectors(shape: Shape, attributes: Attributes) -> Problem | None:
    atoms, width = attributes["atoms"], shape[-1]
    if atoms is None or not isinstance(width, int) or width % atoms == 0:
        return None
    return Problem(
        "structure-mismatch",
        f"{width} numbers do not divide into vectors of {atoms}; set atoms to a divisor, or leave it empty for one",
        {"numbers": width, "atoms": atoms},
        {"atoms": width},
    )


def _rows(front: PartialShape, attributes: Attributes) -> PartialShape:
    return (None, front[0], None)


def _weights(back: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    children, width = (1 if attributes["shared"] else back[1]), back[2]
    return {"weight": Weight((children, attributes["parents"], attributes["atoms"], width), width, attributes["atoms"])}


def _solve_vote(attributes: Attributes, back: PartialShape, front: PartialShape) -> Attributes:
    found: dict[str, Any] = {"parents": front[1], "atoms": front[2]}
    return {name: size for name, size in found.items() if attributes[name] is None and size is not None}


def _children(front: PartialShape, attributes: Attributes) -> PartialShape:
    return (1, front[0], None)


def _parent_offset(shapes: Mapping[str, Shape], attributes: Attributes) -> Mapping[str, Weight]:
    return {"offset": Weight((1, *shapes["in"][1:]), initialiser="zeros")} if attributes["biased"] else {}


def _votes(front: PartialShape, attributes: Attributes) -> PartialShape:
    return (None, *front[1:])


SQUASH = CapsuleSymbol(
    id="squash",
    title="squash",
    family="vectors",
    ranks=(1, 2),
    glyph=Glyph("M-.3 .3L.08 -.08M.08 -.08H-.08M.08 -.08V.08M.14 -.3A.3 .3 0 0 1 .3 -.14", _INK, _WASH),
    formula="Y = U·‖U‖/(1+‖U‖²)",
    forward=squash,
    back=keep_shape,
    problem=_whole_vectors,
    own_attributes=(
        Attribute(
            "atoms",
            "size",
            "Numbers a of one vector; left empty, a row is one vector, and so is a whole 1D-capsule.",
            inferred=True,
            letter="a",
        ),
    ),
    samples=(
        Sample({}, (5,)),
        Sample({"atoms": 2}, (6,)),
        Sample({}, (1, 3, 4)),
        Sample({"atoms": 3}, (2, 2, 6)),
    ),
    refusals=(
        Refusal({"atoms": 4}, (6,), "structure-mismatch"),
        Refusal({}, (3,), "not-floating", dtype="int64"),
    ),
)

LENGTH = CapsuleSymbol(
    id="length",
    title="length",
    family="vectors",
    ranks=(2,),
    glyph=Glyph("M-.34 -.18V.18M.34 -.18V.18M-.34 0H.34", _INK, _WASH),
    formula="Y_j = ‖U_j‖",
    forward=length,
    back=_rows,
    output_ranks={2: 1},
    usual_loss="margin",
    samples=(Sample({}, (1, 4, 3)), Sample({}, (2, 3, 2))),
    refusals=(
        Refusal({"height": 5}, (1, 4, 3), "structure-mismatch"),
        Refusal({}, (1, 4, 3), "not-floating", dtype="int64"),
    ),
)

ROUTING = CapsuleSymbol(
    id="routing",
    title="routing",
    family="vectors",
    ranks=(2,),
    glyph=Glyph("M-.34 -.28L.26 -.14M-.34 0L.26 -.14M-.34 .28L.26 .14M-.34 0L.26 .14", _INK, _WASH),
    formula="Y_j = squash(Σ_i c_{ij}·U_{ij}), c = softmax(b), b_{ij} += U_{ij}·Y_j",
    forward=routing,
    ports=(Port(MAIN_PORT, "Votes of the children for every parent, un-summed, one child behind another.", "gathers"),),
    parameters=_parent_offset,
    back=_votes,
    own_attributes=(
        Attribute("iterations", "size", "How often the coefficients are computed.", default=3, maximum=100, letter="r"),
        Attribute(
            "normalise",
            "choice",
            "Over what the coefficients sum to 1: over the parents of a child, or over the children of a parent.",
            default="parents",
            choices=("parents", "children"),
        ),
        Attribute("biased", "flag", "Whether every parent adds a vector that it learns to its votes.", default=False),
    ),
    samples=(
        Sample({}, (4, 3, 2)),
        Sample({"iterations": 1}, (3, 2, 2)),
        Sample({"iterations": 4, "normalise": "children"}, (3, 2, 3)),
        Sample({"biased": True}, (3, 2, 2)),
    ),
    refusals=(
        Refusal({"height": 4}, (4, 3, 2), "structure-mismatch"),
        Refusal({}, (4, 3, 2), "not-floating", dtype="int64"),
    ),
)

VOTE = ConnectionSymbol(
    id="vote",
    title="vote",
    mark="∨",
    formula="W_{ij} × Y_i",
    ranks=((2, 2),),
    forward=vote,
    weights=_weights,
    solve=_solve_vote,
    back=_children,
    attributes=(
        Attribute("parents", "size", "Parents n that every child votes for.", letter="n"),
        Attribute("atoms", "size", "Numbers b of a vote, and so of a parent.", letter="b"),
        Attribute("shared", "flag", "Whether all children share one matrix for each parent.", default=False),
        INITIALISER_ATTRIBUTE,
        *WEIGHT_ATTRIBUTES,
    ),
    samples=(
        Sample({"parents": 2, "atoms": 3}, (1, 4, 2)),
        Sample({}, (1, 2, 3), front=(2, 3, 2)),
        Sample({"parents": 2, "atoms": 2, "shared": True}, (1, 3, 2)),
    ),
    refusals=(
        Refusal({"parents": 2}, (1, 4, 2), "missing-attribute"),
        Refusal({"parents": 2, "atoms": 3}, (2, 4, 2), "structure-mismatch"),
        Refusal({"parents": 2, "atoms": 3}, (1, 4, 2), "structure-mismatch", front=(4, 3, 3)),
        Refusal({"parents": 2, "atoms": 3}, (4,), "rank-mismatch", front_rank=2),
        Refusal({"parents": 2, "atoms": 3}, (1, 4, 2), "not-floating", dtype="int64"),
    ),
)

CAPSULE_SYMBOLS = (SQUASH, LENGTH, ROUTING)
CONNECTION_SYMBOLS = (VOTE,)
