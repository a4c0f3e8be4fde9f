"""Capsule symbols that normalise every sample by itself: local response normalisation and L2 normalisation."""

from __future__ import annotations

from collections.abc import Mapping

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import Shape
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.symbol import CapsuleSymbol, Given, Glyph, Refusal, Sample, Weight, keep_shape

INK, WASH = "#1f7a6b", "#e2f3ef"


def local_response(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Divides every number by the strength of those near it: of near channels, or of near positions."""
    return op.local_response(
        u,
        size=attributes["size"],
        alpha=attributes["alpha"],
        beta=attributes["beta"],
        k=attributes["k"],
        over=attributes["over"],
        divided=attributes["divided"],
    )


def l2_normalisation(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Gives a vector, or the channels at every position, the length 1; zero stays zero."""
    unit = op.unit(u)
    return op.scale(unit, given["scale"], per="channel" if len(u.shape) > 1 else "element") if given else unit


def _scale(shapes: Mapping[str, Shape], attributes: Attributes) -> Mapping[str, Weight]:
    start = attributes["scale"]
    return {} if start is None else {"scale": Weight(shapes["in"][:1], start=start)}


LOCAL_RESPONSE = CapsuleSymbol(
    id="local-response",
    title="local response normalisation",
    family="normalisation",
    ranks=(2,),
    glyph=Glyph("M-.34 .26H.34M-.26 .26V.1M-.1 .26V-.06M0 .26V-.3M.1 .26V-.06M.26 .26V.1", INK, WASH),
    formula="Y = U/(k + α·Σ U²)^β, the sum over n near channels, or n×n near positions",
    forward=local_response,
    back=keep_shape,
    own_attributes=(
        Attribute(
            "over",
            "choice",
            "Near what: channels at the same position, or positions of the same channel.",
            default="channels",
            choices=("channels", "positions"),
        ),
        Attribute(
            "size",
            "size",
            "Channels n of the window; n×n positions. An even window reaches one farther back than ahead.",
            default=5,
            maximum=1001,
            letter="n",
        ),
        Attribute("alpha", "number", "Strength α.", default=1e-4, minimum=0, maximum=1e6, letter="α"),
        Attribute("beta", "number", "Exponent β.", default=0.75, minimum=0, maximum=100, letter="β"),
        Attribute(
            "k",
            "number",
            "Constant k of the denominator. AlexNet has 2, Caffe and PyTorch have 1.",
            default=1,
            minimum=1e-6,
            maximum=1e6,
            letter="k",
        ),
        Attribute(
            "divided",
            "flag",
            "Whether α is divided by the numbers of a window, n or n², as Caffe and PyTorch do; AlexNet's paper does "
            "not.",
            default=True,
        ),
    ),
    samples=(
        Sample({}, (6, 2, 2)),
        Sample({"size": 3, "alpha": 1, "beta": 0.5, "k": 2, "divided": False}, (5, 2, 1)),
        Sample({"size": 4, "alpha": 0.5}, (5, 2, 1)),
        Sample({"over": "positions", "size": 3, "alpha": 0.7}, (2, 4, 3)),
        Sample({"over": "positions", "size": 2, "alpha": 0.7, "divided": False}, (2, 3, 3)),
    ),
    refusals=(
        Refusal({}, (3, 2, 2), "not-floating", dtype="int64"),
        Refusal({"channels": 4}, (3, 2, 2), "structure-mismatch"),
    ),
)

L2_NORMALISATION = CapsuleSymbol(
    id="l2-normalisation",
    title="L2 normalisation",
    family="normalisation",
    ranks=(1, 2, 3),
    glyph=Glyph("M-.34 0A.34 .34 0 1 0 .34 0A.34 .34 0 1 0 -.34 0ZM-.1 .1L.2 -.2M.02 -.2H.2V-.02", INK, WASH),
    formula="Y = s·U/‖U‖ along the channels or the vector",
    forward=l2_normalisation,
    back=keep_shape,
    parameters=_scale,
    own_attributes=(
        Attribute(
            "scale",
            "number",
            "Number with which the scale s of every channel starts, which it then learns; left empty, there is no "
            "scale. SSD has 20, FaceNet none.",
            inferred=True,
            letter="s",
        ),
    ),
    samples=(
        Sample({}, (5,)),
        Sample({"scale": 2}, (4,)),
        Sample({}, (4, 3, 2)),
        Sample({"scale": 20}, (4, 3, 2)),
        Sample({}, (3, 2, 2, 2)),
    ),
    refusals=(Refusal({}, (3,), "not-floating", dtype="int64"),),
)

SYMBOLS = (LOCAL_RESPONSE, L2_NORMALISATION)
