"""Ports: where connections enter a capsule. One summing port is the paper's case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal, TypeVar

T = TypeVar("T")

MAIN_PORT = "in"
"""The port that every capsule has."""


@dataclass(frozen=True)
class Port:
    """A named place where connections enter a capsule, with a total input U^q of its own."""

    name: str
    help: str
    kind: Literal["sums", "gathers", "keeps", "single"] = "sums"
    """What it makes of several connections: their sum; all of them, one behind another along the first axis (channels,
    or the children of a routing capsule); all of them apart, in their order, so that their sizes may differ (the levels
    of a pyramid); or it takes a single one."""
    ranks: Mapping[int, int] = field(default_factory=dict[int, int])
    """The rank of what enters by the capsule's rank, where they differ."""
    open: bool = False
    """Whether nothing need enter it."""

    def rank(self, capsule_rank: int) -> int:
        """Give the rank of what enters this port of a capsule."""
        return self.ranks.get(capsule_rank, capsule_rank)


MAIN = Port(MAIN_PORT, "What enters is summed, W⊗Y over all connections, and the bias is added.")


def socket(capsule: str, port: str) -> str:
    """Name a port of a capsule: the capsule itself for the main port, else ``h.label``."""
    return capsule if port == MAIN_PORT else f"{capsule}.{port}"


def level_of(port: str, number: int) -> str:
    """Name what one connection brings to a port that keeps them apart: the first is named as the port."""
    return f"{port}.{number}" if number else port


def levels(first: T, given: Mapping[str, T], port: str) -> list[T]:
    """Give all that enters a port that keeps connections apart, in their order; ``first`` is what the first brings."""
    found = [first]
    while (name := level_of(port, len(found))) in given:
        found.append(given[name])
    return found
