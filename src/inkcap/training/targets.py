"""Targets as the losses want them: labels for some, numbers in the shape of the output for others."""

from typing import Any, Literal

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inkcap.engine.losses import ONE_NUMBER_A_CLASS
from inkcap.symbols import CAPSULES
from inkcap.training.errors import TrainingError
from inkcap.training.facts import CapsuleFacts

TargetKind = Literal["classes", "bits", "numbers", "neighbours", "boxes", "instances"]
_KINDS_OF_LOSSES: dict[str, TargetKind] = {
    "triplet": "neighbours",
    "boxes": "boxes",
    "yolo": "boxes",
    "masks": "instances",
    "instances": "instances",
}

EMBEDDING = "l2-normalisation"
"""Symbol of outputs that are places on a sphere: classes are not their numbers but their neighbourhoods."""

MEASURING = frozenset({"mean-squared-error", "huber"})
"""Kinds of losses that take any numbers."""


def target_kind(
    values: NDArray[Any], output: CapsuleFacts, loss: str = "auto", layout: str | None = None
) -> TargetKind:
    """Tell what a target holds for an output under a loss.

    Whole numbers are labels of classes, unless there is one 0 or 1 for each neuron: those are bits. Anything else
    is measured. `layout` is that of a target which tells places of a picture.
    """
    placed = loss if loss in _KINDS_OF_LOSSES else layout if loss == "auto" else None
    if placed in _KINDS_OF_LOSSES:
        return _KINDS_OF_LOSSES[placed]
    if loss == "auto" and learns_neighbours(values, output):
        return "neighbours"
    if values.dtype.kind not in "iub":
        return "numbers"
    if _fits(values, output) and loss not in {"cross-entropy", *ONE_NUMBER_A_CLASS}:
        if values.size == 0 or (values.min() >= 0 and values.max() <= 1):
            return "bits"
        if loss in MEASURING:
            return "numbers"
    return "classes"


def learns_neighbours(values: NDArray[Any], output: CapsuleFacts) -> bool:
    """Tell whether an output is a place on a sphere, and its target one class a sample."""
    return output.symbol == EMBEDDING and values.ndim == 1 and values.dtype.kind in "iub"


def usual_loss(kind: TargetKind, output: CapsuleFacts) -> str:
    """Name the loss of a target of that kind where it depends on the output; else nothing."""
    if kind == "boxes":
        return "boxes" if output.scores else "yolo"
    return CAPSULES[output.symbol].usual_loss if kind == "classes" else ""


def encode_target(values: NDArray[Any], output: CapsuleFacts, loss: str, name: str) -> Tensor:
    """Give a target as the tensor that the loss of that kind takes; `name` is the target's, for messages."""
    if loss in ("boxes", "yolo"):
        return torch.from_numpy(_boxes(values, output, loss, name))
    if loss == "masks":
        return torch.from_numpy(_instances(values, output, name))
    if loss == "triplet":
        return torch.from_numpy(_one_class(values, output, name))
    kind = target_kind(values, output, loss)
    if loss in ONE_NUMBER_A_CLASS or (loss == "cross-entropy" and kind == "classes"):
        return torch.from_numpy(_labels(values, output, loss, name))
    if kind == "classes":
        return _one_hot(values, output, loss, name)
    return _numbers(_suitable(values, output, loss, name), output, name)


def _suitable(values: NDArray[Any], output: CapsuleFacts, loss: str, name: str) -> NDArray[Any]:
    """Refuse numbers that a loss of probabilities makes nothing of: it would give 0, or fall below it."""
    if loss in MEASURING or values.size == 0:
        return values
    span = f"numbers from {values.min():g} to {values.max():g}"
    if loss == "binary-cross-entropy" and (values.min() < 0 or values.max() > 1):
        raise TrainingError(
            f"the target {name!r} holds {span}, but the loss binary-cross-entropy needs 0 to 1; "
            "give the loss mean-squared-error, or a target of 0 and 1."
        )
    if loss == "cross-entropy" and not (output.classes > 1 and _fits(values, output) and _shares(values, output)):
        raise TrainingError(
            f"the target {name!r} holds {span}, but the loss cross-entropy needs classes, or shares of "
            "two or more classes that sum to 1; give the loss mean-squared-error, or a target of classes."
        )
    return values


def _shares(values: NDArray[Any], output: CapsuleFacts) -> bool:
    sums = values.reshape(len(values), *output.shape).sum(axis=output.class_axis)
    return bool(values.min() >= 0 and np.abs(sums - 1.0).max() <= 1e-3)


def _fits(values: NDArray[Any], output: CapsuleFacts) -> bool:
    return int(np.prod(values.shape[1:])) == output.size


