"""How much memory a training needs, told before it starts: weights, gradients, the optimiser and one batch.

Nothing here needs the engine: the studio tells it before anything is built.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass
from pathlib import Path

from inkcap.network import Network, Report, as_plain, structure_of
from inkcap.program import fullest_moment, lower_to_layers, lower_to_steps
from inkcap.recipes import Recipe
from inkcap.structures import BYTES
from inkcap.training.recomputing import parts_in, places_of

REMEMBERED = {"momentum": 1, "nesterov": 1, "adagrad": 1, "adadelta": 2, "rmsprop": 1, "amsgrad": 3, "sgd": 0}
"""How many numbers an optimiser remembers for each weight; the kinds that are not here take two."""

_IN_PLACE = ("sgd", "momentum", "nesterov", "adagrad", "adam", "adamw", "amsgrad")
"""Optimisers that walk over all weights in one call, and need nothing beside."""
_UNCOUNTED = ("sgd", "momentum", "nesterov")
"""Optimisers that do not count their steps, which others do for each weight in four bytes."""
_OF_CLASSES = ("cross-entropy", "margin", "spread", "triplet")
"""Losses whose targets are class numbers."""

_CGROUP = Path("/sys/fs/cgroup")
_MEMINFO = Path("/proc/meminfo")
_FULL = ("allocate memory", "out of memory", "not enough memory", "Unable to allocate")


def is_shortage(problem: BaseException) -> bool:
    """Tell whether something went wrong because there was too little memory."""
    return isinstance(problem, MemoryError) or any(words in str(problem) for words in _FULL)


@dataclass(frozen=True)
class Needs:
    """An estimate of the fullest moment of a step, in bytes, as the eager engine has it, which keeps most.

    It leaves out what torch and Python take themselves, the data, and what kernels need for a moment inside.
    """

    weights: int
    """Weights, states, and those gradients of weights that are there."""
    optimiser: int
    activations: int
    """Everything that grows with the batch: the batch itself, values that are kept, and their gradients."""
    batch: int
    available: int | None

    @property
    def total(self) -> int:
        """All of it."""
        return self.weights + self.optimiser + self.activations

    def sizes(self) -> str:
        """Say what needs how much."""
        return (
            f"about {shown(self.total)}: weights and gradients {shown(self.weights)}, optimiser "
            f"{shown(self.optimiser)}, a batch of {self.batch} {shown(self.activations)}"
        )

    def warning(self) -> str:
        """Say that it may not fit, or nothing."""
        if self.available is None or self.total <= self.available:
            return ""
        return (
            f"The training needs {self.sizes()}; {shown(self.available)} of memory are free. Give a smaller batch, or "
            "draw fewer neurons."
        )

    def failure(self, problem: BaseException) -> str:
        """Say that the memory was not enough, where that is what went wrong."""
        if not is_shortage(problem):
            return ""
        free = "" if self.available is None else f"; {shown(self.available)} were free at the start"
        return f"out of memory; the training needs {self.sizes()}{free}; give a smaller batch, or draw fewer neurons"


def estimate_before(report: Report, recipe: Recipe, learning: Collection[str] | None = None) -> Needs:
    """Estimate from the drawing and the recipe alone; weights without a name among those that learn stay as they are.

    Without names all weights learn that can. Where the drawing is no network yet, what is known of it is summed up.
    """
    network = as_plain(report.network) if report.well_formed else None
    if network is None or network.plain is not None:
        return _summed_up(report, recipe)
    records = {**network.weights, **network.states}
    names = [r.name for r in network.weights.values() if r.trainable and (learning is None or r.name in learning)]
    learnt = [network.weights[name].structure for name in names]
    # Weights of 16 bits have a copy of 32 beside them, on which the optimiser works.
    numbers = [max(BYTES[s.dtype], 4) * s.elements for s in learnt]
    wide = sum(4 * s.elements for s in learnt if BYTES[s.dtype] < 4)
    kind = recipe.optimiser.kind
    moment = fullest_moment(
        lower_to_layers(lower_to_steps(network, training=True), _returned(network, recipe)),
        recipe.batch,
        names,
        targets=recipe.batch * _target_bytes(network, recipe),
        update=sum(numbers) - sum(s.bytes for s in learnt) + (0 if kind in _IN_PLACE else 2 * max(numbers, default=0)),
        lasting="mean-squared-error" in _kinds(network, recipe).values(),
        recomputed=parts_in(network.capsules, _places(report, recipe)),
    )
    return Needs(
        weights=sum(record.structure.bytes for record in records.values()) + moment.gradients,
        optimiser=wide + sum(numbers) * _remembered(recipe) + (0 if kind in _UNCOUNTED else 4 * len(names)),
        activations=moment.values,
        batch=recipe.batch,
        available=available_memory(),
    )


def _remembered(recipe: Recipe) -> int:
    """Count the numbers that the optimiser remembers of each weight."""
    options = recipe.optimiser.options
    more = sum(bool(options.get(name)) for name in ("centred", "momentum")) if recipe.optimiser.kind == "rmsprop" else 0
    return REMEMBERED.get(recipe.optimiser.kind, 2) + more


def _places(report: Report, recipe: Recipe) -> tuple[str, ...]:
    return places_of(report.drawn or report.drawing, recipe.recompute) if recipe.recompute else ()


def _kinds(network: Network, recipe: Recipe) -> dict[str, str]:
    """Tell the loss of each output; where the recipe leaves it open, the one that its symbol is made for."""
    given = {loss.output: loss.kind for loss in recipe.losses if loss.kind != "auto"}
    only = given.get("") if len(network.outputs) == 1 else None
    return {
        id: given.get(id) or only or network.capsules[id].record.loss_from_input or "mean-squared-error"
        for id in network.outputs
    }


def _returned(network: Network, recipe: Recipe) -> dict[str, str]:
    kinds = _kinds(network, recipe)
    return {id: "U" for id in network.outputs if kinds[id] == network.capsules[id].record.loss_from_input}


def _target_bytes(network: Network, recipe: Recipe) -> int:
    """Give the bytes of a sample's targets: class numbers, of which there is one a position, or numbers."""
    found = 0
    for id, kind in _kinds(network, recipe).items():
        output = structure_of(network.capsules[id])
        last = network.capsules[id].record.classes_last
        classes = (output.sizes[-1 if last else 0] if output.sizes else 1) if kind in _OF_CLASSES else 0
        found += 8 * output.elements // classes if classes else output.bytes
    return found


