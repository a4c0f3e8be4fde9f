"""Training a drawing by a recipe: everything is checked first, then a run folder is made and filled."""

import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from inkcap.drawing import Drawing, to_text
from inkcap.engine import build, initialise, load_weights, named_weights, weights_of
from inkcap.network import Network, as_plain, check
from inkcap.recipes import (
    DataSpec,
    MetricWriter,
    Recipe,
    RecipeError,
    RunFolder,
    complete_pace,
    find_run,
    layout,
    monitored,
)
from inkcap.structures.errors import InkcapError, RunFailure
from inkcap.training.data import epoch_order
from inkcap.training.data.download import Progress
from inkcap.training.environment import choose_device, describe_environment, steady
from inkcap.training.events import EndEvent, Listener, StartEvent
from inkcap.training.facts import NetworkFacts, facts_of
from inkcap.training.gradients import by_universal
from inkcap.training.keeping import FolderKeeper, finish
from inkcap.training.loop import Course, Outcome, fit
from inkcap.training.losses import total_loss, wanted_returns
from inkcap.training.material import Material, gather, make_batches, target_scales
from inkcap.training.optimisers import NARROW
from inkcap.training.pretraining import Layer, Pretraining, find_stack, pretrain
from inkcap.training.reach import check_reach
from inkcap.training.scores import make_scores
from inkcap.training.signals import SignalWatch
from inkcap.training.smallest import smallest_batch
from inkcap.training.stopping import StopRequest, ignoring_signals, listening_for_signals
from inkcap.training.weights import Borrowed, fitting, freeze, put_back, read_weights


@dataclass(frozen=True)
class RunResult:
    """What came of a training; the folder holds everything else."""

    run: RunFolder
    state: str
    reason: str
    epochs: int
    steps: int
    monitor: str
    best_epoch: int
    best_value: float
    values: Mapping[str, float]
    borrowed: Borrowed
    notes: tuple[str, ...]


@dataclass(frozen=True)
class _Job:
    """A training that is ready to start."""

    drawing: Drawing
    network: Network
    facts: NetworkFacts
    material: Material
    module: torch.nn.Module
    learning: list[torch.nn.Parameter]
    frozen_buffers: Mapping[str, Tensor]
    borrowed: Borrowed
    monitor: str
    least_batch: int
    device: torch.device
    threads: int
    listener: Listener
    stop: StopRequest
    stack: list[Layer]
    """The layers that are pre-trained."""

    @property
    def recipe(self) -> Recipe:
        """The recipe with its losses chosen."""
        return self.material.recipe


def train(
    drawing: Drawing,
    recipe: Recipe | str,
    workspace: Path | str = ".",
    listener: Listener | None = None,
    *,
    stop: StopRequest | None = None,
    progress: Progress | None = None,
) -> RunResult:
    """Train a drawing by a recipe, or on the data of a name with everything else chosen, and keep the run.

    Mistakes in the drawing, the recipe or the data are raised before a folder is made. SIGINT and SIGTERM (or `stop`,
    from another thread) end the run after the step in hand with the state "interrupted", and the function returns as
    usual. A run that cannot go on raises RunFailure and leaves its folder in the state "failed".
    """
    folder = Path(workspace)
    if isinstance(recipe, str):
        recipe = Recipe(DataSpec(recipe))
    report = check(drawing)
    network = as_plain(report.network)
    facts = facts_of(network)
    material = gather(recipe, facts, folder, progress)
    paced = complete_pace(material.recipe, report.parameters, len(material.training))
    material = replace(material, recipe=paced)
    least, left_out = smallest_batch(network, paced.batch, len(material.training))
    if left_out:
        material = replace(material, notes=(*material.notes, left_out))
    monitor = _monitor(material)
    if recipe.pretrain and recipe.init_from is not None:
        raise RecipeError("recipe.pretrain: the weights start by it or from another run; leave init_from out.")
    stack = find_stack(network) if recipe.pretrain else []
    device = choose_device(recipe.device, facts)
    with steady(recipe.seed, recipe.threads, device) as threads:
        module, borrowed = _built(network, material, folder)
        learning, buffers = freeze(module, _weight_paths(module), recipe.freeze)
        module.to(device)
        if any(parameter.dtype in NARROW for parameter in learning):
            material = replace(material, notes=(*material.notes, "Weights of 16 bits learn as copies in float32."))
        buffers = {path: value.to(device) for path, value in buffers.items()}
        request = stop or StopRequest()
        job = _Job(
            drawing=drawing,
            network=network,
            facts=facts,
            material=material,
            module=module,
            learning=learning,
            frozen_buffers=buffers,
            borrowed=borrowed,
            monitor=monitor,
            least_batch=least,
            device=device,
            threads=threads,
            listener=listener or Listener(),
            stop=request,
            stack=stack,
        )
        course = _course(job)
        check_reach(network, module, course.loss, course.training)
        with listening_for_signals(request):
            return _run(job, course, RunFolder.create(folder, drawing.name, material.dataset.name))


