"""How soon the studio lists a thousand runs of a hundred thousand points each, and answers with curves to draw."""

from __future__ import annotations

import dataclasses
import math
import os
import shutil
import statistics
import sys
import tempfile
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from serving import Server

from inkcap.recipes import DataSpec, Recipe, RunFolder, layout
from inkcap.recipes.metrics import MetricRecord, encode_record

RUNS, POINTS, OVERLAID = 1_000, 100_000, 8
LIST_AIM, DRAW_AIM = 0.300, 0.500
EPOCHS = 100
KILLED_EVERY = 100
"""One run in so many was killed, and has no summary: the end of its log is all there is."""


@dataclass(frozen=True)
class Figures:
    """Seconds of the first answer after the studio's start and of later ones, for the list and for curves."""

    first_list: float
    later_list: float
    first_draw: float
    later_draw: float


def log_text(points: int) -> bytes:
    """Write the log of a run: a loss that falls with noise, and the end of every epoch."""
    lines: list[bytes] = []
    each = max(points // EPOCHS, 1)
    for step in range(1, points + 1):
        loss = 2.3 * math.exp(-3 * step / points) + 0.1 * math.sin(step * 12.9898)
        lines.append(encode_record(MetricRecord(len(lines) + 1, "step", step // each + 1, step, {"loss": loss})))
        if step % each == 0:
            values = {"loss": loss, "rate": 1e-3, "val_loss": loss * 1.1, "val_accuracy": 1 - loss / 3}
            lines.append(encode_record(MetricRecord(len(lines) + 1, "epoch", step // each, step, values)))
    return b"".join(lines)


def fill(workspace: Path, runs: int, points: int) -> None:
    """Make the runs, the first by the means of a training; their logs are one file under many names."""
    log = workspace / "log.jsonl"
    log.write_bytes(log_text(points))
    run = RunFolder.create(workspace, "net", "digits")
    run.write_text(layout.DRAWING, "{}")
    run.write_recipe(Recipe(DataSpec("digits"), epochs=EPOCHS))
    run.write_json(layout.ENVIRONMENT, {})
    run.write_json(layout.DATA, {"split": {"training_samples": 64 * points // EPOCHS}})
    values = {"loss": 0.2, "rate": 1e-3, "val_loss": 0.25, "val_accuracy": 0.9}
    best = {"monitor": "loss", "best_epoch": EPOCHS, "best_value": 0.25}
    told = {"state": "finished", "epochs": EPOCHS, "steps": points, "seconds": 61.5, "values": values}
    run.write_json(layout.SUMMARY, told | best)
    run = run.update(state="finished", reason="all epochs done", finished=layout.now())
    os.link(log, run.path / layout.METRICS)
    for number in range(2, runs + 1):
        other = run.path.with_name(layout.run_name("net", "digits", number))
        killed = number % KILLED_EVERY == 0
        shutil.copytree(run.path, other, ignore=shutil.ignore_patterns(layout.METRICS, *[layout.SUMMARY] * killed))
        os.link(log, other / layout.METRICS)
        state = {"state": "running", "process": "::1"} if killed else {}
        record = dataclasses.replace(run.record, id=other.name, **state)
        (other / layout.RUN).write_text(record.to_text(), encoding="utf-8")


def _seconds(work: Callable[[], object]) -> float:
    start = time.perf_counter()
    work()
    return time.perf_counter() - start


def measure(runs: int = RUNS, points: int = POINTS, rounds: int = 7) -> Figures:
    """Make a workspace with so many runs, and ask a fresh studio for them."""
    with tempfile.TemporaryDirectory() as folder:
        workspace = Path(folder) / "work"
        workspace.mkdir()
        fill(workspace, runs, points)
        with Server(workspace) as server, server.client() as client:
            client.get("/api/recipes/fields")  # the connection is there, and nothing of the runs is read
            first = _seconds(lambda: client.get("/api/runs").raise_for_status())
            later = [_seconds(lambda: client.get("/api/runs").raise_for_status()) for _ in range(rounds)]
            listed = client.get("/api/runs").json()
            assert len(listed) == runs
            asked = f"/api/curves?runs={','.join(row['id'] for row in listed[:OVERLAID])}&points=600"
            drawn = _seconds(lambda: client.get(asked).raise_for_status())
            while not all(curves["whole"] for curves in client.get(asked).json()):
                pass
            again = [_seconds(lambda: client.get(asked).raise_for_status()) for _ in range(rounds)]
    return Figures(first, statistics.median(later), drawn, statistics.median(again))


def main() -> None:
    """Print a line for the list and one for curves."""
    found = measure()
    print(f"{f'{RUNS:,} runs of {POINTS:,} points':<34}{'first':>8}{'later':>8}   aim")
    for name, first, later, aim in (
        ("the list", found.first_list, found.later_list, LIST_AIM),
        (f"the curves of {OVERLAID}", found.first_draw, found.later_draw, DRAW_AIM),
    ):
        verdict = "held" if max(first, later) <= aim else "held but for the first" if later <= aim else "missed"
        print(f"{name:<34}{first * 1000:>5.0f} ms{later * 1000:>5.0f} ms   {aim * 1000:.0f} ms, {verdict}")


if __name__ == "__main__":
    main()
