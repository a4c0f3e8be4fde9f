"""A training step by universal backpropagation against the loop that everyone writes in eager PyTorch.

Run it as ``python benchmarks/universal.py``. Figure 20's MLP (2-6-4-2), float32, plain gradient descent; the LeNet of
Figure 21 shows what is left when the kernels take the time.
"""

from __future__ import annotations

import argparse

import torch
from measure import Comparison, compare
from steps import CASES as ALL_CASES
from steps import our_training_step, training_step_by_hand

from inkcap.recipes import OptimiserSpec

CASES = [case for case in ALL_CASES if case[0].startswith(("MLP 2-6-4-2", "LeNet"))]
DESCENT = OptimiserSpec("sgd", 0.01)


def measure_universal(rounds: int) -> list[Comparison]:
    """Measure every case."""
    found: list[Comparison] = []
    generator = torch.Generator().manual_seed(0)
    for name, drawing, by_hand, shape, classes, batch in CASES:
        x = torch.randn((batch, *shape), generator=generator)
        y = torch.randint(0, classes, (batch,), generator=generator)
        contenders = {
            "universal": our_training_step(drawing, x, y, DESCENT, universal=True),
            "autograd": our_training_step(drawing, x, y, DESCENT),
            "by hand": training_step_by_hand(by_hand(), x, y, torch.optim.SGD, DESCENT.rate),
        }
        found.append(compare(name, contenders, "by hand", rounds))
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--rounds", type=int, default=41, help="paired rounds for each case")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    print(f"torch {torch.__version__}, {arguments.threads} thread(s), {arguments.rounds} rounds, below 1: faster\n")
    for comparison in measure_universal(arguments.rounds):
        print(comparison.case)
        for name, timing in comparison.timings.items():
            ratio = comparison.ratios[name]
            spread = f"{ratio.median:.2f} ({ratio.low:.2f} to {ratio.high:.2f})"
            print(f"  {name:<10} {timing.median * 1e6:10.1f} µs   {spread}")


if __name__ == "__main__":
    main()
