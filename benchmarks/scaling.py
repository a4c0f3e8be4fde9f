"""What it costs to go from one process to two: a step, samples a second, the start, and a checkpoint.

Run it with nothing else on the machine: ``python benchmarks/scaling.py``. Every case is a process of its own (or two of
them, started by torchrun), and the cases take turns, so that whatever slows the machine down slows all of them down.
All of them train for real, by `inkcap.training.train`, on pictures of random numbers.
"""

from __future__ import annotations

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

BATCH = 64
CASES: dict[str, tuple[int, int, int, dict[str, Any]]] = {
    "one process, 1 thread, half a batch": (1, 1, BATCH // 2, {}),
    "two workers of 1 thread": (2, 1, BATCH, {}),
    "two workers of 1 thread, sharded": (2, 1, BATCH, {"sharded": True}),
    "one process, 1 thread": (1, 1, BATCH, {}),
    "one process, 2 threads": (1, 2, BATCH, {}),
    "one process, 2 threads, a checkpoint a second": (1, 2, BATCH, {"checkpoint": 1.0}),
    "two workers of 1 thread, a checkpoint a second": (2, 1, BATCH, {"checkpoint": 1.0}),
}
"""Processes, threads of each, the samples of a step, and what else the recipe says."""
NETWORKS = {"lenet": ((1, 28, 28), 200), "resnet18": ((3, 32, 32), 24)}
"""The shape of a picture, and the steps of a case."""


def member(network: str, case: str, folder: Path) -> None:
    """Train one case, as the process or the processes that it is, and write what the steps took."""
    begun = float(os.environ["INKCAP_BEGUN"])
    from inkcap.training.environment import prepare_environment

    prepare_environment()
    import numpy as np

    from inkcap.bench.cases import find_case
    from inkcap.recipes import DataSpec, OptimiserSpec, Recipe
    from inkcap.training import EpochEvent, Listener, StartEvent, train
    from inkcap.training.group import Group

    group = Group.joined()
    workers, threads, batch, changes = CASES[case]
    shape, steps = NETWORKS[network]
    data = folder / f"{network}-{batch}.npz"
    if not data.exists():
        random = np.random.default_rng(0)
        pictures = random.standard_normal((batch * steps, *shape), dtype=np.float32)
        np.savez(data, x=pictures, y=random.integers(0, 10, batch * steps))

    class Clock(Listener):
        started = 0.0
        epochs: list[float] = []  # noqa: RUF012

        def on_start(self, event: StartEvent) -> None:
            self.started = time.time() - begun

        def on_epoch(self, event: EpochEvent) -> None:
            self.epochs.append(event.seconds)

    clock = Clock()
    common: dict[str, Any] = {"validation": 0.0, "epochs": 3, "engine": "eager", "checkpoint": 0.0}
    recipe = Recipe(
        DataSpec(data.name, normalise="none"),
        optimiser=OptimiserSpec("momentum", 0.01),
        batch=batch,
        threads=threads,
        **{**common, **changes},
    )
    drawing = find_case(network).drawing()
    result = train(drawing, recipe, folder, clock if group is None or group.writes else None, group=group)
    if group is None or group.writes:
        found = {"start": clock.started, "step": min(clock.epochs[1:]) / steps, "samples": batch * steps}
        (folder / "result.json").write_text(json.dumps({**found, "run": result.run.id, "workers": workers}))


def run(network: str, case: str, folder: Path) -> dict[str, float]:
    """Let a case be trained by processes of its own."""
    workers, threads, batch, _ = CASES[case]
    words = [__file__, "--member", network, case, str(folder)]
    if workers > 1:
        launch = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", str(workers)]
        words = [*launch, *words]
    variables = {**os.environ, "OMP_NUM_THREADS": str(threads), "INKCAP_BEGUN": str(time.time())}
    done = subprocess.run([sys.executable, *words], env=variables, capture_output=True, text=True, check=False)
    if done.returncode:
        raise SystemExit(f"{network}, {case}: {done.stderr[-2000:]}")
    found = json.loads((folder / "result.json").read_text())
    return {"start": found["start"], "step": found["step"], "rate": batch / found["step"]}


def started_by(words: list[str], folder: Path) -> float:
    """Tell the seconds until a command has written the first line of its metrics."""
    begun = time.time()
    process = subprocess.Popen(
        [sys.executable, *words], cwd=folder, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    )
    seconds = 0.0
    while process.poll() is None:
        if not seconds and any(path.stat().st_size for path in (folder / "runs").glob("*/metrics.jsonl")):
            seconds = time.time() - begun
        time.sleep(0.01)
    return seconds


def starts(rounds: int) -> None:
    """Print how long one process, two of torchrun and two of Ray take to their first steps."""
    train = ["-m", "inkcap", "train", "lenet-digits.inkcap.json", "--data", "digits", "--epochs", "2"]
    torchrun = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    ways = {
        "inkcap train": train,
        "torchrun, two workers": [*torchrun, *train],
        "inkcap train --workers 2 (Ray)": [*train, "--workers", "2"],
    }
    found: dict[str, list[float]] = {name: [] for name in ways}
    for _ in range(rounds):
        for name, words in ways.items():
            with tempfile.TemporaryDirectory() as folder:
                new = [sys.executable, "-m", "inkcap", "new", "lenet-digits"]
                subprocess.run(new, cwd=folder, check=True, capture_output=True)
                found[name].append(started_by(words, Path(folder)))
    print("| from the command to its first steps | median | spread |\n|---|---|---|")
    for name, seconds in found.items():
        print(f"| {name} | {statistics.median(seconds):.1f} s | {min(seconds):.1f} to {max(seconds):.1f} |")


def table(network: str, rounds: int, measure: Callable[[str, str, Path], dict[str, float]]) -> None:
    """Measure the cases of a network in turn, and print them."""
    found: dict[str, list[dict[str, float]]] = {case: [] for case in CASES}
    with tempfile.TemporaryDirectory() as folder:
        for _ in range(rounds):
            for case in CASES:
                found[case].append(measure(network, case, Path(folder)))
    base = [each["rate"] for each in found["one process, 2 threads"]]
    print(
        f"\n| {network}, batch {BATCH} | a step | samples a second | by one process of 2 threads |\n|---|---|---|---|"
    )
    for case, results in found.items():
        step = statistics.median(each["step"] for each in results) * 1e3
        rate = statistics.median(each["rate"] for each in results)
        ratios = [each["rate"] / own for each, own in zip(results, base, strict=True)]
        spread = f"{statistics.median(ratios):.2f} ({min(ratios):.2f} to {max(ratios):.2f})"
        print(f"| {case} | {step:.1f} ms | {rate:.0f} | {spread} |")
    half, two = "one process, 1 thread, half a batch", "two workers of 1 thread"
    over = [(b["step"] - a["step"]) * 1e3 for a, b in zip(found[half], found[two], strict=True)]
    print(f"\nGoing from one process to two adds {statistics.median(over):.2f} ms to a step of {network}.")


def main() -> None:
    """Measure, or be measured."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--member", nargs=3, metavar=("NETWORK", "CASE", "FOLDER"), help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.member:
        network, case, folder = given.member
        member(network, case, Path(folder))
        return
    for network in NETWORKS:
        table(network, given.rounds, run)
    starts(given.rounds)


if __name__ == "__main__":
    main()
