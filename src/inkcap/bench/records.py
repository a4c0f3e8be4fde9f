"""What is asked of a benchmark, and what is found."""

from __future__ import annotations

from dataclasses import dataclass

from inkcap.bench.cases import Work
from inkcap.bench.errors import BenchError
from inkcap.bench.measuring import Figure


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
