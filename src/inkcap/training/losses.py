"""The losses of the outputs and their weighted sum (Eq. 6).

A loss that takes a logarithm of probabilities is never given probabilities: cross-entropy on a softmax capsule and
binary cross-entropy on a sigmoid capsule are computed from the capsule's total input U, by functions that stay finite
for inputs of any size. On any other capsule the output Y is taken as logits.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import torch
from torch import Tensor
from torch.nn import functional

from inkcap.engine.losses import (
    FROM_TOTAL_INPUT,
    ONE_NUMBER_A_CLASS,
    LossWithGradient,
    by_autograd,
    loss_with_gradient,
    triplets,
)
from inkcap.recipes import LossSpec, Recipe
from inkcap.recipes.fields import Scalar
from inkcap.symbols import CAPSULES
from inkcap.training.box_loss import box_loss
from inkcap.training.facts import CapsuleFacts, NetworkFacts
from inkcap.training.mask_loss import mask_loss
from inkcap.training.yolo_loss import yolo_loss

Returned = Literal["U", "Y"]
LossFunction = Callable[[Tensor, Tensor], Tensor]


def returned(output: CapsuleFacts, kind: str) -> Returned:
    """Tell whether the loss of this output is computed from its total input U or from its output Y."""
    return "U" if (kind, output.symbol) in FROM_TOTAL_INPUT else "Y"


def wanted_returns(facts: NetworkFacts, recipe: Recipe) -> dict[str, Returned]:
    """Tell for each output what the module has to return for the losses of this (completed) recipe."""
    return {loss.output: returned(facts.output(loss.output), loss.kind) for loss in recipe.losses}


def _cross_entropy(options: Mapping[str, Scalar]) -> LossFunction:
    smoothing = float(options["label_smoothing"])

    def loss(value: Tensor, target: Tensor) -> Tensor:
        return functional.cross_entropy(value, target, label_smoothing=smoothing)

    return loss


def _mean_squared_error(options: Mapping[str, Scalar]) -> LossFunction:
    return functional.mse_loss


def _binary_cross_entropy(options: Mapping[str, Scalar]) -> LossFunction:
    return functional.binary_cross_entropy_with_logits


def _margin(options: Mapping[str, Scalar]) -> LossFunction:
    upper, lower, share = (float(options[name]) for name in ("upper", "lower", "share"))

    def loss(value: Tensor, target: Tensor) -> Tensor:
        right = functional.one_hot(target, value.shape[1]).to(value.dtype)
        short = (upper - value).clamp_min(0).square()
        long = (value - lower).clamp_min(0).square()
        return (right * short + share * (1 - right) * long).sum(dim=1).mean()

    return loss


def _spread(options: Mapping[str, Scalar]) -> LossFunction:
    margin = float(options["margin"])

    def loss(value: Tensor, target: Tensor) -> Tensor:
        right = functional.one_hot(target, value.shape[1]).to(value.dtype)
        lead = (right * value).sum(1, keepdim=True) - value
        return ((1 - right) * (margin - lead).clamp_min(0).square()).sum(dim=1).mean()

    return loss


def _huber(options: Mapping[str, Scalar]) -> LossFunction:
    edge = float(options["edge"])

    def loss(value: Tensor, target: Tensor) -> Tensor:
        asked = ~target.isnan()
        difference = torch.where(asked, value - target, 0)
        total = functional.huber_loss(difference, torch.zeros_like(difference), reduction="sum", delta=edge)
        return total / asked.sum().clamp_min(1)

    return loss


def _triplet(options: Mapping[str, Scalar]) -> LossFunction:
    margin, mining = float(options["margin"]), str(options["mining"])
    return lambda value, target: triplets(value, target, margin, mining)[0]


_PLACED: Mapping[str, Callable[[Mapping[str, Scalar], CapsuleFacts], LossFunction]] = {
    "boxes": box_loss,
    "yolo": yolo_loss,
    "masks": mask_loss,
}
"""Losses that tell places of a picture: they read the output as it stands, and widen it themselves."""

_MAKERS: Mapping[str, Callable[[Mapping[str, Scalar]], LossFunction]] = {
    "triplet": _triplet,
    "cross-entropy": _cross_entropy,
    "mean-squared-error": _mean_squared_error,
    "huber": _huber,
    "binary-cross-entropy": _binary_cross_entropy,
    "margin": _margin,
    "spread": _spread,
}


def _is_flat(spec: LossSpec, output: CapsuleFacts) -> bool:
    # Labels are one a sample or one a position; a capsule of 1×1 positions is a vector written otherwise.
    # So is what a loss takes of a map of which the capsule makes a vector.
    lays_flat = bool(CAPSULES[output.symbol].output_ranks)
    return (
        lays_flat
        or spec.kind in (*ONE_NUMBER_A_CLASS, "triplet")
        or (len(output.shape) == 3 and output.shape[1:] == (1, 1))
    )


def _widened(value: Tensor, flat: bool) -> Tensor:
    wide = value.float() if value.dtype == torch.float16 else value
    return wide.flatten(1) if flat else wide


def _by_rows(spec: LossSpec, output: CapsuleFacts) -> bool:
    """Tell whether every row is a choice of its own: the loss is their mean, as if each were a sample."""
    return spec.kind == "cross-entropy" and output.class_axis == -1


def _rows(value: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
    wide = _widened(value, False).flatten(0, -2)
    return wide, target.to(wide.dtype).reshape(wide.shape) if target.is_floating_point() else target.flatten()


def loss_function(spec: LossSpec, output: CapsuleFacts) -> LossFunction:
    """Make the loss of one output; half-precision values are widened first, so that squares do not overflow."""
    if spec.kind in _PLACED:
        return _PLACED[spec.kind](spec.options, output)
    plain = _MAKERS[spec.kind](spec.options)
    if _by_rows(spec, output):
        return lambda value, target: plain(*_rows(value, target))
    flat = _is_flat(spec, output)
    if output.dtype != "float16" and not flat:
        return plain

    def loss(value: Tensor, target: Tensor) -> Tensor:
        wide = _widened(value, flat)
        if target.is_floating_point():
            return plain(wide, target.reshape(wide.shape).to(wide.dtype))
        return plain(wide, target)

    return loss


def explicit_loss(spec: LossSpec, output: CapsuleFacts) -> LossWithGradient:
    """Make the loss of one output together with its gradient, as universal backpropagation takes it."""
    if spec.kind in _PLACED:
        return by_autograd(_PLACED[spec.kind](spec.options, output))
    plain = loss_with_gradient(spec.kind, spec.options)
    if _by_rows(spec, output):

        def by_rows(value: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
            found, gradient = plain(*_rows(value, target))
            return found, gradient.reshape(value.shape).to(value.dtype)

        return by_rows
    flat = _is_flat(spec, output)
    if output.dtype != "float16" and not flat:
        return plain

    def loss(value: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        wide = _widened(value, flat)
        if target.is_floating_point():
            target = target.reshape(wide.shape).to(wide.dtype)
        found, gradient = plain(wide, target)
        return found, gradient.reshape(value.shape).to(value.dtype)

    return loss


@dataclass(frozen=True)
class TotalLoss:
    """The weighted sum of the losses of the outputs, in the order of the outputs."""

    parts: tuple[LossFunction, ...]
    weights: tuple[float, ...]

    def __call__(self, values: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        """Give the total; a single output of weight 1 costs nothing beside its own loss."""
        total: Tensor | None = None
        for part, weight, value, target in zip(self.parts, self.weights, values, targets, strict=True):
            if weight == 0.0 and len(self.parts) > 1:
                continue
            loss = part(value, target)
            loss = loss if weight == 1.0 else loss * weight
            total = loss if total is None else total + loss
        if total is None:
            raise ValueError("a recipe has at least one loss with a weight above 0")
        return total

    def apart(self, values: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        """Give the loss of every output for itself, without its weight."""
        return torch.stack([part(*pair).double() for part, *pair in zip(self.parts, values, targets, strict=True)])


def total_loss(facts: NetworkFacts, recipe: Recipe) -> TotalLoss:
    """Make the total loss of a completed recipe."""
    by_output = {loss.output: loss for loss in recipe.losses}
    specs = [by_output[output.name] for output in facts.outputs]
    parts = tuple(loss_function(spec, output) for spec, output in zip(specs, facts.outputs, strict=True))
    return TotalLoss(parts, tuple(spec.weight for spec in specs))


def to_probabilities(value: Tensor, output: CapsuleFacts, kind: str) -> Tensor:
    """Turn an output Y into probabilities where the loss took it as logits; other outputs stay as they are."""
    if kind == "cross-entropy" and (kind, output.symbol) not in FROM_TOTAL_INPUT:
        return torch.softmax(value.float(), dim=output.class_axis)
    if kind == "binary-cross-entropy" and (kind, output.symbol) not in FROM_TOTAL_INPUT:
        return torch.sigmoid(value.float())
    return value
