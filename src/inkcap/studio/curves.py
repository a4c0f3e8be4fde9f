"""The curves of runs: read as far as their logs have grown, kept thinned out, never read twice.

A log of a hundred thousand records takes a moment. Whoever asks for curves gives a deadline: what is not read by then
is sampled for now, and read on when it is asked for again.
"""

from __future__ import annotations

import json
import math
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, cast

from inkcap.recipes.errors import RunFolderError
from inkcap.recipes.metrics import MetricRecord, decode_record, read_log

Points = list[tuple[float, float]]
Series = dict[str, Points]

FINE = 2_000
"""So many points of a curve are kept, at most four times as many until they are thinned out."""
MOST_RUNS = 256
PIECE = 2**18
"""Bytes that are read between two looks at the clock."""
SAMPLES = 400
LONGEST_LINE = 4_096
SEAL = len(b',"crc":"01234567"}')


def thinned(curve: Points, points: int) -> Points:
    """Keep the lowest and the highest point of equal stretches of the steps, so that no spike is lost."""
    if len(curve) <= points:
        return curve
    first, last = curve[0], curve[-1]
    scale = max(points // 2, 1) / (last[0] - first[0] + 1)
    low: dict[int, tuple[float, float]] = {}
    high: dict[int, tuple[float, float]] = {}
    for point in curve:
        bucket = int((point[0] - first[0]) * scale)
        if bucket not in low:
            low[bucket] = high[bucket] = point
        elif point[1] < low[bucket][1]:
            low[bucket] = point
        elif point[1] > high[bucket][1]:
            high[bucket] = point
    return sorted({first, *low.values(), *high.values(), last})


class RunCurves:
    """The curves of one log so far, and the place up to which it was read."""

    def __init__(self) -> None:
        """Begin before the first record."""
        self.restart()

    def restart(self) -> None:
        """Forget everything that was read."""
        self.end, self.seq = 0, 1
        self.stuck = -1
        """The size of the log when not all of it could be trusted."""
        self.note = ""
        """What of the log could not be trusted, if anything."""
        self._found: dict[tuple[str, str], Points] = {}
        """By the value's name and the kind of the record."""

    def add(self, records: Iterable[tuple[str, int, Mapping[str, Any]]]) -> None:
        """Take in records by their kind, step and values; what is not finite leaves a gap."""
        found = self._found
        for kind, step, values in records:
            for name, value in values.items():
                if type(value) in (int, float) and math.isfinite(value):
                    found.setdefault((name, kind), []).append((step, value))
        for key, curve in found.items():
            if len(curve) > 4 * FINE:
                found[key] = thinned(curve, FINE)

    def series(self, points: int) -> Series:
        """Give each value's curve over the steps; what a step and an epoch both measure is taken from the steps."""
        names = dict.fromkeys(name for name, _ in self._found)
        chosen = {name: self._found.get((name, "step")) or self._found[name, "epoch"] for name in names}
        return {name: thinned(curve, points) for name, curve in chosen.items()}

    def best(self, name: str, highest: bool) -> tuple[float, float] | None:
        """Give the step and the value of the best epoch so far: thinning out loses neither end."""
        curve = self._found.get((name, "epoch"))
        if not curve:
            return None
        return max(curve, key=lambda point: point[1]) if highest else min(curve, key=lambda point: point[1])


class Curves:
    """The curves of the runs that were looked at last."""

    def __init__(self) -> None:
        """Know nothing yet."""
        self._known: OrderedDict[Path, tuple[int, RunCurves]] = OrderedDict()
        self._samples: dict[Path, Series] = {}
        self._lock = threading.Lock()

    def read(self, log: Path, deadline: float) -> tuple[RunCurves, bool]:
        """Read on in a log until its end or the deadline; tell whether the end was reached."""
        with self._lock:
            try:
                state = log.stat()
            except OSError:
                return RunCurves(), True
            inode, curves = self._known.get(log, (0, RunCurves()))
            if inode != state.st_ino or curves.end > state.st_size:
                # Another file, or one that was cut back: what was read of it is not its beginning any more.
                curves = RunCurves()
            self._known[log] = (state.st_ino, curves)
            self._known.move_to_end(log)
            while len(self._known) > MOST_RUNS:
                self._known.popitem(last=False)
            if curves.end >= state.st_size:
                self._samples.pop(log, None)
            while curves.end < state.st_size and time.monotonic() < deadline:
                if curves.stuck == state.st_size or not _read_on(log, curves):
                    return curves, True
            return curves, curves.end >= state.st_size

    def doubt(self, log: Path, lines: int) -> str:
        """Say what is wrong with a log of at least so many lines; nothing of one that nobody has read to its end."""
        with self._lock:
            _, curves = self._known.get(log, (0, None))
            try:
                if curves is None or (curves.end < log.stat().st_size and not curves.note):
                    return ""
            except OSError:
                return ""
            few = curves.seq - 1 < lines
            return curves.note or (f"{log.name}: it has only {curves.seq - 1} of {lines} lines." if few else "")

    def sample(self, log: Path) -> Series:
        """Give what the curves of a log look like, until all of it is read."""
        with self._lock:
            if log not in self._samples:
                while len(self._samples) >= MOST_RUNS:
                    del self._samples[next(iter(self._samples))]
                self._samples[log] = sampled(log)
            return self._samples[log]

    def forget(self, log: Path) -> None:
        """Let go of a log whose run has gone."""
        with self._lock:
            self._known.pop(log, None)
            self._samples.pop(log, None)


def _read_on(log: Path, curves: RunCurves) -> bool:
    """Read one more piece of a log; nothing more can be read where this gives False."""
    with open(log, "rb") as file:
        file.seek(curves.end)
        piece = file.read(PIECE)
    whole = piece.rfind(b"\n") + 1
    records = _decoded(piece[:whole], curves.seq)
    if records is not None:
        curves.add((one["kind"], one["step"], one["values"]) for one in records)
        curves.end, curves.seq = curves.end + whole, curves.seq + len(records)
        # Of a run that goes on the rest comes yet.
        curves.note = "" if whole else f"{log.name}: line {curves.seq} is not whole, and is left out."
        return whole > 0
    # The careful reader says how far the log can be trusted: it may be damaged, or have been cut back and grown anew.
    size = log.stat().st_size
    curves.restart()
    try:
        trusted = read_log(log)
    except RunFolderError:
        return False
    curves.add((record.kind, record.step, record.values) for record in trusted.records)
    curves.end, curves.seq, curves.stuck, curves.note = trusted.end, len(trusted.records) + 1, size, trusted.note
    return False


def _decoded(piece: bytes, seq: int) -> list[dict[str, Any]] | None:
    """Decode whole lines in one go, five times as fast as one by one; None where a check sum or a number is wrong."""
    lines = piece.splitlines()
    bodies: list[bytes] = []
    for line in lines:
        body = line[:-SEAL] + b"}"
        if line[-10:-2] != b"%08x" % zlib.crc32(body):
            return None
        bodies.append(body)
    try:
        records = cast("list[dict[str, Any]]", json.loads(b"[" + b",".join(bodies) + b"]"))
        numbered = [record["seq"] for record in records] == list(range(seq, seq + len(lines)))
    except (ValueError, KeyError, TypeError, RecursionError):
        return None
    return records if numbered else None


def sampled(log: Path, samples: int = SAMPLES) -> Series:
    """Take a few records from all over a log: what its curves look like until it is read."""
    curves = RunCurves()
    try:
        with open(log, "rb") as file:
            size = file.seek(0, 2)
            for number in range(samples):
                file.seek(size * number // samples)
                record = _first_whole(file.read(LONGEST_LINE), number > 0)
                if record is not None:
                    curves.add([(record.kind, record.step, record.values)])
    except OSError:
        return {}
    return {name: sorted(set(curve)) for name, curve in curves.series(samples).items()}


def _first_whole(data: bytes, torn: bool) -> MetricRecord | None:
    """Decode the first whole line of a piece that begins anywhere, or where a line begins."""
    lines = data.split(b"\n", 2)
    at = 1 if torn else 0
    try:
        return decode_record(lines[at]) if len(lines) > at + 1 else None
    except (ValueError, OverflowError, RecursionError):
        return None


def last_records(log: Path, least: int = 2**14, most: int = 2**20) -> tuple[MetricRecord | None, MetricRecord | None]:
    """Give the last record of a log and the last one of an epoch, read from its end."""
    try:
        with open(log, "rb") as file:
            size = file.seek(0, 2)
            reach = least
            while True:
                file.seek(max(size - reach, 0))
                last, epoch = _last_of(file.read(reach).split(b"\n")[:-1], whole=reach >= size)
                if epoch is not None or reach >= min(size, most):
                    return last, epoch
                reach *= 8
    except OSError:
        return None, None


def _last_of(lines: list[bytes], *, whole: bool) -> tuple[MetricRecord | None, MetricRecord | None]:
    last: MetricRecord | None = None
    for line in reversed(lines if whole else lines[1:]):
        # Steps are many, and only the last of them matters.
        if last is not None and b'"kind":"epoch"' not in line:
            continue
        try:
            record = decode_record(line)
        except (ValueError, OverflowError, RecursionError):
            continue
        last = last or record
        if record.kind == "epoch":
            return last, record
    return last, None
