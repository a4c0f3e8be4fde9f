"""What the zoo knows of a network: its names, where it comes from, and the function that draws it."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from inkcap.drawing import Drawing

Sizes = tuple[int, ...]
"""The sizes of an input in reading order: height, width, channels, or a single dimension."""


@dataclass(frozen=True)
class Reference:
    """Where a network was published."""

    authors: str
    year: int
    title: str

    def __str__(self) -> str:
        return f"{self.authors} ({self.year}). {self.title}."


@dataclass(frozen=True)
class KnownNetwork:
    """A network of the zoo.

    ``draw`` takes ``classes`` when the network has them, and ``input`` when its size may be chosen. What is None here
    cannot be chosen.
    """

    name: str
    title: str
    reference: Reference
    draw: Callable[..., Drawing]
    input: Sizes | None = None
    classes: int | None = None
    aliases: tuple[str, ...] = ()

    @property
    def names(self) -> tuple[str, ...]:
        """Every name that it answers to, its own first."""
        return (self.name, *self.aliases)
