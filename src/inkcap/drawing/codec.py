"""Strict JSON: what is read is what was written, or it is refused with its place."""

from __future__ import annotations

import json
from typing import Any, NoReturn, cast

from inkcap.drawing import limits
from inkcap.structures import InkcapError


class DrawingError(InkcapError):
    """A drawing that cannot be read or edited: the message says what, where and what to do."""

    def __init__(self, message: str, place: str = "") -> None:
        super().__init__(f"{place}: {message}" if place else message)
        self.place = place


class _Refused(Exception):
    """A token that strict JSON does not have."""


def decode(text: str) -> Any:
    """Read JSON text, refusing duplicate keys, non-finite and huge numbers, deep nesting and lone surrogates."""
    try:
        value = json.loads(
            text,
            object_pairs_hook=_object,
            parse_constant=_refuse_constant,
            parse_int=_integer,
            parse_float=_finite,
        )
    except _Refused as refusal:
        raise DrawingError(str(refusal)) from None
    except json.JSONDecodeError as error:
        raise DrawingError(f"not JSON: {error.msg}", f"line {error.lineno}, column {error.colno}") from None
    except RecursionError:
        raise DrawingError(f"nested deeper than {limits.JSON_DEPTH} levels") from None
    _check_depth_and_text(value)
    return value


def encode(value: Any) -> str:
    """Write one JSON value on one line; a non-finite number is a mistake of ours, not of the user."""
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(", ", ": "))


def _object(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    result = dict(pairs)
    if len(result) != len(pairs):
        seen: set[str] = set()
        for key, _ in pairs:
            if key in seen:
                raise _Refused(f"the key {key[:80]!r} stands twice in one object")
            seen.add(key)
    return result


def _refuse_constant(name: str) -> NoReturn:
    raise _Refused(f"{name} is not a number that a drawing may hold")


def _integer(digits: str) -> int:
    if len(digits) > 17 or abs(int(digits)) > limits.LARGEST_INTEGER:
        raise _Refused(f"the whole number {digits[:20]}… is larger than 2^53")
    return int(digits)


def _finite(digits: str) -> float:
    value = float(digits)
    if value in (float("inf"), float("-inf")):
        raise _Refused(f"the number {digits[:20]} is too large")
    return value


def _check_depth_and_text(value: Any) -> None:
    # A stack of our own: recursion is what a bomb wants.
    stack: list[tuple[Any, int]] = [(value, 1)]
    while stack:
        item, depth = stack.pop()
        if depth > limits.JSON_DEPTH:
            raise DrawingError(f"nested deeper than {limits.JSON_DEPTH} levels")
        if isinstance(item, dict):
            for key, inner in cast("dict[str, Any]", item).items():
                _check_text(key)
                stack.append((inner, depth + 1))
        elif isinstance(item, list):
            inner_items = cast("list[Any]", item)
            # Columns of numbers need no walk of their own.
            stack.extend((i, depth + 1) for i in inner_items if not isinstance(i, (int, float)))
        elif isinstance(item, str):
            _check_text(item)


def _check_text(text: str) -> None:
    if not text.isascii() and any(0xD800 <= ord(character) <= 0xDFFF for character in text):
        raise DrawingError(f"the text {text[:20]!r} has half a character (a lone surrogate)")
