"""What can be wrong with a graph, a rule, a derivation or an enumeration, and how it is told."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from inkcap.structures import InkcapError

NAMES_SHOWN = 8


class TheoryError(InkcapError):
    """Something that Section 2 of the paper does not allow."""


class RuleError(TheoryError):
    """A rule of generation whose side condition is broken."""


class DerivationError(TheoryError):
    """A graph that has no derivation, or a derivation that does not do what it says."""


class Cyclic(DerivationError):
    """A graph with a cycle, whose vertices it holds in order."""

    def __init__(self, cycle: Sequence[str]) -> None:
        self.cycle = tuple(cycle)
        shown = "→".join((*cycle, cycle[0])) if len(cycle) <= NAMES_SHOWN else f"{some(cycle)} (in this order)"
        super().__init__(f"the vertices {shown} form a cycle, and no rule makes one: remove one of its edges")


class NotConnected(DerivationError):
    """A graph in several parts, whose vertices it holds."""

    def __init__(self, parts: Iterable[Sequence[str]]) -> None:
        self.parts = tuple(map(tuple, parts))
        shown = "; ".join(f"{{{some(part)}}}" for part in self.parts[:3])
        more = f"; and {len(self.parts) - 3} more" if len(self.parts) > 3 else ""
        super().__init__(
            f"the graph is in {len(self.parts)} parts, {shown}{more}; every rule gives one connected network: "
            "connect the parts, or derive each by itself"
        )


class EnumerationError(TheoryError):
    """Networks that cannot be counted or listed."""


def some(names: Sequence[str], most: int = NAMES_SHOWN) -> str:
    """List names for a person, and say how many are left out."""
    if len(names) <= most:
        return ", ".join(names)
    return f"{', '.join(names[: most - 2])}, … {len(names) - most + 2} more"
