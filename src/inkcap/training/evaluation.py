"""Measuring a run: the loss, what is right of the answers, and for classes the confusion matrix with recalls."""

import math
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inkcap.engine.inference import Answerer, EngineMaker, EngineName, make_answerer
from inkcap.recipes import DataSpec, RunFolder
from inkcap.recipes.runfolder import WeightsName
from inkcap.training.batches import Batches
from inkcap.training.data import Dataset, split
from inkcap.training.environment import choose_device, steady
from inkcap.training.errors import TrainingError
from inkcap.training.losses import total_loss, wanted_returns
from inkcap.training.material import fitted, load_for, make_batches, split_digest, target_scales
from inkcap.training.opened import OpenedRun, open_run
from inkcap.training.playing import answering, solve
from inkcap.training.scores import make_scores, measure, outputs_of, predicted_labels, true_labels

Part = Literal["auto", "validation", "test", "all"]


@dataclass(frozen=True)
class ClassReport:
    """One output with classes: rows of the confusion matrix are true classes, columns the predicted ones."""

    classes: tuple[str, ...]
    confusion: NDArray[np.int64]

    @property
    def accuracy(self) -> float:
        """The share of samples on the diagonal."""
        return float(np.trace(self.confusion) / max(int(self.confusion.sum()), 1))

    def recall(self) -> dict[str, float | None]:
        """Give the share of each class that was found; None for a class without samples."""
        totals = self.confusion.sum(axis=1)
        found = np.diagonal(self.confusion)
        return {name: float(found[i] / totals[i]) if totals[i] else None for i, name in enumerate(self.classes)}

    def to_json(self) -> dict[str, Any]:
        """Give the report as plain values."""
        return {"classes": list(self.classes), "confusion": self.confusion.tolist(), "recall": self.recall()}


@dataclass(frozen=True)
class Evaluation:
    """What was measured, on which part of which data; `values` holds the loss and what is measured of the outputs."""

    run: str
    data: str
    part: str
    samples: int
    values: Mapping[str, float]
    reports: Mapping[str, ClassReport]

    def to_json(self) -> dict[str, Any]:
        """Give the evaluation as plain values."""
        return {
            "run": self.run,
            "data": self.data,
            "part": self.part,
            "samples": self.samples,
            "values": {name: value if math.isfinite(value) else None for name, value in self.values.items()},
            "outputs": {name: report.to_json() for name, report in self.reports.items()},
        }


def evaluate(
    run: RunFolder | Path | str,
    data: DataSpec | None = None,
    *,
    part: Part = "auto",
    weights: WeightsName = "best",
    engine: EngineName | EngineMaker = "auto",
) -> Evaluation:
    """Measure a run; the engine is chosen as in ``predict``.

    Without `data`, the run's own data are taken: their test set when they have one, else the validation part ("auto");
    `part` asks for one of them, or for all samples. Other data are measured as a whole, or on their test set.
    """
    opened = open_run(run, weights, logits=True)
    spec = opened.recipe.data if data is None else data
    dataset, _, _ = load_for(spec, opened.facts, opened.workspace, losses=opened.recipe.losses)
    chosen, used = _choose(opened, dataset, part, own=data is None)
    fit = fitted(chosen, opened.facts, opened.recipe)
    for output, classes in opened.classes.items():
        found = chosen.labels_of(fit.outputs[output])
        if found != classes:
            raise TrainingError(
                f"the run {opened.run.id} knows the classes {_few(classes)} of {output!r}, but {dataset.name} has "
                f"{_few(found)}; give data with the same classes in the same order."
            )
    device = choose_device(opened.recipe.device, opened.facts)
    with steady(opened.recipe.seed, opened.recipe.threads, device):
        returns = dict(wanted_returns(opened.facts, opened.recipe))
        counts = {"samples": len(chosen), "batch": opened.recipe.batch}
        module = opened.module.to(device)
        module = _Answering(make_answerer(opened.network, module, engine, **counts, returns=returns))
        batches = make_batches(chosen, opened.facts, fit, opened.preparation, opened.recipe, device)
        scales = target_scales(opened.facts, fit, opened.preparation)
        scores = make_scores(opened.facts, opened.recipe, opened.targets, scales)
        values = measure(module, total_loss(opened.facts, opened.recipe), scores, batches.in_order())
        reports = _reports(opened, module, batches)
        if chosen.world is not None:
            (taken,) = fit.inputs.values()
            answer = answering(module, opened.facts, fit, opened.preparation, device)
            values = {**(values or {}), **solve(chosen.world, answer, chosen.inputs[taken])}
    return Evaluation(opened.run.id, dataset.name, used, len(chosen), values or {}, reports)


