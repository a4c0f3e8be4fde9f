"""Capsule symbols of rectifiers and their smooth and hard kin: PReLU, ELU, GELU, SiLU, softplus, hard ones."""

from __future__ import annotations

from collections.abc import Mapping

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import Shape
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.capsules import ALL_RANKS, NOT_FLOATING
from inkcap.symbols.symbol import CapsuleSymbol, Given, Glyph, Problem, Refusal, Sample, Weight, keep_shape

INK, WASH = "#5a3fd0", "#ece8fb"
SMALL_SAMPLES = (Sample({}, ()), Sample({}, (4,)), Sample({}, (2, 1, 2)), Sample({}, (2, 1, 1, 2)))


def prelu(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Keeps what is positive and multiplies the rest by a slope that it learns."""
    return op.prelu(u, given["slope"])


def elu(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Keeps what is positive; the rest falls off smoothly to −α."""
    return op.curve(u, of="elu", alpha=attributes["alpha"])


def gelu(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Multiplies every element by the probability that a normal number is below it."""
    return op.curve(u, of="gelu_tanh" if attributes["approximate"] else "gelu")


def silu(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Multiplies every element by its sigmoid; also called swish."""
    return op.curve(u, of="silu")


def softplus(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Gives a smooth ReLU, which is positive everywhere."""
    return op.curve(u, of="softplus", beta=attributes["steepness"])


def hard_sigmoid(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Goes straight from 0 to 1 between −3 and 3: a sigmoid without an exponential."""
    return op.curve(u, of="hard_sigmoid")


def hard_tanh(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Keeps what lies between two bounds, and gives the bound for the rest."""
    return op.curve(u, of="hard_tanh", low=attributes["low"], high=attributes["high"])


def hard_swish(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Multiplies every element by its hard sigmoid."""
    return op.curve(u, of="hard_swish")


def _slope(shapes: Mapping[str, Shape], attributes: Attributes) -> Mapping[str, Weight]:
    shared = attributes["per"] == "one" or not shapes["in"]
    return {"slope": Weight((1,) if shared else shapes["in"][:1], start=0.25)}


def _ordered(shape: Shape, attributes: Attributes) -> Problem | None:
    low, high = attributes["low"], attributes["high"]
    if low < high:
        return None
    return Problem(
        "bounds-in-disorder",
        f"the lower bound {low} is not below the upper bound {high}; set low below high",
        {"low": low, "high": high},
        {"low": high, "high": low} if low > high else {"low": low - 1},
    )


PRELU = CapsuleSymbol(
    id="prelu",
    title="PReLU",
    family="activation",
    ranks=ALL_RANKS,
    glyph=Glyph("M-.34 .3L0 .12L.3 -.28M-.34 .12H0", INK, WASH),
    formula="Y = max(0, U) + α·min(0, U)",
    derivative="[U > 0] + α·[U < 0]",
    forward=prelu,
    back=keep_shape,
    halves=True,
    parameters=_slope,
    own_attributes=(
        Attribute(
            "per",
            "choice",
            "Which slopes α it learns: one for each channel (element of a vector), or one for all. They start at 0.25.",
            default="channel",
            choices=("channel", "one"),
        ),
    ),
    samples=(*SMALL_SAMPLES, Sample({"per": "one"}, (2, 3, 2)), Sample({"per": "one"}, (4,))),
    refusals=NOT_FLOATING,
)

ELU = CapsuleSymbol(
    id="elu",
    title="ELU",
    family="activation",
    ranks=ALL_RANKS,
    glyph=Glyph("M-.34 .26C-.14 .26 -.1 .2 0 .08L.28 -.26", INK, WASH),
    formula="Y = U for U > 0, else α(e^U − 1)",
    derivative="[U > 0] + (Y + α)∘[U ≤ 0]",
    forward=elu,
    back=keep_shape,
    halves=True,
    own_attributes=(
        Attribute("alpha", "number", "Depth α of the lower bound.", default=1, minimum=1e-6, maximum=1e6, letter="α"),
    ),
    samples=(*SMALL_SAMPLES, Sample({"alpha": 0.5}, (5,))),
    refusals=NOT_FLOATING,
)

GELU = CapsuleSymbol(
    id="gelu",
    title="GELU",
    family="activation",
    ranks=ALL_RANKS,
    glyph=Glyph("M-.36 .12C-.24 .12 -.18 .24 -.08 .22C.02 .2 .06 .04 .28 -.28", INK, WASH),
    formula="Y = U·Φ(U)",
    forward=gelu,
    back=keep_shape,
    halves=True,
    own_attributes=(
        Attribute("approximate", "flag", "Whether Φ is approximated by a tanh, as some models do.", default=False),
    ),
    samples=(*SMALL_SAMPLES, Sample({"approximate": True}, (5,))),
    refusals=NOT_FLOATING,
)

SILU = CapsuleSymbol(
    id="silu",
    title="SiLU",
    family="activation",
    ranks=ALL_RANKS,
    glyph=Glyph("M-.36 .08C-.26 .1 -.2 .26 -.06 .24C.06 .22 .12 -.02 .3 -.28M-.36 .3H.36", INK, WASH),
    formula="Y = U·σ(U)",
    derivative="σ(U) + Y∘(1 − σ(U))",
    forward=silu,
    back=keep_shape,
    halves=True,
    samples=SMALL_SAMPLES,
    refusals=NOT_FLOATING,
)

SOFTPLUS = CapsuleSymbol(
    id="softplus",
    title="softplus",
    family="activation",
    ranks=ALL_RANKS,
    glyph=Glyph("M-.34 .22C-.08 .22 .02 .1 .12 -.02L.32 -.26M-.34 .3H.34", INK, WASH),
    formula="Y = ln(1 + e^{βU})/β",
    derivative="σ(β·U)",
    forward=softplus,
    back=keep_shape,
    own_attributes=(
        Attribute(
            "steepness",
            "number",
            "How sharp the bend β is: the larger, the nearer it comes to the ReLU.",
            default=1,
            minimum=1e-6,
            maximum=1e6,
            letter="β",
        ),
    ),
    samples=(*SMALL_SAMPLES, Sample({"steepness": 2.5}, (5,))),
    refusals=NOT_FLOATING,
)

HARD_SIGMOID = CapsuleSymbol(
    id="hard-sigmoid",
    title="hard sigmoid",
    family="activation",
    ranks=ALL_RANKS,
    glyph=Glyph("M-.34 .22H-.16L.16 -.22H.34", INK, WASH),
    formula="Y = min(max(U/6 + 1/2, 0), 1)",
    derivative="[−3 < U]∘[U < 3]/6",
    forward=hard_sigmoid,
    back=keep_shape,
    samples=SMALL_SAMPLES,
    refusals=NOT_FLOATING,
)

HARD_TANH = CapsuleSymbol(
    id="hard-tanh",
    title="hard tanh",
    family="activation",
    ranks=ALL_RANKS,
    glyph=Glyph("M-.34 .26H-.18L.18 -.26H.34M-.34 0H.34", INK, WASH),
    formula="Y = min(max(U, low), high)",
    derivative="[low < U]∘[U < high]",
    forward=hard_tanh,
    back=keep_shape,
    problem=_ordered,
    own_attributes=(
        Attribute("low", "number", "Lower bound.", default=-1),
        Attribute("high", "number", "Upper bound. From 0 to 6 it is the ReLU6.", default=1),
    ),
    samples=(*SMALL_SAMPLES, Sample({"low": 0, "high": 1.5}, (5,))),
    refusals=(*NOT_FLOATING, Refusal({"low": 2}, (3,), "bounds-in-disorder")),
)

HARD_SWISH = CapsuleSymbol(
    id="hard-swish",
    title="hard swish",
    family="activation",
    ranks=ALL_RANKS,
    glyph=Glyph("M-.36 .14H-.24C-.1 .34 .02 .26 .1 .04L.3 -.28", INK, WASH),
    formula="Y = U·min(max(U/6 + 1/2, 0), 1)",
    forward=hard_swish,
    back=keep_shape,
    halves=True,
    samples=SMALL_SAMPLES,
    refusals=NOT_FLOATING,
)

SYMBOLS = (PRELU, ELU, GELU, SILU, SOFTPLUS, HARD_SIGMOID, HARD_TANH, HARD_SWISH)
