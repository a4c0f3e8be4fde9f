"""Argument expressions: small arithmetic over a group's arguments, such as ``=2*width``."""

from __future__ import annotations

import math
import operator
from collections.abc import Callable, Mapping
from functools import lru_cache
from typing import Any

from inkcap.structures.expressions import Binary, Call, Negative, Number, Tree, Variable, parse

Value = int | float | str | bool

OPERATORS: Mapping[str, Callable[[Any, Any], Any]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": lambda a, b: a / b,
    "^": lambda a, b: a**b,
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {
    "min": min,
    "max": max,
    "mod": math.fmod,
    "floor": math.floor,
    "ceil": math.ceil,
}
TAKES = {"min": 2, "max": 2, "mod": 2, "floor": 1, "ceil": 1}
LARGEST = 1e15
"""No intermediate number may be larger, so that no power takes longer than a blink."""


def is_expression(value: Any) -> bool:
    """Tell whether a value is an expression: a text that starts with ``=``."""
    return isinstance(value, str) and value.startswith("=")


def evaluate(text: str, names: Mapping[str, Value]) -> Value:
    """Compute an expression with the arguments' values; ValueError says what is wrong with it."""
    try:
        value = _value(_tree(text.removeprefix("="), tuple(names)), names)
    except ValueError as error:
        raise ValueError(f"{text}: {error}") from None
    # 64/2 is a whole number to whoever writes it.
    return int(value) if isinstance(value, float) and value.is_integer() else value


@lru_cache(maxsize=4096)
def _tree(text: str, names: tuple[str, ...]) -> Tree:
    # A group that is used a hundred times is read once.
    return parse(text, names, TAKES)


def _value(tree: Tree, names: Mapping[str, Value]) -> Value:
    if isinstance(tree, Number):
        return int(tree.text) if tree.text.isdigit() else tree.value
    if isinstance(tree, Variable):
        return names[tree.name]
    if isinstance(tree, Negative):
        return -_number(tree.operand, names)
    if isinstance(tree, Binary):
        left, right = _number(tree.left, names), _number(tree.right, names)
        if tree.operator == "^" and (abs(left) > LARGEST or abs(right) > 64):
            raise ValueError(f"column {tree.column}: {left}^{right} is too large")
        return _finite(lambda: OPERATORS[tree.operator](left, right), f"{left} {tree.operator} {right}", tree)
    given = [_number(argument, names) for argument in tree.arguments]
    return _finite(lambda: FUNCTIONS[tree.function](*given), f"{tree.function} of {given}", tree)


def _number(tree: Tree, names: Mapping[str, Value]) -> int | float:
    value = _value(tree, names)
    if isinstance(value, (str, bool)):
        raise ValueError(f"column {tree.column}: {value!r} is no number")
    return value


def _finite(compute: Callable[[], Any], said: str, tree: Binary | Call) -> int | float:
    try:
        value = compute()
    except (ZeroDivisionError, OverflowError, ValueError):
        raise ValueError(f"column {tree.column}: {said} has no value") from None
    if isinstance(value, complex) or not abs(value) <= LARGEST:
        raise ValueError(f"column {tree.column}: {said} is no number of a reasonable size")
    return value
