"""What is measured on a part of the data: the loss, the accuracy of classes, the mean absolute error of numbers."""

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from inkcap.recipes import Recipe
from inkcap.training.facts import CapsuleFacts, NetworkFacts
from inkcap.training.losses import TotalLoss
from inkcap.training.stopping import StopRequest
from inkcap.training.targets import TargetKind

Batch = tuple[tuple[Tensor, ...], tuple[Tensor, ...]]


def outputs_of(result: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Give the outputs as a tuple, whether there is one or several."""
    return (result,) if isinstance(result, Tensor) else result


@dataclass
class OutputScore:
    """Counts for one output: right labels or bits, or absolute errors."""

    output: CapsuleFacts
    kind: str
    target: TargetKind
    scale: Tensor | None = None
    _sum: Tensor | float = field(default=0.0, init=False)
    _count: int = field(default=0, init=False)

    @property
    def measure(self) -> str:
        """The name of what is counted."""
        return "mae" if self.target == "numbers" else "accuracy"

    def add(self, value: Tensor, target: Tensor) -> None:
        """Count one batch."""
        # What a loss takes may be a map, of which the output makes a vector.
        value = value.reshape(len(value), *self.output.shape)
        if self.target == "numbers":
            counted = (self._shown(value) - target.reshape(value.shape).float()).abs()
            if self.scale is not None:
                # Targets were brought to a common scale; errors are told in their own.
                counted = counted.reshape(len(counted), -1) * self.scale.to(counted.device)
            # A target that is NaN is not asked for.
            counted = counted.reshape(-1)[~target.isnan().reshape(-1)]
        elif self.target == "bits":
            # Logits change their answer at 0, values between 0 and 1 at one half.
            edge = 0.0 if self.kind == "binary-cross-entropy" else 0.5
            counted = (value > edge) == (target.reshape(value.shape) > 0.5)
        else:
            axis = self.output.class_axis
            counted = predicted_labels(value, axis) == true_labels(target, axis)
        self._sum = self._sum + counted.sum()
        self._count += counted.numel()

    def value(self) -> float:
        """Give the mean so far."""
        return float(self._sum) / self._count if self._count else math.nan

    def _shown(self, value: Tensor) -> Tensor:
        if self.kind == "binary-cross-entropy":
            return torch.sigmoid(value.float())
        return (
            torch.softmax(value.float(), dim=self.output.class_axis) if self.kind == "cross-entropy" else value.float()
        )


def predicted_labels(value: Tensor, axis: int = 1) -> Tensor:
    """Give the labels that an output speaks for, as (samples, positions); its classes compete along the axis."""
    return value.argmax(dim=axis).reshape(len(value), -1)


def true_labels(target: Tensor, axis: int = 1) -> Tensor:
    """Give the labels of a target as (samples, positions), whether it was kept as labels or as one-hot numbers."""
    return (target.argmax(dim=axis) if target.is_floating_point() else target).reshape(len(target), -1)


def make_scores(
    facts: NetworkFacts,
    recipe: Recipe,
    targets: Mapping[str, TargetKind],
    scales: Mapping[str, Tensor] | None = None,
) -> list[OutputScore]:
    """Make the counters of all outputs; `scales` holds the scale of targets that were normalised."""
    kinds = {loss.output: loss.kind for loss in recipe.losses}
    return [
        OutputScore(output, kinds[output.name], targets[output.name], (scales or {}).get(output.name))
        for output in facts.outputs
    ]


@torch.no_grad()
def measure(
    module: torch.nn.Module,
    loss: TotalLoss,
    scores: Sequence[OutputScore],
    batches: Iterable[Batch],
    stop: StopRequest | None = None,
) -> dict[str, float] | None:
    """Measure a part of the data; None when a stop was wanted before the end."""
    was_training = module.training
    module.eval()
    total: Tensor | float = 0.0
    each: Tensor | None = None
    count = 0
    try:
        for inputs, targets in batches:
            if stop is not None and stop.wanted:
                return None
            values = outputs_of(module(*inputs))
            size = inputs[0].shape[0]
            total = total + loss(values, targets) * size
            if len(scores) > 1:
                apart = loss.apart(values, targets) * size
                each = apart if each is None else each + apart
            count += size
            for score, value, target in zip(scores, values, targets, strict=True):
                score.add(value, target)
    finally:
        module.train(was_training)
    found = {"loss": float(total) / count if count else math.nan}
    for name in ("accuracy", "mae"):
        same = [score for score in scores if score.measure == name]
        if same:
            found[name] = sum(score.value() for score in same) / len(same)
    if each is not None:
        found.update({f"loss.{score.output.name}": float(each[i]) / count for i, score in enumerate(scores)})
        found.update({f"{score.measure}.{score.output.name}": score.value() for score in scores})
    return found
