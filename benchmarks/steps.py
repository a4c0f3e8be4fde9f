"""A training step and an inference step of Inkcap's program against the same network written by hand."""

from __future__ import annotations

from collections.abc import Callable

import torch
from measure import Comparison, compare
from torch import Tensor, nn

from inkcap.bench.by_hand import MLP, LeNet
from inkcap.drawing import Drawing
from inkcap.engine import build, initialise
from inkcap.network import check
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe, complete_losses
from inkcap.training.facts import facts_of
from inkcap.training.gradients import by_universal
from inkcap.training.losses import total_loss, wanted_returns
from inkcap.training.optimisers import make_optimiser
from inkcap.training.scores import outputs_of
from inkcap.zoo import draw, mlp

Case = tuple[str, Drawing, Callable[[], nn.Module], tuple[int, ...], int, int]

CASES: list[Case] = [
    ("MLP 2-6-4-2, batch 1", draw("mlp"), lambda: MLP((2, 6, 4, 2)), (2,), 2, 1),
    ("MLP 2-6-4-2, batch 64", draw("mlp"), lambda: MLP((2, 6, 4, 2)), (2,), 2, 64),
    ("MLP 784-512-512-10, batch 64", mlp((784, 512, 512, 10), "MLP", last="softmax"),
     lambda: MLP((784, 512, 512, 10)), (784,), 10, 64),
    ("LeNet, batch 64", draw("lenet"), LeNet, (1, 28, 28), 10, 64),
]  # fmt: skip


ADAM = OptimiserSpec("adam", 1e-3)


def our_training_step(
    drawing: Drawing, x: Tensor, y: Tensor, optimiser: OptimiserSpec = ADAM, *, universal: bool = False
) -> Callable[[], object]:
    """One step exactly as Inkcap's training loop takes it, by autograd or by universal backpropagation."""
    network = check(drawing).network
    facts = facts_of(network)
    recipe = complete_losses(Recipe(DataSpec("any"), optimiser=optimiser), {network.outputs[0]: "classes"})
    module = build(network, dict(wanted_returns(facts, recipe)))
    initialise(module, network, 0)
    made = make_optimiser(recipe.optimiser, list(module.parameters()))
    inputs, targets = (x,), (y,)
    if universal:
        backpropagate = by_universal(network, module, facts, recipe)

        def planned() -> object:
            loss = backpropagate(inputs, targets)
            made.step()
            return loss

        return planned
    loss_of = total_loss(facts, recipe)

    def taped() -> object:
        made.zero_grad(set_to_none=True)
        loss = loss_of(outputs_of(module(*inputs)), targets)
        loss.backward()
        made.step()
        return loss.detach()

    return taped


def training_step_by_hand(
    module: nn.Module,
    x: Tensor,
    y: Tensor,
    optimiser: type[torch.optim.Optimizer] = torch.optim.Adam,
    rate: float = 1e-3,
) -> Callable[[], object]:
    """One step of the loop that everyone writes."""
    criterion = nn.CrossEntropyLoss()
    made = optimiser(module.parameters(), lr=rate)

    def step() -> object:
        made.zero_grad()
        loss = criterion(module(x), y)
        loss.backward()
        made.step()
        return loss.detach()

    return step


def inference(module: nn.Module, x: Tensor) -> Callable[[], object]:
    module.eval()

    def step() -> object:
        with torch.no_grad():
            return module(x)

    return step


def measure_steps(rounds: int) -> list[Comparison]:
    """Measure every case, training and inference."""
    found: list[Comparison] = []
    generator = torch.Generator().manual_seed(0)
    for name, drawing, by_hand, shape, classes, batch in CASES:
        x = torch.randn((batch, *shape), generator=generator)
        y = torch.randint(0, classes, (batch,), generator=generator)
        training = {
            "Inkcap": our_training_step(drawing, x, y),
            "by hand": training_step_by_hand(by_hand(), x, y),
        }
        found.append(compare(f"training step, {name}", training, "by hand", rounds))
        network = check(drawing).network
        output = network.outputs[0]
        # Both give scores: a softmax at the end would be work that the other side does not do.
        ours = build(network, {output: "U"})
        initialise(ours, network, 0)
        answers = {"Inkcap": inference(ours, x), "by hand": inference(by_hand(), x)}
        found.append(compare(f"inference step, {name}", answers, "by hand", rounds))
    return found
