"""Worn parts that normalise a capsule's total input: over the batch, the layer, groups of channels, or each channel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures import Shape, product, rank_of
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.part import PartSymbol
from inkcap.symbols.symbol import Given, Glyph, Problem, Refusal, Sample, Weight

INK, WASH = "#1f7a6b", "#e2f3ef"


def batch_norm(x: Traced, given: Given, attributes: Attributes) -> Traced:
    """Brings every channel to mean 0 and variance 1 over the batch, in evaluation by running numbers."""
    normal = op.normalise_batch(x, given["mean"], given["variance"], epsilon=attributes["epsilon"])
    return _affine(normal, given, "channel" if len(x.shape) > 1 else "element")


def layer_norm(x: Traced, given: Given, attributes: Attributes) -> Traced:
    """Brings all numbers of a sample together to mean 0 and variance 1."""
    return _affine(op.normalise(x, groups=1, epsilon=attributes["epsilon"]), given, "element")


def group_norm(x: Traced, given: Given, attributes: Attributes) -> Traced:
    """Brings every group of channels of a sample to mean 0 and variance 1."""
    normal = op.normalise(x, groups=attributes["groups"], epsilon=attributes["epsilon"])
    return _affine(normal, given, "channel" if len(x.shape) > 1 else "element")


def instance_norm(x: Traced, given: Given, attributes: Attributes) -> Traced:
    """Brings every channel of a sample to mean 0 and variance 1."""
    return _affine(op.normalise(x, groups=x.shape[0], epsilon=attributes["epsilon"]), given, "channel")


def _affine(x: Traced, given: Given, per: str) -> Traced:
    if "scale" not in given:
        return x
    return op.bias(op.scale(x, given["scale"], per=per), given["shift"], per=per)


def _scale_and_shift(shape: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    return {"scale": Weight(shape, initialiser="ones"), "shift": Weight(shape, initialiser="zeros")}


def _channel_weights(shape: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    return _scale_and_shift(shape[:1], attributes) if attributes["affine"] else {}


def _batch_weights(shape: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    states = {
        "mean": Weight(shape[:1], initialiser="zeros", state=True),
        "variance": Weight(shape[:1], initialiser="ones", state=True),
    }
    return {**_channel_weights(shape, attributes), **states}


def _element_weights(shape: Shape, attributes: Attributes) -> Mapping[str, Weight]:
    return _scale_and_shift(shape, attributes) if attributes["affine"] else {}


def _move(x: Traced, given: Given, attributes: Attributes) -> Given:
    momentum = attributes["momentum"]
    return {
        "mean": op.move_mean(given["mean"], x, momentum=momentum),
        "variance": op.move_variance(given["variance"], x, momentum=momentum),
    }


def _least_batch(shape: Shape) -> int:
    # A mean over one number leaves nothing of it.
    return 2 if product(shape[1:]) == 1 else 1


def _nothing_to_normalise(count: Any, what: str, advice: str) -> Problem | None:
    if count != 1:
        return None
    return Problem(
        "nothing-to-normalise",
        f"there is a single number in {what}, which would always become 0; {advice}",
        {"count": count},
    )


def _layer_problem(shape: Shape, attributes: Attributes) -> Problem | None:
    return _nothing_to_normalise(product(shape), "the whole", "take the part off")


def _group_problem(shape: Shape, attributes: Attributes) -> Problem | None:
    channels, groups = shape[0], attributes["groups"]
    if isinstance(channels, int) and channels % groups:
        fitting = max(g for g in range(1, groups + 1) if channels % g == 0)
        return Problem(
            "groups-do-not-divide",
            f"the {channels} channels do not divide into {groups} groups; {fitting} would do",
            {"groups": groups, "channels": channels},
            {"groups": fitting},
        )
    return _nothing_to_normalise(product(shape) // groups, "each group", "take fewer groups")


def _instance_problem(shape: Shape, attributes: Attributes) -> Problem | None:
    return _nothing_to_normalise(product(shape[1:]), "each channel", "wear batch-norm or group-norm instead")


def _options(attributes: Attributes, **names: str) -> str:
    """Write the options that differ from the layer's own defaults."""
    plain = {"epsilon": 1e-5, "momentum": 0.1, "affine": True}
    given = ((name, attributes[key]) for key, name in names.items() if attributes[key] != plain[key])
    return "".join(f", {name}={value!r}" for name, value in given)


def _batch_layer(shape: Shape, attributes: Attributes) -> str:
    options = _options(attributes, epsilon="eps", momentum="momentum", affine="affine")
    return f"BatchNorm{rank_of(shape)}d({shape[0]}{options})"


def _layer_layer(shape: Shape, attributes: Attributes) -> str:
    sizes = shape[0] if len(shape) == 1 else tuple(shape)
    return f"LayerNorm({sizes}{_options(attributes, epsilon='eps', affine='elementwise_affine')})"


def _group_layer(shape: Shape, attributes: Attributes) -> str:
    options = _options(attributes, epsilon="eps", affine="affine")
    return f"GroupNorm({attributes['groups']}, {shape[0]}{options})"


