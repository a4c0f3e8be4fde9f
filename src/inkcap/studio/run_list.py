"""The list of runs: what each says in short, read again only where its files have changed.

Of a run that has ended its summary tells everything; of one that goes on, or was killed, the end of its log does.
"""

from __future__ import annotations

import datetime
import hashlib
import json
import math
import os
import threading
import time
from collections import deque
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

from inkcap.recipes import MetricRecord, RunFolder, RunFolderError, layout
from inkcap.recipes.checkpoints import list_checkpoints
from inkcap.recipes.measures import more_is_better
from inkcap.recipes.runfolder import KILLED
from inkcap.recipes.steering import GOING
from inkcap.studio.curves import Curves, Series, last_records
from inkcap.studio.run_models import Drawn, RunRow
from inkcap.studio.run_notes import NOTES, Notes, read_notes
from inkcap.studio.store import Store
from inkcap.studio.workspace import is_text

BEST_PATIENCE = 0.03
"""Seconds that a list reads in the logs of runs without a summary, to find their best values."""
DRAW_PATIENCE = 0.2
"""Seconds that are read in logs for one answer with curves."""
LOOKS = 30
NOT_KNOWN = "that is not known any more, since what tells it is damaged"
MOST_BYTES = 2**20
"""Larger is no file of a run that the list reads."""
Stamp = tuple[int, int] | None


def run_id(folder: str) -> str:
    """Give the id under which the API knows a run."""
    return hashlib.sha256(folder.encode()).hexdigest()[:16]


@dataclass
class _Known:
    """What was read of a run, and the states that its files had then."""

    run: RunFolder | None = None
    problem: str = ""
    recipe: Mapping[str, Any] = field(default_factory=dict[str, Any])
    summary: Mapping[str, Any] = field(default_factory=dict[str, Any])
    doubt: str = ""
    """What is wrong with the summary, if anything: then the log tells."""
    stamps: tuple[Stamp, Stamp] = (None, None)
    notes: tuple[Stamp, Notes] = (None, Notes())
    resumes: tuple[Stamp, list[dict[str, Any]], str] = (None, [], "")
    """When it was gone on with, and what is wrong with the file that tells."""
    log: tuple[Stamp, MetricRecord | None, MetricRecord | None] = (None, None, None)
    looks: deque[tuple[float, int]] = field(default_factory=lambda: deque[tuple[float, int]](maxlen=LOOKS))
    """When the log had reached which step, of a run that goes on."""