def _summed_up(report: Report, recipe: Recipe) -> Needs:
    """Estimate from the sizes alone: every output, and a gradient of its size; all weights learn."""
    outputs = [capsule.output for capsule in report.capsules.values() if capsule.output is not None]
    size = max((BYTES[output.dtype] for output in outputs), default=4)
    numbers = report.parameters * max(size, 4)
    neurons = 4 * report.plain.neurons if report.plain is not None else 0
    return Needs(
        weights=2 * report.parameters * size,
        optimiser=(numbers if size < 4 else 0) + numbers * _remembered(recipe),
        activations=2 * (sum(output.bytes for output in outputs) + neurons) * recipe.batch,
        batch=recipe.batch,
        available=available_memory(),
    )


def available_memory() -> int | None:
    """Give the bytes that can still be had, as far as the platform tells: of the machine and of the process's group."""
    found = [amount for amount in (_of_machine(), _of_group()) if amount is not None]
    return min(found) if found else None


def _of_machine() -> int | None:
    try:
        for line in _MEMINFO.read_text().splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except (OSError, ValueError, IndexError):
        pass
    try:
        return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, ValueError, OSError):
        return None


def _of_group() -> int | None:
    for most, used in (
        ("memory.max", "memory.current"),
        ("memory/memory.limit_in_bytes", "memory/memory.usage_in_bytes"),
    ):
        try:
            return max(int((_CGROUP / most).read_text()) - int((_CGROUP / used).read_text()), 0)
        except (OSError, ValueError):
            continue
    return None


def shown(count: int) -> str:
    """Write a number of bytes for a person."""
    amount = float(count)
    for unit in ("B", "kB", "MB"):
        if amount < 1000:
            return f"{amount:.0f} {unit}" if unit == "B" else f"{amount:.1f} {unit}"
        amount /= 1000
    return f"{amount:.1f} GB"
