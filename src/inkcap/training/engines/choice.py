"""What computes the steps of a run: chosen before the first step, kept with the run, and the same when it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, cast

AS_DRAWN, CHANNELS_LAST = "as-drawn", "channels-last"


@dataclass(frozen=True)
class Choice:
    """An engine, how pictures lie in its memory, its threads, and the rewrites of its program."""

    engine: str = "eager"
    layout: str = AS_DRAWN
    threads: int = 0
    rewrites: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give the choice as plain values; threads stand beside it in the environment."""
        return {"engine": self.engine, "layout": self.layout, "rewrites": list(self.rewrites)}

    @staticmethod
    def from_json(given: object, threads: int) -> Choice | None:
        """Read a choice that was kept; None where there is none, or none that can be read."""
        if not isinstance(given, Mapping):
            return None
        kept = cast("Mapping[str, Any]", given)
        try:
            names = tuple(str(name) for name in kept["rewrites"])
            return Choice(str(kept["engine"]), str(kept["layout"]), threads, names)
        except (KeyError, TypeError):
            return None

    def __str__(self) -> str:
        """Say it in a few words."""
        layout = ", channels last" if self.layout == CHANNELS_LAST else ""
        return f"{self.engine}{layout}, {self.threads} {'thread' if self.threads == 1 else 'threads'}"
