"""Expressions that people write, such as ``x/(1+abs(x))``: read by a small closed grammar into a tree, never executed.

sum = product (+|− product)*, product = sign (*|/ sign)*, sign = −sign | power, power = atom [^ sign],
atom = number | name | function(sum, …) | (sum).
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Literal

from inkcap.structures.errors import InkcapError

LONGEST = 200
"""How many characters an expression may have."""
DEEPEST = 40
"""How deep brackets, signs and powers may stand in one another."""

Operator = Literal["+", "-", "*", "/", "^"]

_TOKEN = re.compile(r"\s*(?:(?P<number>(?:\d+\.?\d*|\.\d+)(?:[eE][+-]?\d+)?)|(?P<name>[A-Za-z_]\w*)|(?P<sign>\S))")
_ALIASES: Mapping[str, str] = {"−": "-", "·": "*", "×": "*", "÷": "/"}
_SIGNS = frozenset("+-*/^(),")


class ExpressionError(InkcapError, ValueError):
    """A text that is no expression; the message names the column and what was expected there."""


@dataclass(frozen=True)
class Number:
    """A number as it is written; ``text`` tells whole numbers from others."""

    value: float
    text: str
    column: int


@dataclass(frozen=True)
class Variable:
    """A name that stands for a value."""

    name: str
    column: int


@dataclass(frozen=True)
class Negative:
    """What stands behind a minus sign."""

    operand: Tree
    column: int


@dataclass(frozen=True)
class Binary:
    """Two operands with a sign between them."""

    operator: Operator
    left: Tree
    right: Tree
    column: int


@dataclass(frozen=True)
class Call:
    """A function of the closed list, with its arguments."""

    function: str
    arguments: tuple[Tree, ...]
    column: int


Tree = Number | Variable | Negative | Binary | Call


@dataclass(frozen=True)
class _Token:
    kind: Literal["number", "name", "sign", "end"]
    text: str
    column: int


def parse(text: str, names: Collection[str] | None = None, functions: Mapping[str, int] | None = None) -> Tree:
    """Read an expression over these names and these functions with their numbers of arguments.

    Without ``names`` every name is one; without ``functions`` there are none.
    """
    if len(text) > LONGEST:
        raise ExpressionError(f"the expression has {len(text)} characters, {LONGEST} are allowed")
    return _Parser(_tokens(text), names, functions or {}).run()


def _tokens(text: str) -> list[_Token]:
    found: list[_Token] = []
    position = 0
    while match := _TOKEN.match(text, position):
        kind = match.lastgroup
        column = match.start(kind or 0) + 1
        written = match[kind or 0]
        position = match.end()
        if kind == "sign":
            written = _ALIASES.get(written, written)
            if written not in _SIGNS:
                raise ExpressionError(f"column {column}: {written!r} has no meaning here; there are + - * / ^ ( ) ,")
            found.append(_Token("sign", written, column))
        else:
            found.append(_Token("number" if kind == "number" else "name", written, column))
    return [*found, _Token("end", "", len(text) + 1)]


class _Parser:
    def __init__(self, tokens: list[_Token], names: Collection[str] | None, functions: Mapping[str, int]) -> None:
        self.tokens, self.names, self.functions = tokens, names, functions
        self.place = 0
        self.depth = 0

    @property
    def next(self) -> _Token:
        return self.tokens[self.place]

    def run(self) -> Tree:
        tree = self._sum()
        if self.next.kind != "end":
            raise self._expected("an operator or the end")
        return tree

    def _expected(self, what: str) -> ExpressionError:
        there = repr(self.next.text) if self.next.text else "the end"
        return ExpressionError(f"column {self.next.column}: expected {what}, found {there}")

    def _take(self, *signs: str) -> _Token | None:
        token = self.next
        if token.kind == "sign" and token.text in signs:
            self.place += 1
            return token
        return None

    def _sum(self) -> Tree:
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(f"column {self.next.column}: brackets, signs or powers stand deeper than {DEEPEST}")
        left = self._product()
        while sign := self._take("+", "-"):
            left = Binary("+" if sign.text == "+" else "-", left, self._product(), sign.column)
        self.depth -= 1
        return left

    def _product(self) -> Tree:
        left = self._signed()
        while sign := self._take("*", "/"):
            left = Binary("*" if sign.text == "*" else "/", left, self._signed(), sign.column)
        return left

    def _signed(self) -> Tree:
        self.depth += 1
        if self.depth > DEEPEST:
            raise ExpressionError(f"column {self.next.column}: brackets, signs or powers stand deeper than {DEEPEST}")
        sign = self._take("-")
        tree = Negative(self._signed(), sign.column) if sign else self._power()
        self.depth -= 1
        return tree

    def _power(self) -> Tree:
        base = self._atom()
        sign = self._take("^")
        return Binary("^", base, self._signed(), sign.column) if sign else base

    def _atom(self) -> Tree:
        token = self.next
        if token.kind == "number":
            self.place += 1
            if len(token.text) > 25 or float(token.text) > 1e30:
                raise ExpressionError(f"column {token.column}: the number is too long or too large")
            return Number(float(token.text), token.text, token.column)
        if token.kind == "name":
            self.place += 1
            return self._named(token)
        if self._take("("):
            inside = self._sum()
            self._close()
            return inside
        raise self._expected("a number, a name or '('")

    def _close(self) -> None:
        if not self._take(")"):
            raise self._expected("an operator or ')'")

    def _named(self, token: _Token) -> Tree:
        if self._take("("):
            if token.text not in self.functions:
                known = ", ".join(sorted(self.functions)) or "none"
                raise ExpressionError(f"column {token.column}: there is no function {token.text!r}; there are {known}")
            arguments = [self._sum()]
            while self._take(","):
                arguments.append(self._sum())
            self._close()
            wanted = self.functions[token.text]
            if len(arguments) != wanted:
                raise ExpressionError(
                    f"column {token.column}: {token.text} takes {wanted} argument{'s' if wanted > 1 else ''}, "
                    f"not {len(arguments)}"
                )
            return Call(token.text, tuple(arguments), token.column)
        if token.text in self.functions:
            raise ExpressionError(f"column {token.column}: {token.text} is a function: write {token.text}(…)")
        if self.names is not None and token.text not in self.names:
            known = ", ".join(sorted(self.names)) or "none"
            raise ExpressionError(f"column {token.column}: there is no {token.text!r}; there is {known}")
        return Variable(token.text, token.column)
