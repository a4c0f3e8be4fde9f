"""Frozen norm: a batch norm that is done with learning, as detectors wear it on what was trained before."""

from __future__ import annotations

from collections.abc import Mapping

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import Shape
from inkcap.symbols.attributes import Attributes
from inkcap.symbols.normalisation import EPSILON, INK, NOT_FLOATING, SCALE_AND_SHIFT, VECTOR, VOLUMES, WASH
from inkcap.symbols.part import PartSymbol
from inkcap.symbols.symbol import Given, Glyph, Sample, Weight


def frozen_norm(x: Traced, given: Given, attributes: Attributes) -> Traced:
    """Scales and shifts every channel by numbers that training leaves as they are, in place of batch norm."""
    per = "channel" if len(x.shape) > 1 else "element"
    spread = op.curve(given["variance"], of="affine", scale=1, shift=attributes["epsilon"])
    slope = op.multiply(given["scale"], op.curve(spread, of="power", exponent=-0.5))
    return op.bias(op.scale(x, slope, per=per), op.subtract(given["shift"], op.multiply(given["mean"], slope)), per=per)


def _stored(shape: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    starts = {"scale": "ones", "shift": "zeros", "mean": "zeros", "variance": "ones"}
    return {name: Weight(shape[:1], initialiser=start, state=True) for name, start in starts.items()}


def _unmoved(x: Traced, given: Given, attributes: Attributes) -> Given:
    return given


def _layer(shape: Shape, attributes: Attributes) -> str:
    epsilon = "" if attributes["epsilon"] == 1e-5 else f", eps={attributes['epsilon']!r}"
    return f"FrozenBatchNorm({shape[0]}{epsilon})"


FROZEN_NORM = PartSymbol(
    id="frozen-norm",
    title="frozen norm",
    glyph=Glyph(
        "M-.34 .24H.34M-.3 .24C-.1 .24 -.12 -.28 0 -.28C.12 -.28 .1 .24 .3 .24M-.3 -.2H-.14M-.22 -.28V-.12", INK, WASH
    ),
    formula="γ·(U − μ)/√(σ² + ε) + β, all of them as they are",
    place="before",
    ranks=(1, 2, 3),
    forward=frozen_norm,
    layer=_layer,
    normalises=True,
    weights=_stored,
    held={**SCALE_AND_SHIFT, "mean": "running_mean", "variance": "running_var"},
    update=_unmoved,
    attributes=(EPSILON,),
    samples=(VECTOR, Sample({"epsilon": 0.01}, (2, 3, 2)), VOLUMES),
    refusals=(NOT_FLOATING,),
)

SYMBOLS = (FROZEN_NORM,)
