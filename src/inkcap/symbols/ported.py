"""Capsule symbols with several ports: product and quotient, mask, pick, distance."""

from __future__ import annotations

from collections.abc import Mapping

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, product
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.port import MAIN, Port
from inkcap.symbols.symbol import CapsuleSymbol, Given, Glyph, Refusal, Sample, keep_shape


def times(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Multiplies what enters its two ports, element by element: a gate; or divides the one by the other."""
    if attributes["operation"] == "product":
        return op.multiply(u, given["by"])
    c = attributes["offset"]
    numerator, denominator = (_shifted(value, c) for value in (u, given["by"]))
    bounded = op.curve(denominator, of="at_least", number=attributes["least"], strict=True)
    return _shifted(op.divide(numerator, bounded), -c)


def _shifted(x: Traced, by: float) -> Traced:
    return op.curve(x, of="affine", scale=1, shift=by) if by else x


def mask(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Keeps the row whose label is the largest, or the longest row where all labels are zero; the rest gets zero.

    All is laid out as a vector.
    """
    channels, _, width = u.shape
    labelled = op.otherwise(given["label"], op.norm(u, axes=(-3, -1)))
    chosen = op.repeat(op.largest(labelled), before=(channels,), after=(width,))
    return op.reshape(op.multiply(u, chosen), shape=(product(u.shape),))


def pick(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Gives the one element or channel that the other port chooses: by the largest label, or by its index."""
    chosen = given["choice"]
    count, sizes = u.shape[0], tuple(u.shape[1:])
    marked = op.largest(chosen) if attributes["by"] == "label" else op.indicate(chosen, size=count)
    kept = op.multiply(u, op.repeat(marked, before=(), after=sizes) if sizes else marked)
    return op.total(kept, axes=(-len(u.shape),), keep=True)


def distance(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Gives the squared Euclidean distance between what enters its two ports."""
    squares = op.curve(op.subtract(u, given["to"]), of="power", exponent=2)
    return op.total(squares, axes=tuple(range(-len(u.shape), 0)), keep=False)


def _equal_ends(ports: Mapping[str, PartialShape], attributes: Attributes) -> Mapping[str, PartialShape]:
    return {"in": ports["to"], "to": ports["in"]}


def _choices(ports: Mapping[str, PartialShape], attributes: Attributes) -> Mapping[str, PartialShape]:
    count = ports["in"][0]
    if attributes.get("by", "label") == "index":
        return {"choice": (1,)}
    return {"in": (ports["choice"][0], *(None,) * (len(ports["in"]) - 1)), "choice": (count,)}


def _equal_factors(ports: Mapping[str, PartialShape], attributes: Attributes) -> Mapping[str, PartialShape]:
    return {"in": ports["by"], "by": ports["in"]}


def _one_label_a_row(ports: Mapping[str, PartialShape], attributes: Attributes) -> Mapping[str, PartialShape]:
    return {"in": (None, ports["label"][0], None), "label": (ports["in"][1],)}


PRODUCT = CapsuleSymbol(
    id="product",
    title="product",
    family="ports",
    ranks=(0, 1, 2, 3),
    glyph=Glyph("M-.22 -.22L.22 .22M-.22 .22L.22 -.22", "#8a4b12", "#f8ecdf"),
    formula="Y = U ∘ U^{by}, or (c + U)/max(c + U^{by}, ε) − c",
    forward=times,
    ports=(MAIN, Port("by", "The other factor, summed over all connections that enter here.")),
    back=keep_shape,
    meet=_equal_factors,
    own_attributes=(
        Attribute(
            "operation",
            "choice",
            "Whether the other port multiplies, or is the denominator.",
            default="product",
            choices=("product", "quotient"),
        ),
        Attribute(
            "offset",
            "number",
            "Constant c of a quotient: 0 is the plain one, 1 the shunting inhibition of the neocognitron.",
            default=0,
            minimum=0,
            maximum=1e6,
            letter="c",
        ),
        Attribute(
            "least",
            "number",
            "Least denominator ε of a quotient; a smaller or negative one counts as this, without a slope.",
            default=1e-6,
            minimum=1e-12,
            maximum=1e6,
            letter="ε",
        ),
    ),
    samples=(
        Sample({}, (), ports={"by": ()}),
        Sample({}, (5,), ports={"by": (5,)}),
        Sample({}, (2, 3, 4), ports={"by": (2, 3, 4)}),
        Sample({}, (2, 2, 3, 2), ports={"by": (2, 2, 3, 2)}),
        Sample({"operation": "quotient", "least": 0.05}, (5,), ports={"by": (5,)}),
        Sample({"operation": "quotient", "offset": 1, "least": 0.1}, (2, 2, 2), ports={"by": (2, 2, 2)}),
    ),
    refusals=(
        Refusal({}, (3,), "structure-mismatch", ports={"by": (4,)}),
        Refusal({}, (3,), "no-input"),
        Refusal({}, (3,), "unknown-port", ports={"by": (3,), "labels": (3,)}),
        Refusal({}, (3,), "rank-mismatch", ports={"by": (2, 3, 1)}),
    ),
)

MASK = CapsuleSymbol(
    id="mask",
    title="mask",
    family="ports",
    ranks=(2,),
    glyph=Glyph("M-.3 -.24H.3M-.3 .24H.3M-.3 -.06H.3V.06H-.3Z", "#8a4b12", "#f8ecdf"),
    formula="Y = U_j for the largest U^{label}_j (the largest ‖U_j‖ without labels), else 0",
    forward=mask,
    ports=(
        MAIN,
        Port(
            "label", "One number for each row: a one-hot label, or scores; zeros where there is none.", "single", {2: 1}
        ),
    ),
    output_ranks={2: 1},
    meet=_one_label_a_row,
    samples=(Sample({}, (1, 4, 3), ports={"label": (4,)}), Sample({}, (2, 3, 2), ports={"label": (3,)})),
    refusals=(
        Refusal({}, (1, 4, 3), "structure-mismatch", ports={"label": (5,)}),
        Refusal({}, (1, 4, 3), "no-input"),
        Refusal({}, (1, 4, 3), "rank-mismatch", ports={"label": (4, 1, 1)}),
        Refusal({}, (1, 4, 3), "not-floating", ports={"label": (4,)}, dtype="int64"),
    ),
)

PICK = CapsuleSymbol(
    id="pick",
    title="pick",
    family="ports",
    ranks=(1, 2, 3),
    glyph=Glyph("M-.3 -.26H-.06M-.3 0H.3M-.3 .26H-.06M.18 -.12L.3 0L.18 .12", "#8a4b12", "#f8ecdf"),
    formula="Y = U_j for the largest U^{choice}_j, or for j = U^{choice}",
    forward=pick,
    ports=(
        MAIN,
        Port(
            "choice",
            "A number for each element or channel, a one-hot label or scores; or the index alone, counted from 0.",
            "single",
            {2: 1, 3: 1},
        ),
    ),
    meet=_choices,
    own_attributes=(
        Attribute(
            "by",
            "choice",
            "What tells which: the largest of the labels, or the index, rounded; outside there is nothing, and Y is 0.",
            default="label",
            choices=("label", "index"),
        ),
    ),
    samples=(
        Sample({}, (4,), ports={"choice": (4,)}),
        Sample({"by": "index"}, (4,), ports={"choice": (1,)}),
        Sample({}, (3, 2, 2), ports={"choice": (3,)}),
        Sample({"by": "index"}, (2, 2, 2, 2), ports={"choice": (1,)}),
    ),
    refusals=(
        Refusal({}, (4,), "structure-mismatch", ports={"choice": (5,)}),
        Refusal({"by": "index"}, (4,), "structure-mismatch", ports={"choice": (4,)}),
        Refusal({}, (4,), "no-input"),
        Refusal({}, (4,), "not-floating", ports={"choice": (4,)}, dtype="int64"),
    ),
)

DISTANCE = CapsuleSymbol(
    id="distance",
    title="distance",
    family="ports",
    ranks=(1, 2, 3),
    glyph=Glyph(
        "M-.36 .24A.08 .08 0 1 0 -.2 .24A.08 .08 0 1 0 -.36 .24ZM.2 -.24A.08 .08 0 1 0 .36 -.24A.08 .08 0 1 0 .2 -.24Z"
        "M-.18 .16L-.06 .05M.06 -.05L.18 -.16",
        "#8a4b12",
        "#f8ecdf",
    ),
    formula="Y = Σ (U − U^{to})²",
    forward=distance,
    ports=(MAIN, Port("to", "The other end, summed over all connections that enter here.")),
    output_ranks={1: 0, 2: 0, 3: 0},
    meet=_equal_ends,
    samples=(
        Sample({}, (5,), ports={"to": (5,)}),
        Sample({}, (2, 3, 2), ports={"to": (2, 3, 2)}),
        Sample({}, (2, 2, 2, 2), ports={"to": (2, 2, 2, 2)}),
    ),
    refusals=(
        Refusal({}, (3,), "structure-mismatch", ports={"to": (4,)}),
        Refusal({}, (3,), "no-input"),
        Refusal({}, (3,), "not-floating", ports={"to": (3,)}, dtype="int64"),
    ),
)

SYMBOLS = (PRODUCT, MASK, PICK, DISTANCE)
