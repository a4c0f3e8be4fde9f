"""Operators that join values, or a value and stored numbers: sums, products, quotients, powers."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from inkcap.exchange.importing.elementwise import express
from inkcap.exchange.importing.errors import NoSymbol
from inkcap.exchange.importing.graph import Constant, Node, Sizes
from inkcap.exchange.importing.numbers import plain, written
from inkcap.exchange.importing.translator import FLOATING, Handler, Translator, spread
from inkcap.exchange.importing.values import Growing, Line, Stage, Value, Worn

FOLDING = {"batch-norm": ("channel", "full"), "group-norm": ("channel", "full"), "row-norm": ("item",)}
"""Norms whose scale and shift take up a factor and a summand of every channel, or of every element of a row."""


def add(t: Translator, node: Node) -> None:
    """A sum: of two or more values it is the paper's; a constant is a bias."""
    stored = [name for name in node.inputs if t.is_constant(name)]
    values = [name for name in node.inputs if not t.is_constant(name)]
    if len(values) == 1 and len(stored) == 1:
        _shift(t, node, node.inputs.index(values[0]), t.constants[stored[0]])
        return
    if stored:
        raise NoSymbol("it adds several constants")
    shape = _meet(t, node, [t.values[name].shape for name in values])
    _sum(t, node, values, shape)


def _meet(t: Translator, node: Node, shapes: list[Sizes]) -> Sizes:
    try:
        return tuple(int(size) for size in np.broadcast_shapes(*shapes))
    except ValueError:
        raise NoSymbol(f"{' and '.join(map(t.show, shapes))} do not fit together") from None


def _sum(t: Translator, node: Node, names: list[str], shape: Sizes) -> None:
    first = next((name for name in names if t.values[name].shape == shape), None)
    if first is None:
        raise NoSymbol("both would spread over each other")
    drawn = t.structure(t.values[first])
    total = Growing(node.name or node.outputs[0], drawn, scope=node.scope)
    for name in names:
        value = t.values[name]
        of = value.of
        joins = not of.sealed and t.alone(name) and value.order is None and of.drawn == drawn
        # What is only a sum so far is summed here; two biases stay two, so that nothing is lost of what is stored.
        if joins and of.stage == Stage.SUM and value.shape == shape and not (of.bias and total.bias):
            total.lines += of.lines
            if of.bias:
                total.bias, total.bias_kind = of.bias, of.bias_kind
            if of.lines and of.lines[0].symbol != "transfer":
                total.name = of.name
        else:
            total.lines.append(spread_line(t, value, shape, drawn))
    t.give(node, shape, total)


def spread_line(t: Translator, value: Value, shape: Sizes, drawn: Sizes) -> Line:
    """Lead a value into a capsule of this structure; one number a channel is repeated at all positions."""
    if value.shape == shape:
        return t.line(value, drawn)
    sizes = (1,) * (len(shape) - len(value.shape)) + value.shape[1:]
    if len(value.shape) != len(shape) or len(drawn) < 3 or drawn != shape[1:]:
        raise NoSymbol(f"{t.show(value.shape)} spreads over {t.show(shape)}")
    if sizes[0] != drawn[0] or any(size != 1 for size in sizes[1:]):
        raise NoSymbol(f"{t.show(value.shape)} spreads over {t.show(shape)}")
    return Line("resampling", t.vertex(value, value.sizes), {"size": drawn[1:]})


def _met(t: Translator, node: Node, place: int, constant: Constant, does: str) -> tuple[Value, Sizes]:
    """Give the value that a constant meets, and its structure; only the constant may spread."""
    value = t.value(node, place)
    if value.of.dtype not in FLOATING:
        raise NoSymbol(f"it {does} {value.of.dtype}")
    if _meet(t, node, [value.shape, constant.shape or (1,)]) != value.shape:
        raise NoSymbol(f"a constant of {t.show(constant.shape)} spreads what it meets")
    return value, t.structure(value)


def _shift(t: Translator, node: Node, place: int, constant: Constant) -> None:
    value, drawn = _met(t, node, place, constant, "adds to")
    kind, held = spread(value, drawn, constant)
    of = value.of
    if kind == "one":
        express(t, node, f"x + {written(held.number())}", place)
        return
    norm = of.wears_norm()
    grows = not of.sealed and t.alone(node.inputs[place]) and value.order is None and of.drawn == drawn
    if grows and of.stage == Stage.NORM and norm and norm.part in FOLDING and kind in FOLDING[norm.part]:
        _give_affine(norm, held)
        norm.weights["shift"] = _combined(norm.weights["shift"], held, "+", np.add)
        t.give(node, value.shape, of)
        return
    grown = t.grow(node, Stage.SUM, drawn, place)
    if grown.bias is not None:
        grown = t.begin(value, drawn, node.outputs[0], node.scope)
    grown.bias, grown.bias_kind = held, kind
    t.give(node, value.shape, grown)


def _give_affine(norm: Worn, like: Constant) -> None:
    """Give a norm without a scale and a shift those that change nothing."""
    if "scale" not in norm.weights:
        norm.attributes.pop("affine", None)
        norm.weights["scale"] = Constant("ones", like.shape, "float32", lambda: np.ones(like.shape, np.float32))
        norm.weights["shift"] = Constant("zeros", like.shape, "float32", lambda: np.zeros(like.shape, np.float32))


def _combined(one: Constant, other: Constant, sign: str, how: Callable[[Any, Any], Any]) -> Constant:
    return one.changed(f"{sign}{other.key}", lambda numbers: how(numbers, other.array().reshape(numbers.shape)))


