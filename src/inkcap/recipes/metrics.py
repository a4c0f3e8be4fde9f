"""The log of a run's metrics: one JSON object a line, each with its number and a check sum.

The log only grows. A line that was torn by a crash, or damaged later, ends what can be trusted: everything from
there on is left out (and cut off before anything is added), and the reader says so.
"""

import math
import os
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path
from types import TracebackType
from typing import Literal, cast

from inkcap.recipes.errors import RunFolderError
from inkcap.recipes.lines import seal, unseal, whole_lines
from inkcap.structures.atomic import sync_folder

MetricKind = Literal["step", "epoch"]
KINDS: tuple[MetricKind, ...] = ("step", "epoch")

_TAG = "$number"
_TAGGED = {"nan": math.nan, "inf": math.inf, "-inf": -math.inf}
_NAMES = {"seq", "kind", "epoch", "step", "values"}


@dataclass(frozen=True)
class MetricRecord:
    """What was measured after a step or an epoch; both are counted from 1 over the whole run."""

    seq: int
    kind: MetricKind
    epoch: int
    step: int
    values: Mapping[str, float]


@dataclass(frozen=True)
class MetricLog:
    """The part of a log that can be trusted, where it ends, and a word on what was cut, if anything was."""

    records: tuple[MetricRecord, ...] = ()
    end: int = 0
    cut_bytes: int = 0
    note: str = ""

    def epochs(self) -> tuple[MetricRecord, ...]:
        """Give the records of whole epochs."""
        return tuple(record for record in self.records if record.kind == "epoch")


def encode_record(record: MetricRecord) -> bytes:
    """One line, with its line feed; NaN and infinities are tagged, so the line is strict JSON."""
    plain = {
        "seq": record.seq,
        "kind": record.kind,
        "epoch": record.epoch,
        "step": record.step,
        "values": {name: tag(float(value)) for name, value in record.values.items()},
    }
    return seal(plain)


def decode_record(line: bytes) -> MetricRecord:
    """Give the record of one line without its line feed; a ValueError says what is wrong with it."""
    given = unseal(line)
    if set(given) != _NAMES:
        raise ValueError("unknown or missing names")
    seq, kind, epoch, step, values = (given[name] for name in ("seq", "kind", "epoch", "step", "values"))
    if kind not in KINDS or not all(type(number) is int and number >= 0 for number in (seq, epoch, step)):
        raise ValueError("a value of a wrong type")
    if not isinstance(values, dict):
        raise ValueError("values that are no object")
    return MetricRecord(seq, kind, epoch, step, {k: untag(v) for k, v in cast("dict[str, object]", values).items()})


def tag(value: float) -> object:
    """Give a number as strict JSON can hold it."""
    if math.isfinite(value):
        return value
    return {_TAG: "nan" if math.isnan(value) else "inf" if value > 0 else "-inf"}


def untag(value: object) -> float:
    """Give a number back that was tagged, or raise a ValueError."""
    if isinstance(value, float | int) and not isinstance(value, bool):
        return float(value)
    if isinstance(value, dict):
        items = list(cast("dict[str, object]", value).items())
        if len(items) == 1 and items[0][0] == _TAG and isinstance(items[0][1], str) and items[0][1] in _TAGGED:
            return _TAGGED[items[0][1]]
    raise ValueError("a value that is no number")


def read_log(path: Path, start: int = 0, seq: int = 1) -> MetricLog:
    """Give the records from a place on that an earlier reading gave as its `end`, with the number `seq` of the first.

    A log that grows can so be followed without being read anew. A last line that is still being written counts as
    cut until it is whole.
    """
    try:
        with open(path, "rb") as file:
            file.seek(start)
            data = file.read()
    except FileNotFoundError:
        return MetricLog(end=start)
    except OSError as problem:
        raise RunFolderError(f"{path.name}: cannot be read ({problem.strerror}).") from None
    records, place, note = whole_lines(data, path.name, seq, decode_record)
    return MetricLog(tuple(records), start + place, len(data) - place, note)


@dataclass
class MetricWriter:
    """Adds records to a log: each one is written at once, and made to last at most once in a second and at the end.

    With `keep`, what the log holds after that many records is cut off first.
    """

    path: Path
    note: str = ""
    keep: int | None = None
    _seq: int = field(default=1, init=False)
    _end: int = field(default=0, init=False)
    _synced: float = field(default=0.0, init=False)

    def __post_init__(self) -> None:
        log = read_log(self.path)
        kept = log.records if self.keep is None else log.records[: self.keep]
        self._seq = len(kept) + 1
        self._end = log.end - sum(len(encode_record(record)) for record in log.records[len(kept) :])
        self.note = log.note
        try:
            self._file = open(self.path, "ab", buffering=0)  # noqa: SIM115 - closed by close()
            if log.cut_bytes or len(kept) < len(log.records):
                self._file.truncate(self._end)
            if not log.end:
                # Lines that last are of no use in a file whose name does not.
                sync_folder(self.path.parent)
        except OSError as problem:
            raise RunFolderError(f"{self.path.name}: cannot be written ({problem.strerror}).") from None

    @property
    def count(self) -> int:
        """The number of records so far."""
        return self._seq - 1

    def write(self, kind: MetricKind, epoch: int, step: int, values: Mapping[str, float]) -> MetricRecord:
        """Add one record and give it back with its number; one that does not fit on the disk leaves nothing behind."""
        record = MetricRecord(self._seq, kind, epoch, step, dict(values))
        line = encode_record(record)
        try:
            left = memoryview(line)
            while left:
                left = left[self._file.write(left) :]
        except OSError:
            with suppress(OSError):
                self._file.truncate(self._end)
            raise
        self._seq += 1
        self._end += len(line)
        if time.monotonic() - self._synced >= 1.0:
            self.sync()
        return record

    def sync(self) -> None:
        """Make everything last that was written so far."""
        if not self._file.closed:
            os.fsync(self._file.fileno())
            self._synced = time.monotonic()

    def close(self) -> None:
        """Make everything last, and take no more."""
        if not self._file.closed:
            try:
                os.fsync(self._file.fileno())
            finally:
                self._file.close()

    def __enter__(self) -> "MetricWriter":
        return self

    def __exit__(
        self, kind: type[BaseException] | None, value: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()
