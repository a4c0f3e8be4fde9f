"""Cases: what every symbol says works, and what it says must be refused."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from inkcap.symbols.attributes import Attributes


@dataclass(frozen=True)
class Sample:
    """A case that works: attributes and the structures that come in."""

    attributes: Attributes
    shape: tuple[int, ...]
    front: tuple[int, ...] | None = None
    """The front end's shape, for connections whose weight is solved from it."""
    dtype: str = "float64"
    ports: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
    """What enters the other ports of a capsule."""


@dataclass(frozen=True)
class Refusal:
    """A case that must be refused, with the rule that refuses it."""

    attributes: Attributes
    shape: tuple[int, ...]
    rule: str
    front: tuple[int, ...] | None = None
    front_rank: int | None = None
    dtype: str = "float64"
    ports: Mapping[str, tuple[int, ...]] = field(default_factory=dict[str, tuple[int, ...]])
