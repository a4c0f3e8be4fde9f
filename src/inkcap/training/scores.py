"""What is measured on a part of the data: the loss, and for each output what its target and its loss ask for."""

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Protocol

import torch
from torch import Tensor

from inkcap.recipes import Recipe
from inkcap.recipes.measures import MEASURES
from inkcap.training.detecting import decoder
from inkcap.training.facts import CapsuleFacts, NetworkFacts
from inkcap.training.losses import TotalLoss
from inkcap.training.mask_loss import MaskIou, rows_of
from inkcap.training.precision import Found
from inkcap.training.stopping import StopRequest
from inkcap.training.targets import TargetKind

_AT_ONCE = 1024
"""Samples whose distances to all others are computed at a time."""

Batch = tuple[tuple[Tensor, ...], tuple[Tensor, ...]]


def outputs_of(result: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Give the outputs as a tuple, whether there is one or several."""
    return (result,) if isinstance(result, Tensor) else result


class Score(Protocol):
    """Something that is measured of one output, batch by batch."""

    output: CapsuleFacts
    place: int
    """Which of the outputs it is."""

    @property
    def measure(self) -> str:
        """The name of what is measured."""
        ...

    def add(self, value: Tensor, target: Tensor) -> None:
        """Count one batch."""
        ...

    def value(self) -> float:
        """Give what was measured so far."""
        ...

    def counted(self) -> Any:
        """Give what was counted so far, as values that another process can add to its own."""
        ...

    def join(self, counted: Sequence[Any]) -> None:
        """Count what several processes have counted, in place of what was counted here."""
        ...


class Sharing(Protocol):
    """Measures one part of every batch, while others measure the rest."""

    own: int
    """The samples of the part in hand that count."""

    def gathered(self, value: Any) -> list[Any]:
        """Give what all have, each its own."""
        ...


@dataclass
class OutputScore:
    """Counts for one output: right labels or bits, or absolute errors."""

    output: CapsuleFacts
    kind: str
    target: TargetKind
    scale: Tensor | None = None
    place: int = 0
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
        if self.kind == "huber":
            # What is NaN in the target was not asked for.
            counted = counted[~counted.isnan()]
        self._sum = self._sum + counted.sum()
        self._count += counted.numel()

    def value(self) -> float:
        """Give the mean so far."""
        return float(self._sum) / self._count if self._count else math.nan

    def counted(self) -> tuple[float, int]:
        """Give the sum and the count."""
        return float(self._sum), self._count

    def join(self, counted: Sequence[tuple[float, int]]) -> None:
        """Add up sums and counts."""
        self._sum, self._count = sum(each for each, _ in counted), sum(count for _, count in counted)

    def _shown(self, value: Tensor) -> Tensor:
        if self.kind == "binary-cross-entropy":
            return torch.sigmoid(value.float())
        return (
            torch.softmax(value.float(), dim=self.output.class_axis) if self.kind == "cross-entropy" else value.float()
        )


@dataclass
class MeanIou:
    """Counts which classes pixels have and get; a class's IoU is what is both by what is either."""

    output: CapsuleFacts
    place: int = 0
    measure: str = field(default="mean_iou", init=False)
    _counts: Tensor | None = field(default=None, init=False)

    def add(self, value: Tensor, target: Tensor) -> None:
        """Count one batch."""
        value = value.reshape(len(value), *self.output.shape)
        axis, size = self.output.class_axis, self.output.classes
        pairs = true_labels(target, axis).reshape(-1) * size + predicted_labels(value, axis).reshape(-1)
        counts = torch.bincount(pairs, minlength=size * size).reshape(size, size)
        self._counts = counts if self._counts is None else self._counts + counts

    def value(self) -> float:
        """Give the mean over the classes that any pixel has or gets."""
        if self._counts is None:
            return math.nan
        counts = self._counts.double()
        both = counts.diagonal()
        either = counts.sum(0) + counts.sum(1) - both
        found = either > 0
        return float((both[found] / either[found]).mean()) if bool(found.any()) else math.nan

    def counted(self) -> Tensor | None:
        """Give the counts."""
        return None if self._counts is None else self._counts.cpu()

    def join(self, counted: Sequence[Tensor | None]) -> None:
        """Add up counts."""
        known = [counts for counts in counted if counts is not None]
        self._counts = torch.stack(known).sum(0) if known else None


@dataclass
class Retrieval:
    """Counts samples whose nearest other sample of the part is of their class."""

    output: CapsuleFacts
    place: int = 0
    measure: str = field(default="retrieval", init=False)
    _values: list[Tensor] = field(default_factory=list[Tensor], init=False)
    _labels: list[Tensor] = field(default_factory=list[Tensor], init=False)

    def add(self, value: Tensor, target: Tensor) -> None:
        """Keep one batch: any sample may be the nearest."""
        self._values.append(value.detach().flatten(1).float())
        self._labels.append(target)

    def value(self) -> float:
        """Give the share; NaN for fewer than two samples."""
        if not self._values:
            return math.nan
        values, labels = torch.cat(self._values), torch.cat(self._labels)
        if len(values) < 2:
            return math.nan
        right = 0
        for first in range(0, len(values), _AT_ONCE):
            some = values[first : first + _AT_ONCE]
            distances = torch.cdist(some, values)
            distances[torch.arange(len(some)), torch.arange(first, first + len(some))] = torch.inf
            right += int((labels[distances.argmin(1)] == labels[first : first + _AT_ONCE]).sum())
        return right / len(values)

    def counted(self) -> tuple[list[Tensor], list[Tensor]]:
        """Give what was kept."""
        return [values.cpu() for values in self._values], [labels.cpu() for labels in self._labels]

    def join(self, counted: Sequence[tuple[list[Tensor], list[Tensor]]]) -> None:
        """Keep what all have kept."""
        self._values = [value for values, _ in counted for value in values]
        self._labels = [label for _, labels in counted for label in labels]


@dataclass
class Detected:
    """Keeps the detections of all pictures: the mean average precision of boxes, or the recall of mere proposals."""

    output: CapsuleFacts
    place: int
    measure: str
    decode: Callable[[Tensor], Tensor]
    """Makes detections of what the loss is given."""
    _found: Found = field(default_factory=Found, init=False)

    def add(self, value: Tensor, target: Tensor) -> None:
        """Keep one batch."""
        detections, boxes = self.decode(value), target
        if 0 < self.output.scores <= 2:
            # Such an output tells objects from background alone, whatever their classes.
            boxes = boxes.clone()
            boxes[..., 0].clamp_(max=1)
        self._found.add(detections, boxes)

    def value(self) -> float:
        """Give what was measured so far."""
        return self._found.recall() if self.measure == "recall" else self._found.mean_precision()

    def counted(self) -> Found:
        """Give the detections."""
        return self._found

    def join(self, counted: Sequence[Found]) -> None:
        """Keep the detections of all."""
        detections = [rows for found in counted for rows in found.detections]
        self._found = Found(detections, [rows for found in counted for rows in found.boxes])


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
) -> list[Score]:
    """Make the counters of all outputs; `scales` holds the scale of targets that were normalised."""
    kinds = {loss.output: loss.kind for loss in recipe.losses}
    options = {loss.output: loss.options for loss in recipe.losses}
    scores: list[Score] = []
    for place, output in enumerate(facts.outputs):
        kind, target = kinds[output.name], targets[output.name]
        if kind == "triplet":
            scores.append(Retrieval(output, place))
            continue
        if kind in ("boxes", "yolo"):
            proposes = 0 < output.scores <= 2 < max(other.scores for other in facts.outputs)
            decode = decoder(output, kind, options[output.name])
            scores.append(Detected(output, place, "recall" if proposes else "map", decode))
            continue
        if kind == "masks":
            scores.append(MaskIou(output, place, rows_of(output, options[output.name])))
            continue
        scores.append(OutputScore(output, kind, target, (scales or {}).get(output.name), place))
        if target == "classes" and output.class_axis == 1 and output.positions:
            scores.append(MeanIou(output, place))
    return scores


