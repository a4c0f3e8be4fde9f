"""Training a drawing by a recipe: everything is checked first, then a run folder is made and filled."""

import math
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from inkcap.drawing import Drawing, to_text
from inkcap.engine import build, initialise, load_weights, weights_of
from inkcap.network import Network, check
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
from inkcap.training.loop import Course, Outcome, fit
from inkcap.training.losses import total_loss, wanted_returns
from inkcap.training.material import Material, gather, make_batches, target_scales
from inkcap.training.scores import make_scores
from inkcap.training.stopping import StopRequest, listening_for_signals
from inkcap.training.weights import Borrowed, fitting, freeze, put_back, read_weights, save_weights

_CHECKPOINT_EVERY = 10.0


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


@dataclass
class _FolderKeeper:
    """Writes the metrics, and the best weights now and then, so that even a killed run leaves something."""

    folder: RunFolder
    module: torch.nn.Module
    log: MetricWriter
    best: dict[str, Tensor] = field(default_factory=dict[str, Tensor])
    _saved: float = field(default=-math.inf, init=False)

    def step(self, epoch: int, step: int, values: Mapping[str, float]) -> None:
        """Write the values of some steps."""
        self.log.write("step", epoch, step, values)

    def epoch(self, epoch: int, step: int, values: Mapping[str, float], best: bool) -> None:
        """Write the values of an epoch and keep the weights when they are the best so far."""
        self.log.write("epoch", epoch, step, values)
        if best:
            self.best = weights_of(self.module)
            if time.monotonic() - self._saved >= _CHECKPOINT_EVERY:
                save_weights(self.folder.path / layout.BEST, self.best)
                self._saved = time.monotonic()

    def seal(self) -> dict[str, str]:
        """Write the last and the best weights and give their check sums; weights that are not finite are left out."""
        self.log.close()
        seals = {"weights_sha256": "", "best_sha256": ""}
        last = weights_of(self.module)
        if all(bool(torch.isfinite(value).all()) for value in last.values()):
            seals["weights_sha256"] = save_weights(self.folder.path / layout.WEIGHTS, last)
        if self.best:
            seals["best_sha256"] = save_weights(self.folder.path / layout.BEST, self.best)
        return seals


@dataclass(frozen=True)
class _Job:
    """A training that is ready to start."""

    drawing: Drawing
    facts: NetworkFacts
    material: Material
    module: torch.nn.Module
    learning: list[torch.nn.Parameter]
    frozen_buffers: Mapping[str, Tensor]
    borrowed: Borrowed
    monitor: str
    device: torch.device
    threads: int
    listener: Listener
    stop: StopRequest

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
    network = report.network
    facts = facts_of(network)
    material = gather(recipe, facts, folder, progress)
    paced = complete_pace(material.recipe, report.parameters, len(material.training))
    material = replace(material, recipe=paced)
    monitor = _monitor(material)
    device = choose_device(recipe.device, facts.dtypes())
    with steady(recipe.seed, recipe.threads, device) as threads:
        module, borrowed = _built(network, material, folder)
        learning, buffers = freeze(module, _weight_paths(module), recipe.freeze)
        module.to(device)
        buffers = {path: value.to(device) for path, value in buffers.items()}
        request = stop or StopRequest()
        job = _Job(
            drawing=drawing,
            facts=facts,
            material=material,
            module=module,
            learning=learning,
            frozen_buffers=buffers,
            borrowed=borrowed,
            monitor=monitor,
            device=device,
            threads=threads,
            listener=listener or Listener(),
            stop=request,
        )
        course = _course(job)
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
    validation = None if material.validation is None else make_batches(material.validation, *common)
    scales = target_scales(facts, material.fit, material.preparation)

    def order(epoch: int) -> Tensor:
        numbers = torch.from_numpy(epoch_order(training.samples, recipe.seed, epoch))
        # Samples that lie ready on a device are picked there; raw ones are picked on the processor.
        return numbers.to(job.device) if training.finish is None else numbers

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
    )


def _run(job: _Job, course: Course, folder: RunFolder) -> RunResult:
    """Fill the folder, train, and leave the folder in a state that says how it ended."""
    begun = time.monotonic()
    outcome = Outcome()
    keeper: _FolderKeeper | None = None
    failure: Exception | None = None
    state = "finished"
    try:
        folder = _describe(job, folder)
        keeper = _FolderKeeper(folder, job.module, MetricWriter(folder.path / layout.METRICS))
        course.keeper = keeper
        job.listener.on_start(_start_event(job, course, folder))
        fit(course, outcome)
        state = "interrupted" if outcome.interrupted else "finished"
    except KeyboardInterrupt:
        state, outcome.reason = "interrupted", "stopped by the keyboard"
    except InkcapError as problem:
        state, outcome.reason, failure = "failed", str(problem), RunFailure(f"{folder.id}: {problem}")
    except (RuntimeError, MemoryError, OSError) as problem:
        words = f"{type(problem).__name__}: {problem}"
        state, outcome.reason = "failed", words
        failure = RunFailure(f"{folder.id}: the run broke off in epoch {outcome.epochs + 1} ({words}).")
    except Exception as problem:
        # A mistake in a listener or in Inkcap itself: it stays what it is, but the folder must not look alive.
        state, outcome.reason, failure = "failed", f"{type(problem).__name__}: {problem}", problem
    put_back(job.module, job.frozen_buffers)
    ending = (job, folder, keeper, outcome, state, time.monotonic() - begun)
    try:
        folder = _finish(*ending)
    except KeyboardInterrupt:
        # Someone pressed twice; what was learnt is still worth the moment that saving takes.
        folder = _finish(*ending)
    with suppress(KeyboardInterrupt):
        job.listener.on_end(EndEvent(state, outcome.reason, outcome.epochs, outcome.best_epoch))
    if failure is not None:
        raise failure
    return RunResult(
        run=folder,
        state=state,
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


def _finish(
    job: _Job, folder: RunFolder, keeper: _FolderKeeper | None, outcome: Outcome, state: str, seconds: float
) -> RunFolder:
    """Write the weights, the summary and the final state."""
    seals = keeper.seal() if keeper is not None else {}
    folder.write_json(
        layout.SUMMARY,
        {
            "state": state,
            "reason": outcome.reason,
            "epochs": outcome.epochs,
            "steps": outcome.steps,
            "seconds": round(seconds, 3),
            "monitor": job.monitor,
            "best_epoch": outcome.best_epoch,
            "best_value": outcome.best_value if math.isfinite(outcome.best_value) else None,
            "values": {name: value if math.isfinite(value) else None for name, value in outcome.values.items()},
            "learning_parameters": sum(parameter.numel() for parameter in job.learning),
            "parameters": sum(parameter.numel() for parameter in job.module.parameters()),
            "init_from": job.borrowed.to_json(),
        },
    )
    return folder.update(state=state, reason=outcome.reason, finished=layout.now(), **seals)
