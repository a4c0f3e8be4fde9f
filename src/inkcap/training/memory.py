"""How much memory a training needs whose module is built: what learns is known weight by weight."""

from __future__ import annotations

from collections.abc import Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from inkcap.network import Report
from inkcap.recipes import Recipe
from inkcap.structures.errors import RunFailure
from inkcap.training.needs import Needs, estimate_before

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
    """Estimate what a training needs, from the drawing and the recipe, where it is known what learns."""
    from inkcap.engine import named_weights

    learnt = {id(parameter) for parameter in learning}
    return estimate_before(report, recipe, [n for n, weight in named_weights(module).items() if id(weight) in learnt])
