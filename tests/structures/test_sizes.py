"""Sizes as numbers and as formulae."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkcap.operations import window_count
from inkcap.structures import Formula, Structure, ceiling_quotient, named, product, show_shape

M, m, s, p, d = (named(letter) for letter in "Mmspd")


def test_the_documented_formula() -> None:
    assert str(window_count(M, m, s, 0)) == "⌊(M−m)/s⌋+1"
    assert str(window_count(M, m, 1, 0)) == "M−m+1"
    assert str(window_count(M, m, s, p)) == "⌊(M+2p−m)/s⌋+1"
    assert window_count(28, 5, 1, 0) == 24


def test_arithmetic() -> None:
    assert str(M + 1 - M) == "1"
    assert M - M == 0
    assert str(2 * M * m) == "2Mm"
    assert str(3 - M) == "−M+3"
    assert str(ceiling_quotient(M, 2)) == "⌈M/2⌉"
    assert M // M == 1
    assert M // 1 == M
    assert product((2, 3, 4)) == 24
    assert str(product((named("d"), M))) == "Md"
    assert (M * 0) == 0


@given(st.integers(-9, 9), st.integers(-9, 9), st.integers(1, 5))
def test_formulae_of_numbers_are_numbers(a: int, b: int, c: int) -> None:
    assert (Formula.of(a) + b) == a + b
    assert (Formula.of(a) * b) == a * b
    assert ceiling_quotient(a, c) == -(-a // c)


def test_structures_are_written_as_people_read_them() -> None:
    assert str(Structure((1, 28, 28), "float32")) == "28×28×1 float32"
    assert show_shape((3, None, 5)) == "?×5×3"
    assert show_shape(()) == "scalar"
    assert Structure((64, 4, 4), "float64").bytes == 8192
    assert Structure((1, 28, 20), "float32").to_json() == {
        "height": 28, "width": 20, "channels": 1, "shape": [1, 28, 20], "dtype": "float32",
    }  # fmt: skip
    with pytest.raises(ValueError, match="named sizes"):
        _ = Structure((M,), "float32").sizes
