"""Measuring side by side: every contender runs in turn, many times, so that a noisy machine is noisy for all."""

from __future__ import annotations

import statistics
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass


@dataclass(frozen=True)
class Timing:
    """Seconds per call: the median and the spread (quartiles)."""

    median: float
    low: float
    high: float


@dataclass(frozen=True)
class Comparison:
    """The contenders of one case, with ratios of paired rounds to the reference (below 1 is faster)."""

    case: str
    reference: str
    timings: Mapping[str, Timing]
    ratios: Mapping[str, Timing]


def _quartiles(values: list[float]) -> Timing:
    low, median, high = statistics.quantiles(values, n=4)
    return Timing(median, low, high)


def compare(
    case: str,
    contenders: Mapping[str, Callable[[], object]],
    reference: str,
    rounds: int = 41,
    seconds: float = 0.1,
    clock: Callable[[], float] = time.perf_counter,
) -> Comparison:
    """Run the contenders call by call in turn, in alternating order; a round has as many calls of each.

    With one thread ``time.process_time`` leaves out what others on the machine take.
    """
    calls: dict[str, int] = {}
    for name, call in contenders.items():
        for _ in range(5):
            call()
        start = time.perf_counter()
        call()
        calls[name] = max(1, round(seconds / max(time.perf_counter() - start, 1e-7)))
    # One count for all: caches and clocks see the same amount of work.
    count = min(calls.values())
    samples: dict[str, list[float]] = {name: [] for name in contenders}
    names = list(contenders)
    for turn in range(rounds):
        spent = dict.fromkeys(names, 0.0)
        # Call by call in turn: whatever slows the machine down for a moment slows all of them down.
        for number in range(count):
            # Each also begins and ends as often as the others, behind different ones.
            first = turn % len(names)
            turned = names[first:] + names[:first]
            for name in turned if (turn // len(names) + number) % 2 == 0 else reversed(turned):
                call = contenders[name]
                start = clock()
                call()
                spent[name] += clock() - start
        for name in names:
            samples[name].append(spent[name] / count)
    ratios = {
        name: _quartiles([a / b for a, b in zip(values, samples[reference], strict=True)])
        for name, values in samples.items()
    }
    return Comparison(case, reference, {name: _quartiles(values) for name, values in samples.items()}, ratios)
