"""What training on many workers would cost, on paper: a small cost model over the drawing's own numbers.

Nothing is trained and nothing here needs the engine. The model, for W workers that share a batch of B samples:

- computing: 2 operations a multiply-add, 3 passes (forwards, and back to the values and to the weights), for the
  worker that has most samples, ⌈B/W⌉, by the worker's rate;
- exchanging: G bytes of gradients go around a ring in U buckets, 2(W−1)/W · G by the link and 2(W−1) latencies a
  bucket; sharded, the weights S are gathered twice and the gradients scattered once in U units, (W−1)/W · (2S + G) by
  the link and 3(W−1) latencies a unit;
- hiding: a bucket leaves while the next is computed, so of U all but the last may hide, behind as large a share of the
  way back, which is two thirds of computing; sharded, of all computing;
- agreeing: a few bytes go around once more after every step, 2(W−1) latencies: the loss, and who wants to stop.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from inkcap.network import Report
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe
from inkcap.recipes.record import MOST_WORKERS
from inkcap.structures.errors import InkcapError
from inkcap.training.needs import Needs, estimate_before

USUAL_WORKERS = (1, 2, 8, 64, 512)
OPERATIONS = 2
"""Floating-point operations of a multiply-add."""
PASSES = 3
"""Passes of a step, each of as many multiply-adds: forwards, back to the values, back to the weights."""
BACK = 2 / 3
"""The share of computing during which gradients of weights come."""
BUCKET = 25 * 2**20
"""Bytes of gradients that are sent together, as PyTorch's data-parallel training does."""
APART = 1 << 14
"""Weights of so many numbers are gathered by themselves where they are sharded; smaller ones together."""


class PlanError(InkcapError):
    """A plan that cannot be made, and what to give instead."""


@dataclass(frozen=True)
class Place:
    """Where it would be trained: what a worker computes, the link between workers, and the store of checkpoints."""

    rate: float
    """Floating-point operations a second that a worker reaches in training, not those that its maker promises."""
    link: float
    """Bytes a second that a worker can send while it receives as many."""
    latency: float
    """Seconds that the smallest message takes."""
    store: float
    """Bytes a second at which a checkpoint is written."""


