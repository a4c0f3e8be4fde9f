"""A recipe: how to train. Every record checks itself when it is made, so a recipe that exists is a possible one."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import cast

from inkcap.recipes.engines import AS_DRAWN, ENGINES, PRECISIONS, check_engines
from inkcap.recipes.errors import RecipeError
from inkcap.recipes.fields import Scalar, check_options, declared_fields, entry, show
from inkcap.recipes.kinds import LOSSES, OPTIMISERS, SCHEDULES, kind_of
from inkcap.recipes.measures import MEASURES

MONITORS = ("auto", "loss", *MEASURES)
_USUAL_LOSSES = {
    "classes": "cross-entropy",
    "bits": "binary-cross-entropy",
    "numbers": "mean-squared-error",
    "neighbours": "triplet",
    "boxes": "boxes",
    "instances": "masks",
}
NORMALISATIONS = ("auto", "none", "unit", "standard")
MOST_WORKERS = 4096
DEVICES = ("auto", "cpu", "cuda", "mps")


def _check_declared(record: object, place: str) -> None:
    for declared in declared_fields(type(record)):
        checked = declared.check(getattr(record, declared.name), f"{place}.{declared.name}")
        object.__setattr__(record, declared.name, checked)


@dataclass(frozen=True)
class DataSpec:
    """What to learn from: a built-in set or a reader with a path, and how it is prepared."""

    name: str = entry("", "text", "name of a built-in set, or a path in the workspace")
    options: Mapping[str, Scalar] = entry({}, "options", "options of the set or of the file format")
    normalise: str = entry("auto", "choice", "how inputs are scaled before training", choices=NORMALISATIONS)
    normalise_targets: bool = entry(False, "flag", "whether measured targets are scaled to mean 0 and deviation 1")
    resize: str = entry("", "text", "size that images are brought to, HEIGHTxWIDTH; empty = as they are")
    augment: str = entry("", "text", "changes drawn at random for each sample and epoch, such as shift=2,rotate=10")
    feed: str = entry(
        "", "text", "what feeds a capsule: INPUT=TARGET, OUTPUT=INPUT to give it again, OUTPUT=TARGET, by commas"
    )

    def __post_init__(self) -> None:
        _check_declared(self, "data")
        if not self.name:
            raise RecipeError("data.name: a recipe needs data; give the name of a set or a reader with a path.")


@dataclass(frozen=True)
class LossSpec:
    """The loss of one output. An empty output stands for the only one; the kind "auto" is chosen from the target."""

    output: str = entry("", "text", "capsule whose loss this is; empty = the only output")
    kind: str = entry("auto", "choice", "how the loss is computed", choices=("auto", *LOSSES))
    weight: float = entry(1.0, "number", "weight of this loss in the total", least=0, most=1e9)
    options: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])

    def __post_init__(self) -> None:
        place = f"losses[{show(self.output)}]" if self.output else "losses"
        _check_declared(self, place)
        options = () if self.kind == "auto" else LOSSES[self.kind].options
        filled = check_options(options, self.options, f"{place}.options", f"the loss {self.kind}")
        object.__setattr__(self, "options", filled)


@dataclass(frozen=True)
class OptimiserSpec:
    """How the weights follow the gradient."""

    kind: str = entry("adam", "choice", "how the weights follow the gradient", choices=tuple(OPTIMISERS))
    rate: float = entry(
        0.0,
        "number",
        "learning rate; 0 = choose: the optimiser's usual one, ten times it for very small networks",
        least=0,
        most=1e3,
    )
    options: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])

    def __post_init__(self) -> None:
        kind = kind_of(OPTIMISERS, self.kind, "optimiser.kind", "optimiser")
        _check_declared(self, "optimiser")
        filled = check_options(kind.options, self.options, "optimiser.options", f"the optimiser {self.kind}")
        object.__setattr__(self, "options", filled)


@dataclass(frozen=True)
class ScheduleSpec:
    """How the learning rate changes over the run."""

    kind: str = entry("constant", "choice", "how the learning rate changes", choices=tuple(SCHEDULES))
    options: Mapping[str, Scalar] = field(default_factory=dict[str, Scalar])

    def __post_init__(self) -> None:
        kind = kind_of(SCHEDULES, self.kind, "schedule.kind", "schedule")
        _check_declared(self, "schedule")
        filled = check_options(kind.options, self.options, "schedule.options", f"the schedule {self.kind}")
        object.__setattr__(self, "options", filled)


@dataclass(frozen=True)
class Recipe:
    """How to train: the data, the losses, the optimiser, the schedule and the numbers around them."""

    data: DataSpec
    losses: tuple[LossSpec, ...] = ()
    optimiser: OptimiserSpec = field(default_factory=OptimiserSpec)
    schedule: ScheduleSpec = field(default_factory=ScheduleSpec)
    batch: int = entry(64, "whole", "samples in each step", least=1, most=1_000_000)
    epochs: int = entry(
        0, "whole", "passes over the training part; 0 = choose: 20, more for few samples", least=0, most=1_000_000
    )
    seed: int = entry(0, "whole", "seed of weights, order, split and augmentation", least=0, most=2**32 - 1)
    validation: float = entry(0.2, "number", "share of the samples kept for validation; 0 = none", least=0, below=1)
    early_stop: int = entry(
        0, "whole", "epochs without anything better after which the run stops; 0 = off", least=0, most=1_000_000
    )
    monitor: str = entry("auto", "choice", "value that decides what is better", choices=MONITORS)
    clip: float = entry(0.0, "number", "largest norm of the gradient; 0 = off", least=0, most=1e9)
    device: str = entry("auto", "choice", "where to compute", choices=DEVICES)
    freeze: tuple[str, ...] = entry((), "texts", "patterns of weights, capsules or connections that stay as they are")
    init_from: str | None = entry(
        None, "text", "run, or file .safetensors, whose weights are the start where they fit", optional=True
    )
    init_memory: bool = entry(False, "flag", "take over what that run's optimiser remembers, with its last weights")
    init_renamed: str = entry("", "text", "names that have changed since that run: OLD=NEW, by commas")
    threads: int = entry(0, "whole", "threads of the processor; 0 = choose", least=0, most=1024)
    loaders: int = entry(
        0,
        "whole",
        "threads that vary and prepare the next batches while a step computes; 0 = choose: one where that gains time",
        least=0,
        most=64,
    )
    workers: int = entry(
        1, "whole", "processes that share every batch, here or on a cluster", least=1, most=MOST_WORKERS
    )
    sharded: bool = entry(False, "flag", "part weights and optimiser over the workers, for networks too large for one")
    joint_norm: bool = entry(False, "flag", "normalise over the batches of all workers together, not over each part")
    engine: str = entry("auto", "choice", "what computes the steps; auto = what is fastest here", choices=ENGINES)
    switch_engine: str = entry(
        "", "text", "engine that goes on after so many steps of the run, as ENGINE@STEP; empty = the same to the end"
    )
    precision: str = entry(
        AS_DRAWN, "choice", "numbers that the forward pass computes in; weights stay as drawn", choices=PRECISIONS
    )
    recompute: tuple[str, ...] = entry(
        (),
        "texts",
        "groups whose values are not kept but computed again on the way back, to need less memory; all = each",
    )
    pretrain: int = entry(
        0,
        "whole",
        "epochs of layer-wise pre-training of each layer, before the first step; 0 = off",
        least=0,
        most=10_000,
    )
    checkpoint: float = entry(
        60.0,
        "number",
        "most seconds between two checkpoints, and one after each epoch; 0 = only at the end",
        least=0,
        most=1e6,
    )
    signals: bool = entry(False, "flag", "record what each capsule and connection does, and the weights, by epoch")

    def __post_init__(self) -> None:
        _check_declared(self, "recipe")
        check_engines(self.engine, self.switch_engine, self.precision)
        parts: tuple[tuple[str, type], ...] = (
            ("data", DataSpec),
            ("optimiser", OptimiserSpec),
            ("schedule", ScheduleSpec),
        )
        for name, record in parts:
            if not isinstance(getattr(self, name), record):
                raise RecipeError(f"{name}: {show(getattr(self, name))} is not a {record.__name__}.")
        losses = cast("tuple[object, ...]", tuple(self.losses))
        for index, loss in enumerate(losses):
            if not isinstance(loss, LossSpec):
                raise RecipeError(f"losses[{index}]: {show(loss)} is not a LossSpec.")
        object.__setattr__(self, "losses", losses)
        outputs = [loss.output for loss in self.losses]
        for output in outputs:
            if outputs.count(output) > 1:
                raise RecipeError(f"losses: the output {output!r} has {outputs.count(output)} losses; give one.")
        if "" in outputs and len(outputs) > 1:
            raise RecipeError("losses: with several losses each one has to name its output.")
        if self.losses and all(loss.weight == 0 for loss in self.losses):
            raise RecipeError("losses: every weight is 0, so nothing could be learnt; give one above 0.")


def check_shares(batch: int, workers: int) -> None:
    """Refuse a batch of which not every worker gets a sample."""
    if batch < workers:
        raise RecipeError(
            f"recipe.batch: {workers} workers cannot share a batch of {batch}; give a batch of at least {workers}, or "
            "fewer workers."
        )


def complete_losses(recipe: Recipe, targets: Mapping[str, str], usual: Mapping[str, str] | None = None) -> Recipe:
    """Give the recipe with one loss for each output.

    `targets` maps each output, in the order of the drawing, to what its target holds: "classes", "bits" (yes or no
    for each neuron), "numbers", "neighbours" (classes of places on a sphere), "boxes" or "instances". Cross-entropy is
    chosen for classes, its binary form for bits, the mean squared error for numbers, triplets for neighbours. `usual`
    names the loss of outputs whose symbol has another. When some losses are given, outputs without one are an error
    rather than a guess.
    """
    outputs = list(targets)
    given = {loss.output: loss for loss in recipe.losses}
    if "" in given:
        if len(outputs) != 1:
            raise RecipeError(f"losses: the drawing has {len(outputs)} outputs ({', '.join(outputs)}); name one each.")
        given = {outputs[0]: replace(given[""], output=outputs[0])}
    for output in given:
        if output not in targets:
            raise RecipeError(f"losses: the drawing has no output {output!r}; its outputs are {', '.join(outputs)}.")
    missing = [output for output in outputs if output not in given]
    if given and missing:
        raise RecipeError(
            f"losses: no loss for {', '.join(missing)}; give one for each output (weight 0 to ignore it)."
        )
    losses: list[LossSpec] = []
    for output in outputs:
        loss = given.get(output, LossSpec(output=output))
        if loss.kind == "auto":
            own = (usual or {}).get(output) if targets[output] in ("classes", "boxes") else None
            loss = replace(loss, kind=own or _USUAL_LOSSES[targets[output]])
        losses.append(loss)
    return replace(recipe, losses=tuple(losses))


FEW_PARAMETERS = 1000
LARGEST_RAISED_RATE = 0.1
LEAST_STEPS = 1500
USUAL_EPOCHS = 20


def complete_pace(recipe: Recipe, parameters: int, samples: int) -> Recipe:
    """Choose the rate and the epochs where the recipe leaves them open, from the network's size and the data's.

    Few samples make few steps an epoch, so there are more epochs; very small networks bear, and need, larger steps.
    """
    optimiser = recipe.optimiser
    if optimiser.rate == 0:
        usual = OPTIMISERS[optimiser.kind].usual_rate
        small = parameters < FEW_PARAMETERS and usual < LARGEST_RAISED_RATE
        optimiser = replace(optimiser, rate=usual * 10 if small else usual)
    steps = -(-samples // recipe.batch)
    epochs = recipe.epochs or max(USUAL_EPOCHS, -(-LEAST_STEPS // max(steps, 1)))
    return replace(recipe, optimiser=optimiser, epochs=epochs)


def monitored(recipe: Recipe, measured: Collection[str]) -> str:
    """Give the name of the value that decides what is better, of those that are measured.

    The default is the loss: it moves where accuracy, which counts whole samples, stands still.
    """
    monitor = "loss" if recipe.monitor == "auto" else recipe.monitor
    if monitor not in ("loss", *measured):
        raise RecipeError(
            f"recipe.monitor: {monitor} ({MEASURES[monitor].help}) is not measured of these outputs; "
            f"give {' or '.join(('loss', *measured))}."
        )
    return monitor
