"""Expressions: the tree means what the text says, and no text gets past the grammar."""

from __future__ import annotations

import math
import operator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkcap.structures.expressions import (
    Binary,
    Call,
    ExpressionError,
    Negative,
    Number,
    Tree,
    Variable,
    parse,
)

FUNCTIONS = {"max": 2, "abs": 1}
SIGNS = {"+": operator.add, "-": operator.sub, "*": operator.mul, "/": operator.truediv, "^": operator.pow}


def value(tree: Tree, names: dict[str, float]) -> float:
    if isinstance(tree, Number):
        return tree.value
    if isinstance(tree, Variable):
        return names[tree.name]
    if isinstance(tree, Negative):
        return -value(tree.operand, names)
    if isinstance(tree, Call):
        return {"max": max, "abs": abs}[tree.function](*(value(part, names) for part in tree.arguments))
    return SIGNS[tree.operator](value(tree.left, names), value(tree.right, names))


LEAVES = st.one_of(st.integers(0, 9).map(str), st.sampled_from(["k", "n", "1.5", ".25", "2e1"]))
TEXTS = st.recursive(
    LEAVES,
    lambda inner: st.one_of(
        st.tuples(inner, st.sampled_from("+-*"), inner).map(lambda t: f"{t[0]}{t[1]}{t[2]}"),
        inner.map(lambda t: f"({t})"),
        inner.map(lambda t: f"-({t})"),
        st.tuples(inner, inner).map(lambda t: f"max({t[0]}, {t[1]})"),
        inner.map(lambda t: f"abs({t})^2"),
    ),
    max_leaves=8,
).filter(lambda text: len(text) <= 200)


@given(TEXTS)
def test_an_expression_means_what_python_would_make_of_it(text: str) -> None:
    found = value(parse(text, ("k", "n"), FUNCTIONS), {"k": 3.0, "n": -2.0})
    expected = eval(text.replace("^", "**"), {"k": 3.0, "n": -2.0})  # noqa: S307 - made by the strategy above
    assert math.isclose(found, expected, rel_tol=1e-12, abs_tol=1e-12)


@given(st.text(max_size=40))
def test_any_text_is_read_or_refused_with_a_reason(text: str) -> None:
    told = "column"
    try:
        parse(text, ("x",), FUNCTIONS)
    except ExpressionError as error:
        told = str(error)
    assert "column" in told


def test_names_are_free_unless_they_are_listed() -> None:
    assert parse("2*k+1") == Binary("+", Binary("*", Number(2, "2", 1), Variable("k", 3), 2), Number(1, "1", 5), 4)
    with pytest.raises(ExpressionError, match="column 3: there is no 'j'; there is k, n"):
        parse("2*j", ("n", "k"))
    with pytest.raises(ExpressionError, match="column 1: there is no function 'k'; there are none"):
        parse("k(2)")


def test_signs_and_powers_bind_as_in_mathematics() -> None:
    for text, expected in (("-2^2", -4), ("2^-1", 0.5), ("2^3^2", 512), ("8/2*4", 16), ("1-2-3", -4), ("--2", 2)):
        assert value(parse(text), {}) == expected, text


def test_long_and_deep_texts_are_refused() -> None:
    assert value(parse("+".join(["1"] * 100)), {}) == 100
    with pytest.raises(ExpressionError, match="201 characters, 200 are allowed"):
        parse("1" * 201)
    for text in ("(" * 100, "-" * 100 + "1", "2^" * 99 + "1"):
        with pytest.raises(ExpressionError, match="deeper than 40"):
            parse(text)
    with pytest.raises(ExpressionError, match="column 5: the number is too long or too large"):
        parse("1 + 1e31")
