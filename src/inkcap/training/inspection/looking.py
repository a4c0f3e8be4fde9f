"""A run opened to be looked into: its modules with the weights of an epoch, its data, and one pass that is watched."""

from collections.abc import Callable, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any, Literal, TypeVar

import torch
from torch import Tensor, nn

from inkcap.engine import build, load_weights
from inkcap.engine.inference import USUAL_BATCH, WORTH_FREEZING, Answerer, freeze_module
from inkcap.network import Network
from inkcap.recipes import Recipe, RunFolder, layout
from inkcap.recipes.epochs import weights_by_epoch
from inkcap.training.data import Augmentation, Dataset
from inkcap.training.errors import TrainingError
from inkcap.training.evaluation import own_split
from inkcap.training.facts import NetworkFacts
from inkcap.training.frames import read_frame_weights
from inkcap.training.losses import wanted_returns
from inkcap.training.material import fitted, load_for, make_batches
from inkcap.training.opened import OpenedRun, open_untrained
from inkcap.training.passes import Passed, WatchedPass
from inkcap.training.scores import outputs_of
from inkcap.training.weights import read_weights

PartName = Literal["training", "validation", "test"]
_Made = TypeVar("_Made")
PARTS: tuple[PartName, ...] = ("training", "validation", "test")

MOST_WEIGHTS = 200_000_000
"""Networks with more are not looked into: an answer would take minutes and all memory."""
_MOST_FROZEN = 50_000_000
"""Networks with more weights answer as they are: to freeze them takes as long as some answers, and their memory."""
_MOST_BYTES = 512 * 10**6
"""What the fixed batch may take; of a larger one the first samples are measured."""


