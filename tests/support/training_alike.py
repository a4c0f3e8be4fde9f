"""Training a network both ways, by autograd and by universal backpropagation, and comparing what it learnt."""

from __future__ import annotations

import json

import torch
from small_zoo import draw_small

from inkcap.drawing import Drawing, from_text
from inkcap.engine import build, initialise, weights_of
from inkcap.network import Network, check
from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec, Recipe
from inkcap.training.facts import facts_of
from inkcap.training.gradients import by_universal
from inkcap.training.losses import total_loss, wanted_returns
from inkcap.training.optimisers import make_optimiser
from inkcap.training.scores import outputs_of

BATCH = 3


def in_float64(drawing: Drawing) -> Network:
    return check(from_text(json.dumps({**json.loads(drawing.to_text()), "dtype": "float64"}))).network


def random_batch(network: Network, ids: tuple[str, ...], seed: int, batch: int = BATCH) -> dict[str, torch.Tensor]:
    generator = torch.Generator().manual_seed(seed)
    outputs = {id: network.capsules[id].output for id in ids}
    return {
        id: torch.randn((batch, *output.sizes), generator=generator, dtype=torch.float64)
        if output.dtype == "float64"
        # Whole numbers pick: 0, 1 or 2.
        else torch.randint(0, 3, (batch, *output.sizes), generator=generator)
        for id, output in outputs.items()
    }


def trained_weights(network: Network, universal: bool, steps: int, recipe: Recipe, batch: int) -> dict:
    facts = facts_of(network)
    module = build(network, dict(wanted_returns(facts, recipe)))
    initialise(module, network, 5)
    parameters = [p for p in module.parameters() if p.requires_grad]
    optimiser = make_optimiser(recipe.optimiser, parameters)
    planned = by_universal(network, module, facts, recipe) if universal else None
    loss_of = total_loss(facts, recipe)
    torch.manual_seed(7)  # both ways draw the same masks
    for step in range(steps):
        inputs = list(random_batch(network, network.inputs, step, batch).values())
        targets = list(random_batch(network, network.outputs, 1000 + step, batch).values())
        if planned:
            planned(inputs, targets)
        else:
            optimiser.zero_grad(set_to_none=True)
            loss_of(outputs_of(module(*inputs)), targets).backward()
        optimiser.step()
    return weights_of(module)


def assert_trains_alike(
    network: Network, optimiser: str, steps: int = 50, batch: int = BATCH, rate: float = 0.001
) -> None:
    losses = tuple(LossSpec(id, "mean-squared-error", 0.5 + i) for i, id in enumerate(network.outputs))
    recipe = Recipe(DataSpec("any"), losses=losses, optimiser=OptimiserSpec(optimiser, rate))
    by_tape = trained_weights(network, False, steps, recipe, batch)
    by_plan = trained_weights(network, True, steps, recipe, batch)
    for name, weight in by_tape.items():
        # Weights that both ways drive to infinity are alike, too.
        torch.testing.assert_close(by_plan[name], weight, rtol=1e-10, atol=1e-10, equal_nan=True)


def train_small_alike(name: str, most: int) -> None:
    """Train a small network of the zoo both ways, for 50 steps if it has at most so many multiply-adds, else for 3.

    A normalisation over a few numbers magnifies rounding: it gets more samples and a smaller rate. In ResNets of 101
    layers and more even so rounding grows a billionfold in 50 steps, so that no two ways stay together that long.
    """
    drawing = draw_small(name)
    # No gradient passes a choice of boxes: what it chooses from is compared instead.
    for id in set(check(drawing).outputs) & drawing.capsules.keys():
        if drawing.capsules[id].symbol == "selection":
            drawing.remove(id)
    network = in_float64(drawing)
    chaotic = name.startswith(("resnet101", "resnet152"))
    steps = 3 if chaotic or check(drawing).multiply_adds > most else 50
    if network.states:
        assert_trains_alike(network, "sgd", steps, batch=4 if chaotic else 8, rate=1e-4)
    else:
        assert_trains_alike(network, "momentum", steps, batch=1)
