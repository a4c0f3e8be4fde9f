"""What a training leaves in its run folder: metrics and weights as it goes, the summary and the state at its end."""

import math
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from inkcap.engine import weights_of
from inkcap.recipes import MetricWriter, RunFolder, RunFolderError, layout, signal_values
from inkcap.training.loop import Outcome
from inkcap.training.signals import SignalWatch
from inkcap.training.weights import save_weights

_CHECKPOINT_EVERY = 10.0


@dataclass
class FolderKeeper:
    """Writes the metrics, and the best weights now and then, so that even a killed run leaves something."""

    folder: RunFolder
    module: torch.nn.Module
    log: MetricWriter
    watch: SignalWatch | None = None
    best: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    _saved: float = field(default=-math.inf, init=False)
    _signals: MetricWriter | None = field(default=None, init=False)

    def __post_init__(self) -> None:
        if self.watch is not None:
            self._signals = MetricWriter(self.folder.path / layout.SIGNALS)
            self._look(0, 0)

    def _look(self, epoch: int, step: int) -> None:
        """Write the signals of the capsules, if they are watched."""
        if self.watch is not None and self._signals is not None:
            self._signals.write("epoch", epoch, step, signal_values(self.watch.measure()))

    def step(self, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Write the values of some steps."""
        self.log.write("step", epoch, step, values)

    def epoch(self, epoch: int, step: int, values: Mapping[str, float], best: bool) -> None:
        """Write the values of an epoch and keep the weights when they are the best so far."""
        self.log.write("epoch", epoch, step, values)
        self._look(epoch, step)
        if best:
            self.best = weights_of(self.module)
            if time.monotonic() - self._saved >= _CHECKPOINT_EVERY:
                save_weights(self.folder.path / layout.BEST, self.best)
                self._saved = time.monotonic()

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
        last = weights_of(self.module)
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
    if not problems:
        try:
            folder.write_json(layout.SUMMARY, _summary(outcome, state, facts))
            kept = folder.update(state=state, reason=outcome.reason, finished=layout.now(), **seals)
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
        **facts,
    }
