"""A training that is ready to start: drawing, recipe and data checked, the module built, the course made."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from inkcap.drawing import Drawing
from inkcap.engine import build, initialise, load_weights
from inkcap.network import Network, Report, as_plain, check
from inkcap.recipes import Recipe, RecipeError, complete_pace, monitored
from inkcap.recipes.elsewhere import Elsewhere
from inkcap.recipes.measures import PLAYED
from inkcap.training.batches import Batches, EpochsAhead
from inkcap.training.borrowing import Memory, borrow, learning_names
from inkcap.training.data import epoch_orders
from inkcap.training.data.download import Progress
from inkcap.training.engines.choice import Choice
from inkcap.training.engines.narrow import check_precision, make_scaler
from inkcap.training.environment import choose_device
from inkcap.training.events import Listener
from inkcap.training.facts import NetworkFacts, facts_of
from inkcap.training.faults import explainer
from inkcap.training.losses import total_loss, wanted_returns
from inkcap.training.material import Material, gather, make_batches, target_scales
from inkcap.training.memory import estimate
from inkcap.training.needs import Needs
from inkcap.training.optimisers import NARROW
from inkcap.training.pace import Pace
from inkcap.training.playing import answering, play, solve
from inkcap.training.pretraining import Layer, find_stack
from inkcap.training.recomputing import with_places
from inkcap.training.scores import Batch, make_scores, measures_of
from inkcap.training.session import Course
from inkcap.training.smallest import smallest_batch
from inkcap.training.snapshots import Snapshot, frozen_of
from inkcap.training.stopping import StopRequest
from inkcap.training.watchers import Watching
from inkcap.training.weights import Borrowed, freeze, put_back


@dataclass(frozen=True)
class Plan:
    """What is known before anything is built."""

    drawing: Drawing
    report: Report
    network: Network
    facts: NetworkFacts
    material: Material
    monitor: str
    least_batch: int
    device: torch.device
    stack: list[Layer]
    """The layers that are pre-trained."""
    workspace: Path

    @property
    def recipe(self) -> Recipe:
        """The recipe with its losses chosen."""
        return self.material.recipe


@dataclass(frozen=True)
class Start:
    """Where a run goes on: a snapshot, if there is one, and what was known of the run then."""

    snapshot: Snapshot | None = None
    place: str = ""
    borrowed: Borrowed = field(default_factory=Borrowed)
    pretrained: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])
    seconds: float = 0.0
    counts: Mapping[str, int] = field(default_factory=dict[str, int])


@dataclass(frozen=True)
class Job:
    """A training that is ready to start, or to go on."""

    plan: Plan
    module: torch.nn.Module
    learning: list[torch.nn.Parameter]
    frozen_buffers: Mapping[str, Tensor]
    borrowed: Borrowed
    memory: Memory
    """What the optimiser of the run that it starts from remembers."""
    threads: int
    listener: Listener
    stop: StopRequest
    start: Start
    needs: Needs
    notes: tuple[str, ...]
    watching: Watching = field(default_factory=Watching)
    elsewhere: Elsewhere | None = None
    """Where the run is kept, too."""
    choice: Choice = field(default_factory=Choice)
    """What computes the steps; chosen just before the first of them."""

    @property
    def recipe(self) -> Recipe:
        """The recipe with its losses chosen."""
        return self.plan.recipe


_ALONE = "One process has all weights and whole batches: sharded and joint_norm are for several workers."


def plan_job(drawing: Drawing, recipe: Recipe, workspace: Path, progress: Progress | None = None) -> Plan:
    """Check a drawing, a recipe and the data, and match them with each other."""
    report = check(drawing)
    network = as_plain(report.network)
    facts = facts_of(network)
    material = gather(recipe, facts, workspace, progress)
    paced = complete_pace(material.recipe, report.parameters, len(material.training))
    material = replace(material, recipe=with_places(paced, drawing))
    parts = 1 if paced.joint_norm else paced.workers
    least, left_out = smallest_batch(network, paced.batch, len(material.training), parts)
    alone = paced.workers == 1 and (paced.sharded or paced.joint_norm)
    said = [words for words in (left_out, _ALONE if alone else "") if words]
    material = replace(material, notes=(*material.notes, *said))
    monitor = _monitor(material)
    stack = _stack(network, recipe)
    device = choose_device(recipe.device, facts)
    check_precision(recipe, network, device)
    return Plan(drawing, report, network, facts, material, monitor, least, device, stack, workspace)


def make_job(plan: Plan, threads: int, listener: Listener | None, stop: StopRequest, start: Start | None = None) -> Job:
    """Build the module with its first weights; those of a run that goes on are put in later."""
    start = start or Start()
    goes_on = start.snapshot is not None
    module, memory, borrowed = _built(plan, goes_on)
    learning, buffers = freeze(module, _weight_paths(module), plan.recipe.freeze)
    module.to(plan.device)
    notes = plan.material.notes
    if any(parameter.dtype in NARROW for parameter in learning):
        notes = (*notes, "Weights of 16 bits learn as copies in float32.")
    needs = estimate(plan.report, plan.recipe, learning, module)
    warning = needs.warning() if plan.device.type == "cpu" else ""
    if start.snapshot is not None:
        buffers = frozen_of(start.snapshot)
    return Job(
        plan=plan,
        module=module,
        learning=learning,
        frozen_buffers={path: value.to(plan.device) for path, value in buffers.items()},
        borrowed=start.borrowed if goes_on else borrowed.remembering(learning_names(module, learning)),
        memory=memory,
        threads=threads,
        listener=listener or Listener(),
        stop=stop,
        start=start,
        needs=needs,
        notes=(*notes, warning) if warning else notes,
    )


def _stack(network: Network, recipe: Recipe) -> list[Layer]:
    if recipe.pretrain and recipe.init_from is not None:
        raise RecipeError("recipe.pretrain: the weights start by it or from another run; leave init_from out.")
    return find_stack(network) if recipe.pretrain else []


def _monitor(material: Material) -> str:
    measured = measures_of(make_scores(material.facts, material.recipe, material.targets))
    played = PLAYED if material.dataset.world is not None else ()
    monitor = monitored(material.recipe, (*measured, *played))
    if material.validation is None:
        if monitor != "loss":
            raise RecipeError(f"recipe.monitor: {monitor} is measured on the validation part; give validation above 0.")
        if material.recipe.early_stop:
            raise RecipeError("recipe.early_stop: it watches the validation part; give validation above 0.")
    return monitor


def _weight_paths(module: torch.nn.Module) -> dict[str, str]:
    names: Any = module.weight_names
    return dict(names)


def _built(plan: Plan, goes_on: bool) -> tuple[torch.nn.Module, Memory, Borrowed]:
    """Build and initialise the module, and take over what another run has learnt."""
    recipe = plan.recipe
    module = build(plan.network, dict(wanted_returns(plan.facts, recipe)))
    initialise(module, plan.network, recipe.seed)
    if recipe.init_from is None or goes_on:
        return module, Memory(), Borrowed()
    taken, memory, borrowed = borrow(module, recipe, plan.workspace)
    load_weights(module, taken, strict=False)
    return module, memory, borrowed


_FEW_TOGETHER = 16
"""Batches of which more are made at a time are made in a moment."""


class SilentKeeper:
    """Stands in until there is a folder."""

    def step(self, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Keep nothing."""

    def epoch(self, epoch: int, step: int, values: Mapping[str, float], best: bool) -> None:
        """Keep nothing."""

    def pace(self, pace: Pace) -> None:
        """Keep nothing."""


