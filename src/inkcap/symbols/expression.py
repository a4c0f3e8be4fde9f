"""The capsule whose function a person writes: an expression in x, read by a closed grammar into operations."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping

from inkcap.operations import Traced
from inkcap.operations import vocabulary as op
from inkcap.structures.expressions import Binary, Call, ExpressionError, Negative, Number, Tree, Variable, parse
from inkcap.symbols.attributes import Attribute, Attributes
from inkcap.symbols.symbol import CapsuleSymbol, Given, Glyph, Refusal, Sample, keep_shape

Value = Traced | float
"""What a part of an expression stands for: a value of the trace, or a number that is known already."""


def _curve(name: str) -> Callable[[Traced], Traced]:
    return lambda x: op.curve(x, of=name)


ONE_ARGUMENT: Mapping[str, tuple[Callable[[Traced], Traced], Callable[[float], float]]] = {
    "abs": (_curve("abs"), abs),
    "atan": (_curve("atan"), math.atan),
    "cos": (_curve("cos"), math.cos),
    "exp": (_curve("exp"), math.exp),
    "log": (_curve("log"), math.log),
    "relu": (op.relu, lambda x: max(0.0, x)),
    "sigmoid": (op.sigmoid, lambda x: 1 / (1 + math.exp(-x))),
    "sign": (_curve("sign"), lambda x: float((x > 0) - (x < 0))),
    "sin": (_curve("sin"), math.sin),
    "sqrt": (_curve("sqrt"), math.sqrt),
    "tanh": (op.tanh, math.tanh),
}
FUNCTIONS = {**dict.fromkeys(ONE_ARGUMENT, 1), "max": 2, "min": 2}
"""The closed list of functions with the numbers of their arguments."""


def expression(u: Traced, given: Given, attributes: Attributes) -> Traced:
    """Computes what its expression says, element by element: x is the total input."""
    made = _value(_read(attributes["expression"]), u)
    assert isinstance(made, Traced)
    return made


def _read(text: str) -> Tree:
    return parse(text, ("x",), FUNCTIONS)


def check_expression(text: str) -> None:
    """Read an expression in x, or raise ValueError that says where it is wrong."""
    tree = _read(text)
    if not _has_variable(tree):
        raise ExpressionError("x does not occur in it, so nothing that enters would count")
    _check_numbers(tree)


def _parts(tree: Tree) -> tuple[Tree, ...]:
    if isinstance(tree, Binary):
        return (tree.left, tree.right)
    return tree.arguments if isinstance(tree, Call) else (tree.operand,) if isinstance(tree, Negative) else ()


def _has_variable(tree: Tree) -> bool:
    return isinstance(tree, Variable) or any(_has_variable(part) for part in _parts(tree))


def _check_numbers(tree: Tree) -> None:
    if not _has_variable(tree):
        _known(tree)
        return
    for part in _parts(tree):
        _check_numbers(part)
    if not isinstance(tree, Binary):
        return
    inside = _has_variable(tree.left), _has_variable(tree.right)
    if tree.operator == "^" and all(inside):
        raise ExpressionError(f"column {tree.column}: x stands in base and exponent of ^; one must be a number")
    if tree.operator == "^" and inside[1] and _known(tree.left) <= 0:
        raise ExpressionError(f"column {tree.column}: the base of an exponent with x must be above 0")
    if tree.operator == "/" and not inside[1] and abs(_known(tree.right)) < 1e-300:
        raise ExpressionError(f"column {tree.column}: division by 0")


def _known(tree: Tree) -> float:
    """Compute a part without x, by nothing but its tree; an impossible one is told with its column."""
    try:
        made = _value(tree, None)
    except (ArithmeticError, ValueError) as error:
        raise ExpressionError(f"column {tree.column}: this has no value ({error})") from None
    if not isinstance(made, (int, float)) or not math.isfinite(made):
        raise ExpressionError(f"column {tree.column}: this is no finite number")
    return made


def _value(tree: Tree, u: Traced | None) -> Value:
    if isinstance(tree, Number):
        return int(tree.value) if tree.text.isdigit() else tree.value
    if isinstance(tree, Variable):
        assert u is not None
        return u
    if isinstance(tree, Negative):
        return _negative(_value(tree.operand, u))
    values = [_value(part, u) for part in _parts(tree)]
    if isinstance(tree, Binary):
        return _BINARY[tree.operator](*values)
    if tree.function in ("max", "min"):
        return _extreme(values[0], values[1], tree.function == "max")
    by_trace, by_number = ONE_ARGUMENT[tree.function]
    return by_trace(values[0]) if isinstance(values[0], Traced) else by_number(values[0])


def _affine(x: Traced, scale: float, shift: float) -> Traced:
    return op.curve(x, of="affine", scale=scale, shift=shift)


def _negative(x: Value) -> Value:
    return _affine(x, -1, 0) if isinstance(x, Traced) else -x


def _add(x: Value, y: Value) -> Value:
    if isinstance(x, Traced):
        return op.add(x, y) if isinstance(y, Traced) else _affine(x, 1, y)
    return _affine(y, 1, x) if isinstance(y, Traced) else x + y


def _subtract(x: Value, y: Value) -> Value:
    if isinstance(x, Traced):
        return op.subtract(x, y) if isinstance(y, Traced) else _affine(x, 1, -y)
    return _affine(y, -1, x) if isinstance(y, Traced) else x - y


def _multiply(x: Value, y: Value) -> Value:
    if isinstance(x, Traced):
        return op.multiply(x, y) if isinstance(y, Traced) else _affine(x, y, 0)
    return _affine(y, x, 0) if isinstance(y, Traced) else x * y


def _divide(x: Value, y: Value) -> Value:
    if isinstance(x, Traced):
        return op.divide(x, y) if isinstance(y, Traced) else _affine(x, 1 / y, 0)
    return op.curve(y, of="over", number=x) if isinstance(y, Traced) else x / y


def _power(x: Value, y: Value) -> Value:
    if isinstance(x, Traced):
        assert not isinstance(y, Traced)
        return op.curve(x, of="sqrt") if y == 0.5 else op.curve(x, of="power", exponent=y)
    if isinstance(y, Traced):
        return op.curve(_affine(y, math.log(x), 0), of="exp")
    made = math.pow(x, y)
    return int(made) if isinstance(x, int) and isinstance(y, int) and made.is_integer() else made


def _extreme(x: Value, y: Value, larger: bool) -> Value:
    """Give the larger or the smaller of two; where they are equal, the first one's slope counts."""
    if isinstance(x, Traced) and isinstance(y, Traced):
        if larger:
            return op.maximum(x, y)
        return _affine(op.maximum(_affine(x, -1, 0), _affine(y, -1, 0)), -1, 0)
    name = "at_least" if larger else "at_most"
    if isinstance(x, Traced):
        return op.curve(x, of=name, number=y, strict=False)
    if isinstance(y, Traced):
        return op.relu(y) if larger and x == 0 else op.curve(y, of=name, number=x, strict=True)
    return max(x, y) if larger else min(x, y)