def subtract(t: Translator, node: Node) -> None:
    """A difference: a sum with what is turned negative."""
    first, second = (t.is_constant(name) for name in node.inputs[:2])
    if second:
        constant = t.constants[node.inputs[1]]
        _shift(t, node, 0, constant.changed("-", np.negative))
        return
    if first:
        if t.constants[node.inputs[0]].count != 1:
            raise NoSymbol("it subtracts from a constant of several numbers")
        express(t, node, f"{written(t.constants[node.inputs[0]].number())} - x", 1)
        return
    values = [t.value(node, place) for place in (0, 1)]
    shape = _meet(t, node, [value.shape for value in values])
    if any(value.shape != shape for value in values):
        raise NoSymbol("one of its inputs spreads over the other")
    drawn = t.structure(values[0])
    turned = t.begin(values[1], drawn, f"{node.outputs[0]}-negative", node.scope)
    turned.symbol, turned.attributes, turned.stage = "expression", {"expression": "-x"}, Stage.FUNCTION
    grown = Growing(node.outputs[0], drawn, [t.line(values[0], drawn)], scope=node.scope)
    t.seal(turned)
    grown.lines.append(Line("transfer", turned))
    t.give(node, shape, grown)


def multiply(t: Translator, node: Node) -> None:
    """A product: of two values a gate; by a constant a scale."""
    stored = [place for place, name in enumerate(node.inputs) if t.is_constant(name)]
    if stored:
        _scale(t, node, 1 - stored[0], t.constants[node.inputs[stored[0]]])
        return
    _gate(t, node, {})


def _gate(t: Translator, node: Node, attributes: dict[str, Any]) -> None:
    values = [t.value(node, place) for place in (0, 1)]
    shape = _meet(t, node, [value.shape for value in values])
    whole = next((value for value in values if value.shape == shape), None)
    if whole is None:
        raise NoSymbol("both would spread over each other")
    drawn = t.structure(whole)
    lines = [spread_line(t, value, shape, drawn) for value in values]
    lines[1].port = "by"
    grown = Growing(node.name or node.outputs[0], drawn, lines, scope=node.scope)
    grown.symbol, grown.attributes, grown.stage = "product", attributes, Stage.FUNCTION
    t.give(node, shape, grown)


def _scale(t: Translator, node: Node, place: int, constant: Constant, turned: bool = False) -> None:
    value, drawn = _met(t, node, place, constant, "multiplies")
    kind, held = spread(value, drawn, constant)
    of = value.of
    grows = not of.sealed and t.alone(node.inputs[place]) and value.order is None and of.drawn == drawn
    if kind == "one":
        factor = held.number()
        if grows and of.symbol == "tanh" and of.stage == Stage.FUNCTION and factor > 0 and not turned:
            of.attributes["amplitude"] = plain(of.attributes.get("amplitude", 1) * factor)
            t.give(node, value.shape, of)
            return
        express(t, node, f"x/{written(factor)}" if turned else f"{written(factor)}*x", place)
        return
    if turned:
        held = held.changed("1/", lambda numbers: np.asarray(1 / numbers, numbers.dtype))
    norm = of.wears_norm()
    if grows and of.stage == Stage.NORM and norm and norm.part in FOLDING and kind in FOLDING[norm.part]:
        _give_affine(norm, held)
        for name in ("scale", "shift"):
            norm.weights[name] = _combined(norm.weights[name], held, "*", np.multiply)
        t.give(node, value.shape, of)
        return
    if kind == "item":
        last = held
        kind = "full"
        held = Constant(f"{last.key}/{drawn}", drawn, last.dtype, lambda: np.broadcast_to(last.array(), drawn))
    per = {"channel": "channel", "full": "element"}[kind]
    source = t.vertex(value, drawn)
    line = Line("scale", source, {"per": per}, {"weight": held})
    t.give(node, value.shape, Growing(node.outputs[0], drawn, [line], scope=node.scope))


def divide(t: Translator, node: Node) -> None:
    """A quotient."""
    if t.is_constant(node.inputs[1]):
        _scale(t, node, 0, t.constants[node.inputs[1]], turned=True)
    elif t.is_constant(node.inputs[0]):
        if t.constants[node.inputs[0]].count != 1:
            raise NoSymbol("it divides a constant of several numbers")
        express(t, node, f"{written(t.constants[node.inputs[0]].number())}/x", 1)
    else:
        raise NoSymbol("it divides by what is computed, which may be zero or negative")


def power(t: Translator, node: Node) -> None:
    """A power with a stored exponent."""
    exponent = t.constant(node, 1, "exponent")
    if exponent.count != 1:
        raise NoSymbol("it has several exponents")
    express(t, node, f"x^{written(exponent.number())}")


def extreme(t: Translator, node: Node) -> None:
    """The larger or smaller of a value and a number."""
    stored = [place for place, name in enumerate(node.inputs) if t.is_constant(name)]
    if len(node.inputs) != 2 or len(stored) != 1 or t.constants[node.inputs[stored[0]]].count != 1:
        raise NoSymbol("it compares values with each other")
    bound = t.constants[node.inputs[stored[0]]].number()
    express(t, node, f"{node.operator.lower()}(x, {written(bound)})", 1 - stored[0])


HANDLERS: dict[str, Handler] = {
    "Add": add,
    "Sum": add,
    "Sub": subtract,
    "Mul": multiply,
    "Div": divide,
    "Pow": power,
    "Max": extreme,
    "Min": extreme,
}