def _labels(values: NDArray[Any], output: CapsuleFacts, kind: str, name: str) -> NDArray[np.int64]:
    if values.dtype.kind not in "iub":
        raise TrainingError(f"the target {name!r} holds numbers of {values.dtype}, but the loss {kind} needs classes.")
    if output.classes < 2:
        raise TrainingError(
            f"the output {output.name!r} has {output.shape_text()}, but the loss {kind} needs a neuron for each class; "
            "draw it with as many neurons as there are classes, or use binary-cross-entropy."
        )
    positions = () if kind in ONE_NUMBER_A_CLASS else output.positions
    if kind in ONE_NUMBER_A_CLASS and output.size != output.classes:
        what = "length" if kind == "margin" else "activation"
        raise TrainingError(
            f"the output {output.name!r} has {output.shape_text()}, but {kind} needs one {what} for each class."
        )
    if values.shape[1:] != positions and int(np.prod(values.shape[1:])) == int(np.prod(positions)):
        values = values.reshape((len(values), *positions))
    if values.shape[1:] != positions:
        raise TrainingError(
            f"the target {name!r} has labels of shape {values.shape[1:]} for each sample, "
            f"but the output {output.name!r} of {output.shape_text()} needs {positions}."
        )
    labels = np.ascontiguousarray(values, dtype=np.int64)
    if labels.size and (labels.min() < 0 or labels.max() >= output.classes):
        raise TrainingError(
            f"the target {name!r} has labels from {labels.min()} to {labels.max()}, but the output {output.name!r} "
            f"of {output.shape_text()} knows 0 to {output.classes - 1}; draw it with {labels.max() + 1} neurons."
        )
    return labels


def _instances(values: NDArray[Any], output: CapsuleFacts, name: str) -> NDArray[np.int64]:
    if values.ndim != 3 or values.dtype.kind not in "iub" or values.shape[1:] != output.picture:
        raise TrainingError(
            f"the target {name!r} has numbers of {values.dtype} and shape {values.shape[1:]} for each sample, but the "
            f"loss masks of {output.name!r} needs a whole number for each pixel; give a target instances."
        )
    return np.ascontiguousarray(values, dtype=np.int64)


def _one_class(values: NDArray[Any], output: CapsuleFacts, name: str) -> NDArray[np.int64]:
    if values.ndim != 1 or values.dtype.kind not in "iub":
        raise TrainingError(
            f"the target {name!r} has numbers of {values.dtype} and shape {values.shape[1:]} for each sample, but the "
            f"loss triplet of {output.name!r} needs one class a sample; give a target of classes."
        )
    return np.ascontiguousarray(values, dtype=np.int64)


def _boxes(values: NDArray[Any], output: CapsuleFacts, loss: str, name: str) -> NDArray[np.float32]:
    if values.ndim != 3 or values.shape[2] != 5:
        raise TrainingError(
            f"the target {name!r} has the shape {values.shape[1:]} for each sample, but the loss {loss} needs boxes: "
            "rows of a label and x1, y1, x2, y2; give a target boxes."
        )
    if loss == "boxes" and not output.scores:
        raise TrainingError(
            f"the output {output.name!r} is no selection, so there are no candidates for the loss boxes; draw a "
            "2D-selection capsule at the end, or give a grid of cells the loss yolo."
        )
    boxes = np.ascontiguousarray(values, dtype=np.float32)
    known = output.scores - 1
    if loss == "boxes" and known > 1 and boxes.size and boxes[..., 0].max() > known:
        raise TrainingError(
            f"the target {name!r} has labels up to {boxes[..., 0].max():g}, but the output {output.name!r} has "
            f"{output.scores} scores, the first of the background; give it {int(boxes[..., 0].max()) + 1}."
        )
    return boxes


def _one_hot(values: NDArray[Any], output: CapsuleFacts, loss: str, name: str) -> Tensor:
    labels = _labels(values, output, loss, name)
    hot = torch.nn.functional.one_hot(torch.from_numpy(labels), output.classes)
    return (
        hot.movedim(-1, output.class_axis)
        .to(getattr(torch, output.dtype))
        .reshape(len(labels), *output.shape)
        .contiguous()
    )


def _numbers(values: NDArray[Any], output: CapsuleFacts, name: str) -> Tensor:
    if not _fits(values, output):
        raise TrainingError(
            f"the target {name!r} has {int(np.prod(values.shape[1:]))} values for each sample (shape "
            f"{values.shape[1:]}), but the output {output.name!r} of {output.shape_text()} has {output.size}; "
            "draw the output with as many neurons as the target has values."
        )
    numbers = np.ascontiguousarray(values, dtype=output.dtype).reshape((len(values), *output.shape))
    return torch.from_numpy(numbers)
