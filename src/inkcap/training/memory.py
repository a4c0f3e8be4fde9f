"""How much memory a training needs whose module is built: what learns is known weight by weight."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from inkcap.network import Report
from inkcap.recipes import Recipe
from inkcap.structures.errors import RunFailure
from inkcap.training.needs import REMEMBERED, Needs, available_memory, estimate_before, outputs_of

if TYPE_CHECKING:
    import torch


@contextmanager
def telling_of_shortage(name: str, report: Report, recipe: Recipe) -> Generator[None]:
    """Let what gets no memory while it is built end with one sentence, as a training does."""
    try:
        yield
    except (RuntimeError, MemoryError) as problem:
        words = estimate_before(report, recipe).failure(problem)
        if not words:
            raise
        raise RunFailure(f"{name}: {words}.") from None


def estimate(report: Report, recipe: Recipe, learning: Sequence[torch.nn.Parameter], module: torch.nn.Module) -> Needs:
    """Estimate what a training needs, from the structures of the drawing and the recipe."""
    learnt = sum(parameter.numel() * parameter.element_size() for parameter in learning)
    whole = sum(value.numel() * value.element_size() for value in (*module.parameters(), *module.buffers()))
    # Weights of 16 bits have a copy of 32 beside them, on which the optimiser works.
    wide = sum(4 * parameter.numel() for parameter in learning if parameter.element_size() < 4)
    numbers = sum(max(parameter.element_size(), 4) * parameter.numel() for parameter in learning)
    return Needs(
        weights=whole + learnt,
        optimiser=wide + numbers * REMEMBERED.get(recipe.optimiser.kind, 2),
        # Every output is kept for the way back, where a gradient of its size joins it.
        activations=2 * outputs_of(report) * recipe.batch,
        batch=recipe.batch,
        available=available_memory(),
    )