def _loaders(recipe: Recipe, batches: Batches) -> int:
    """Choose how many threads prepare batches: one keeps ahead of the steps.

    What is ready needs none, nor do batches so small that the threads would rather wait for each other.
    """
    return recipe.loaders or int(batches.finish is not None and batches.together <= _FEW_TOGETHER)


def make_course(job: Job) -> Course:
    """Make the course, with all data in the form that the steps take them."""
    plan, recipe = job.plan, job.recipe
    material, facts, device = plan.material, plan.facts, plan.device
    common = (facts, material.fit, material.preparation, recipe, device)
    training = make_batches(material.training, *common, material.augmentation if material.augmentation else None)
    training = replace(training, least=plan.least_batch, loaders=_loaders(recipe, training))
    validation = None if material.validation is None else make_batches(material.validation, *common)
    if validation is not None:
        validation = replace(validation, loaders=_loaders(recipe, validation))
    scales = target_scales(facts, material.fit, material.preparation)

    def orders(epochs: range) -> Sequence[Tensor]:
        numbers = torch.from_numpy(epoch_orders(training.samples, recipe.seed, epochs))
        # Samples that lie ready on a device are picked there; raw ones are picked on the processor.
        return (numbers.to(device) if training.finish is None else numbers).unbind()

    def ready(epochs: range) -> Sequence[Sequence[Batch]]:
        return training.of_epochs(torch.stack([order(epoch) for epoch in epochs]), epochs)

    order = EpochsAhead(orders, training.values, recipe.epochs)
    at_once = training.small and not training.loaders and material.dataset.world is None
    course = Course(
        module=job.module,
        parameters=job.learning,
        loss=total_loss(facts, recipe),
        scores=lambda: make_scores(facts, recipe, material.targets, scales),
        training=training,
        validation=validation,
        order=order,
        # As many epochs at a time as orders, which are therefore there.
        ready=EpochsAhead(ready, training.values, recipe.epochs) if at_once else None,
        recipe=recipe,
        monitor=plan.monitor,
        keeper=SilentKeeper(),
        listener=job.listener,
        stop=job.stop,
        settle=lambda: put_back(job.module, job.frozen_buffers),
        explain=explainer(plan.network, job.module, facts, material),
        scaler=make_scaler(recipe, device),
    )
    _let_play(course, job)
    return course


def _let_play(course: Course, job: Job) -> None:
    """Let the course make the samples of every epoch by playing, where the data are a game."""
    plan, material, training = job.plan, job.plan.material, course.training
    world, recipe = material.dataset.world, job.recipe
    if world is None:
        return
    common = (plan.facts, material.fit, material.preparation)
    answer = answering(job.module, *common, plan.device)
    (taken,), (given,) = material.fit.inputs.values(), material.fit.outputs.values()

    def play_epoch(epoch: int) -> Batches:
        starts = material.training.inputs[taken]
        states, worth = play(world, answer, starts, training.samples, epoch, recipe.seed)
        part = replace(material.training, inputs={taken: states}, targets={given: worth})
        made = make_batches(part, *common, recipe, plan.device)
        return replace(made, least=training.least, loaders=training.loaders)

    course.play = play_epoch
    if material.validation is not None:
        held_out = material.validation.inputs[taken]
        course.solve = lambda: solve(world, answer, held_out)