class Looking:
    """A run that is looked into: at one epoch at a time, with everything that does not depend on it kept."""

    def __init__(self, run: RunFolder | Path | str) -> None:
        """Open a run; nothing of its data is loaded yet."""
        self.folder = run if isinstance(run, RunFolder) else RunFolder.open(run)
        self.opened: OpenedRun = open_untrained(self.folder)
        numbers = sum(value.numel() for value in self.opened.module.parameters())
        if numbers > MOST_WEIGHTS:
            raise TrainingError(
                f"{self.folder.id} has {numbers / 1e6:.0f} million weights; networks of more than "
                f"{MOST_WEIGHTS // 10**6} million are not looked into, ask it with 'inkcap predict'."
            )
        returns = wanted_returns(self.facts, self.recipe)
        whole = "U" not in returns.values()
        self.scoring = self.opened.module if whole else build(self.network, dict(returns)).eval()
        """The module whose outputs are what the losses are computed from."""
        self._loaded: tuple[int, str] | None = None
        self._passed: tuple[tuple[int, str], Passed] | None = None
        self._kept: dict[str, tuple[object, Any]] = {}

    @property
    def network(self) -> Network:
        """The network that was trained."""
        return self.opened.network

    @property
    def facts(self) -> NetworkFacts:
        """Its inputs and outputs."""
        return self.opened.facts

    @property
    def recipe(self) -> Recipe:
        """How it was trained."""
        return self.opened.recipe

    def epochs(self) -> dict[int, Path]:
        """Give the epochs whose weights are there; a run that goes on gets more of them."""
        return weights_by_epoch(RunFolder.open(self.folder.path))

    def at(self, epoch: int | None) -> int:
        """Load the weights of an epoch, or the newest that there are; give the epoch."""
        found = self.epochs()
        if not found:
            run = RunFolder.open(self.folder.path)
            what = "wait for its first epoch" if run.record.state in ("created", "running") else "train it again"
            extra = "" if self.recipe.signals else " (a run without signals has some at its end alone)"
            raise TrainingError(f"{run.id} is {run.record.state} and has no weights to look at{extra}; {what}.")
        chosen = max(found) if epoch is None else epoch
        if chosen not in found:
            raise TrainingError(
                f"{self.folder.id}: the weights after epoch {chosen} are not kept; choose one of {_few(found)}."
            )
        path = found[chosen]
        key = (chosen, self._mark(path))
        if self._loaded != key:
            weights = self._read(path)
            self._loaded = None
            for module in {id(m): m for m in (self.opened.module, self.scoring)}.values():
                load_weights(module, weights)
            self._loaded = key
        return chosen

    def _mark(self, path: Path) -> str:
        """Give what tells a file of weights apart from another: a frame has its check sum in its name."""
        if path.parent.name == layout.FRAMES:
            return path.name
        record = RunFolder.open(self.folder.path).record
        return record.best_sha256 if path.name == layout.BEST else record.weights_sha256

    def _read(self, path: Path) -> dict[str, Tensor]:
        if path.parent.name == layout.FRAMES:
            return read_frame_weights(path)
        run = RunFolder.open(self.folder.path)
        return read_weights(run.weights_file("best" if path.name == layout.BEST else "last"))

    @cached_property
    def _dataset(self) -> Dataset:
        return load_for(self.recipe.data, self.facts, self.opened.workspace, losses=self.recipe.losses)[0]

    @cached_property
    def _parts(self) -> dict[str, Dataset]:
        train, held_out = own_split(self.opened, self._dataset)
        found = {"training": self._dataset.subset(train)}
        if len(held_out):
            found["validation"] = self._dataset.subset(held_out)
        if self._dataset.test is not None:
            found["test"] = self._dataset.test
        return found

    def part(self, name: str) -> Dataset:
        """Give a part of the run's data."""
        if name not in PARTS:
            raise TrainingError(f"there is no part {name!r} of the data; give one of {', '.join(PARTS)}.")
        if name not in self._parts:
            raise TrainingError(
                f"{self.folder.id}: its data {self._dataset.name} have no {name} part; "
                f"choose one of {', '.join(self._parts)}."
            )
        return self._parts[name]

    @cached_property
    def watched(self) -> WatchedPass:
        """The pass that gives Y, δ and gradients of everything."""
        if self.network.plain is not None:
            raise TrainingError(
                f"{self.folder.id}: neurons run in columns, which give nothing of single ones; draw capsules, "
                "'inkcap contract' makes them."
            )
        return WatchedPass(self.network, self.opened.module, self.facts, self.recipe)

    @cached_property
    def _batch(self) -> tuple[tuple[Tensor, ...], tuple[Tensor, ...]]:
        """The fixed batch, the same that the signals are measured on, as far as it is not too large."""
        each = sum(self.watched.bytes_of(id, 1) - self.watched.bytes_of(id, 0) for id in self.network.capsules)
        training = self.part("training")
        count = min(self.recipe.batch, len(training), max(1, _MOST_BYTES // max(each, 1)))
        augmentation = Augmentation.parse(self.recipe.data.augment)
        first = training.subset(range(count))
        fit = fitted(training, self.facts, self.recipe)
        here, preparation = torch.device("cpu"), self.opened.preparation
        made = make_batches(first, self.facts, fit, preparation, self.recipe, here, augmentation or None)
        return next(made.in_order())

    def passed(self) -> Passed:
        """Let the fixed batch pass with the weights that are loaded."""
        assert self._loaded is not None
        if self._passed is None or self._passed[0] != self._loaded:
            self._passed = None
            inputs, targets = self._batch
            self._passed = (self._loaded, self.watched.run(inputs, targets))
        return self._passed[1]

    def answer(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Give the outputs for some samples with the weights that are loaded."""
        return self._asked("answers", self.opened.module, None, inputs)

    def score(self, inputs: Sequence[Tensor]) -> tuple[Tensor, ...]:
        """Give what the losses are computed from, for some samples with the weights that are loaded."""
        if self.scoring is self.opened.module:
            return self.answer(inputs)
        return self._asked("scores", self.scoring, dict(wanted_returns(self.facts, self.recipe)), inputs)

    def _asked(
        self, name: str, module: nn.Module, returns: dict[str, str] | None, inputs: Sequence[Tensor]
    ) -> tuple[Tensor, ...]:
        """Ask a frozen program, which lives no longer than the weights that it was made from are loaded."""
        batch = 1 if len(inputs[0]) < WORTH_FREEZING else USUAL_BATCH

        def frozen() -> Answerer:
            numbers = sum(value.numel() for value in module.parameters())
            return module if numbers > _MOST_FROZEN else freeze_module(self.network, module, returns, batch)

        with torch.no_grad():
            return outputs_of(self.kept(f"{name}/{batch}", frozen, by_weights=True)(*inputs))

    def kept(self, name: str, make: Callable[[], _Made], by_weights: bool = False) -> _Made:
        """Keep what was made under a name, where it depends on the weights until others are loaded."""
        key = self._loaded if by_weights else None
        if name not in self._kept or self._kept[name][0] != key:
            self._kept[name] = (key, make())
        return self._kept[name][1]


def _few(epochs: dict[int, Path]) -> str:
    numbers = [str(epoch) for epoch in sorted(epochs)]
    return ", ".join(numbers) if len(numbers) <= 12 else ", ".join((*numbers[:5], "…", *numbers[-5:]))
