"""What signals and frames cost: one measurement, with its frame on the disk, in training steps of the same network.

Run it as ``python benchmarks/signals.py``. The LeNet of Figure 21 takes the steps; an epoch has one measurement.
"""

from __future__ import annotations

import argparse
import tempfile
from pathlib import Path

import torch
from measure import Comparison, compare
from steps import CASES, our_training_step

from inkcap.engine import build, initialise, weights_of
from inkcap.network import check
from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec, Recipe
from inkcap.training.batches import Batches
from inkcap.training.facts import facts_of
from inkcap.training.frames import keep_weights
from inkcap.training.losses import wanted_returns
from inkcap.training.signals import SignalWatch


def measure_signals(rounds: int, folder: Path) -> list[Comparison]:
    """Measure every case."""
    found: list[Comparison] = []
    generator = torch.Generator().manual_seed(0)
    for name, drawing, _, shape, classes, batch in CASES:
        if not name.startswith("LeNet"):
            continue
        x = torch.randn((batch, *shape), generator=generator)
        y = torch.randint(0, classes, (batch,), generator=generator)
        network = check(drawing).network
        facts = facts_of(network)
        recipe = Recipe(DataSpec("any"), losses=(LossSpec(facts.outputs[0].name, "cross-entropy"),))
        module = build(network, dict(wanted_returns(facts, recipe)))
        initialise(module, network, 0)
        watch = SignalWatch(network, module, facts, recipe, Batches((x,), (y,), batch, torch.device("cpu")))
        contenders = {
            "step": our_training_step(drawing, x, y, OptimiserSpec("adam", 0.001)),
            "signals": lambda watch=watch: watch.measure(0),
            "frame": lambda module=module: keep_weights(folder, 0, weights_of(module)),
        }
        found.append(compare(name, contenders, "step", rounds))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=41, help="paired rounds")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"torch {torch.__version__}, {arguments.threads} thread(s), {arguments.rounds} rounds, in steps\n")
    with tempfile.TemporaryDirectory() as folder:
        for comparison in measure_signals(arguments.rounds, Path(folder)):
            print(comparison.case)
            for name, timing in comparison.timings.items():
                ratio = comparison.ratios[name]
                spread = f"{ratio.median:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
                print(f"  {name:<10} {timing.median * 1e3:10.1f} ms   {spread}")


if __name__ == "__main__":
    main()
