"""What computes the steps of a run: chosen before the first step, kept with the run, and the same when it goes on."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

AS_DRAWN, CHANNELS_LAST = "as-drawn", "channels-last"


@dataclass(frozen=True)
class Switch:
    """The engine that goes on after so many steps, and the rewrites of its program; all else stays as it is."""

    after: int
    engine: str
    rewrites: tuple[str, ...] = ()

    def to_json(self) -> dict[str, Any]:
        """Give the switch as plain values."""
        return {"after": self.after, "engine": self.engine, "rewrites": list(self.rewrites)}

    @staticmethod
    def from_json(kept: Mapping[str, Any]) -> Switch:
        """Read a switch that was kept."""
        return Switch(int(kept["after"]), str(kept["engine"]), tuple(str(name) for name in kept["rewrites"]))


@dataclass(frozen=True)
class Choice:
    """An engine, how pictures lie in its memory, its threads, and the rewrites of its program."""

    engine: str = "eager"
    layout: str = AS_DRAWN
    threads: int = 0
    rewrites: tuple[str, ...] = ()
    switch: Switch | None = None
    workers: int = 1
    """So many processes share every batch."""

    @property
    def switched(self) -> Choice:
        """The choice after the switch."""
        turn = self.switch
        return self if turn is None else replace(self, engine=turn.engine, rewrites=turn.rewrites, switch=None)

    def to_json(self) -> dict[str, Any]:
        """Give the choice as plain values; threads stand beside it in the environment."""
        turn: dict[str, Any] = {} if self.switch is None else {"switch": self.switch.to_json()}
        more = {"workers": self.workers} if self.workers > 1 else {}
        return {"engine": self.engine, "layout": self.layout, "rewrites": list(self.rewrites), **turn, **more}

    @staticmethod
    def from_json(given: object, threads: int) -> Choice | None:
        """Read a choice that was kept; None where there is none, or none that can be read."""
        if not isinstance(given, Mapping):
            return None
        kept = cast("Mapping[str, Any]", given)
        try:
            names = tuple(str(name) for name in kept["rewrites"])
            switch = Switch.from_json(kept["switch"]) if "switch" in kept else None
            return Choice(str(kept["engine"]), str(kept["layout"]), threads, names, switch)
        except (KeyError, TypeError, ValueError):
            return None

    def __str__(self) -> str:
        """Say it in a few words."""
        layout = ", channels last" if self.layout == CHANNELS_LAST else ""
        then = "" if self.switch is None else f", {self.switch.engine} after step {self.switch.after:,}"
        workers = f", {self.workers} workers" if self.workers > 1 else ""
        return f"{self.engine}{then}{layout}{workers}, {self.threads} {'thread' if self.threads == 1 else 'threads'}"
