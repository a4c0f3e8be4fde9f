"""A contender's own process: it prepares its cases, then takes steps whenever it is told to.

It reads one line of JSON from its input for each slot and writes one to its output. What libraries print goes to the
error stream, so that it cannot be taken for an answer.
"""

from __future__ import annotations

import json
import os
import sys
import time
import warnings
from collections.abc import Mapping
from importlib import import_module
from typing import Any, TextIO

from inkcap.bench.cases import find_case
from inkcap.bench.workload import Workload

MOST_WARM_UP_STEPS = 20
WARM_UP_SECONDS = 0.5


def main() -> None:
    """Serve the contender that the first line of the input tells."""
    answers = _own_output()
    spec = json.loads(sys.stdin.readline())
    _take_cores(spec["threads"])
    sys.path[:0] = spec.get("path", [])
    warnings.simplefilter("ignore")
    try:
        workloads = _prepare(spec, answers)
    except Exception as error:  # whatever it is, it is one line of the table
        _tell(answers, failed=_in_one_line(error))
        return
    for line in sys.stdin:
        asked: dict[str, int] = json.loads(line)
        try:
            _tell(answers, **_slot(workloads[asked["case"]], asked["steps"]))
        except Exception as error:
            _tell(answers, failed=_in_one_line(error))
            return


def _own_output() -> TextIO:
    own = os.dup(1)
    os.dup2(2, 1)
    return os.fdopen(own, "w", encoding="utf-8")


def _tell(answers: TextIO, **told: Any) -> None:
    answers.write(json.dumps(told) + "\n")
    answers.flush()


def _in_one_line(error: Exception) -> str:
    text = " ".join(str(error).split())
    return f"{type(error).__name__}: {text[:200]}" if text else type(error).__name__


def _take_cores(threads: int) -> None:
    """Keep to so many cores: not every library takes a number of threads."""
    if hasattr(os, "sched_setaffinity"):
        free = sorted(os.sched_getaffinity(0))
        if threads < len(free):
            os.sched_setaffinity(0, free[:threads])


def _prepare(spec: Mapping[str, Any], answers: TextIO) -> list[Workload]:
    module, _, function = str(spec["factory"]).partition(":")
    start = time.perf_counter()
    make = getattr(import_module(module), function)
    workloads: list[Workload] = []
    for name in spec["cases"]:
        case = name if spec.get("by_name") else find_case(name)
        workload = make(case, spec["work"], **spec.get("options", {}))
        workload.run(1)
        first = time.perf_counter() - start
        workloads.append(workload)
        _tell(answers, ready=name, first=first, step=_warm_up(workload), parameters=workload.parameters)
        start = time.perf_counter()
    return workloads


def _warm_up(workload: Workload) -> float:
    """Take steps until they are as fast as they get, and tell how long one takes."""
    best, spent, taken, count = float("inf"), 0.0, 0, 1
    while taken < 3 or (spent < WARM_UP_SECONDS and taken < MOST_WARM_UP_STEPS):
        start = time.perf_counter()
        workload.run(count)
        seconds = time.perf_counter() - start
        best, spent, taken = min(best, seconds / count), spent + seconds, taken + 1
        if seconds < 0.01:
            count *= 4
    return best


def _slot(workload: Workload, steps: int) -> dict[str, float]:
    processor, start = time.process_time(), time.perf_counter()
    workload.run(steps)
    return {"seconds": time.perf_counter() - start, "processor": time.process_time() - processor}


if __name__ == "__main__":
    main()
