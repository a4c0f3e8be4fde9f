"""Where in a JSON text that stands which Python's reader refuses without saying so: its line and its column."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator

STRING = r'"(?:[^"\\]++|\\.)*+"'
WORD = re.compile(rf"{STRING}|-?Infinity|NaN", re.DOTALL)
BRACKET = re.compile(rf"{STRING}|[\[\]{{}}]", re.DOTALL)
KEY = re.compile(rf"({STRING})\s*+(:)?|[\[\]{{}}]", re.DOTALL)
NUMBER = re.compile(rf"{STRING}|-?\d++(?:[.eE][\d.eE+-]*+)?", re.DOTALL)


def place_of_word(text: str, word: str) -> str:
    """Find a bare word such as NaN."""
    return _first(text, (found.start() for found in WORD.finditer(text) if found[0] == word))


def place_of_number(text: str, digits: int) -> str:
    """Find a whole number of more digits than these."""
    long = (found for found in NUMBER.finditer(text) if len(found[0]) > digits and found[0].lstrip("-").isdigit())
    return _first(text, (found.start() for found in long))


def place_of_depth(text: str, most: int) -> str:
    """Find the bracket that opens one level too many."""
    return _first(text, _too_deep(text, most))


def place_of_twin(text: str, key: str) -> str:
    """Find a key that its object has already."""
    return _first(text, _twins(text, key))


def _too_deep(text: str, most: int) -> Iterator[int]:
    depth = 0
    for found in BRACKET.finditer(text):
        depth += {"[": 1, "{": 1, "]": -1, "}": -1}.get(found[0], 0)
        if depth > most:
            yield found.start()


def _twins(text: str, key: str) -> Iterator[int]:
    # Of every object that is open, whether it has the key.
    has = [False]
    for found in KEY.finditer(text):
        if found[0] in "[{":
            has.append(False)
        elif found[0] in "]}":
            has.pop()
        elif found[2] and json.loads(found[1]) == key:
            if has[-1]:
                yield found.start()
            has[-1] = True


def _first(text: str, found: Iterator[int]) -> str:
    at = next(found, None)
    if at is None:
        return "the file"
    return f"line {text.count(chr(10), 0, at) + 1}, column {at - text.rfind(chr(10), 0, at)}"
