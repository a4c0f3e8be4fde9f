"""Operators that work on every number, or turn scores into shares: the functions of capsules."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping
from typing import Any

from inkcap.exchange.importing.errors import NoSymbol
from inkcap.exchange.importing.graph import Node, Sizes
from inkcap.exchange.importing.numbers import plain, written
from inkcap.exchange.importing.translator import FLOATING, Handler, Translator, spread
from inkcap.exchange.importing.values import Growing, Line, Stage, Value, Worn, along_line, natural, rank_of

LONGEST = 180
"""Characters of an expression that grows; beyond it another capsule begins."""


def _function(
    t: Translator, node: Node, symbol: str, attributes: Mapping[str, Any] | None = None, drawn: Sizes | None = None
) -> Growing:
    """Let a capsule have a function: the one whose sum it is, or a new one."""
    value = t.value(node)
    grown = t.grow(node, Stage.NORM, drawn)
    grown.symbol, grown.attributes, grown.stage = symbol, dict(attributes or {}), Stage.FUNCTION
    t.give(node, value.shape, grown)
    return grown


def _simple(symbol: str) -> Handler:
    def handle(t: Translator, node: Node) -> None:
        _function(t, node, symbol)

    return handle


def _expression(template: str) -> Handler:
    def handle(t: Translator, node: Node) -> None:
        express(t, node, template)

    return handle


def express(t: Translator, node: Node, template: str, place: int = 0) -> None:
    """Let an expression in x follow a value; one that follows another is written into it."""
    value = t.value(node, place)
    of = value.of
    drawn = t.structure(value)
    grows = not of.sealed and t.alone(node.inputs[place]) and value.order is None and of.drawn == drawn
    if grows and of.symbol == "expression" and of.stage == Stage.FUNCTION:
        text = put_in(template, of.attributes["expression"])
        if len(text) <= LONGEST:
            of.attributes = {"expression": text}
            t.give(node, value.shape, of)
            return
    grown = t.grow(node, Stage.NORM, drawn, place)
    grown.symbol, grown.attributes, grown.stage = "expression", {"expression": template}, Stage.FUNCTION
    t.give(node, value.shape, grown)


def put_in(template: str, inner: str) -> str:
    """Put an expression in place of x."""
    bracketed = inner if re.fullmatch(r"x|\w+\(x\)", inner) else f"({inner})"
    return re.sub(r"\bx\b", bracketed, template)


def leaky_relu(t: Translator, node: Node) -> None:
    """A ReLU with a slope below zero."""
    slope = plain(node.at("alpha", 0.01))
    if not 0 <= slope <= 1:
        express(t, node, f"max(x, 0) + {written(slope)}*min(x, 0)")
        return
    _function(t, node, "relu", {"slope": slope} if slope else {})


def tanh(t: Translator, node: Node) -> None:
    """Tanh, with the steepness that a factor before it is."""
    value = t.value(node)
    of = value.of
    steep = re.fullmatch(r"([\d.e-]+)\*x", of.attributes.get("expression", "")) if of.symbol == "expression" else None
    if steep and not of.sealed and t.alone(node.inputs[0]) and of.stage == Stage.FUNCTION:
        of.symbol, of.attributes = "tanh", {"steepness": float(steep[1])}
        t.give(node, value.shape, of)
        return
    _function(t, node, "tanh")


def prelu(t: Translator, node: Node) -> None:
    """A ReLU whose slope is learnt."""
    value, slope = t.value(node), t.constant(node, 1, "slope")
    drawn = along_line(value.sizes)
    kind, held = spread(value, drawn, slope) if slope.count > 1 else ("one", slope)
    if kind == "item" or (kind == "full" and rank_of(drawn) > 1):
        raise NoSymbol("its slopes are neither one nor one a channel")
    grown = _function(t, node, "prelu", {"per": "one"} if kind == "one" else {}, drawn)
    grown.parameters = {"slope": held.reshaped((held.count,))}


def clip(t: Translator, node: Node) -> None:
    """Bounds: a hard tanh, or a ReLU where there is only a lower one of zero."""
    bounds: list[float | None] = []
    for place, name in ((1, "min"), (2, "max")):
        if place < len(node.inputs) and node.inputs[place]:
            bounds.append(t.constant(node, place, "bound").number())
        else:
            bounds.append(node.at(name))
    low, high = (None if bound is None or abs(bound) > 1e38 else plain(bound) for bound in bounds)
    if low is None and high is None:
        t.alias(node)
    elif low is not None and high is not None:
        if low >= high:
            raise NoSymbol(f"its bounds {low} and {high} leave nothing")
        stated = {name: n for name, n, usual in (("low", low, -1), ("high", high, 1)) if n != usual}
        _function(t, node, "hard-tanh", stated)
    elif low == 0:
        _function(t, node, "relu")
    else:
        express(t, node, f"max(x, {written(low)})" if low is not None else f"min(x, {written(high or 0)})")


def hard_sigmoid(t: Translator, node: Node) -> None:
    """A straight line between 0 and 1."""
    alpha, beta = plain(node.at("alpha", 0.2)), plain(node.at("beta", 0.5))
    if math.isclose(alpha, 1 / 6, rel_tol=1e-5) and beta == 0.5:
        _function(t, node, "hard-sigmoid")
    else:
        express(t, node, f"min(max({written(alpha)}*x + {written(beta)}, 0), 1)")


def elu(t: Translator, node: Node) -> None:
    """An exponential below zero."""
    alpha = plain(node.at("alpha", 1.0))
    _function(t, node, "elu", {} if alpha == 1 else {"alpha": alpha})


def selu(t: Translator, node: Node) -> None:
    """A scaled ELU."""
    alpha, gamma = written(node.at("alpha", 1.6732632)), written(node.at("gamma", 1.050701))
    express(t, node, f"{gamma}*(max(x, 0) + {alpha}*(exp(min(x, 0)) - 1))")


def gelu(t: Translator, node: Node) -> None:
    """GELU, by its integral or by a tanh."""
    _function(t, node, "gelu", {"approximate": True} if node.at("approximate", "none") == "tanh" else {})


def softplus(t: Translator, node: Node) -> None:
    """A smooth ReLU."""
    beta = plain(node.at("beta", 1.0))
    _function(t, node, "softplus", {} if beta == 1 else {"steepness": beta})


def softmax(t: Translator, node: Node) -> None:
    """Softmax over the channels, over a vector, over all positions, or along another axis by laying it first."""
    value = t.value(node)
    axis: int = node.at("axis", -1) % len(value.shape)
    sizes = value.sizes
    if axis == 0:
        raise NoSymbol("it goes over the batch")
    if node.at("flattened") and math.prod(sizes[axis:]) > 1:
        if axis != 1:
            raise NoSymbol(f"it goes over the axes from {axis} on together")
        grown = t.grow(node, Stage.NORM)
        grown.rank = rank_of(grown.drawn)
        grown.symbol, grown.stage, grown.drawn = "position-softmax", Stage.FUNCTION, (math.prod(sizes),)
        t.give(node, value.shape, grown)
        return
    if axis == 1 and len(sizes) != 2:
        _function(t, node, "softmax", drawn=sizes)
        return
    if axis == 1:
        _function(t, node, "softmax", drawn=along_line(sizes))
        return
    drawn = natural(sizes)
    if not drawn:
        raise NoSymbol(f"it goes along axis {axis} of {t.show(value.shape)}")
    # The axis is laid first, where the channels are; what follows reads the axes in their old order.
    place: int = axis - 1 + len(drawn) - len(sizes)
    order: Sizes = (place, *(i for i in range(len(drawn)) if i != place))
    back = tuple(order.index(i) for i in range(len(drawn)))
    source = t.vertex(value, drawn)
    laid = tuple(drawn[i] for i in order)
    grown = Growing(node.outputs[0], laid, [Line("reshaping", source, {"order": order, "shape": laid})])
    grown.symbol, grown.stage, grown.scope = "softmax", Stage.FUNCTION, node.scope
    t.give(node, value.shape, grown, back)


def log_softmax(t: Translator, node: Node) -> None:
    """The logarithm of a softmax: two capsules."""
    softmax(t, node)
    made = t.values[node.outputs[0]]
    grown = Growing(f"{node.outputs[0]}-log", made.of.drawn, [t.line(Value(made.shape, made.of), made.of.drawn)])
    grown.symbol, grown.attributes, grown.stage = "expression", {"expression": "log(x)"}, Stage.FUNCTION
    t.give(node, made.shape, grown, made.order)


def dropout(t: Translator, node: Node) -> None:
    """Dropout: worn by the capsule before it."""
    value, entering, made = t.value(node), node.inputs[0], node.outputs[0]
    if len(node.outputs) > 1 and node.outputs[1] in t.uses:
        raise NoSymbol("it also gives its mask")
    ratio = node.at("ratio", 0.5)
    if len(node.inputs) > 1 and node.inputs[1]:
        ratio = t.constant(node, 1, "probability").number()
    part = node.at("part", "dropout")
    if not ratio:
        t.alias(node)
        return
    if not 0 < ratio <= 0.99 or (part == "channel-dropout" and rank_of(t.structure(value)) < 2):
        raise NoSymbol(f"it drops with the probability {ratio}")
    of = value.of
    drawn = t.structure(value)
    fits = not of.sealed and t.alone(entering) and value.order is None and of.drawn == drawn
    grown = of if fits and not any(w.part == part for w in of.worn) else t.begin(value, drawn, made, node.scope)
    grown.worn.append(Worn(part, {} if ratio == 0.5 else {"probability": plain(ratio)}))
    grown.stage = Stage.AFTER
    t.give(node, value.shape, grown)


def step(t: Translator, node: Node) -> None:
    """One from a threshold on, else zero."""
    threshold = plain(node.at("threshold", 0.0))
    _function(t, node, "step", {"threshold": threshold} if threshold else {})


def identity(t: Translator, node: Node) -> None:
    """Nothing at all."""
    t.alias(node)


def cast(t: Translator, node: Node) -> None:
    """A change of data type: between kinds of floating numbers it is left out."""
    if node.at("to") not in FLOATING or t.value(node).of.dtype not in FLOATING:
        raise NoSymbol(f"it turns numbers into {node.at('to')}")
    t.alias(node)


HANDLERS: dict[str, Handler] = {
    "Relu": _simple("relu"),
    "Sigmoid": _simple("sigmoid"),
    "Silu": _simple("silu"),
    "Swish": _simple("silu"),
    "HardSwish": _simple("hard-swish"),
    "Step": step,
    "LeakyRelu": leaky_relu,
    "Tanh": tanh,
    "PRelu": prelu,
    "Clip": clip,
    "HardSigmoid": hard_sigmoid,
    "Elu": elu,
    "Selu": selu,
    "Gelu": gelu,
    "Softplus": softplus,
    "Softmax": softmax,
    "LogSoftmax": log_softmax,
    "Softsign": _expression("x/(1 + abs(x))"),
    "Mish": _expression("x*tanh(log(1 + exp(x)))"),
    "Exp": _expression("exp(x)"),
    "Log": _expression("log(x)"),
    "Sqrt": _expression("sqrt(x)"),
    "Abs": _expression("abs(x)"),
    "Neg": _expression("-x"),
    "Sin": _expression("sin(x)"),
    "Cos": _expression("cos(x)"),
    "Atan": _expression("atan(x)"),
    "Sign": _expression("sign(x)"),
    "Reciprocal": _expression("1/x"),
    "Dropout": dropout,
    "Identity": identity,
    "Cast": cast,
}
