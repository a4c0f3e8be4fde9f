"""Losses with their gradients, written out: each gives the loss and ∂L/∂(what the output returns) at once.

A loss of any other kind is a function of value and target; autograd of that function alone gives its gradient.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any, Literal

import torch
from torch import Tensor
from torch.nn import functional

from inkcap.symbols import CAPSULES

LossWithGradient = Callable[[Tensor, Tensor], tuple[Tensor, Tensor]]
LossFunction = Callable[[Tensor, Tensor], Tensor]
Reduction = Literal["sum", "mean", "all"]
"""Over the batch: the sum as the paper prints it, or the mean; ``all`` is the mean over the positions too."""

FROM_TOTAL_INPUT = frozenset(
    (symbol.loss_from_input, symbol.id) for symbol in CAPSULES.values() if symbol.loss_from_input
)
"""Kinds of losses that are computed from U where the output capsule is of this symbol."""

ONE_NUMBER_A_CLASS = frozenset({"margin", "spread"})
"""Kinds of losses that take labels, and of the output one number for each class."""

_aten = torch.ops.aten
_MEAN, _SUM = 1, 2
_IGNORE = -100


def half_squares(reduction: Reduction = "sum") -> LossWithGradient:
    """Give the paper's ½‖Y − T‖², whose gradient is Y − T."""

    def compute(value: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        difference = value - target
        if reduction == "sum":
            return difference.square().sum() / 2, difference
        share = _share(reduction, value, value.numel())
        return difference.square().sum() * (share / 2), difference * share

    return compute


def _share(reduction: Reduction, value: Tensor, all_of_them: int) -> float:
    return {"sum": 1.0, "mean": 1 / max(len(value), 1), "all": 1 / max(all_of_them, 1)}[reduction]


def _cross_entropy(options: Mapping[str, Any], reduction: Reduction) -> LossWithGradient:
    smoothing = float(options.get("label_smoothing", 0.0))

    def compute(value: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        if smoothing == 0 and not target.is_floating_point() and value.ndim in (2, 4):
            return _labelled(value, target, reduction)
        logarithms = torch.log_softmax(value, 1)
        shares = target if target.is_floating_point() else _one_hot(target, value)
        if smoothing:
            shares = shares * (1 - smoothing) + smoothing / value.shape[1]
        share = _share(reduction, value, value.numel() // value.shape[1])
        loss = (shares * logarithms).sum() * -share
        return loss, (logarithms.exp() * shares.sum(1, keepdim=True) - shares) * share

    return compute


def _one_hot(labels: Tensor, value: Tensor) -> Tensor:
    return functional.one_hot(labels, value.shape[1]).movedim(-1, 1).to(value.dtype)


def _labelled(value: Tensor, target: Tensor, reduction: Reduction) -> tuple[Tensor, Tensor]:
    """Compute softmax, logarithm and choice together, by the kernels that autograd would take."""
    forward, backward = (
        (_aten.nll_loss_forward.default, _aten.nll_loss_backward.default)
        if value.ndim == 2
        else (_aten.nll_loss2d_forward.default, _aten.nll_loss2d_backward.default)
    )
    kind = _MEAN if reduction == "all" or (reduction == "mean" and value.ndim == 2) else _SUM
    logarithms = torch.log_softmax(value, 1)
    loss, count = forward(logarithms, target, None, kind, _IGNORE)
    slope = backward(torch.ones_like(loss), logarithms, target, None, kind, _IGNORE, count)
    gradient = _aten._log_softmax_backward_data.default(slope, logarithms, 1, value.dtype)
    if reduction == "mean" and kind == _SUM:
        return loss / len(value), gradient / len(value)
    return loss, gradient


def _mean_squared_error(options: Mapping[str, Any], reduction: Reduction) -> LossWithGradient:
    def compute(value: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        share = _share(reduction, value, value.numel())
        difference = value - target
        return difference.square().sum() * share, difference * (2 * share)

    return compute


def _binary_cross_entropy(options: Mapping[str, Any], reduction: Reduction) -> LossWithGradient:
    def compute(value: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        share = _share(reduction, value, value.numel())
        loss = functional.binary_cross_entropy_with_logits(value, target, reduction="sum")
        return loss * share, (torch.sigmoid(value) - target) * share

    return compute


def _margin(options: Mapping[str, Any], reduction: Reduction) -> LossWithGradient:
    usual = {"upper": 0.9, "lower": 0.1, "share": 0.5}
    upper, lower, part = (float(options.get(name, number)) for name, number in usual.items())

    def compute(value: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        share = _share(reduction, value, len(value))
        right = _one_hot(target, value)
        wrong = part * (1 - right)
        short, long = (upper - value).clamp_min(0), (value - lower).clamp_min(0)
        loss = (right * short.square() + wrong * long.square()).sum() * share
        return loss, (wrong * long - right * short) * (2 * share)

    return compute


def _spread(options: Mapping[str, Any], reduction: Reduction) -> LossWithGradient:
    margin = float(options.get("margin", 0.9))

    def compute(value: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        share = _share(reduction, value, len(value))
        right = _one_hot(target, value)
        lead = (right * value).sum(1, keepdim=True) - value
        short = (1 - right) * (margin - lead).clamp_min(0)
        return short.square().sum() * share, (short - right * short.sum(1, keepdim=True)) * (2 * share)

    return compute


def _huber(options: Mapping[str, Any], reduction: Reduction) -> LossWithGradient:
    edge = float(options.get("edge", 1.0))

    def compute(value: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        asked = ~target.isnan()
        share = _share(reduction, value, 1) if reduction != "all" else 1 / max(int(asked.sum()), 1)
        difference = torch.where(asked, value - target, 0)
        slope = difference.clamp(-edge, edge)
        # Up to the edge d²/2; beyond, e·|d| − e²/2: both are s·(d − s/2) with s = d cut at the edge.
        return (slope * (difference - slope / 2)).sum() * share, slope * share

    return compute


def _triplet(options: Mapping[str, Any], reduction: Reduction) -> LossWithGradient:
    margin, mining = float(options.get("margin", 0.2)), str(options.get("mining", "semi-hard"))

    def compute(value: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        found, pull = triplets(value, target, margin, mining)
        pairs = pull + pull.mT
        # The sum of m_ij·|x_i − x_j|² has the gradient 2·(Σ_j (m_ij + m_ji))·x_i − 2·Σ_j (m_ij + m_ji)·x_j.
        return found, 2 * (pairs.sum(1, keepdim=True) * value - pairs @ value)

    return compute


def triplets(value: Tensor, labels: Tensor, margin: float, mining: str) -> tuple[Tensor, Tensor]:
    """Give the mean loss of all pairs of one class, each with a mined sample of another, and the weight of each pair.

    The weights of pairs of one class are above 0, of others below; with them the loss is a sum of squared distances.
    """
    squares = value.square().sum(1)
    distances = (squares[:, None] + squares[None, :] - 2 * value @ value.mT).clamp_min(0)
    same = labels[:, None] == labels[None, :]
    positive = same & ~torch.eye(len(value), dtype=torch.bool, device=value.device)
    anchors, others = positive.nonzero(as_tuple=True)
    weights = torch.zeros_like(distances)
    if not len(anchors) or bool(same.all()):
        return value.sum() * 0, weights
    near = distances[anchors, others]
    apart = distances[anchors].masked_fill(same[anchors], torch.inf)
    if mining == "semi-hard":
        beyond = apart.masked_fill(apart <= near[:, None], torch.inf)
        farthest = apart.masked_fill(same[anchors], -torch.inf).max(1)
        # Where no sample of another class is beyond, the farthest is the one that comes nearest to it.
        far, chosen = beyond.min(1)
        none = far.isinf()
        far, chosen = torch.where(none, farthest.values, far), torch.where(none, farthest.indices, chosen)
    else:
        far, chosen = apart.min(1)
    short = near - far + margin
    active = (short > 0).to(value.dtype) / len(anchors)
    weights.index_put_((anchors, others), active, accumulate=True)
    weights.index_put_((anchors, chosen), -active, accumulate=True)
    return short.clamp_min(0).mean(), weights


_MAKERS: dict[str, Callable[[Mapping[str, Any], Reduction], LossWithGradient]] = {
    "triplet": _triplet,
    "cross-entropy": _cross_entropy,
    "mean-squared-error": _mean_squared_error,
    "huber": _huber,
    "binary-cross-entropy": _binary_cross_entropy,
    "margin": _margin,
    "spread": _spread,
}


def loss_with_gradient(
    kind: str, options: Mapping[str, Any] | None = None, reduction: Reduction = "all"
) -> LossWithGradient:
    """Make a recipe's kind of loss with its gradient; ``all`` is the mean that a recipe trains by."""
    return _MAKERS[kind](options or {}, reduction)


def by_autograd(loss: LossFunction) -> LossWithGradient:
    """Give any loss its gradient by autograd of the loss alone: the value is a leaf, the network is not seen."""

    def compute(value: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        with torch.enable_grad():
            leaf = value.detach().requires_grad_()
            found = loss(leaf, target)
            if not found.requires_grad:
                return found.detach(), torch.zeros_like(value)
            (gradient,) = torch.autograd.grad(found, leaf, materialize_grads=True)
        return found.detach(), gradient

    return compute


def laid_flat(loss: LossWithGradient) -> LossWithGradient:
    """Give a loss the values of a sample in one row, where its output makes a vector of a map."""

    def compute(value: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        found, gradient = loss(value.flatten(1), target)
        return found, gradient.reshape(value.shape)

    return compute
