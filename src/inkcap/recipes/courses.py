"""The signals of a run as they are drawn: for every capsule and connection its course over the epochs."""

import math
from collections.abc import Mapping, Sequence
from dataclasses import fields
from typing import Any, cast

from inkcap.drawing import from_text
from inkcap.network import as_plain, check
from inkcap.recipes import layout
from inkcap.recipes.epochs import weights_by_epoch
from inkcap.recipes.runfolder import RunFolder
from inkcap.recipes.signals import EpochSignals, Signal, Weighing
from inkcap.structures.errors import InkcapError

COLUMNS = "Neurons in columns give no signals of single ones; draw capsules, or let 'inkcap contract' make them."
OFF = "This run was trained without signals: switch them on in the recipe and train again."
NOT_YET = "The run has no signals yet: they come with its first measurement."
ENDED = "The run ended before its first measurement; train it again."


def signal_courses(run: RunFolder) -> dict[str, Any]:
    """Give the signals of a run by epochs, the epochs whose weights are kept, and what is wrong with them, if so.

    What is not finite is None, as is what was not measured.
    """
    if run.record.state == "created":
        nothing: dict[str, Any] = {"capsules": {}, "connections": {}, "why": NOT_YET, "note": ""}
        return {"epochs": [], "frames": [], "batch": 0, **nothing}
    log = run.signal_log()
    found = log.epochs
    return {
        "epochs": [epoch.epoch for epoch in found],
        "frames": sorted(weights_by_epoch(run)),
        "batch": _batch(run) if found else 0,
        "capsules": {id: _course(Signal, [e.capsules.get(id) for e in found]) for id in _ids(found, "capsules")},
        "connections": {
            id: _course(Weighing, [e.connections.get(id) for e in found]) for id in _ids(found, "connections")
        },
        "why": None if found else _why(run),
        # Of a run that goes on the last line may be half written.
        "note": log.note if run.record.state in layout.ENDED else "",
    }


def _ids(found: Sequence[EpochSignals], part: str) -> list[str]:
    return list(dict.fromkeys(id for epoch in found for id in getattr(epoch, part)))


def _course(kind: type[Signal | Weighing], told: Sequence[Signal | Weighing | None]) -> dict[str, list[float | None]]:
    return {part.name: [_finite(getattr(signal, part.name, None)) for signal in told] for part in fields(kind)}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _batch(run: RunFolder) -> int:
    """Tell how many samples are measured: the recipe's batch, or all there are where they are fewer."""
    split = cast("Mapping[str, object]", run.data().get("split") or {})
    samples, batch = split.get("training_samples"), run.recipe().batch
    return min(batch, samples) if isinstance(samples, int) else batch


def _why(run: RunFolder) -> str:
    if run.recipe().signals:
        return NOT_YET if run.record.state == "running" else ENDED
    return COLUMNS if _in_columns(run) else OFF


def _in_columns(run: RunFolder) -> bool:
    try:
        return as_plain(check(from_text(run.drawing_text())).network).plain is not None
    except InkcapError:
        return False
