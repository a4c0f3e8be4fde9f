"""How much memory a training needs, told before it starts: weights, gradients, the optimiser and one batch.

Nothing here needs the engine: the studio tells it before anything is built.
"""

import os
from dataclasses import dataclass
from pathlib import Path

from inkcap.network import Report
from inkcap.recipes import Recipe

REMEMBERED = {"momentum": 1, "nesterov": 1, "adagrad": 1, "adadelta": 2, "rmsprop": 1, "amsgrad": 3, "sgd": 0}
"""How many numbers an optimiser remembers for each weight; the kinds that are not here take two."""

_CGROUP = Path("/sys/fs/cgroup")
_MEMINFO = Path("/proc/meminfo")
_FULL = ("allocate memory", "out of memory", "not enough memory", "Unable to allocate")


@dataclass(frozen=True)
class Needs:
    """An estimate, in bytes; it leaves out what torch and Python take themselves, and the data."""

    weights: int
    optimiser: int
    activations: int
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
        if not isinstance(problem, MemoryError) and not any(words in str(problem) for words in _FULL):
            return ""
        free = "" if self.available is None else f"; {shown(self.available)} were free at the start"
        return f"out of memory; the training needs {self.sizes()}{free}; give a smaller batch, or draw fewer neurons"


def estimate_before(report: Report, recipe: Recipe) -> Needs:
    """Estimate from the drawing and the recipe alone, as if all weights learnt, in the drawing's own type."""
    size = max((c.output.bytes // max(c.output.elements, 1) for c in report.capsules.values() if c.output), default=4)
    weights = report.parameters * size
    numbers = report.parameters * max(size, 4)
    remembered = REMEMBERED.get(recipe.optimiser.kind, 2)
    return Needs(
        weights=2 * weights,
        optimiser=(numbers if size < 4 else 0) + numbers * remembered,
        activations=2 * outputs_of(report) * recipe.batch,
        batch=recipe.batch,
        available=available_memory(),
    )


def outputs_of(report: Report) -> int:
    """Give the bytes of all outputs for one sample."""
    outputs = sum(capsule.output.bytes for capsule in report.capsules.values() if capsule.output is not None)
    return outputs + (4 * report.plain.neurons if report.plain is not None else 0)


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