class RunList:
    """The runs of a workspace."""

    def __init__(self, workspace: Path, store: Store) -> None:
        """Know nothing of them yet."""
        self.folder = workspace / layout.RUNS
        self.curves = Curves()
        self._store = store
        self._known: dict[str, _Known] = {}
        self._lock = threading.Lock()

    def names(self) -> list[str]:
        """Give the names of the runs' folders."""
        try:
            with os.scandir(self.folder) as entries:
                # A link leads to what is no run of this workspace, and bytes that are no text name none.
                there = (entry.name for entry in entries if entry.is_dir(follow_symlinks=False))
                return [name for name in there if not name.startswith(".") and is_text(name)]
        except OSError:
            return []

    def path(self, id: str) -> Path | None:
        """Find a run's folder by the API's id."""
        return next((self.folder / name for name in self.names() if run_id(name) == id), None)

    def rows(self, drawing: str | None = None, *, going: bool = False) -> list[RunRow]:
        """List the runs, the newest first: all, those of one drawing, or those that go on."""
        started, names = self._store.runs(), self.names()
        deadline = time.monotonic() + BEST_PATIENCE
        with self._lock:
            for gone in self._known.keys() - set(names):
                del self._known[gone]
            wanted = [name for name in names if drawing is None or started.get(name) == drawing]
            rows = [self._row(name, started.get(name) or None, deadline, going=going) for name in wanted]
        return sorted((row for row in rows if row), key=lambda row: (row.created, row.name), reverse=True)

    def row(self, name: str) -> RunRow | None:
        """Tell of one run."""
        with self._lock:
            return self._row(name, self._store.runs().get(name) or None, time.monotonic() + BEST_PATIENCE)

    def draw(self, paths: Mapping[str, Path], points: int, patience: float = DRAW_PATIENCE) -> list[Drawn]:
        """Give the curves of some runs by their ids, within a moment; those that take longer are sampled for now."""
        deadline = time.monotonic() + patience
        drawn: list[Drawn] = []
        for id, path in paths.items():
            series, whole = self.series(path, points, deadline)
            recipe = _object(path / layout.RECIPE)
            drawn.append(Drawn(id=id, whole=whole, recipe=dict(recipe), series=series))
        return drawn

    def series(self, path: Path, points: int, deadline: float) -> tuple[Series, bool]:
        """Give the curves of a run, and whether they are of all of its log."""
        log = path / layout.METRICS
        curves, whole = self.curves.read(log, deadline)
        return (curves.series(points), True) if whole else (self.curves.sample(log), False)

    # One run -------------------------------------------------------------------------------------------------

    def _row(self, name: str, drawing: str | None, deadline: float, *, going: bool = False) -> RunRow | None:
        known = self._known.setdefault(name, _Known())
        path = f"{self.folder}{os.sep}{name}{os.sep}"
        self._look(known, path)
        if going and (known.run is None or known.run.record.state not in GOING):
            return None
        stamp = _stamp(path + NOTES)
        if stamp != known.notes[0]:
            known.notes = (stamp, read_notes(Path(path)))
        stamp = _stamp(path + layout.RESUMES)
        if stamp != known.resumes[0] and known.run is not None:
            known.resumes = (stamp, *_resumes(known.run))
        told = _damaged(name, known) if known.run is None else self._told(known, known.run, path, deadline)
        notes = known.notes[1]
        told["hint"] = _joined(told["hint"], known.resumes[2], notes.doubt)
        return RunRow(id=run_id(name), name=name, drawing=drawing, note=notes.note, tags=notes.tags, **told)

    def _look(self, known: _Known, path: str) -> None:
        stamps = (_stamp(path + layout.RUN), _stamp(path + layout.SUMMARY))
        alive = known.run is not None and known.run.record.state in GOING
        # One that goes on may be killed at any time, and its file does not say so.
        if known.stamps == stamps and stamps[0] is not None and not alive:
            return
        try:
            known.run, known.problem = RunFolder.open(path), ""
        except RunFolderError as problem:
            known.run, known.problem = None, str(problem)
        if known.stamps != stamps or not known.recipe:
            known.recipe = _object(path + layout.RECIPE)
            known.summary, known.doubt = _summary(known.run)
        known.stamps = stamps

    def _told(self, known: _Known, run: RunFolder, path: str, deadline: float) -> dict[str, Any]:
        record, summary = run.record, known.summary
        epochs = _whole(known.recipe.get("epochs"))
        common: dict[str, Any] = {
            "drawn": record.drawing,
            "data": _data_of(known.recipe),
            "state": record.standing,
            "reason": record.reason if record.standing != layout.PAUSED else "",
            "created": record.created,
            "finished": record.finished,
            "sweep": record.sweep,
            "epochs": epochs,
            "throughput": None,
            "data_wait": _data_wait(summary.get("pace")),
            "left": None,
            "rate": None,
            "checkpoint": None,
            "hint": known.doubt,
            "resumed": len(known.resumes[1]),
            "inexact": NOT_KNOWN if known.resumes[2] else _inexact(known.resumes[1]),
        }
        # A summary of a run that was taken up again is an old one.
        if record.state in layout.ENDED and record.reason != KILLED and summary:
            values = _numbers(summary.get("values"))
            done = _whole(summary.get("epochs"))
            return common | {
                "seconds": _number(summary.get("seconds")),
                "epoch": done,
                "step": _whole(summary.get("steps")),
                "share": 1.0 if record.state == "finished" else _share(done, epochs),
                "values": values,
                "monitor": _monitor(summary.get("monitor"), values),
                "best_epoch": _whole(summary.get("best_epoch")),
                "best_value": _number(summary.get("best_value")),
                "hint": self._doubt_of_log(path, summary),
            }
        return common | self._under_way(known, run, path, deadline)

    def _under_way(self, known: _Known, run: RunFolder, path: str, deadline: float) -> dict[str, Any]:
        """Tell how far a run without a summary has come, by the end of its log."""
        log = Path(path + layout.METRICS)
        stamp = _stamp(str(log))
        if stamp != known.log[0]:
            known.log = (stamp, *last_records(log))
        _, last, epoch = known.log
        written = stamp[0] / 1e9 if stamp else time.time()
        step, done = (last.step if last else 0), (epoch.epoch if epoch else 0)
        epochs, batch = _whole(known.recipe.get("epochs")), _whole(known.recipe.get("batch"))
        each = epoch.step / epoch.epoch if epoch and epoch.epoch else _steps_of_data(run, batch)
        values = {name: _number(value) for name, value in epoch.values.items()} if epoch else {}
        monitor = _monitor(known.recipe.get("monitor"), values)
        best = self.curves.read(log, deadline)[0].best(monitor, more_is_better(monitor)) if epoch else None
        alive = run.record.state in GOING
        speed = self._speed(known, written, step) if alive else None
        (before, begun), until = _begun(run, known.resumes[1]), (time.time() if alive else written)
        return {
            "seconds": before + max(until - begun, 0.0) if begun else None,
            "epoch": done,
            "step": step,
            "share": _share(step, epochs * each),
            "values": values,
            "monitor": monitor,
            "best_epoch": round(best[0] / each) if best and each else 0,
            "best_value": best[1] if best else None,
            "throughput": speed * batch if speed else None,
            "data_wait": _data_wait(_object(path + layout.PACE)) if alive else None,
            "left": max(epochs * each - step, 0.0) / speed if speed and each else None,
            "rate": _number(last.values.get("rate")) if last and alive else None,
            "checkpoint": None if alive else _checkpoint(run),
            "hint": "" if alive else _joined(_hint(path), known.doubt, self._doubt_of_log(path, {})),
        }

    def _doubt_of_log(self, path: str, summary: Mapping[str, Any]) -> str:
        """Say what is wrong with the log of a run that has ended, once somebody has looked at its curves."""
        lines = summary.get("lines")
        count = cast("dict[str, Any]", lines).get(layout.METRICS) if isinstance(lines, dict) else 0
        return self.curves.doubt(Path(path + layout.METRICS), _whole(count))

    def _speed(self, known: _Known, written: float, step: int) -> float | None:
        """Give the steps a second: between the looks of the last while, or since the run began to train."""
        looks = known.looks
        if looks and (step < looks[-1][1] or written < looks[-1][0]):
            # It went on from an earlier step, or the clock was set back: what was seen before says nothing any more.
            looks.clear()
        if not looks or step > looks[-1][1]:
            looks.append((written, step))
        (first, start), (last, end) = looks[0], looks[-1]
        if last - first >= 1.0:
            return (end - start) / (last - first)
        # The run's file was written for the last time just before its first step, also when it went on.
        begun = known.stamps[0]
        done = step - (_whole(known.resumes[1][-1].get("step")) if known.resumes[1] else 0)
        if begun is None or done <= 0 or written < begun[0] / 1e9:
            return None
        return done / max(written - begun[0] / 1e9, 1e-3)


