"""What signals and frames cost: one measurement, with its frame on the disk, in training steps of the same network.

Run it as ``python benchmarks/signals.py``. The LeNet of Figure 21 takes the steps; an epoch has one measurement.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch
from measure import Comparison, compare

from inkcap.bench.cases import find_case
from inkcap.bench.ours import training_steps
from inkcap.engine import build, initialise, weights_of
from inkcap.network import check
from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec, Recipe
from inkcap.training.batches import Batches
from inkcap.training.facts import facts_of
from inkcap.training.frames import keep_weights
from inkcap.training.losses import wanted_returns
from inkcap.training.signals import SignalWatch


def measure_signals(rounds: int, folder: Path) -> Comparison:
    """Measure LeNet."""
    case = find_case("lenet")
    x, y = map(torch.from_numpy, case.samples())
    network = check(case.drawing()).network
    facts = facts_of(network)
    recipe = Recipe(DataSpec("any"), losses=(LossSpec(facts.outputs[0].name, "cross-entropy"),))
    module = build(network, dict(wanted_returns(facts, recipe)))
    initialise(module, network, 0)
    watch = SignalWatch(network, module, facts, recipe, Batches((x,), (y,), case.batch, torch.device("cpu")))
    steps = training_steps(case.drawing(), x, y, "eager", OptimiserSpec("adam", 0.001))
    contenders = {
        "step": lambda: steps.run(1),
        "signals": lambda: watch.measure(0),
        "frame": lambda: keep_weights(folder, 0, weights_of(module)),
    }
    return compare(f"{case.title}, batch {case.batch}", contenders, "step", rounds)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=41, help="paired rounds")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"torch {torch.__version__}, {arguments.threads} thread(s), {arguments.rounds} rounds, in steps\n")
    with tempfile.TemporaryDirectory() as folder:
        comparison = measure_signals(arguments.rounds, Path(folder))
    print(comparison.case)
    for name, timing in comparison.timings.items():
        ratio = comparison.ratios[name]
        spread = f"{ratio.median:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
        print(f"  {name:<10} {timing.median * 1e3:10.1f} ms   {spread}")


if __name__ == "__main__":
    main()
