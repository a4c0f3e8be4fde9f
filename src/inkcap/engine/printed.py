"""Printed expressions: the text of a value, and whether it needs brackets inside another."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True)
class Printed:
    """An expression, and whether it needs brackets inside another."""

    text: str
    loose: bool = False

    @property
    def tight(self) -> str:
        """The expression in brackets if it needs them."""
        return f"({self.text})" if self.loose else self.text
