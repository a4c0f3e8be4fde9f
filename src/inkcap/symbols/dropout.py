"""Worn parts that drop what a capsule gives: single numbers or whole channels, at random, in training."""

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import Shape, rank_of
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.part import PartSymbol
from inkcap.symbols.symbol import Given, Glyph, Refusal, Sample

INK, WASH = "#1f7a6b", "#e2f3ef"


def dropout(x: Traced, given: Given, attributes: Attributes) -> Traced:
    """Sets numbers to zero at random in training and scales the others by 1/(1−p); in evaluation it does nothing."""
    return op.multiply(x, op.random_mask(x, probability=attributes["probability"], per="element", inverted=True))


def channel_dropout(x: Traced, given: Given, attributes: Attributes) -> Traced:
    """Sets whole channels to zero at random in training and scales the others by 1/(1−p)."""
    return op.multiply(x, op.random_mask(x, probability=attributes["probability"], per="channel", inverted=True))


def _dropout_layer(shape: Shape, attributes: Attributes) -> str:
    return f"Dropout({attributes['probability']!r})"


def _channel_dropout_layer(shape: Shape, attributes: Attributes) -> str:
    return f"Dropout{rank_of(shape)}d({attributes['probability']!r})"


PROBABILITY = Attribute(
    "probability",
    "number",
    "Probability p of being set to zero.",
    default=0.5,
    minimum=0,
    maximum=0.99,
    letter="p",
)
VECTOR, MATRICES, VOLUMES = Sample({}, (4,)), Sample({}, (2, 3, 2)), Sample({}, (2, 2, 3, 2))
NOT_FLOATING = Refusal({}, (4, 2, 2), "not-floating", dtype="int64")

DROPOUT = PartSymbol(
    id="dropout",
    title="dropout",
    glyph=Glyph(
        "M-.28 -.2V-.2M0 -.2V-.2M-.28 .2V.2M.28 .2V.2M.2 -.28L.36 -.12M.2 -.12L.36 -.28M-.08 .2H.08", INK, WASH
    ),
    formula="Y·M/(1−p), M drawn at random",
    place="after",
    ranks=(0, 1, 2, 3),
    forward=dropout,
    layer=_dropout_layer,
    attributes=(PROBABILITY,),
    samples=(Sample({}, ()), VECTOR, MATRICES, VOLUMES, Sample({"probability": 0.2}, (20,))),
    refusals=(NOT_FLOATING,),
)

CHANNEL_DROPOUT = PartSymbol(
    id="channel-dropout",
    title="channel dropout",
    glyph=Glyph("M-.3 -.24H.3M-.3 .24H.3M-.14 -.1L.14 .1M-.14 .1L.14 -.1", INK, WASH),
    formula="Y·M/(1−p), M drawn at random for each channel",
    place="after",
    ranks=(2, 3),
    forward=channel_dropout,
    layer=_channel_dropout_layer,
    attributes=(PROBABILITY,),
    samples=(MATRICES, VOLUMES, Sample({"probability": 0.2}, (5, 2, 2))),
    refusals=(NOT_FLOATING,),
)

SYMBOLS = (DROPOUT, CHANNEL_DROPOUT)
