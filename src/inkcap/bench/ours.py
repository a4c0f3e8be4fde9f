"""Inkcap among the contenders: the one place where the benchmark meets the engines that training has."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from inkcap.bench.cases import MOMENTUM, RATE, RECONSTRUCTION, Case, Work
from inkcap.bench.workload import Workload, repeated
from inkcap.drawing import Drawing
from inkcap.engine import build, initialise
from inkcap.engine.expansion import expand
from inkcap.engine.plain import PlainNetwork, PlainTrainer, UpdateRule
from inkcap.network import Network, check
from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec, Recipe, complete_losses
from inkcap.training.facts import facts_of
from inkcap.training.gradients import by_universal
from inkcap.training.losses import total_loss, wanted_returns
from inkcap.training.optimisers import make_optimiser
from inkcap.training.scores import outputs_of

Step = Callable[[], Any]
DESCENT = OptimiserSpec("momentum", RATE, {"momentum": MOMENTUM})
STEPS_A_CALL = 1024
"""How many steps the plain kernels take in one call at most."""


def training_step(
    drawing: Drawing, x: Tensor, y: Tensor, engine: str = "auto", optimiser: OptimiserSpec = DESCENT
) -> Step:
    """Give one step exactly as Inkcap's training loop takes it, on this batch, by this engine."""
    return ENGINES[engine](drawing, x, y, optimiser)


def _recipe(network: Network, optimiser: OptimiserSpec) -> Recipe:
    losses: tuple[LossSpec, ...] = ()
    if len(network.outputs) > 1:
        lengths, drawn = network.outputs
        losses = (LossSpec(lengths, "margin"), LossSpec(drawn, "mean-squared-error", RECONSTRUCTION))
    targets = dict(zip(network.outputs, ("classes", "numbers"), strict=False))
    return complete_losses(Recipe(DataSpec("any"), losses=losses, optimiser=optimiser), targets)


def _batch(network: Network, x: Tensor, y: Tensor) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
    """Give what the inputs and the outputs of the drawing are fed: CapsNet sees its label, and draws its image."""
    if len(network.inputs) == 1:
        return (x,), (y,)
    label = torch.nn.functional.one_hot(y, 10).to(x.dtype)
    return (x, label), (y, x.flatten(1))


def _eager(drawing: Drawing, x: Tensor, y: Tensor, optimiser: OptimiserSpec) -> Step:
    network = check(drawing).network
    facts, recipe = facts_of(network), _recipe(network, optimiser)
    module = build(network, dict(wanted_returns(facts, recipe)))
    initialise(module, network, 0)
    made = make_optimiser(recipe.optimiser, list(module.parameters()))
    inputs, targets = _batch(network, x, y)
    loss_of = total_loss(facts, recipe)

    def step() -> Tensor:
        made.zero_grad(set_to_none=True)
        loss = loss_of(outputs_of(module(*inputs)), targets)
        loss.backward()
        made.step()
        return loss.detach()

    return step


def _explicit(drawing: Drawing, x: Tensor, y: Tensor, optimiser: OptimiserSpec) -> Step:
    network = check(drawing).network
    facts, recipe = facts_of(network), _recipe(network, optimiser)
    module = build(network, dict(wanted_returns(facts, recipe)))
    initialise(module, network, 0)
    made = make_optimiser(recipe.optimiser, list(module.parameters()))
    inputs, targets = _batch(network, x, y)
    backpropagate = by_universal(network, module, facts, recipe)

    def step() -> Tensor:
        loss = backpropagate(inputs, targets)
        made.step()
        return loss

    return step


ENGINES: Mapping[str, Callable[[Drawing, Tensor, Tensor, OptimiserSpec], Step]] = {
    "auto": _eager,  # what a recipe without a choice takes
    "eager": _eager,
    "explicit": _explicit,
}
"""How each engine takes a step on a batch."""


def inkcap(case: Case, work: Work, engine: str = "auto") -> Workload:
    """Make the workload of an engine."""
    if case.drawn is None:
        return _graph(case, work)
    if engine == "plain":
        return _neurons(case)
    samples, classes = case.samples()
    x, y = torch.from_numpy(samples), torch.from_numpy(classes)
    drawing = case.drawing()
    parameters = check(drawing).parameters
    step = inference_step(drawing, x, engine) if work == "inference" else training_step(drawing, x, y, engine)
    return repeated(step, parameters)


def inference_step(drawing: Drawing, x: Tensor, engine: str = "auto") -> Step:
    """Give what answers a batch: scores, as the contenders give them, and not yet probabilities."""
    del engine  # there is one way to answer
    network = check(drawing).network
    outputs = network.outputs
    module = build(network, {outputs[0]: "U"} if len(outputs) == 1 else None)
    initialise(module, network, 0)
    module.eval()
    inputs = (x,) if len(network.inputs) == 1 else (x, x.new_zeros(len(x), 10))

    def step() -> Any:
        with torch.inference_mode():
            return module(*inputs)

    return step


def _many_steps(trainer: PlainTrainer, x: Any, y: Any, batch: int) -> Callable[[int], None]:
    order = np.tile(np.arange(batch), STEPS_A_CALL)

    def run(steps: int) -> None:
        while steps:
            count = min(steps, STEPS_A_CALL)
            trainer.train_steps(x, y, order[: count * batch])
            steps -= count

    return run


def _neurons(case: Case) -> Workload:
    """A perceptron expanded to its neurons, many steps in a call of the kernels."""
    expansion = expand(check(case.drawing()).network, columns=True)
    assert expansion.drawing.plain is not None
    network = PlainNetwork(expansion.drawing.plain)
    trainer = PlainTrainer(network, "cross-entropy", UpdateRule("momentum", RATE, MOMENTUM), batch=case.batch)
    x, y = case.samples()
    return Workload(_many_steps(trainer, x, y, case.batch), expansion.parameters)


def _graph(case: Case, work: Work) -> Workload:
    """A graph of neurons, by the kernels that any plain block is run by."""
    from inkcap.bench.plain_peers import RATE as SMALL_RATE
    from inkcap.bench.plain_peers import graph_samples

    network, x, target = graph_samples(case)
    threads = torch.get_num_threads()
    if work == "inference":
        return repeated(lambda: network.forward(x, threads=threads))
    rule = UpdateRule("sgd", SMALL_RATE)
    trainer = PlainTrainer(network, "mean-squared-error", rule, batch=case.batch, threads=threads)
    return Workload(_many_steps(trainer, x, target, case.batch))
