"""Symbols for the rows of matrices, such as the words of a text: products of matrices, softmax and norm of a row."""

from __future__ import annotations

from collections.abc import Mapping

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape, product
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.normalisation import AFFINE, EPSILON, INK, SCALE_AND_SHIFT, WASH
from inkcap.symbols.part import PartSymbol
from inkcap.symbols.port import MAIN, Port
from inkcap.symbols.symbol import CapsuleSymbol, Given, Glyph, Problem, Refusal, Sample, Weight, keep_shape


def matrix_product(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Multiplies the matrices that enter its two ports, channel by channel: how much each row attends to each other."""
    other = given["by"]
    return op.matrix_product(u, op.transpose(other) if attributes["transposed"] else other)


def row_softmax(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Turns the scores of every row into probabilities that sum to one: of the classes of a box, of a word's others."""
    return op.softmax(u, axis=-1)


def row_norm(x: Traced, given: Given, attributes: Attributes) -> Traced:
    """Brings every row to mean 0 and variance 1, with a scale and a shift for each of its elements."""
    rows = op.reshape(x, shape=(product(x.shape[:-1]), x.shape[-1]))
    normal = op.normalise(rows, groups=rows.shape[0], epsilon=attributes["epsilon"])
    laid = op.reshape(normal, shape=x.shape)
    if "scale" not in given:
        return laid
    return op.bias(op.scale(laid, given["scale"], per="item"), given["shift"], per="item")


def _meet(ports: Mapping[str, PartialShape], attributes: Attributes) -> Mapping[str, PartialShape]:
    left, right = ports["in"], ports["by"]
    if attributes.get("transposed"):
        return {"in": (right[0], None, right[2]), "by": (left[0], None, left[2])}
    return {"in": (right[0], None, right[1]), "by": (left[0], left[2], None)}


def _back(front: PartialShape, attributes: Attributes) -> PartialShape:
    return (front[0], front[1], None)


def _row_weights(shape: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    if not attributes["affine"]:
        return {}
    return {"scale": Weight(shape[-1:], initialiser="ones"), "shift": Weight(shape[-1:], initialiser="zeros")}


def _row_layer(shape: Shape, attributes: Attributes) -> str:
    epsilon = "" if attributes["epsilon"] == 1e-5 else f", eps={attributes['epsilon']!r}"
    return f"LayerNorm({shape[-1]}{epsilon}{'' if attributes['affine'] else ', elementwise_affine=False'})"


def _one_number(shape: Shape, attributes: Attributes) -> Problem | None:
    if shape[-1] != 1:
        return None
    return Problem(
        "nothing-to-normalise",
        "there is a single number in each row, which would always become 0; take the part off",
        {"count": 1},
    )


MATRIX_PRODUCT = CapsuleSymbol(
    id="matrix-product",
    title="matrix product",
    family="ports",
    ranks=(2,),
    glyph=Glyph(
        "M-.26 -.26H-.34V.26H-.26M.26 -.26H.34V.26H.26M-.14 -.14L.14 .14M-.14 .14L.14 -.14",
        "#8a4b12",
        "#f8ecdf",
    ),
    formula="Y_c = U_c × U^{by}_c, or U_c × (U^{by}_c)ᵀ",
    forward=matrix_product,
    ports=(MAIN, Port("by", "The matrices by which is multiplied, one for each channel.")),
    multiplies=True,
    back=_back,
    meet=_meet,
    own_attributes=(
        Attribute("transposed", "flag", "Whether the other matrices are turned first: rows meet rows.", default=False),
    ),
    samples=(
        Sample({}, (2, 3, 4), ports={"by": (2, 4, 2)}),
        Sample({"transposed": True}, (2, 3, 4), ports={"by": (2, 5, 4)}),
    ),
    refusals=(
        Refusal({}, (2, 3, 4), "structure-mismatch", ports={"by": (2, 3, 4)}),
        Refusal({}, (1, 2, 2), "structure-mismatch", ports={"by": (2, 2, 2)}),
        Refusal({}, (2, 3, 4), "no-input"),
        Refusal({}, (2, 3, 3), "not-floating", ports={"by": (2, 3, 3)}, dtype="int64"),
    ),
)

ROW_SOFTMAX = CapsuleSymbol(
    id="row-softmax",
    title="row softmax",
    family="activation",
    ranks=(2, 3),
    glyph=Glyph(
        "M-.3 -.06V-.2M-.1 -.06V-.3M.1 -.06V-.14M.3 -.06V-.24M-.36 .02H.36M-.3 .3V.2M-.1 .3V.12M.1 .3V.08M.3 .3V.22",
        "#b0307a",
        "#fae7f2",
    ),
    formula="Y_i = e^{U_i} / Σ_j e^{U_j}, j in the row of i",
    forward=row_softmax,
    back=keep_shape,
    loss_from_input="cross-entropy",
    classes_last=True,
    samples=(Sample({}, (1, 3, 4)), Sample({}, (2, 2, 3)), Sample({}, (2, 2, 2, 3))),
    refusals=(Refusal({}, (1, 3, 2), "not-floating", dtype="int64"),),
)

ROW_NORM = PartSymbol(
    id="row-norm",
    title="row norm",
    glyph=Glyph("M-.32 -.22H.32M-.32 0H.32M-.32 .22H.32M-.32 -.3V.3M.32 -.3V.3", INK, WASH),
    formula="γ∘(U − μ)/√(σ² + ε) + β, μ and σ² over a row",
    place="before",
    ranks=(2, 3),
    forward=row_norm,
    layer=_row_layer,
    normalises=True,
    weights=_row_weights,
    held=SCALE_AND_SHIFT,
    problem=_one_number,
    attributes=(EPSILON, AFFINE),
    samples=(
        Sample({}, (2, 3, 4)),
        Sample({}, (2, 2, 2, 3)),
        Sample({"affine": False, "epsilon": 0.01}, (1, 2, 3)),
    ),
    refusals=(
        Refusal({}, (2, 3, 1), "nothing-to-normalise"),
        Refusal({}, (1, 2, 3), "not-floating", dtype="int64"),
    ),
)

SYMBOLS = (MATRIX_PRODUCT, ROW_SOFTMAX)
PART_SYMBOLS = (ROW_NORM,)
