"""Expressions over a group's arguments."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkcap.drawing.arguments import evaluate

NAMES = {"width": 16, "rate": 0.5, "kind": "max", "open": True, "copy": 3}


@pytest.mark.parametrize(
    ("text", "value"),
    [
        ("=width", 16),
        ("=2*width + 1", 33),
        ("=width/2", 8),
        ("=floor(width/3)", 5),
        ("=ceil(width/3)", 6),
        ("=mod(width, 5)", 1),
        ("=min(width, 2^copy)", 8),
        ("=-(1 - width)", 15),
        ("=1 - rate", 0.5),
        ("=kind", "max"),
        ("=open", True),
    ],
)
def test_values(text: str, value: object) -> None:
    found = evaluate(text, NAMES)
    assert found == value
    assert type(found) is type(value)


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("=widht", "there is no 'widht'; there is copy, kind, open, rate, width"),
        ("=width/0", "16 / 0 has no value"),
        ("=2^2^2^2^2^2", "too large"),
        ("=kind + 1", "'max' is no number"),
        ("=open*2", "True is no number"),
        ("=", "expected a number"),
        ("=2 width", "expected an operator or the end, found 'width'"),
        ("=__import__('os')", "has no meaning here"),
        ("=max(1)", "takes 2 arguments, not 1"),
    ],
)
def test_what_is_wrong_is_told(text: str, told: str) -> None:
    with pytest.raises(ValueError, match=r".") as caught:
        evaluate(text, NAMES)
    assert told in str(caught.value)
    assert str(caught.value).startswith(f"{text}: ")


@given(st.text(alphabet="=+-*/^()., 0123456789widthrateminmaxe", max_size=60))
def test_any_text_gives_a_value_or_one_error(text: str) -> None:
    try:
        found = evaluate(f"={text}", NAMES)
    except ValueError:
        return
    assert isinstance(found, (int, float, str, bool))
