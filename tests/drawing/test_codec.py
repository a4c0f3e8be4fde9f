"""Strict JSON: every refusal with its place, every limit at its very edge."""

from __future__ import annotations

import pytest

from inkcap.drawing.codec import DrawingError, decode, encode
from inkcap.structures import InkcapError

DEEP = 64
LARGEST = 2**53


def refusal(text: str) -> tuple[str, str]:
    """The whole message of an error, and the place that it names."""
    with pytest.raises(DrawingError) as error:
        decode(text)
    assert error.value.__suppress_context__ or error.value.__context__ is None
    return str(error.value), error.value.place


REFUSED = [
    ("", "line 1, column 1: not JSON: Expecting value", "line 1, column 1"),
    ('{\n "a" 1}', "line 2, column 6: not JSON: Expecting ':' delimiter", "line 2, column 6"),
    ("NaN", "line 1, column 1: NaN is not a number that a drawing may hold", "line 1, column 1"),
    ("[-Infinity]", "line 1, column 2: -Infinity is not a number that a drawing may hold", "line 1, column 2"),
    ('{"b": 2, "a": 1, "a": 1}', "line 1, column 18: the key 'a' stands twice in one object", "line 1, column 18"),
    (
        f'{{"{"k" * 90}": 1, "{"k" * 90}": 1}}',
        f"line 1, column 99: the key {'k' * 80!r} stands twice in one object",
        "line 1, column 99",
    ),
    ("[" * 100_000, "line 1, column 65: nested deeper than 64 levels", "line 1, column 65"),
    ("9" * 5000, "line 1, column 1: a whole number is larger than 2^53", "line 1, column 1"),
    ('{"a": {"b": 9007199254740993}}', "a.b: the whole number 9007199254740993… is larger than 2^53", "a.b"),
    ("-9007199254740993", "the whole number -9007199254740993… is larger than 2^53", ""),
    ("[1" + "0" * 30 + "]", "the whole number 10000000000000000000… is larger than 2^53", ""),
    ('["x", [1, 2, 9007199254740993]]', "[1]: the whole number 9007199254740993… is larger than 2^53", "[1]"),
    ('{"a": [1.5, -9007199254740993]}', "a: the whole number -9007199254740993… is larger than 2^53", "a"),
    ("[0.5, 1e999]", "the number is too large", ""),
    ('{"a": [0.5, -1e999]}', "a: the number is too large", "a"),
    ('{"a": [null, 1e999]}', "a[1]: the number is too large", "a[1]"),
    ('{"a": 1e999}', "a: the number is too large", "a"),
    ('{"a": "\\ud800"}', "a: the text '\\ud800' has half a character (a lone surrogate)", "a"),
    ('["\\udfff"]', "[0]: the text '\\udfff' has half a character (a lone surrogate)", "[0]"),
    ('{"\\udc00": 1}', "the file: the text '\\udc00' has half a character (a lone surrogate)", "the file"),
    ('{"a": {"\\udc00": 1}}', "a: the text '\\udc00' has half a character (a lone surrogate)", "a"),
    ('"' + "é" * 30 + '\\ud8ff"', f"the text {'é' * 20!r} has half a character (a lone surrogate)", ""),
]


@pytest.mark.parametrize(("text", "message", "place"), REFUSED, ids=range(len(REFUSED)))
def test_a_refusal_says_what_and_where(text: str, message: str, place: str) -> None:
    assert refusal(text) == (message, place)


def test_nesting_ends_at_its_limit() -> None:
    assert decode("[" * DEEP + "]" * DEEP)
    assert decode('{"a":' * (DEEP - 1) + "1" + "}" * (DEEP - 1))
    assert decode("[" * (DEEP - 1) + '"a"' + "]" * (DEEP - 1))
    # A place may be as long as its keys are, and is told in part.
    assert refusal("[" * (DEEP + 1) + "]" * (DEEP + 1)) == (
        f"{'[0]' * 26}[0: nested deeper than 64 levels",
        "[0]" * 26 + "[0",
    )
    text = '{"a":' * DEEP + "1" + "}" * DEEP
    assert refusal(text) == (f"{'a.' * 40}: nested deeper than 64 levels", "a." * 40)


def test_numbers_end_at_their_limit() -> None:
    assert decode(f"[{LARGEST}, {-LARGEST}]") == [LARGEST, -LARGEST]
    assert decode(f'["", {LARGEST}, {-LARGEST}, 1.7e308]') == ["", LARGEST, -LARGEST, 1.7e308]
    # Beyond it a floating number may go: only whole ones lose digits elsewhere.
    assert decode("[1e300, -1e300]") == [1e300, -1e300]


def test_every_other_value_is_read_as_it_stands() -> None:
    text = (
        '{"a": [], "b": {}, "c": null, "d": true, "e": [false, 0, -0.5], "f": "é\\ud83d\\ude00", "": "\\ud7ff\\ue000"}'
    )
    assert decode(text) == {
        "a": [], "b": {}, "c": None, "d": True, "e": [False, 0, -0.5], "f": "é😀", "": "\ud7ff\ue000",
    }  # fmt: skip


def test_what_is_written_is_one_line_with_its_own_letters() -> None:
    assert encode({"ä": [1, 2.5, None], "b": "→"}) == '{"ä": [1, 2.5, null], "b": "→"}'
    with pytest.raises(ValueError, match="Out of range float"):
        encode([float("nan")])


def test_an_error_of_a_drawing_is_one_of_the_users() -> None:
    assert issubclass(DrawingError, InkcapError)
    without = DrawingError("wrong")
    assert (str(without), without.place) == ("wrong", "")
