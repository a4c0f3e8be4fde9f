"""Sizes of axes: whole numbers, or formulae over named sizes such as ``⌊(M−m)/s⌋+1``.

Every shape rule is written once, with ``+ − * //``, and works on both: on numbers it gives the structure,
on names it gives the formula that the documentation prints.
"""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Union

Size = Union[int, "Formula"]
Shape = tuple[Size, ...]
PartialShape = tuple["int | None", ...]


@dataclass(frozen=True)
class Name:
    """A size that has a name instead of a number."""

    name: str

    def __str__(self) -> str:
        return self.name


@dataclass(frozen=True)
class Quotient:
    """A rounded quotient of two formulae, an atom of a larger formula."""

    numerator: Formula
    denominator: Formula
    upwards: bool = False

    def __str__(self) -> str:
        left, right = "⌈⌉" if self.upwards else "⌊⌋"
        return f"{left}{_bracketed(self.numerator)}/{_bracketed(self.denominator)}{right}"


Atom = Name | Quotient
Monomial = tuple[Atom, ...]


@dataclass(frozen=True)
class Formula:
    """A polynomial over named sizes and rounded quotients, always in expanded form."""

    terms: tuple[tuple[Monomial, int], ...] = field(default=())

    @staticmethod
    def of(value: Size) -> Formula:
        """Read a number or a formula as a formula."""
        if isinstance(value, Formula):
            return value
        return Formula((((), value),) if value else ())

    def simplified(self) -> Size:
        """Give the plain number when nothing named is left."""
        if not self.terms:
            return 0
        if len(self.terms) == 1 and self.terms[0][0] == ():
            return self.terms[0][1]
        return self

    def __add__(self, other: Size) -> Size:
        sums = dict(self.terms)
        for monomial, coefficient in Formula.of(other).terms:
            sums[monomial] = sums.get(monomial, 0) + coefficient
        return Formula(tuple((m, c) for m, c in sums.items() if c)).simplified()

    def __mul__(self, other: Size) -> Size:
        products: dict[Monomial, int] = {}
        for left, a in self.terms:
            for right, b in Formula.of(other).terms:
                monomial = tuple(sorted((*left, *right), key=str))
                products[monomial] = products.get(monomial, 0) + a * b
        return Formula(tuple((m, c) for m, c in products.items() if c)).simplified()

    def __neg__(self) -> Size:
        return self * -1

    def __sub__(self, other: Size) -> Size:
        return self + Formula.of(other) * -1

    def __rsub__(self, other: int) -> Size:
        return Formula.of(other) + self * -1

    def __floordiv__(self, other: Size) -> Size:
        return _quotient(self, other, upwards=False)

    def __rfloordiv__(self, other: int) -> Size:
        return _quotient(other, self, upwards=False)

    __radd__ = __add__
    __rmul__ = __mul__

    def __str__(self) -> str:
        # The constant is written last, as the paper does: M−m+1.
        ordered = sorted(self.terms, key=lambda term: term[0] == ())
        text = ""
        for monomial, coefficient in ordered:
            sign = "−" if coefficient < 0 else "+" if text else ""
            number = "" if abs(coefficient) == 1 and monomial else str(abs(coefficient))
            text += sign + number + "".join(str(atom) for atom in monomial)
        return text or "0"


def named(name: str) -> Formula:
    """Make a size that has only a name."""
    return Formula((((Name(name),), 1),))


def ceiling_quotient(numerator: Size, denominator: Size) -> Size:
    """Divide and round upwards."""
    if isinstance(numerator, int) and isinstance(denominator, int):
        return -(-numerator // denominator)
    return _quotient(numerator, denominator, upwards=True)


def product(shape: Shape) -> Size:
    """Multiply the sizes of all axes; a scalar has one element."""
    total: Size = 1
    for size in shape:
        total = total * size
    return total


def known(shape: Shape) -> tuple[int, ...] | None:
    """Give the shape when every size is a number."""
    numbers = tuple(size for size in shape if isinstance(size, int))
    return numbers if len(numbers) == len(shape) else None


def partial(shape: Shape) -> PartialShape:
    """Keep the sizes that are numbers and forget the rest."""
    return tuple(size if isinstance(size, int) else None for size in shape)


def _quotient(numerator: Size, denominator: Size, *, upwards: bool) -> Size:
    if denominator == 1:
        return numerator
    over, under = Formula.of(numerator), Formula.of(denominator)
    if over == under:
        return 1
    return Formula((((Quotient(over, under, upwards),), 1),))


def _bracketed(formula: Formula) -> str:
    return f"({formula})" if len(formula.terms) > 1 else str(formula)