def _stamp(path: str) -> Stamp:
    try:
        found = os.stat(path)
    except OSError:
        return None
    return (found.st_mtime_ns, found.st_size)


def _joined(*sentences: str) -> str:
    return " ".join(filter(None, sentences))


def _summary(run: RunFolder | None) -> tuple[Mapping[str, Any], str]:
    """Give the summary of a run, if there is one that is whole, and what is wrong with it if not."""
    if run is None or not (run.path / layout.SUMMARY).is_file():
        return {}, ""
    try:
        return run.summary(), ""
    except RunFolderError as problem:
        return {}, str(problem)


def _resumes(run: RunFolder) -> tuple[list[dict[str, Any]], str]:
    """Give when a run was gone on with, and what is wrong with what tells it."""
    try:
        return run.resumes(), ""
    except RunFolderError as problem:
        return [], str(problem)


def _object(path: Path | str) -> Mapping[str, Any]:
    """Read a file of a run as it is: one that cannot be read says nothing, and the run's own checks tell why."""
    try:
        file = os.open(path, os.O_RDONLY)
        try:
            found: object = json.loads(os.read(file, min(os.fstat(file).st_size, MOST_BYTES)))
        finally:
            os.close(file)
    except (OSError, ValueError, RecursionError):
        return {}
    return cast("dict[str, Any]", found) if isinstance(found, dict) else {}


