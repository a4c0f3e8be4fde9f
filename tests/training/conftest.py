"""A small course of training on a module made by hand, so that the loop is tested without the engine."""

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec, Recipe
from inkcap.training.batches import Batches
from inkcap.training.events import EpochEvent, Listener, StepEvent
from inkcap.training.facts import CapsuleFacts, NetworkFacts
from inkcap.training.losses import total_loss
from inkcap.training.scores import make_scores
from inkcap.training.session import Course
from inkcap.training.stopping import StopRequest


@dataclass
class Kept:
    """Keeps everything in memory."""

    steps: list[tuple[int, int, dict[str, float]]] = field(default_factory=list)
    epochs: list[tuple[int, int, dict[str, float], bool]] = field(default_factory=list)

    def step(self, epoch: int, step: int, values: Any) -> None:
        self.steps.append((epoch, step, dict(values)))

    def epoch(self, epoch: int, step: int, values: Any, best: bool) -> None:
        self.epochs.append((epoch, step, dict(values), best))

    def pace(self, pace: Any) -> None:
        """Keep nothing of it."""


@dataclass
class Heard(Listener):
    """Remembers what it heard."""

    steps: list[StepEvent] = field(default_factory=list)
    epochs: list[EpochEvent] = field(default_factory=list)

    def on_step(self, event: StepEvent) -> None:
        self.steps.append(event)

    def on_epoch(self, event: EpochEvent) -> None:
        self.epochs.append(event)


def _data(samples: int = 96) -> tuple[Tensor, Tensor]:
    random = np.random.default_rng(0)
    x = random.normal(size=(samples, 4)).astype(np.float32)
    y = (x[:, 0] + 2 * x[:, 1] > 0).astype(np.int64) + (x[:, 2] > 1)
    return torch.from_numpy(x), torch.from_numpy(y)


@pytest.fixture
def make_course() -> Callable[..., Course]:
    """Make a course of 96 samples of 4 numbers in 3 classes, a third of them for validation."""

    def make(module: torch.nn.Module | None = None, **changes: Any) -> Course:
        torch.manual_seed(3)
        own = module or torch.nn.Sequential(torch.nn.Linear(4, 8), torch.nn.Tanh(), torch.nn.Linear(8, 3))
        settings = {"optimiser": OptimiserSpec("adam", 0.05), "batch": 16, "epochs": 5, "monitor": "loss"} | changes
        recipe = Recipe(DataSpec("toy"), losses=(LossSpec("h", "cross-entropy"),), **settings)
        facts = NetworkFacts((CapsuleFacts("x", "identical", (4,)),), (CapsuleFacts("h", "softmax", (3,)),))
        x, y = _data()
        cpu = torch.device("cpu")
        validation = Batches((x[64:],), (y[64:],), 16, cpu) if recipe.validation else None

        def order(epoch: int) -> Tensor:
            return torch.from_numpy(np.random.default_rng(epoch).permutation(64))

        return Course(
            module=own,
            parameters=list(own.parameters()),
            loss=total_loss(facts, recipe),
            scores=lambda: make_scores(facts, recipe, {"h": "classes"}),
            training=Batches((x[:64],), (y[:64],), recipe.batch, cpu),
            validation=validation,
            order=order,
            recipe=recipe,
            monitor=recipe.monitor,
            keeper=Kept(),
            listener=Heard(),
            stop=StopRequest(),
        )

    return make
