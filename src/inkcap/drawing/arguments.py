"""Argument expressions: small arithmetic over a group's arguments, read by a parser of its own, never by Python."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from typing import Any

from inkcap.symbols import suggest

WORD = re.compile(r"\s*(?:(?P<number>\d+(?:\.\d+)?(?:[eE][+-]?\d+)?)|(?P<name>[^\W\d]\w*)|(?P<sign>//|[-+*/%(),]))")
DEEPEST = 32
SUMS: Mapping[str, Callable[[Any, Any], Any]] = {"+": operator.add, "-": operator.sub}
PRODUCTS: Mapping[str, Callable[[Any, Any], Any]] = {
    "*": operator.mul,
    "/": lambda a, b: a / b,
    "//": lambda a, b: a // b,
    "%": lambda a, b: a % b,
}
FUNCTIONS: Mapping[str, Callable[..., Any]] = {"min": min, "max": max}

Value = int | float | str | bool


def is_expression(value: Any) -> bool:
    """Tell whether a value is an expression: a text that starts with ``=``."""
    return isinstance(value, str) and value.startswith("=")


def evaluate(text: str, names: Mapping[str, Value]) -> Value:
    """Compute an expression such as ``=2*width`` with the arguments' values; ValueError says what is wrong with it."""
    return _Reading(text[1:] if text.startswith("=") else text, names).run()


class _Reading:
    def __init__(self, text: str, names: Mapping[str, Value]) -> None:
        self.text, self.names, self.at, self.depth = text, names, 0, 0
        self.kind, self.word = "", ""
        self.advance()

    def run(self) -> Value:
        value = self.sum()
        if self.kind != "end":
            raise self.wrong(f"{self.word!r} does not go on from what stands before")
        if isinstance(value, float) and not math.isfinite(value):
            raise ValueError(f"={self.text} is no finite number")
        # 64/2 is a whole number to whoever writes it.
        return int(value) if isinstance(value, float) and value.is_integer() else value

    def advance(self) -> None:
        match = WORD.match(self.text, self.at)
        if match is None:
            rest = self.text[self.at :].strip()
            if rest:
                raise ValueError(f"={self.text}: {rest[0]!r} is no part of an expression (+ − * / // % min max)")
            self.kind, self.word = "end", "the end"
            return
        self.at = match.end()
        self.kind = match.lastgroup or ""
        self.word = match.group(self.kind)

    def wrong(self, what: str) -> ValueError:
        return ValueError(f"={self.text}: {what}")

    def sum(self) -> Value:
        return self._chain(self.product, SUMS)

    def product(self) -> Value:
        return self._chain(self.factor, PRODUCTS)

    def _chain(self, part: Callable[[], Value], signs: Mapping[str, Callable[[Any, Any], Any]]) -> Value:
        value = part()
        while self.kind == "sign" and self.word in signs:
            sign = self.word
            self.advance()
            right = part()
            for operand in (value, right):
                if isinstance(operand, (str, bool)):
                    raise self.wrong(f"{operand!r} is no number, {sign} cannot take it")
            try:
                value = signs[sign](value, right)
            except (ZeroDivisionError, OverflowError):
                raise self.wrong(f"{value} {sign} {right} has no value") from None
        return value

    def factor(self) -> Value:
        self.depth += 1
        if self.depth > DEEPEST:
            raise self.wrong(f"is nested deeper than {DEEPEST}")
        kind, word = self.kind, self.word
        self.advance()
        value = self._factor(kind, word)
        self.depth -= 1
        return value

    def _factor(self, kind: str, word: str) -> Value:
        if kind == "number":
            return float(word) if re.search(r"[.eE]", word) else int(word)
        if kind == "name" and self.kind == "sign" and self.word == "(":
            return self._call(word)
        if kind == "name":
            if word not in self.names:
                raise self.wrong(f"there is no argument {word!r}; {suggest(word, self.names)}")
            return self.names[word]
        if word == "(":
            value = self.sum()
            self._close()
            return value
        if word == "-":
            value = self.factor()
            if isinstance(value, (str, bool)):
                raise self.wrong(f"{value!r} is no number")
            return -value
        raise self.wrong(f"a number or an argument is missing before {word!r}" if word else "is empty")

    def _call(self, name: str) -> Value:
        if name not in FUNCTIONS:
            raise self.wrong(f"there is no function {name!r}; {suggest(name, FUNCTIONS)}")
        self.advance()
        values = [self.sum()]
        while self.kind == "sign" and self.word == ",":
            self.advance()
            values.append(self.sum())
        self._close()
        if any(isinstance(value, (str, bool)) for value in values):
            raise self.wrong(f"{name} takes numbers alone")
        return FUNCTIONS[name](*values) if len(values) > 1 else values[0]

    def _close(self) -> None:
        if self.word != ")":
            raise self.wrong(f"a ) is missing before {self.word!r}")
        self.advance()
