"""Run what `inkcap bench` does not measure, one script after the other: ``make bench`` runs both.

Steps and answers beside other libraries are `inkcap bench`. Here are what each rewrite is worth, waiting for data,
signals, checks, the command line and the studio. ``python benchmarks/run.py input signals`` runs those alone.
"""

from __future__ import annotations

import argparse
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

HERE = Path(__file__).parent
SCRIPTS = ("rewrites", "input", "signals", "checks", "studio_answers", "studio_frames", "studio_runs")
PARTS = ("check", *SCRIPTS)


def time_check(repeats: int = 7) -> float:
    """Time ``inkcap check`` on LeNet, start-up included: an aim of half a second."""
    with tempfile.TemporaryDirectory() as folder:
        inkcap = [sys.executable, "-m", "inkcap"]
        subprocess.run([*inkcap, "new", "lenet"], cwd=folder, check=True, capture_output=True)
        seconds = []
        for _ in range(repeats):
            start = time.perf_counter()
            subprocess.run([*inkcap, "check", "lenet.inkcap.json"], cwd=folder, check=True, capture_output=True)
            seconds.append(time.perf_counter() - start)
    return statistics.median(seconds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", metavar="PART", help=f"some of {', '.join(PARTS)}; without any, all")
    wanted = parser.parse_args().parts or PARTS
    unknown = [part for part in wanted if part not in PARTS]
    if unknown:
        parser.error(f"{unknown[0]} is no part; give some of {', '.join(PARTS)}")
    environment = {"OMP_WAIT_POLICY": "passive", **os.environ}
    for part in wanted:
        print(f"\n{part}\n", flush=True)
        if part == "check":
            print(f"inkcap check on LeNet, start-up included: {time_check():.2f} s (aim: under 0.5 s)")
        else:
            subprocess.run([sys.executable, HERE / f"{part}.py"], check=True, env=environment)


if __name__ == "__main__":
    main()