class _Answering(torch.nn.Module):
    """An engine as a module in evaluation."""

    def __init__(self, answer: Answerer) -> None:
        super().__init__()
        self._answer = answer
        self.eval()

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Answer."""
        return self._answer(*inputs)


def _choose(opened: OpenedRun, dataset: Dataset, part: Part, own: bool) -> tuple[Dataset, str]:
    """Pick the samples to measure, and say which they are."""
    if part == "auto":
        part = "test" if dataset.test is not None else "validation" if own and opened.recipe.validation else "all"
    if part == "test":
        if dataset.test is None:
            raise TrainingError(f"{dataset.name} has no test set; measure the validation part or all samples.")
        return dataset.test, "test"
    if part == "all":
        return dataset, "all"
    if not own or not opened.recipe.validation:
        which = "the run kept no samples for validation" if own else "other data have no validation part"
        raise TrainingError(f"{opened.run.id}: {which}; measure all samples or the test set.")
    return dataset.subset(own_split(opened, dataset)[1]), "validation"


def own_split(opened: OpenedRun, dataset: Dataset) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Give the samples of a run's own data that it was trained on, and those that it kept for validation."""
    train, held_out = split(dataset, opened.recipe.validation, opened.recipe.seed)
    same_data = dataset.manifest.get("sha256") == opened.manifest.get("sha256")
    if not same_data or split_digest(held_out) != opened.split_sha256:
        raise TrainingError(
            f"{dataset.name} has changed since {opened.run.id} was trained, so its validation part cannot be told "
            "apart any more; measure all samples, or train again."
        )
    return train, held_out


@torch.no_grad()
def _reports(opened: OpenedRun, module: torch.nn.Module, batches: Batches) -> dict[str, ClassReport]:
    """Count the confusion matrices of the outputs with classes."""
    counts = {
        name: np.zeros((len(classes), len(classes)), np.int64)
        for name, classes in opened.classes.items()
        if opened.targets[name] in ("classes", "bits")
    }
    kinds = {loss.output: loss.kind for loss in opened.recipe.losses}
    for inputs, targets in batches.in_order():
        values = outputs_of(module(*inputs))
        for output, value, target in zip(opened.facts.outputs, values, targets, strict=True):
            if output.name in counts:
                value = value.reshape(len(value), *output.shape)
                kind, axis = opened.targets[output.name], output.class_axis
                count_classes(counts[output.name], value, target, kind, kinds[output.name], axis)
    return {name: ClassReport(opened.classes[name], matrix) for name, matrix in counts.items()}


def count_classes(
    matrix: NDArray[np.int64], value: Tensor, target: Tensor, kind: str, loss: str, axis: int = 1
) -> None:
    """Count a batch of answers into a confusion matrix; classes compete along the axis."""
    if kind == "bits":
        right = (target > 0.5).long().reshape(-1)
        said = (value > (0.0 if loss == "binary-cross-entropy" else 0.5)).long().reshape(-1)
    else:
        right, said = true_labels(target, axis).reshape(-1), predicted_labels(value, axis).reshape(-1)
    size = len(matrix)
    pairs = torch.bincount((right * size + said).cpu(), minlength=size * size)
    matrix += pairs.numpy().reshape(size, size)


def _few(names: tuple[str, ...]) -> str:
    shown = ", ".join(names[:6]) or "none"
    return f"{shown} and {len(names) - 6} more" if len(names) > 6 else shown
