"""Inkcap among the contenders: the one place where the benchmark meets the engines that training has."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import torch
from torch import Tensor

from inkcap.bench.cases import MOMENTUM, RATE, RECONSTRUCTION, Case, Work
from inkcap.bench.workload import Workload, repeated
from inkcap.drawing import Drawing
from inkcap.engine import build, initialise
from inkcap.engine.inference import freeze_module
from inkcap.engine.plain import PlainTrainer, UpdateRule
from inkcap.network import Network, check
from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec, Recipe, complete_losses
from inkcap.training import Listener, StopRequest
from inkcap.training.allocator import keep_memory
from inkcap.training.batches import Batches
from inkcap.training.engines.choosing import Case as TrainingCase
from inkcap.training.engines.choosing import choose
from inkcap.training.engines.compiling import keep_compiled
from inkcap.training.engines.many import ManySteps, neurons_of
from inkcap.training.engines.steppers import lay_out, make_stepper
from inkcap.training.facts import facts_of
from inkcap.training.jobs import SilentKeeper
from inkcap.training.losses import total_loss, wanted_returns
from inkcap.training.optimisers import make_optimiser
from inkcap.training.session import Course

Step = Callable[[], Any]
DESCENT = OptimiserSpec("momentum", RATE, {"momentum": MOMENTUM})
RUN_SECONDS, MOST_EPOCHS = 600.0, 1_000_000
"""How long the run promises to be for which ``auto`` chooses."""
STEPS_A_CALL = 50
"""How many steps the loop takes in one call at most."""


def training_steps(
    drawing: Drawing, x: Tensor, y: Tensor, engine: str = "auto", optimiser: OptimiserSpec = DESCENT
) -> Workload:
    """Give steps exactly as Inkcap's training loop takes it, on this batch, by this engine.

    ``auto`` chooses as it does before a run of ten minutes; its memory is kept from step to step, as in a run.
    """
    report = check(drawing)
    network = report.network
    facts, recipe = facts_of(network), _recipe(network, optimiser)
    module = build(network, dict(wanted_returns(facts, recipe)))
    initialise(module, network, 0)
    inputs, targets = _batch(network, x, y)
    course = Course(
        module=module,
        parameters=list(module.parameters()),
        loss=total_loss(facts, recipe),
        scores=list,
        training=Batches(inputs, targets, len(x), x.device),
        validation=None,
        order=lambda epoch: torch.arange(len(x)),
        recipe=replace(recipe, engine=engine, epochs=1, batch=len(x)),
        monitor="loss",
        keeper=SilentKeeper(),
        listener=Listener(),
        stop=StopRequest(),
    )
    keep_memory()
    keep_compiled()
    # As in a run, whose bits must come again.
    torch.set_deterministic_debug_mode("error")
    memory: Any = torch.utils.deterministic
    memory.fill_uninitialized_memory = False
    case = TrainingCase(network, facts, report, course, torch.get_num_threads())
    course.recipe = replace(course.recipe, epochs=min(MOST_EPOCHS, math.ceil(RUN_SECONDS / case.work)))
    chosen = choose(case)
    choice = chosen.choice
    torch.set_num_threads(choice.threads)
    lay_out(module, choice.layout)
    made = make_optimiser(recipe.optimiser, course.parameters)
    neurons = neurons_of(network, facts, course) if choice.engine == "plain" else None
    if neurons is not None:
        return Workload(_in_calls(ManySteps(neurons, course, made), len(x)), report.parameters)
    take = make_stepper(choice, network, facts, course, made, chosen.compiled)
    return repeated(lambda: take(inputs, targets), report.parameters)


def _in_calls(many: ManySteps, batch: int) -> Callable[[int], None]:
    """Take steps as the loop does: as many in a call as it tells at once, with the weights given back after each."""
    rows = torch.arange(batch).repeat(STEPS_A_CALL)

    def run(steps: int) -> None:
        while steps:
            count = min(steps, STEPS_A_CALL)
            many.load()
            many.take(rows[: count * batch])
            many.store(count)
            steps -= count

    return run


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


def inkcap(case: Case, work: Work, engine: str = "auto") -> Workload:
    """Make the workload of an engine."""
    if case.drawn is None:
        return _graph(case, work)
    samples, classes = case.samples()
    x, y = torch.from_numpy(samples), torch.from_numpy(classes)
    drawing = case.drawing()
    if work == "training":
        return training_steps(drawing, x, y, engine)
    return repeated(inference_step(drawing, x, engine), check(drawing).parameters)


def inference_step(drawing: Drawing, x: Tensor, engine: str = "auto") -> Step:
    """Give what answers a batch: scores, as the contenders give them, and not yet probabilities."""
    network = check(drawing).network
    outputs = network.outputs
    returns = {outputs[0]: "U"} if len(outputs) == 1 else None
    module = build(network, returns)
    initialise(module, network, 0)
    module.eval()
    inputs = (x,) if len(network.inputs) == 1 else (x, x.new_zeros(len(x), 10))
    answer = module if engine == "eager" else freeze_module(network, module, returns, len(x))
    keep_memory()

    def step() -> Any:
        with torch.no_grad():
            return answer(*inputs)

    return step


def _many_steps(trainer: PlainTrainer, x: Any, y: Any, batch: int) -> Callable[[int], None]:
    order = np.tile(np.arange(batch), STEPS_A_CALL)

    def run(steps: int) -> None:
        while steps:
            count = min(steps, STEPS_A_CALL)
            trainer.train_steps(x, y, order[: count * batch])
            steps -= count

    return run


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