def _damaged(name: str, known: _Known) -> dict[str, Any]:
    return {
        **{"drawn": name, "data": _data_of(known.recipe), "state": "damaged", "reason": known.problem},
        **{"created": "", "finished": "", "seconds": None, "epoch": 0, "epochs": 0, "step": 0, "share": 0.0},
        **{"values": {}, "monitor": "", "best_epoch": 0, "best_value": None, "throughput": None, "left": None},
        "data_wait": None,
        **{"rate": None, "resumed": 0, "inexact": "", "checkpoint": None, "hint": "", "sweep": ""},
    }


def _data_wait(pace: object) -> float | None:
    """Give the share of the time that a run has waited for data, where it was much."""
    told = cast("dict[str, Any]", pace) if isinstance(pace, dict) else {}
    return _number(told.get("data_wait")) if told.get("much") is True else None


def _inexact(resumes: list[dict[str, Any]]) -> str:
    """Say why the bits are not those of a run that was never stopped: what was inexact once stays so."""
    reasons = [reason for entry in resumes if entry.get("exact") is False for reason in _texts(entry.get("reasons"))]
    return "; ".join(dict.fromkeys(reasons))


def _checkpoint(run: RunFolder) -> int:
    """Give the step of the newest checkpoint by its name, 0 where there is none; resuming looks whether it is whole."""
    newest = next(iter(list_checkpoints(run.path / layout.CHECKPOINTS)), None)
    return int(newest.name.partition("-")[0]) if newest is not None else 0


def _hint(path: str) -> str:
    """Say that memory was short while the run was killed; whether that was the reason nobody can tell."""
    ended = _whole(_object(path + layout.SHORT).get("ended"))
    if not ended:
        return ""
    those = "a process" if ended == 1 else f"{ended} processes"
    return (
        f"While it ran, the machine ended {those} for lack of memory; it may have been this one. "
        "A smaller batch, or fewer neurons, need less."
    )


def _begun(run: RunFolder, resumes: list[dict[str, Any]]) -> tuple[float, float]:
    """Give the seconds that earlier processes have spent on a run, and when the last one began."""
    if not resumes:
        return 0.0, _time(run.record.created)
    last = resumes[-1]
    return _number(last.get("seconds")) or 0.0, _time(str(last.get("when", "")))


def _data_of(recipe: Mapping[str, Any]) -> str:
    data: object = recipe.get("data")
    name = cast("dict[str, Any]", data).get("name") if isinstance(data, dict) else None
    return name if isinstance(name, str) else ""


def _steps_of_data(run: RunFolder, batch: int) -> float:
    """Give the steps of an epoch by the size of the training part, before the first one is over."""
    split: object = _object(run.path / layout.DATA).get("split")
    samples = _whole(cast("dict[str, Any]", split).get("training_samples")) if isinstance(split, dict) else 0
    return math.ceil(samples / batch) if batch else 0


def _monitor(name: object, values: Mapping[str, object]) -> str:
    """Give the full name of the value that decides what is better."""
    plain = name if isinstance(name, str) and name not in ("", "auto") else "loss"
    return f"val_{plain}" if f"val_{plain}" in values else plain


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, int | float) and math.isfinite(value) else None


def _numbers(values: object) -> dict[str, float | None]:
    found = cast("dict[str, object]", values) if isinstance(values, dict) else {}
    return {name: _number(value) for name, value in found.items()}


def _texts(value: object) -> list[str]:
    return [str(one) for one in cast("list[object]", value)] if isinstance(value, list) else []


def _whole(value: object) -> int:
    return value if isinstance(value, int) else 0


def _share(part: float, whole: float) -> float:
    return min(part / whole, 1.0) if whole else 0.0


def _time(text: str) -> float:
    try:
        return datetime.datetime.fromisoformat(text).timestamp()
    except ValueError:
        return 0.0
