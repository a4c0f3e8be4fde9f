"""Symbols of transformers: rows that whole numbers pick, their positions, rows laid before others, and attention."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import PartialShape, Shape
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.port import MAIN, Port
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


def attention(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Mixes the rows of values for every row of queries, by how much it meets each row of keys.

    Queries enter the main port, keys and values ports of their own. The numbers of a row divide into heads, each of
    which attends for itself; the heads of a row lie one behind another. Causal, a row attends to none behind itself.
    """
    keys, values = given["keys"], given["values"]
    if "keys_bias" in given:
        keys = op.bias(keys, given["keys_bias"], per="item")
        values = op.bias(values, given["values_bias"], per="item")
    return op.attend(u, keys, values, heads=attributes["heads"], causal=attributes["causal"])


def leading_rows(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Lays rows that it learns before those that enter: the class token of a vision transformer is one."""
    return op.lay_before(u, given["leading"])


def positions(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Adds sines and cosines of its number to every row, counted from 0, so that what reads rows can tell their order.

    A pair of numbers of a row is one wave; waves grow longer from pair to pair. Nothing is learnt.
    """
    return op.add_positions(u, base=float(attributes["base"]))


def embedding(y: Traced, given: Given, attributes: Attributes) -> Traced:
    """Gives for every whole number of the back end, counted from 0, the row of a table that it picks."""
    rows = op.embed(given["weight"], y)
    return op.reshape(rows, shape=(1, *rows.shape))


def _biases(ports: Mapping[str, Shape], attributes: Attributes) -> Mapping[str, Weight]:
    if not attributes["biases"]:
        return {}
    return {f"{name}_bias": Weight(ports[name][-1:], initialiser="zeros") for name in ("keys", "values")}


def _meet(ports: Mapping[str, PartialShape], attributes: Attributes) -> Mapping[str, PartialShape]:
    queries, keys, values = ports["in"], ports["keys"], ports["values"]
    return {"in": (1, None, keys[2]), "keys": (1, values[1], queries[2]), "values": (1, keys[1], None)}


def _queries(front: PartialShape, attributes: Attributes) -> PartialShape:
    return (1, front[1], None)


def _whole_heads(shape: Shape, attributes: Attributes) -> Problem | None:
    width, heads = shape[-1], attributes["heads"]
    if not isinstance(width, int) or width % heads == 0:
        return None
    fitting = max(count for count in range(1, heads) if width % count == 0)
    return Problem(
        "structure-mismatch",
        f"rows of {width} numbers do not divide into {heads} heads; {fitting} would do",
        {"width": width, "heads": heads},
        {"heads": fitting},
    )


def _leading(ports: Mapping[str, Shape], attributes: Attributes) -> Mapping[str, Weight]:
    channels, _, width = ports["in"]
    return {"leading": Weight((channels, attributes["rows"], width), initialiser="normal")}


def _behind(front: PartialShape, attributes: Attributes) -> PartialShape:
    count = None if front[1] is None else front[1] - attributes["rows"]
    return (front[0], count, front[2])


def _table(back: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    return {"weight": Weight((attributes["height"], attributes["width"]), attributes["width"], attributes["height"])}


def _row_length(attributes: Attributes, back: PartialShape, front: PartialShape) -> Attributes:
    found: dict[str, Any] = {}
    if attributes["width"] is None and front[-1] is not None:
        found["width"] = front[-1]
    return found


def _whole_numbers(front: PartialShape, attributes: Attributes) -> PartialShape:
    return front[1:2]


ATTENTION = CapsuleSymbol(
    id="attention",
    title="attention",
    family="ports",
    ranks=(2,),
    glyph=Glyph("M-.34 -.24H-.1M-.34 0H-.1M-.34 .24H-.1M-.1 -.24L.3 0M-.1 0H.3M-.1 .24L.3 0", "#8a4b12", "#f8ecdf"),
    formula="Y = softmax(U·(U^{keys})ᵀ/√(N/h))·U^{values}, head by head",
    forward=attention,
    ports=(
        MAIN,
        Port("keys", "The rows that are looked at, each as long as a query; what enters is summed."),
        Port("values", "The rows that are mixed, one for each key; what enters is summed."),
    ),
    parameters=_biases,
    multiplies=True,
    back=_queries,
    meet=_meet,
    problem=_whole_heads,
    own_attributes=(
        Attribute(
            "heads",
            "size",
            "Heads h into which the N numbers of a row divide, N/h for each.",
            default=1,
            letter="h",
        ),
        Attribute("causal", "flag", "Whether a row attends to itself and those before it alone.", default=False),
        Attribute(
            "biases",
            "flag",
            "Whether keys and values have a bias too, one number per element of a row; queries have the capsule's.",
            default=False,
        ),
    ),
    samples=(
        Sample({"heads": 2}, (1, 3, 4), ports={"keys": (1, 3, 4), "values": (1, 3, 4)}),
        Sample({}, (1, 2, 3), ports={"keys": (1, 4, 3), "values": (1, 4, 2)}),
        Sample({"heads": 2, "causal": True}, (1, 3, 2), ports={"keys": (1, 3, 2), "values": (1, 3, 4)}),
        Sample({"biases": True}, (1, 2, 2), ports={"keys": (1, 3, 2), "values": (1, 3, 2)}),
    ),
    refusals=(
        Refusal({"heads": 3}, (1, 3, 4), "structure-mismatch", ports={"keys": (1, 3, 4), "values": (1, 3, 4)}),
        Refusal({"heads": 2}, (1, 3, 4), "structure-mismatch", ports={"keys": (1, 3, 4), "values": (1, 3, 3)}),
        Refusal({}, (1, 3, 4), "structure-mismatch", ports={"keys": (1, 3, 5), "values": (1, 3, 4)}),
        Refusal({}, (1, 3, 4), "structure-mismatch", ports={"keys": (1, 3, 4), "values": (1, 2, 4)}),
        Refusal({}, (2, 3, 4), "structure-mismatch", ports={"keys": (2, 3, 4), "values": (2, 3, 4)}),
        Refusal({}, (1, 3, 4), "no-input", ports={"keys": (1, 3, 4)}),
        Refusal({}, (1, 3, 4), "not-floating", ports={"keys": (1, 3, 4), "values": (1, 3, 4)}, dtype="int64"),
    ),
)

LEADING_ROWS = CapsuleSymbol(
    id="leading-rows",
    title="leading rows",
    family="rows",
    ranks=(2,),
    glyph=Glyph("M-.34 -.3H.34V-.14H-.34ZM-.34 .02H.34M-.34 .16H.34M-.34 .3H.34", "#8a4b12", "#f8ecdf"),
    formula="Y = θ_1, …, θ_r, U_1, …, U_M",
    forward=leading_rows,
    parameters=_leading,
    back=_behind,
    own_attributes=(Attribute("rows", "size", "Rows r that are learnt.", default=1, letter="r"),),
    samples=(Sample({}, (1, 3, 4)), Sample({"rows": 2}, (2, 2, 3))),
    refusals=(Refusal({}, (1, 3, 4), "not-floating", dtype="int64"),),
)

SINUSOIDAL_POSITIONS = CapsuleSymbol(
    id="sinusoidal-positions",
    title="sinusoidal positions",
    family="rows",
    ranks=(2,),
    glyph=Glyph(
        "M-.34 -.2C-.22 -.4 -.12 -.4 0 -.2C.12 0 .22 0 .34 -.2M-.34 .22C-.12 -.06 .12 -.06 .34 .22",
        "#8a4b12",
        "#f8ecdf",
    ),
    formula="Y_{t,2i} = U_{t,2i} + sin(t/b^{2i/N}), Y_{t,2i+1} = U_{t,2i+1} + cos(t/b^{2i/N})",
    forward=positions,
    back=keep_shape,
    own_attributes=(
        Attribute(
            "base",
            "number",
            "Base b of the lengths of waves: from 2π almost to 2π·b.",
            default=10_000.0,
            minimum=1,
            maximum=1e9,
            letter="b",
        ),
    ),
    samples=(Sample({}, (1, 3, 4)), Sample({"base": 100.0}, (2, 4, 3)), Sample({}, (1, 2, 1))),
    refusals=(Refusal({}, (1, 3, 4), "not-floating", dtype="int64"),),
)

EMBEDDING = ConnectionSymbol(
    id="embedding",
    title="embedding",
    mark="≡",
    formula="W_{Y_1}, …, W_{Y_T}",
    ranks=((1, 2),),
    forward=embedding,
    weights=_table,
    solve=_row_length,
    back=_whole_numbers,
    picks=True,
    measures=True,
    attributes=(
        Attribute("height", "size", "Rows V of the table: whole numbers from 0 to V − 1 may enter.", letter="V"),
        Attribute("width", "size", "Numbers D of a row.", letter="D"),
        INITIALISER_ATTRIBUTE,
        *WEIGHT_ATTRIBUTES,
    ),
    samples=(
        Sample({"height": 5, "width": 3}, (4,), front=(1, 4, 3), dtype="int64"),
        Sample({"height": 3}, (2,), front=(1, 2, 2), dtype="int64"),
    ),
    refusals=(
        Refusal({"height": 5, "width": 3}, (4,), "not-whole", front=(1, 4, 3)),
        Refusal({"height": 5, "width": 3}, (4,), "structure-mismatch", front=(1, 3, 3), dtype="int64"),
        Refusal({"width": 3}, (4,), "missing-attribute", front=(1, 4, 3), dtype="int64"),
        Refusal({"height": 5, "width": 3}, (4,), "rank-mismatch", front_rank=1, dtype="int64"),
    ),
)

SYMBOLS = (ATTENTION, LEADING_ROWS, SINUSOIDAL_POSITIONS)
CONNECTION_SYMBOLS = (EMBEDDING,)
