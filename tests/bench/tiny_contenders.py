"""Contenders of known cost, for tests of the harness: they sleep, fail or die."""

from __future__ import annotations

import os
import subprocess
import time

from inkcap.bench.workload import Workload, repeated


def sleeping(case, work, seconds: float = 0.002) -> Workload:
    return repeated(lambda: time.sleep(seconds))


def failing(case, work) -> Workload:
    raise ValueError("this one\ncannot be built")


def dying(case, work) -> Workload:
    """Dies in its third slot; slots are told from the warm-up by their two steps."""
    taken = 0

    def run(steps: int) -> None:
        nonlocal taken
        taken += steps == 2
        if taken == 3:
            os._exit(7)
        time.sleep(0.02)

    return Workload(run)


def chattering(case, work) -> Workload:
    print("{not an answer}")
    subprocess.run(["echo", "nor this"], check=True)
    return repeated(lambda: print("step"))


def environment(case, work) -> Workload:
    wanted = {"OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1", "MALLOC_MMAP_MAX_": "0"}
    found = {key: os.environ.get(key) for key in wanted}
    if found != wanted:
        raise ValueError(f"{found}")
    return repeated(lambda: None)


def wider(case, work) -> Workload:
    return Workload(lambda steps: None, parameters=1)
