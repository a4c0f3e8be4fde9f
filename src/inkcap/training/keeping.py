"""What a training leaves in its run folder: metrics and weights as it goes, the summary and the state at its end."""

import math
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from inkcap.engine import weights_of
from inkcap.recipes import MetricWriter, RunFolder, RunFolderError, layout, signal_values
from inkcap.recipes.frames import drop_frames_after
from inkcap.recipes.metrics import MetricKind
from inkcap.training.events import Listener
from inkcap.training.frames import keep_weights
from inkcap.training.pace import Pace
from inkcap.training.session import Outcome
from inkcap.training.signals import SignalWatch
from inkcap.training.stopping import StopRequest
from inkcap.training.waiting import wait_for_room
from inkcap.training.watchers.beside import Beside, Line
from inkcap.training.weights import save_weights

_BEST_EVERY = 10.0
_PACE_EVERY = 2.0


@dataclass
class FolderKeeper:
    """Writes the metrics, and the best weights now and then, so that even a killed run leaves something.

    `counts` are the lines of each log that a run which goes on keeps; a run that begins has none.
    """

    folder: RunFolder
    module: torch.nn.Module
    listener: Listener
    stop: StopRequest
    watch: SignalWatch | None = None
    best: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    counts: Mapping[str, int] = field(default_factory=dict[str, int])
    weights: Callable[[], dict[str, Tensor]] | None = None
    """Gives the weights where the module holds only a part of them; none where they are not at hand."""
    start_watchers: Callable[[Mapping[str, int]], list[Beside]] = lambda _: []
    """Gives those who hear each line, too, told how many lines of each log there are already."""
    _saved: float = field(default=-math.inf, init=False)
    _signals: MetricWriter | None = field(default=None, init=False)
    _paced: float = field(default_factory=time.monotonic, init=False)

    def __post_init__(self) -> None:
        self.log = self._open(layout.METRICS)
        if self.watch is not None:
            self._signals = self._open(layout.SIGNALS)
            # One that goes on has the frames of later epochs still before it.
            drop_frames_after(self.folder.path, self._signals.count - 1)
        self.watchers = self.start_watchers(self.marks())
        if self._signals is not None and not self._signals.count:
            self._look(0, 0)

    def _weights(self) -> dict[str, Tensor]:
        return weights_of(self.module) if self.weights is None else self.weights()

    def _open(self, name: str) -> MetricWriter:
        return MetricWriter(self.folder.path / name, keep=self.counts.get(name, 0))

    def _write(self, log: MetricWriter, kind: MetricKind, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Write a line, if need be when there is room again."""

        def write() -> None:
            log.write(kind, epoch, step, values)

        wait_for_room(write, f"{self.folder.id}/{log.path.name}", self.folder.path, self.listener, self.stop)
        for watcher in self.watchers:
            watcher.tell(Line(log.path.name, log.count, kind, epoch, step, values))

    def _look(self, epoch: int, step: int) -> None:
        """Write the signals of the capsules, and the weights as a frame, if they are watched."""
        if self.watch is not None and self._signals is not None:
            self._write(self._signals, "epoch", epoch, step, signal_values(self.watch.measure(epoch)))
            # Frames are to be looked at: a run never waits for one, whatever the disk says.
            with suppress(OSError, RunFolderError):
                keep_weights(self.folder.path, epoch, weights_of(self.module))

    def marks(self) -> dict[str, int]:
        """Give the number of lines of each log."""
        logs = ((layout.METRICS, self.log), (layout.SIGNALS, self._signals))
        return {name: log.count for name, log in logs if log is not None}

    def sync(self) -> None:
        """Make the lines last that were written so far."""
        for log in (self.log, self._signals):
            if log is not None:
                log.sync()

    def step(self, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Write the values of some steps."""
        self._write(self.log, "step", epoch, step, values)

    def epoch(self, epoch: int, step: int, values: Mapping[str, float], best: bool) -> None:
        """Write the values of an epoch and keep the weights when they are the best so far."""
        self._write(self.log, "epoch", epoch, step, values)
        self._look(epoch, step)
        if best:
            self.best = self._weights()
            if time.monotonic() - self._saved >= _BEST_EVERY:
                # A disk that is full is the business of the checkpoints, which hold these weights too.
                with suppress(RunFolderError):
                    save_weights(self.folder.path / layout.BEST, self.best)
                self._saved = time.monotonic()

    def pace(self, pace: Pace) -> None:
        """Write how much was waited for data, now and then: it is to be looked at, and nothing depends on it."""
        if time.monotonic() - self._paced >= _PACE_EVERY:
            self._paced = time.monotonic()
            with suppress(OSError, RunFolderError):
                self.folder.write_json(layout.PACE, pace.to_json())

    def seal(self) -> tuple[dict[str, str], list[str]]:
        """Write the last and the best weights; give their check sums and what could not be written.

        Each file is tried, whatever became of the others. Weights that are not finite are left out.
        """
        seals, problems = {"weights_sha256": "", "best_sha256": ""}, list[str]()
        for name, log in ((layout.METRICS, self.log), (layout.SIGNALS, self._signals)):
            try:
                if log is not None:
                    log.close()
            except OSError as problem:
                problems.append(f"{name}: could not be written ({problem.strerror or problem}).")
        last = self._weights()
        if not all(bool(torch.isfinite(value).all()) for value in last.values()):
            last = {}
        # The best come first: they are what a run is used by, when the disk has room for one of the two.
        for key, name, weights in (
            ("best_sha256", layout.BEST, self.best),
            ("weights_sha256", layout.WEIGHTS, last),
        ):
            try:
                if weights:
                    seals[key] = save_weights(self.folder.path / name, weights)
            except (OSError, RunFolderError) as problem:
                problems.append(str(problem))
        return seals, problems


def finish(
    folder: RunFolder, keeper: FolderKeeper | None, outcome: Outcome, state: str, facts: Mapping[str, Any]
) -> tuple[RunFolder, str]:
    """Write the weights, the summary and the final state; `facts` go into the summary.

    Gives the folder and, where not all could be written, one line on the first of it; the run has failed then.
    """
    seals, problems = keeper.seal() if keeper is not None else ({}, [])
    facts = {**facts, "lines": keeper.marks() if keeper is not None else {}}
    if not problems:
        try:
            folder.write_json(layout.SUMMARY, _summary(outcome, state, facts))
            kept = folder.update(state=state, reason=outcome.reason, finished=layout.now(), **seals)
            (folder.path / layout.PACE).unlink(missing_ok=True)
            return kept, ""
        except (OSError, RunFolderError) as problem:
            problems.append(str(problem))
    outcome.reason = problems[0] if state != "failed" else outcome.reason
    try:
        folder.write_json(layout.SUMMARY, _summary(outcome, "failed", facts))
        folder = folder.update(**seals)
    except (OSError, RunFolderError):
        pass
    return folder.mark_failed(outcome.reason), problems[0]


def _summary(outcome: Outcome, state: str, facts: Mapping[str, Any]) -> dict[str, Any]:
    return {
        "state": state,
        "reason": outcome.reason,
        "epochs": outcome.epochs,
        "steps": outcome.steps,
        "best_epoch": outcome.best_epoch,
        "best_value": outcome.best_value if math.isfinite(outcome.best_value) else None,
        "values": {name: value if math.isfinite(value) else None for name, value in outcome.values.items()},
        "pace": outcome.pace.to_json(),
        **facts,
    }