_BINARY: Mapping[str, Callable[[Value, Value], Value]] = {
    "+": _add,
    "-": _subtract,
    "*": _multiply,
    "/": _divide,
    "^": _power,
}

EXPRESSION = CapsuleSymbol(
    id="expression",
    title="expression",
    family="activation",
    ranks=(0, 1, 2, 3),
    glyph=Glyph(
        "M.12 -.34C-.02 -.38 -.06 -.3 -.08 -.18L-.16 .26C-.18 .36 -.24 .38 -.34 .34M-.22 -.06H.08"
        "M.14 .02L.34 .28M.34 .02L.14 .28",
        "#5a3fd0",
        "#ece8fb",
    ),
    formula="Y = f(U)",
    forward=expression,
    back=keep_shape,
    own_attributes=(
        Attribute(
            "expression",
            "text",
            "The function f of the total input x: numbers, x, + - * / ^, brackets, and "
            f"{', '.join(sorted(FUNCTIONS))}. Where max or min has two equal arguments, the first one's slope counts.",
            default="x",
            reads=check_expression,
        ),
    ),
    samples=(
        Sample({"expression": "x/(1+abs(x))"}, ()),
        Sample({"expression": "sqrt(max(x, 0))"}, (5,)),
        Sample({"expression": "2^x - min(x^2, 1.5) + max(0.3, x)*min(-x, sin(x)) - 0.5/(3 + cos(x)*sign(x))"}, (6,)),
        Sample({"expression": "x^3 - exp(-x^2)*log(x^2 + 1)/2 + atan(relu(x))"}, (2, 3, 2)),
        Sample({"expression": "max(tanh(x), sigmoid(x) - 0.2) + (0.9 - x)"}, (2, 2, 2, 2)),
        Sample({}, (3,)),
    ),
    refusals=(Refusal({"expression": "x^2"}, (3,), "not-floating", dtype="int64"),),
)

SYMBOLS = (EXPRESSION,)