def _instance_layer(shape: Shape, attributes: Attributes) -> str:
    affine = ", affine=True" if attributes["affine"] else ""
    return f"InstanceNorm{rank_of(shape)}d({shape[0]}{_options(attributes, epsilon='eps')}{affine})"


EPSILON = Attribute("epsilon", "number", "ε added to the variance.", default=1e-5, minimum=1e-12, maximum=1, letter="ε")
AFFINE = Attribute("affine", "flag", "Whether it learns a scale γ and a shift β.", default=True)
MOMENTUM = Attribute(
    "momentum",
    "number",
    "Share of each training batch in the running mean and variance.",
    default=0.1,
    minimum=0,
    maximum=1,
)
SCALE_AND_SHIFT = {"scale": "weight", "shift": "bias"}
VECTOR, MATRICES, VOLUMES = Sample({}, (4,)), Sample({}, (2, 3, 2)), Sample({}, (2, 2, 3, 2))
NOT_FLOATING = Refusal({}, (4, 2, 2), "not-floating", dtype="int64")

BATCH_NORM = PartSymbol(
    id="batch-norm",
    title="batch norm",
    glyph=Glyph("M-.34 .24H.34M-.3 .24C-.1 .24 -.12 -.28 0 -.28C.12 -.28 .1 .24 .3 .24", INK, WASH),
    formula="γ·(U − μ)/√(σ² + ε) + β, μ and σ² over the batch",
    place="before",
    ranks=(1, 2, 3),
    forward=batch_norm,
    layer=_batch_layer,
    normalises=True,
    weights=_batch_weights,
    held={**SCALE_AND_SHIFT, "mean": "running_mean", "variance": "running_var"},
    update=_move,
    least_batch=_least_batch,
    attributes=(EPSILON, MOMENTUM, AFFINE),
    samples=(VECTOR, MATRICES, VOLUMES, Sample({"affine": False, "epsilon": 0.01, "momentum": 0.3}, (2, 2, 2))),
    refusals=(NOT_FLOATING,),
)

LAYER_NORM = PartSymbol(
    id="layer-norm",
    title="layer norm",
    glyph=Glyph("M-.32 -.2H.32M-.32 0H.32M-.32 .2H.32", INK, WASH),
    formula="γ∘(U − μ)/√(σ² + ε) + β, μ and σ² over the sample",
    place="before",
    ranks=(1, 2, 3),
    forward=layer_norm,
    layer=_layer_layer,
    normalises=True,
    weights=_element_weights,
    held=SCALE_AND_SHIFT,
    problem=_layer_problem,
    attributes=(EPSILON, AFFINE),
    samples=(VECTOR, MATRICES, VOLUMES, Sample({"affine": False, "epsilon": 0.01}, (2, 2, 2))),
    refusals=(NOT_FLOATING, Refusal({}, (1,), "nothing-to-normalise")),
)

GROUP_NORM = PartSymbol(
    id="group-norm",
    title="group norm",
    glyph=Glyph("M-.32 -.26H.32M-.32 -.1H.32M-.32 .12H.32M-.32 .28H.32M-.06 -.02V.04", INK, WASH),
    formula="γ·(U − μ)/√(σ² + ε) + β, μ and σ² over a group of channels",
    place="before",
    ranks=(1, 2, 3),
    forward=group_norm,
    layer=_group_layer,
    normalises=True,
    weights=_channel_weights,
    held=SCALE_AND_SHIFT,
    problem=_group_problem,
    attributes=(Attribute("groups", "size", "Groups of channels; 1 is all of them.", default=1), EPSILON, AFFINE),
    samples=(
        Sample({"groups": 2}, (4,)),
        Sample({"groups": 2}, (4, 3, 2)),
        VOLUMES,
        Sample({"affine": False, "epsilon": 0.01}, (2, 2, 2)),
    ),
    refusals=(
        NOT_FLOATING,
        Refusal({"groups": 3}, (4, 2, 2), "groups-do-not-divide"),
        Refusal({"groups": 4}, (4,), "nothing-to-normalise"),
    ),
)

INSTANCE_NORM = PartSymbol(
    id="instance-norm",
    title="instance norm",
    glyph=Glyph("M-.3 -.3H.3V.3H-.3ZM-.14 .12C-.04 .12 -.06 -.14 0 -.14C.06 -.14 .04 .12 .14 .12", INK, WASH),
    formula="γ·(U − μ)/√(σ² + ε) + β, μ and σ² over a channel of the sample",
    place="before",
    ranks=(2, 3),
    forward=instance_norm,
    layer=_instance_layer,
    normalises=True,
    weights=_channel_weights,
    held=SCALE_AND_SHIFT,
    problem=_instance_problem,
    attributes=(EPSILON, AFFINE),
    samples=(MATRICES, VOLUMES, Sample({"affine": False, "epsilon": 0.01}, (2, 2, 2))),
    refusals=(NOT_FLOATING, Refusal({}, (3, 1, 1), "nothing-to-normalise")),
)

SYMBOLS = (BATCH_NORM, LAYER_NORM, GROUP_NORM, INSTANCE_NORM)
