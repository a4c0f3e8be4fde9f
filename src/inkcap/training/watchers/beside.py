"""A watcher in a thread of its own: the training hands its lines over and never waits, nor breaks with it."""

import queue
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Protocol

from inkcap.recipes import read_log
from inkcap.recipes.metrics import MetricKind

MOST_WAITING = 50_000
"""Lines that may wait for a watcher; one that is slower misses some, and says so."""
FAREWELL = 10.0
"""Seconds that a training waits at its end for a watcher to finish."""
TOGETHER = 500


@dataclass(frozen=True)
class Line:
    """A line of one of the run's logs, by its number from 1."""

    log: str
    number: int
    kind: MetricKind
    epoch: int
    step: int
    values: Mapping[str, float]


class Watcher(Protocol):
    """Hears all lines of a run's logs in their order, from the first one on also when the run goes on."""

    name: str

    def begin(self) -> None:
        """Be ready; called first, in the watcher's own thread."""
        ...

    def hear(self, lines: list[Line]) -> None:
        """Take some lines."""
        ...

    def end(self, state: str) -> None:
        """Hear how the run has ended; its files are all there."""
        ...


class Beside:
    """Runs a watcher beside the training; the first thing that goes wrong ends it, and is remembered."""

    def __init__(self, watcher: Watcher, folder: Path, counts: Mapping[str, int]) -> None:
        """Start; the lines that the logs have already come first."""
        self.problem = ""
        self._watcher, self._folder, self._counts = watcher, folder, dict(counts)
        self._waiting: queue.Queue[Line | str] = queue.Queue(MOST_WAITING)
        self._thread = threading.Thread(target=self._run, name=watcher.name, daemon=True)
        self._thread.start()

    def tell(self, line: Line) -> None:
        """Hand a line over."""
        if self.problem:
            return
        try:
            self._waiting.put_nowait(line)
        except queue.Full:
            self.problem = f"{self._watcher.name}: it is too slow and has missed lines; the run's own log has them all"

    def close(self, state: str) -> None:
        """Say that the run has ended, and wait a moment for the rest."""
        try:
            self._waiting.put(state, timeout=FAREWELL)
            self._thread.join(FAREWELL)
        except queue.Full:
            pass
        if self._thread.is_alive() and not self.problem:
            self.problem = f"{self._watcher.name}: it did not finish within {FAREWELL:.0f} seconds; the run is whole"

    def _run(self) -> None:
        try:
            self._watcher.begin()
            for log, count in self._counts.items():
                records = read_log(self._folder / log).records[:count]
                lines = [Line(log, i, r.kind, r.epoch, r.step, r.values) for i, r in enumerate(records, 1)]
                for first in range(0, len(lines), TOGETHER):
                    self._watcher.hear(lines[first : first + TOGETHER])
            while not isinstance(state := self._listen(), str):
                pass
            self._watcher.end(state)
        except Exception as problem:
            # Whatever a foreign tool does, it must not end a training of hours.
            words = str(problem).strip().splitlines() or [type(problem).__name__]
            self.problem = f"{self._watcher.name}: {words[0][:300]}; the training went on without it"

    def _listen(self) -> str | None:
        """Take what waits, in one go; give how the run has ended, when it has."""
        lines: list[Line] = []
        found = self._waiting.get()
        while isinstance(found, Line):
            lines.append(found)
            if len(lines) >= TOGETHER or self._waiting.empty():
                found = None
                break
            found = self._waiting.get()
        if lines:
            self._watcher.hear(lines)
        return found