@dataclass(frozen=True)
class Load:
    """What a drawing asks for in training, whoever trains it."""

    name: str
    parameters: int
    multiply_adds: int
    """Of one sample, forwards."""
    gradients: int
    """Bytes of the gradients of all weights that learn, each in its own type."""
    weights: int
    """Bytes of all weights, frozen ones too."""
    stored: int
    """Bytes of weights and states."""
    checkpoint: int
    """Bytes of a checkpoint: weights and states as they stand and at their best, and what the optimiser remembers."""

    units: int
    """Parts in which sharded weights are gathered."""

    def parts(self, *, sharded: bool) -> int:
        """Count the parts that are exchanged one after another: buckets of gradients, or units of weights."""
        return self.units if sharded else max(1, -(-self.gradients // BUCKET))

    def seconds(self, samples: int, rate: float) -> float:
        """Give the time in which a worker computes a step of so many samples."""
        return OPERATIONS * PASSES * self.multiply_adds * samples / rate


@dataclass(frozen=True)
class Line:
    """What a step costs with so many workers; times are in seconds, sizes in bytes."""

    workers: int
    batch: int
    """Samples of a step, over all workers."""
    share: int
    """Samples of the worker that has most."""
    computing: float
    exchanged: int
    """What each worker sends in a step."""
    exchanging: float
    waiting: float
    """What of it does not hide behind computing."""
    memory: int
    """Of one worker, at the fullest moment of a step."""
    saving: float
    """Writing a checkpoint, which goes on beside the steps."""
    efficiency: float
    """Samples a second, as a share of those that so many workers would reach that need not wait for each other."""
    epoch: float | None
    """One pass over the samples, where their number is known."""

    @property
    def step(self) -> float:
        """A whole step."""
        return self.computing + self.waiting

    @property
    def throughput(self) -> float:
        """Samples a second of all workers."""
        return self.batch / self.step


@dataclass(frozen=True)
class Question:
    """What is asked of a drawing: so many workers, their batch, and how they share the training."""

    workers: int = 1
    batch: int = 64
    each: bool = False
    """Whether the batch is that of every worker, and grows with them (weak scaling), or of all (strong scaling)."""
    samples: int | None = None
    """Samples of an epoch."""
    optimiser: str = "adam"
    sharded: bool = False
    hidden: bool = True
    """Whether exchanging may hide behind computing."""


@dataclass(frozen=True)
class Plan:
    """The costs of a drawing's training for several numbers of workers."""

    load: Load
    place: Place
    asked: Question
    lines: tuple[Line, ...]
    left_out: tuple[int, ...]
    """Usual numbers of workers that the batch is too small for."""


def make_plan(report: Report, place: Place, asked: Question) -> Plan:
    """Count what a training would cost, for the usual numbers of workers and the one that is asked for."""
    if not 1 <= asked.workers <= MOST_WORKERS:
        raise PlanError(f"--workers {asked.workers}: give 1 to {MOST_WORKERS} workers")
    if asked.batch < 1 or (asked.samples is not None and asked.samples < 1):
        raise PlanError("a batch and an epoch have at least 1 sample")
    if not asked.each and asked.workers > asked.batch:
        raise PlanError(
            f"--workers {asked.workers}: a batch of {asked.batch} has no sample for each of them; give --batch "
            f"{asked.workers} or more, or --batch-each for a batch that grows with the workers"
        )
    recipe = Recipe(DataSpec("any"), optimiser=OptimiserSpec(asked.optimiser), sharded=asked.sharded)
    load = load_of(report, recipe)
    counts = sorted({*USUAL_WORKERS, asked.workers})
    fitting = [count for count in counts if asked.each or count <= asked.batch]
    shares = {n: asked.batch if asked.each else -(-asked.batch // n) for n in fitting}
    recipes = [replace(recipe, batch=share, workers=n) for n, share in shares.items()]
    lines = tuple(_line(report, load, place, asked, own) for own in recipes)
    missing = tuple(count for count in counts if count not in fitting)
    return Plan(load, place, asked, lines, missing)


def load_of(report: Report, recipe: Recipe) -> Load:
    """Count what a drawing asks for; one with errors, or with nothing to learn, is refused."""
    network, name = report.network, report.drawing.name
    learning = [weight.structure for weight in network.weights.values() if weight.trainable]
    if not sum(structure.elements for structure in learning):
        raise PlanError(f"{name}: none of its weights learns, so there is nothing to share between workers")
    if not report.multiply_adds:
        raise PlanError(f"{name}: it has no multiply-adds, so nothing tells how long a step computes")
    if network.plain is not None:
        raise PlanError(f"{name}: neurons in columns learn in one process, by kernels of their own; plan capsules")
    weights = [weight.structure for weight in network.weights.values()]
    stored = sum(structure.bytes for structure in weights) + sum(
        state.structure.bytes for state in network.states.values()
    )
    return Load(
        name=name,
        parameters=report.parameters,
        multiply_adds=report.multiply_adds,
        gradients=sum(structure.bytes for structure in learning),
        weights=sum(structure.bytes for structure in weights),
        stored=stored,
        checkpoint=2 * stored + estimate_before(report, replace(recipe, batch=1)).optimiser,
        units=1 + sum(structure.elements >= APART for structure in weights),
    )


def _line(report: Report, load: Load, place: Place, asked: Question, recipe: Recipe) -> Line:
    workers, share = recipe.workers, recipe.batch
    batch = share * workers if asked.each else asked.batch
    moving = exchange_seconds(load, place, workers, sharded=asked.sharded)
    agreeing = 2 * (workers - 1) * place.latency

    def step(samples: int) -> tuple[float, float]:
        """Give how long a worker computes for so many samples, and how long it waits for the others."""
        computing = load.seconds(samples, place.rate)
        hidden = _hidden(load, computing, moving, asked.sharded) if asked.hidden else 0.0
        return computing, moving - hidden + agreeing

    computing, waiting = step(share)
    epoch = None
    if asked.samples is not None:
        whole, rest = divmod(asked.samples, batch)
        epoch = whole * (computing + waiting) + (sum(step(-(-rest // workers))) if rest else 0.0)
    return Line(
        workers=workers,
        batch=batch,
        share=share,
        computing=computing,
        exchanged=sent_bytes(load, workers, sharded=asked.sharded),
        exchanging=moving + agreeing,
        waiting=waiting,
        memory=_needs(report, recipe).total,
        saving=_saving(load, place, workers, asked.sharded),
        efficiency=load.seconds(batch, place.rate) / workers / (computing + waiting),
        epoch=epoch,
    )


def sent_bytes(load: Load, workers: int, *, sharded: bool) -> int:
    """Give what each worker sends in a step, rounded up to a byte."""
    around = 2 * load.weights + load.gradients if sharded else 2 * load.gradients
    return -(-around * (workers - 1) // workers)


def exchange_seconds(load: Load, place: Place, workers: int, *, sharded: bool) -> float:
    """Give the time in which gradients, or sharded weights and gradients, move, where nothing else is done."""
    turns = (3 if sharded else 2) * (workers - 1) * load.parts(sharded=sharded)
    return sent_bytes(load, workers, sharded=sharded) / place.link + turns * place.latency


def _hidden(load: Load, computing: float, moving: float, sharded: bool) -> float:
    parts = load.parts(sharded=sharded)
    return (parts - 1) / parts * min(moving, computing if sharded else BACK * computing)


def worker_needs(report: Report, recipe: Recipe) -> Needs:
    """Estimate what each worker of a recipe needs for its share of the batch.

    Alone it is as ever; else the gradients are there once more, to be sent; sharded, a part of what is stored, and
    whole the small weights and the two largest: one in use, and one that comes next.
    """
    return _needs(report, replace(recipe, batch=-(-recipe.batch // recipe.workers)))


def _needs(report: Report, recipe: Recipe) -> Needs:
    """Estimate what a worker needs where the recipe's batch is its own."""
    workers, weights = recipe.workers, report.weights.values()
    needs = estimate_before(report, recipe)
    if workers == 1:
        return needs
    if not recipe.sharded:
        return replace(needs, weights=needs.weights + sum(w.structure.bytes for w in weights if w.trainable))
    large = [weight.structure.bytes for weight in weights if weight.structure.elements >= APART]
    small = sum(weight.structure.bytes for weight in weights) - sum(large)
    whole = small + sum(sorted(large)[-2:])
    return replace(needs, weights=-(-needs.weights // workers) + whole, optimiser=-(-needs.optimiser // workers))


def _saving(load: Load, place: Place, workers: int, sharded: bool) -> float:
    """Give the time of a checkpoint, which one worker writes; sharded, it has to get the parts of the others first."""
    gathered = (load.checkpoint - load.stored) * (workers - 1) / workers / place.link if sharded else 0.0
    return gathered + load.checkpoint / place.store
