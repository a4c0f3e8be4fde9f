"""Ports: where connections enter a capsule. One summing port is the paper's case."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Literal

MAIN_PORT = "in"
"""The port that every capsule has."""


@dataclass(frozen=True)
class Port:
    """A named place where connections enter a capsule, with a total input U^q of its own."""

    name: str
    help: str
    kind: Literal["sums", "gathers", "single"] = "sums"
    """What it makes of several connections: their sum; all of them, one behind another along the first axis (channels,
    or the children of a routing capsule); or it takes a single one."""
    ranks: Mapping[int, int] = field(default_factory=dict[int, int])
    """The rank of what enters by the capsule's rank, where they differ."""

    def rank(self, capsule_rank: int) -> int:
        """Give the rank of what enters this port of a capsule."""
        return self.ranks.get(capsule_rank, capsule_rank)


MAIN = Port(MAIN_PORT, "What enters is summed, W⊗Y over all connections, and the bias is added.")


def socket(capsule: str, port: str) -> str:
    """Name a port of a capsule: the capsule itself for the main port, else ``h.label``."""
    return capsule if port == MAIN_PORT else f"{capsule}.{port}"