def measures_of(scores: Sequence[Score]) -> tuple[str, ...]:
    """Name what is measured, each once, in the order of the table of measures."""
    found = {score.measure for score in scores}
    return tuple(name for name in MEASURES if name in found)


@dataclass
class _Tally:
    """Losses added up over samples: the total, and that of each output where there are several."""

    total: float | Tensor = 0.0
    each: Tensor | None = None
    count: int = 0

    def add(self, loss: TotalLoss, values: Sequence[Tensor], targets: Sequence[Tensor], size: int) -> None:
        self.total = self.total + loss(values, targets) * size
        if len(values) > 1:
            apart = loss.apart(values, targets) * size
            self.each = apart if self.each is None else self.each + apart
        self.count += size

    def counted(self) -> tuple[float, Tensor | None, int]:
        return float(self.total), None if self.each is None else self.each.cpu(), self.count

    @staticmethod
    def joined(counted: Sequence[tuple[float, Tensor | None, int]]) -> "_Tally":
        known = [each for _, each, _ in counted if each is not None]
        each = torch.stack(known).sum(0) if known else None
        return _Tally(sum(total for total, _, _ in counted), each, sum(count for _, _, count in counted))


@torch.no_grad()
def measure(
    module: torch.nn.Module,
    loss: TotalLoss,
    scores: Sequence[Score],
    batches: Iterable[Batch],
    stop: StopRequest | None = None,
    sharing: Sharing | None = None,
) -> dict[str, float] | None:
    """Measure a part of the data, where others share it all of them together; None when a stop was wanted."""
    was_training = module.training
    module.eval()
    tally = _Tally()
    try:
        for inputs, targets in batches:
            if stop is not None and stop.wanted:
                return None
            values = outputs_of(module(*inputs))
            if sharing is not None and not sharing.own:
                continue
            tally.add(loss, values, targets, inputs[0].shape[0])
            for score in scores:
                score.add(values[score.place], targets[score.place])
    finally:
        module.train(was_training)
    if sharing is not None:
        found = sharing.gathered((tally.counted(), [score.counted() for score in scores]))
        tally = _Tally.joined([counted for counted, _ in found])
        for place, score in enumerate(scores):
            score.join([counted[place] for _, counted in found])
    return _told(tally, scores)


def _told(tally: _Tally, scores: Sequence[Score]) -> dict[str, float]:
    """Name what was measured."""
    count = tally.count
    found = {"loss": float(tally.total) / count if count else math.nan}
    told = [(score, score.value()) for score in scores]
    for name in measures_of(scores):
        same = [value for score, value in told if score.measure == name]
        found[name] = sum(same) / len(same)
    if tally.each is not None:
        names = {score.place: score.output.name for score in scores}
        found.update({f"loss.{name}": float(tally.each[place]) / count for place, name in names.items()})
        found.update({f"{score.measure}.{score.output.name}": value for score, value in told})
    return found