def _monitor(material: Material) -> str:
    monitor = monitored(material.recipe, material.targets)
    if material.validation is None:
        if monitor != "loss":
            raise RecipeError(f"recipe.monitor: {monitor} is measured on the validation part; give validation above 0.")
        if material.recipe.early_stop:
            raise RecipeError("recipe.early_stop: it watches the validation part; give validation above 0.")
    return monitor


def _weight_paths(module: torch.nn.Module) -> dict[str, str]:
    names: Any = module.weight_names
    return dict(names)


def _built(network: Network, material: Material, workspace: Path) -> tuple[torch.nn.Module, Borrowed]:
    """Build and initialise the module, and take over what another run has learnt."""
    recipe = material.recipe
    module = build(network, dict(wanted_returns(material.facts, recipe)))
    initialise(module, network, recipe.seed)
    if recipe.init_from is None:
        return module, Borrowed()
    other = find_run(workspace, recipe.init_from)
    taken, borrowed = fitting(weights_of(module), read_weights(other.weights_file("best")), other.id)
    load_weights(module, taken, strict=False)
    return module, borrowed


class _SilentKeeper:
    """Stands in until there is a folder."""

    def step(self, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Keep nothing."""

    def epoch(self, epoch: int, step: int, values: Mapping[str, float], best: bool) -> None:
        """Keep nothing."""


def _course(job: _Job) -> Course:
    """Make the course, with all data in the form that the steps take them."""
    material, facts, recipe = job.material, job.facts, job.recipe
    common = (facts, material.fit, material.preparation, recipe, job.device)
    training = make_batches(material.training, *common, material.augmentation if material.augmentation else None)
    training = replace(training, least=job.least_batch)
    validation = None if material.validation is None else make_batches(material.validation, *common)
    scales = target_scales(facts, material.fit, material.preparation)

    def order(epoch: int) -> Tensor:
        numbers = torch.from_numpy(epoch_order(training.samples, recipe.seed, epoch))
        # Samples that lie ready on a device are picked there; raw ones are picked on the processor.
        return numbers.to(job.device) if training.finish is None else numbers

    # Neurons in columns go backwards by kernels of their own, which are explicit already.
    explicit = recipe.algorithm == "universal" and job.network.plain is None
    return Course(
        module=job.module,
        parameters=job.learning,
        loss=total_loss(facts, recipe),
        scores=lambda: make_scores(facts, recipe, material.targets, scales),
        training=training,
        validation=validation,
        order=order,
        recipe=recipe,
        monitor=job.monitor,
        keeper=_SilentKeeper(),
        listener=job.listener,
        stop=job.stop,
        settle=lambda: put_back(job.module, job.frozen_buffers),
        backpropagate=by_universal(job.network, job.module, facts, recipe) if explicit else None,
    )


def _run(job: _Job, course: Course, folder: RunFolder) -> RunResult:
    """Fill the folder, train, and leave the folder in a state that says how it ended."""
    begun = time.monotonic()
    attempt = _Attempt(folder)
    _try(attempt, job, course)
    try:
        job.stop.saving = True
        _end(attempt, job, time.monotonic() - begun)
    except KeyboardInterrupt:
        # Someone pressed twice; what was learnt is still worth the moment that saving takes.
        _end(attempt, job, time.monotonic() - begun)
    outcome = attempt.outcome
    with suppress(KeyboardInterrupt):
        job.listener.on_end(EndEvent(attempt.state, outcome.reason, outcome.epochs, outcome.best_epoch))
    if attempt.failure is not None:
        raise attempt.failure
    return RunResult(
        run=attempt.folder,
        state=attempt.state,
        reason=outcome.reason,
        epochs=outcome.epochs,
        steps=outcome.steps,
        monitor=job.monitor,
        best_epoch=outcome.best_epoch,
        best_value=outcome.best_value,
        values=outcome.values,
        borrowed=job.borrowed,
        notes=job.material.notes,
    )


@dataclass
class _Attempt:
    """How far a run came and how it ended."""

    folder: RunFolder
    outcome: Outcome = field(default_factory=Outcome)
    keeper: FolderKeeper | None = None
    state: str = "finished"
    failure: Exception | None = None
    pretrained: list[dict[str, Any]] = field(default_factory=list[dict[str, Any]])

    def fail(self, reason: str, failure: Exception) -> None:
        """Remember what went wrong."""
        self.state, self.outcome.reason, self.failure = "failed", reason, failure


def _try(attempt: _Attempt, job: _Job, course: Course) -> None:
    """Describe the run and train; whatever happens is remembered, not raised."""
    outcome, name = attempt.outcome, attempt.folder.id
    try:
        attempt.folder = _describe(job, attempt.folder)
        log = MetricWriter(attempt.folder.path / layout.METRICS)
        attempt.keeper = FolderKeeper(attempt.folder, job.module, log, _watch(job, course))
        course.keeper = attempt.keeper
        job.listener.on_start(_start_event(job, course, attempt.folder))
        if job.stack:
            attempt.pretrained = _pretrained(job, course)
        fit(course, outcome)
        job.stop.saving = True
        attempt.state = "interrupted" if outcome.interrupted else "finished"
    except KeyboardInterrupt:
        attempt.state, outcome.reason = "interrupted", "stopped by the keyboard"
    except InkcapError as problem:
        attempt.fail(str(problem), RunFailure(f"{name}: {problem}"))
    except (RuntimeError, MemoryError, OSError) as problem:
        words = f"{type(problem).__name__}: {problem}"
        attempt.fail(words, RunFailure(f"{name}: the run broke off in epoch {outcome.epochs + 1} ({words})."))
    except Exception as problem:
        # A mistake in a listener or in Inkcap itself: it stays what it is, but the folder must not look alive.
        attempt.fail(f"{type(problem).__name__}: {problem}", problem)


def _pretrained(job: _Job, course: Course) -> list[dict[str, Any]]:
    recipe = job.recipe
    stages = Pretraining(course.training, course.order, recipe.pretrain, recipe.seed, job.listener, job.stop)
    return pretrain(job.stack, named_weights(job.module), stages)


def _watch(job: _Job, course: Course) -> SignalWatch | None:
    if not job.recipe.signals:
        return None
    return SignalWatch(job.network, job.module, job.facts, job.recipe, course.training)


def _end(attempt: _Attempt, job: _Job, seconds: float) -> None:
    """Save what was learnt and write the final state, or take a folder away that could not even be described."""
    with ignoring_signals():
        put_back(job.module, job.frozen_buffers)
        if attempt.keeper is None and attempt.failure is not None:
            attempt.folder.remove()
            return
        facts: dict[str, Any] = {
            "seconds": round(seconds, 3),
            "monitor": job.monitor,
            "learning_parameters": sum(parameter.numel() for parameter in job.learning),
            "parameters": sum(parameter.numel() for parameter in job.module.parameters()),
            "init_from": job.borrowed.to_json(),
        }
        if attempt.pretrained:
            facts["pretraining"] = attempt.pretrained
        attempt.folder, problem = finish(attempt.folder, attempt.keeper, attempt.outcome, attempt.state, facts)
        if problem and attempt.failure is None:
            attempt.fail(problem, RunFailure(f"{attempt.folder.id}: {problem} Make room or check the disk."))


def _start_event(job: _Job, course: Course, folder: RunFolder) -> StartEvent:
    return StartEvent(
        run=folder.id,
        epochs=job.recipe.epochs,
        steps_per_epoch=course.training.steps,
        training_samples=course.training.samples,
        validation_samples=0 if course.validation is None else course.validation.samples,
        device=job.device.type,
        threads=job.threads,
        monitor=job.monitor,
        notes=job.material.notes,
    )


def _describe(job: _Job, folder: RunFolder) -> RunFolder:
    """Write everything that is known before the first step."""
    folder.write_text(layout.DRAWING, to_text(job.drawing))
    folder.write_recipe(job.recipe)
    folder.write_json(layout.ENVIRONMENT, describe_environment(job.device, job.threads))
    folder.write_json(layout.DATA, job.material.to_json())
    return folder.update(state="running")
