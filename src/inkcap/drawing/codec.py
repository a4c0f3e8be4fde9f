"""Strict JSON: what is read is what was written, or it is refused with its place."""

from __future__ import annotations

import json
import sys
from collections import Counter
from typing import Any, NoReturn, cast

from inkcap.drawing import limits
from inkcap.drawing.scanning import place_of_depth, place_of_number, place_of_twin, place_of_word
from inkcap.structures import InkcapError
from inkcap.structures.errors import one_line


class DrawingError(InkcapError):
    """A drawing that cannot be read or edited: the message says what, where and what to do."""

    def __init__(self, message: str, place: str = "") -> None:
        # What a file holds may be named in it, whatever it is and however long.
        super().__init__(one_line(f"{place}: {message}" if place else message))
        self.place = place


class _Word(Exception):
    """A bare word that strict JSON does not have."""


class _Twin(Exception):
    """A key that stands twice in one object."""


def decode(text: str) -> Any:
    """Read JSON text, refusing duplicate keys, non-finite and huge numbers, deep nesting and lone surrogates."""
    try:
        value = json.loads(text, object_pairs_hook=_object, parse_constant=_refuse_constant)
    except _Word as refusal:
        word = str(refusal)
        raise DrawingError(f"{word} is not a number that a drawing may hold", place_of_word(text, word)) from None
    except _Twin as refusal:
        key = str(refusal)
        raise DrawingError(f"the key {key[:80]!r} stands twice in one object", place_of_twin(text, key)) from None
    except json.JSONDecodeError as error:
        raise DrawingError(f"not JSON: {error.msg}", f"line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        place = place_of_depth(text, limits.JSON_DEPTH)
        raise DrawingError(f"nested deeper than {limits.JSON_DEPTH} levels", place) from None
    except ValueError:
        # Python itself refuses to read whole numbers of thousands of digits.
        place = place_of_number(text, sys.get_int_max_str_digits())
        raise DrawingError("a whole number is larger than 2^53", place) from None
    _check_values(value)
    return value


def encode(value: Any) -> str:
    """Write one JSON value on one line; a non-finite number is a mistake of ours, not of the user."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False)


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        counts = Counter(key for key, _ in pairs)
        raise _Twin(max(counts, key=counts.__getitem__))
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise _Word(name)


def _check_values(value: Any) -> None:
    # A stack of our own: recursion is what a bomb wants.
    stack: list[tuple[Any, int, str]] = [(value, 1, "")]
    while stack:
        item, depth, place = stack.pop()
        if depth > limits.JSON_DEPTH:
            raise DrawingError(f"nested deeper than {limits.JSON_DEPTH} levels", place[:80])
        if isinstance(item, dict):
            for key, inner in cast("dict[str, Any]", item).items():
                _check_text(key, place or "the file")
                stack.append((inner, depth + 1, f"{place}.{key}" if place else key))
        elif isinstance(item, list):
            items = cast("list[Any]", item)
            if items and set(map(type, items)) <= NUMBERS:
                # Columns of millions of numbers are judged by their extremes.
                _check_number(max(items), place)
                _check_number(min(items), place)
            else:
                stack.extend((inner, depth + 1, f"{place}[{i}]") for i, inner in enumerate(items))
        elif isinstance(item, str):
            _check_text(item, place)
        elif type(item) in NUMBERS:
            _check_number(item, place)


NUMBERS: set[type] = {int, float}


def _check_number(number: float, place: str) -> None:
    if isinstance(number, int) and abs(number) > limits.LARGEST_INTEGER:
        raise DrawingError(f"the whole number {str(number)[:20]}… is larger than 2^53", place)
    if abs(number) == float("inf"):
        raise DrawingError("the number is too large", place)


def _check_text(text: str, place: str) -> None:
    if not text.isascii() and any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        raise DrawingError(f"the text {text[:20]!r} has half a character (a lone surrogate)", place)
