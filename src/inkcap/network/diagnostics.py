"""Diagnostics: what is wrong with a drawing, by which rule, where, with which numbers and which way out."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, Literal

from inkcap.drawing import Edit
from inkcap.symbols import jsonable

Severity = Literal["error", "note"]

RULES: dict[str, str] = {
    "empty": "The drawing has no capsule.",
    "cycle": "Connections form a cycle; a network is acyclic.",
    "direction-ambiguous": "A line without an arrow could go either way.",
    "disconnected": "The drawing falls into parts; a network is connected.",
    "data-has-input": "A connection enters a data capsule; data come from outside.",
    "no-input": "Nothing enters a capsule that is not a data capsule, or one of its ports.",
    "unknown-port": "A connection enters a port that the capsule does not have.",
    "port-taken": "Several connections enter a port that takes one.",
    "rank-mismatch": "A connection cannot join ends of these ranks.",
    "structure-mismatch": "Two structures that must be equal are not.",
    "structure-unknown": "Neither the attributes nor the neighbours tell the structure.",
    "dtype-mismatch": "The two ends of a connection have different data types.",
    "not-floating": "A function or connection computes with real numbers, the data type is not one.",
    "not-whole": "A connection picks by whole numbers, the data type is not one.",
    "missing-attribute": "An attribute is empty and nothing around tells it.",
    "attributes-clash": "Two attributes say different things; one of them must go.",
    "window-does-not-divide": "Downsampling windows do not divide the structure.",
    "window-too-large": "A window or kernel is larger than what it slides over.",
    "padding-too-large": "Padding is more than half of the window.",
    "group-explodes": "The groups of the drawing would make more capsules than a network may have.",
    "group-misused": "A use of a group does not fit the group: its arguments, its ports, its repetition.",
    "group-recursive": "A group uses itself.",
    "groups-do-not-divide": "Channels or kernels do not divide into the groups.",
    "bounds-in-disorder": "A lower bound is not below the upper one.",
    "nothing-to-normalise": "A worn normalisation has a single number to work on.",
    "too-large": "A structure or weight has more elements than any may have.",
    "tie-mismatch": "Tied connections or capsules store weights of different structure.",
    "opaque-operator": "A capsule stands for an operator of an imported model that has no symbol.",
    "unused-border": "Some rows or columns are never under a kernel.",
}


@dataclass(frozen=True)
class Diagnostic:
    """One finding: the rule, the capsule or connection it concerns, words, numbers, and maybe an edit that mends it."""

    rule: str
    where: tuple[str, ...]
    message: str
    numbers: Mapping[str, Any] = field(default_factory=dict[str, Any])
    fix: Edit | None = None
    severity: Severity = "error"

    def __post_init__(self) -> None:
        if self.rule not in RULES:
            raise ValueError(f"there is no rule {self.rule!r}")

    def to_json(self) -> dict[str, Any]:
        """Describe it for JSON."""
        return {
            "rule": self.rule,
            "severity": self.severity,
            "where": list(self.where),
            "message": self.message,
            "numbers": {key: jsonable(value) for key, value in self.numbers.items()},
            "fix": self.fix.to_json() if self.fix else None,
        }
