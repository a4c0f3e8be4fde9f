"""Run the benchmarks: ``make bench``. Figures are ratios of interleaved rounds, medians with quartiles."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import checks
import studio_answers
import studio_frames
import studio_runs
from measure import Comparison
from steps import measure_steps


def show(comparisons: list[Comparison]) -> None:
    print(f"{'case':<46}{'by hand':>12}{'Inkcap':>12}   ratio (quartiles)")
    for c in comparisons:
        ours, hand, ratio = c.timings["Inkcap"], c.timings["by hand"], c.ratios["Inkcap"]
        times = f"{hand.median * 1e6:>9.0f} µs{ours.median * 1e6:>9.0f} µs"
        print(f"{c.case:<46}{times}   {ratio.median:.3f} ({ratio.low:.3f} to {ratio.high:.3f})")


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
    parser.add_argument("--rounds", type=int, default=41, help="interleaved rounds of every case")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    import torch

    torch.set_num_threads(arguments.threads)
    print(
        f"torch {torch.__version__}, {arguments.threads} thread(s), {arguments.rounds} rounds, ratio below 1: faster\n"
    )
    comparisons = measure_steps(arguments.rounds)
    show(comparisons)
    seconds = time_check()
    print(f"\ninkcap check on LeNet, start-up included: {seconds:.2f} s (aim: under 0.5 s)")
    print()
    checks.main()
    print()
    studio_answers.main()
    print()
    studio_frames.main()
    print()
    studio_runs.main()
    if arguments.json:
        figures = {
            c.case: {"ratio": c.ratios["Inkcap"].median, "seconds": c.timings["Inkcap"].median} for c in comparisons
        }
        arguments.json.write_text(json.dumps({"steps": figures, "check_seconds": seconds}, indent=2) + "\n")


if __name__ == "__main__":
    main()
