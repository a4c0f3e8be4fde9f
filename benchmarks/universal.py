"""A training step by universal backpropagation against the loop that everyone writes in eager PyTorch.

Run it as ``python benchmarks/universal.py``. Figure 20's MLP (2-6-4-2), float32, plain gradient descent; the LeNet of
Figure 21 shows what is left when the kernels take the time.
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from by_hand import HandLeNet, HandMLP
from measure import Comparison, compare
from torch import Tensor, nn

from inkcap.drawing import Drawing
from inkcap.engine import build, initialise
from inkcap.network import check
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe, complete_losses
from inkcap.training.facts import facts_of
from inkcap.training.gradients import by_universal
from inkcap.training.losses import total_loss, wanted_returns
from inkcap.training.optimisers import make_optimiser
from inkcap.training.scores import outputs_of
from inkcap.zoo import draw

Case = tuple[str, Drawing, Callable[[], nn.Module], tuple[int, ...], int, int]

CASES: list[Case] = [
    ("MLP 2-6-4-2, batch 1", draw("mlp"), lambda: HandMLP(2, 6, 4, 2), (2,), 2, 1),
    ("MLP 2-6-4-2, batch 64", draw("mlp"), lambda: HandMLP(2, 6, 4, 2), (2,), 2, 64),
    ("LeNet, batch 64", draw("lenet"), HandLeNet, (1, 28, 28), 10, 64),
]


def our_step(drawing: Drawing, x: Tensor, y: Tensor, universal: bool) -> Callable[[], object]:
    """One step exactly as Inkcap's training loop takes it."""
    network = check(drawing).network
    facts = facts_of(network)
    recipe = complete_losses(
        Recipe(DataSpec("any"), optimiser=OptimiserSpec("sgd", 0.01)), {network.outputs[0]: "classes"}
    )
    module = build(network, dict(wanted_returns(facts, recipe)))
    initialise(module, network, 0)
    optimiser = make_optimiser(recipe.optimiser, list(module.parameters()))
    inputs, targets = (x,), (y,)
    if universal:
        backpropagate = by_universal(network, module, facts, recipe)

        def planned() -> object:
            loss = backpropagate(inputs, targets)
            optimiser.step()
            return loss

        return planned
    loss_of = total_loss(facts, recipe)

    def taped() -> object:
        optimiser.zero_grad(set_to_none=True)
        loss = loss_of(outputs_of(module(*inputs)), targets)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return taped


def step_by_hand(module: nn.Module, x: Tensor, y: Tensor) -> Callable[[], object]:
    """One step of the loop that everyone writes."""
    criterion = nn.CrossEntropyLoss()
    optimiser = torch.optim.SGD(module.parameters(), lr=0.01)

    def step() -> object:
        optimiser.zero_grad()
        loss = criterion(module(x), y)
        loss.backward()
        optimiser.step()
        return loss.detach()

    return step


def measure_universal(rounds: int) -> list[Comparison]:
    """Measure every case."""
    found: list[Comparison] = []
    generator = torch.Generator().manual_seed(0)
    for name, drawing, by_hand, shape, classes, batch in CASES:
        x = torch.randn((batch, *shape), generator=generator)
        y = torch.randint(0, classes, (batch,), generator=generator)
        contenders = {
            "universal": our_step(drawing, x, y, universal=True),
            "autograd": our_step(drawing, x, y, universal=False),
            "by hand": step_by_hand(by_hand(), x, y),
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
