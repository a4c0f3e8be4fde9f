"""The signals of a run as the page draws them: for every capsule and connection its course over the epochs."""

from __future__ import annotations

import math
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from inkcap.recipes import EpochSignals, RunFolder
from inkcap.recipes.epochs import weights_by_epoch
from inkcap.studio.insight_models import CapsuleSignals, ConnectionSignals, RunSignals

COLUMNS = "Neurons in columns give no signals of single ones; draw capsules, or let 'contract' make them."
OFF = "This run was trained without signals: switch 'signals' on in the recipe and train again."
NONE_YET = "The run has no signals yet: they come with its first measurement."


def signals_of(path: Path) -> RunSignals:
    """Read the signals of a run."""
    run = RunFolder.open(path)
    found = run.signals() if run.record.state != "created" else ()
    return RunSignals(
        epochs=[epoch.epoch for epoch in found],
        frames=sorted(weights_by_epoch(run)) if run.record.state != "created" else [],
        batch=_batch(run) if found else 0,
        capsules={
            id: CapsuleSignals(**_courses(CapsuleSignals, [epoch.capsules.get(id) for epoch in found]))
            for id in _ids(found, "capsules")
        },
        connections={
            id: ConnectionSignals(**_courses(ConnectionSignals, [epoch.connections.get(id) for epoch in found]))
            for id in _ids(found, "connections")
        },
        why=None if found else _why(run),
    )


def _ids(found: Sequence[EpochSignals], part: str) -> list[str]:
    return list(dict.fromkeys(id for epoch in found for id in getattr(epoch, part)))


def _courses(model: type[CapsuleSignals | ConnectionSignals], told: Sequence[object]) -> dict[str, Any]:
    return {name: [_finite(getattr(signal, name, None)) for signal in told] for name in model.model_fields}


def _finite(value: float | None) -> float | None:
    return value if value is not None and math.isfinite(value) else None


def _batch(run: RunFolder) -> int:
    """Tell how many samples are measured: the recipe's batch, or all there are where they are fewer."""
    split = run.data().get("split")
    samples: object = split.get("training_samples") if isinstance(split, dict) else None  # pyright: ignore
    batch = run.recipe().batch
    return min(batch, samples) if isinstance(samples, int) else batch


def _why(run: RunFolder) -> str:
    if run.record.state == "created":
        return NONE_YET
    if run.recipe().signals:
        return NONE_YET if run.record.state == "running" else "The run ended before its first measurement."
    return COLUMNS if _in_columns(run) else OFF


def _in_columns(run: RunFolder) -> bool:
    from inkcap.drawing import from_text
    from inkcap.network import as_plain, check
    from inkcap.structures.errors import InkcapError

    try:
        return as_plain(check(from_text(run.drawing_text())).network).plain is not None
    except InkcapError:
        return False
