"""What is asked of a benchmark, and what is found."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inkcap.bench.cases import Work
from inkcap.bench.errors import BenchError
from inkcap.bench.measuring import Figure, Quartiles


@dataclass(frozen=True)
class Options:
    """What is asked for."""

    networks: tuple[str, ...] = ()
    contenders: tuple[str, ...] = ()
    work: Work = "training"
    rounds: int = 11
    threads: int = 0
    seconds: float = 0.3
    """How long a slot is, unless one step is longer."""
    quick: bool = False
    limits: bool = True
    growth: bool = False

    def __post_init__(self) -> None:
        if self.rounds < 1 or self.threads < 0 or not 0 < self.seconds < 60:
            raise BenchError("rounds must be at least 1, threads at least 0, and a slot takes between 0 and 60 seconds")


@dataclass(frozen=True)
class Row:
    """A contender in a case: his figures, or why there are none."""

    contender: str
    title: str
    figure: Figure | None = None
    share: float | None = None
    """Which part of the machine's multiply-adds he reaches."""
    first: float | None = None
    """Seconds from the start of his process to the end of his first step."""
    reason: str = ""


@dataclass(frozen=True)
class CaseResult:
    """All rows of a case; the first is the reference."""

    case: str
    title: str
    batch: int
    parameters: int
    operations: float
    rows: tuple[Row, ...]
    gigaflops: float | None
    gigabytes: float | None
    load: float | None
    noisy: bool


@dataclass(frozen=True)
class Growth:
    """How the time of a step grows with a size: time is about its power ``exponent``."""

    what: str
    contender: str
    sizes: tuple[int, ...]
    seconds: tuple[float, ...]
    exponent: float


@dataclass(frozen=True)
class Result:
    """A benchmark as it was measured."""

    work: Work
    date: str
    machine: str
    threads: int
    rounds: int
    versions: dict[str, str]
    missing: dict[str, list[str]]
    cases: tuple[CaseResult, ...]
    growth: tuple[Growth, ...] = ()
    load_before: float | None = None


def read(path: Path) -> Result:
    """Read what was measured before."""
    try:
        told: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        told["cases"] = tuple(_case(case) for case in told["cases"])
        told["growth"] = tuple(_grown(growth) for growth in told["growth"])
        return Result(**told)
    except OSError as error:
        raise BenchError(f"{path}: cannot be read: {error.strerror}") from None
    except (ValueError, KeyError, TypeError):
        raise BenchError(f"{path}: this is not what 'inkcap bench --json' writes") from None


def _case(told: dict[str, Any]) -> CaseResult:
    rows: list[dict[str, Any]] = told["rows"]
    told["rows"] = tuple(_row(row) for row in rows)
    return CaseResult(**told)


def _row(told: dict[str, Any]) -> Row:
    figure: dict[str, Any] | None = told["figure"]
    if figure is not None:
        told["figure"] = Figure(Quartiles(**figure["ratio"]), Quartiles(**figure["seconds"]), figure["noisy"])
    return Row(**told)


def _grown(told: dict[str, Any]) -> Growth:
    told["sizes"], told["seconds"] = tuple(told["sizes"]), tuple(told["seconds"])
    return Growth(**told)


def join(results: Sequence[Result]) -> Result:
    """Join what was measured at several times; of a network that was measured twice, the last counts."""
    works = {result.work for result in results}
    if len(works) > 1:
        raise BenchError("training and inference are tables of their own: read files of one kind")
    last = results[-1]
    cases = {case.case: case for result in results for case in result.cases}
    growth = {(part.what, part.contender): part for result in results for part in result.growth}
    missing = {name: packages for result in results for name, packages in result.missing.items()}
    loads = [result.load_before for result in results if result.load_before is not None]
    return dataclasses.replace(
        last,
        date=" to ".join(sorted({min(result.date for result in results), max(result.date for result in results)})),
        rounds=min(result.rounds for result in results),
        cases=tuple(cases.values()),
        growth=tuple(growth.values()),
        missing=missing,
        load_before=max(loads, default=None),
    )
