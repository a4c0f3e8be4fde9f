"""Capsule symbols that work on several numbers together: maxout, the softmax over groups and that over positions."""

from __future__ import annotations

from collections.abc import Callable

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape, product
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.symbol import CapsuleSymbol, Given, Glyph, Problem, Refusal, Sample, keep_shape


def maxout(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Gives the largest of each few elements or channels in a row; the first of equal ones counts."""
    return op.piece_max(u, pieces=attributes["pieces"])


def group_softmax(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Turns each few scores in a row into probabilities that sum to one: elements of a vector, or channels."""
    size, axes = attributes["group"], len(u.shape)
    if attributes["apart"]:
        groups = op.reshape(u, shape=(size, u.shape[0] // size, *u.shape[1:]))
        return op.reshape(op.softmax(groups, axis=-axes - 1), shape=u.shape)
    groups = op.reshape(u, shape=(u.shape[0] // size, size, *u.shape[1:]))
    return op.reshape(op.softmax(groups, axis=-axes), shape=u.shape)


def position_softmax(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Turns all scores of a map into probabilities that sum to one: one position of many, as a vector."""
    return op.softmax(op.reshape(u, shape=(product(u.shape),)), axis=-1)


def _whole_groups(name: str) -> Callable[[Shape, Attributes], Problem | None]:
    """Make the check that the first axis divides into groups of the size that an attribute states."""

    def problem(shape: Shape, attributes: Attributes) -> Problem | None:
        count, size = shape[0], attributes[name]
        if not isinstance(count, int) or count % size == 0:
            return None
        fitting = max(n for n in range(1, min(size, count) + 1) if count % n == 0)
        message = f"{count} do not divide into groups of {size}; {fitting} would do"
        return Problem("groups-do-not-divide", message, {"count": count, name: size}, {name: fitting})

    return problem


def _all_pieces(front: PartialShape, attributes: Attributes) -> PartialShape:
    pieces = attributes["pieces"]
    return (None if front[0] is None or pieces is None else front[0] * pieces, *front[1:])


MAXOUT = CapsuleSymbol(
    id="maxout",
    title="maxout",
    family="activation",
    ranks=(1, 2, 3),
    glyph=Glyph("M-.34 -.2L-.12 .18L.14 .14L.34 -.24", "#5a3fd0", "#ece8fb"),
    formula="Y_i = max(U_{pi}, …, U_{pi+p−1})",
    forward=maxout,
    back=_all_pieces,
    problem=_whole_groups("pieces"),
    own_attributes=(
        Attribute("pieces", "size", "Elements or channels p in a row of which one is left.", default=2, letter="p"),
    ),
    samples=(Sample({}, (6,)), Sample({"pieces": 3}, (6, 2, 3)), Sample({}, (4, 2, 2, 2))),
    refusals=(
        Refusal({}, (4,), "not-floating", dtype="int64"),
        Refusal({"pieces": 4}, (6,), "groups-do-not-divide"),
    ),
)

GROUP_SOFTMAX = CapsuleSymbol(
    id="group-softmax",
    title="group softmax",
    family="activation",
    ranks=(1, 2, 3),
    glyph=Glyph("M-.34 .26V.04M-.2 .26V-.28M-.06 .26V.12M.1 .26V-.1M.24 .26V-.22M.38 .26V.16", "#b0307a", "#fae7f2"),
    formula="Y_i = e^{U_i} / Σ_j e^{U_j}, j in the group of i",
    forward=group_softmax,
    back=keep_shape,
    problem=_whole_groups("group"),
    own_attributes=(
        Attribute("group", "size", "Scores g of a group: g elements or channels in a row.", letter="g"),
        Attribute("apart", "flag", "Whether the first scores of all groups come first.", default=False),
    ),
    samples=(
        Sample({"group": 3}, (6,)),
        Sample({"group": 2, "apart": True}, (6, 2, 1)),
        Sample({"group": 2}, (4, 3, 2)),
        Sample({"group": 2}, (4, 2, 2, 2)),
    ),
    refusals=(
        Refusal({}, (6,), "missing-attribute"),
        Refusal({"group": 4}, (6,), "groups-do-not-divide"),
        Refusal({"group": 3}, (6,), "not-floating", dtype="int64"),
    ),
)

POSITION_SOFTMAX = CapsuleSymbol(
    id="position-softmax",
    title="position softmax",
    family="activation",
    ranks=(2, 3),
    glyph=Glyph(
        "M-.3 -.3H.3V.3H-.3ZM-.3 0H.3M0 -.3V.3M-.16 .2V.12M.14 .2V.06M-.16 -.1V-.16M.14 -.1V-.24", "#b0307a", "#fae7f2"
    ),
    formula="Y_i = e^{U_i} / Σ_j e^{U_j}, j any position of any channel",
    forward=position_softmax,
    output_ranks={2: 1, 3: 1},
    loss_from_input="cross-entropy",
    samples=(Sample({}, (1, 3, 2)), Sample({}, (2, 2, 2)), Sample({}, (1, 2, 2, 2))),
    refusals=(Refusal({}, (1, 3, 2), "not-floating", dtype="int64"),),
)

SYMBOLS = (MAXOUT, GROUP_SOFTMAX, POSITION_SOFTMAX)
