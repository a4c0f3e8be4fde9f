"""The loss of detectors: candidates matched with the boxes that are there, their classes and their offsets.

A candidate is a row of offsets, scores as logits and the box that is corrected. Matching passes no gradient.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass

import torch
from torch import Tensor
from torch.nn import functional

from inkcap.recipes.fields import Scalar
from inkcap.training.boxes import offsets_to, shared_areas
from inkcap.training.facts import CapsuleFacts

LossFunction = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Candidates:
    """The columns of candidates (samples, n, 4c + C + 4), parted."""

    offsets: Tensor
    """(samples, n, c, 4), c = 1 for all classes alike."""
    logits: Tensor
    boxes: Tensor


@dataclass(frozen=True)
class Matches:
    """What each candidate is to say: the label 0 is background, −1 that it does not count; and which box it finds."""

    labels: Tensor
    targets: Tensor


def part_columns(value: Tensor, scores: int) -> Candidates:
    """Part the columns of candidates with so many scores; half precision is widened."""
    rows = value.float() if value.dtype == torch.float16 else value
    rows = rows.reshape(len(rows), -1, rows.shape[-1])
    offsets, logits, boxes = rows[..., : -scores - 4], rows[..., -scores - 4 : -4], rows[..., -4:]
    return Candidates(offsets.reshape(*offsets.shape[:2], -1, 4), logits, boxes.detach())


def match(boxes: Tensor, target: Tensor, positive: float, negative: float, best: bool) -> Matches:
    """Match the boxes of candidates with targets (samples, m, 5)."""
    real = target[..., 0] > 0
    there = (boxes[..., 2:] > boxes[..., :2]).all(-1)
    shared = shared_areas(target[..., 1:], boxes)
    shared = shared.masked_fill(~(real[:, :, None] & there[:, None, :]), -1.0)
    most, found = shared.max(1)
    finds = most >= positive
    if best:
        samples = torch.arange(len(boxes), device=boxes.device)
        nearest_shared, nearest = shared.max(2)
        # From the last to the first, so that of two boxes with one candidate the first has it.
        for number in reversed(range(target.shape[1])):
            sure = nearest_shared[:, number] > 0
            place = samples[sure], nearest[sure, number]
            found[place], finds[place] = number, True
    labels = target[..., 0].gather(1, found).long()
    background = there & (most < negative)
    return Matches(torch.where(finds, labels, torch.where(background, 0, -1)), found)


def box_loss(options: Mapping[str, Scalar], output: CapsuleFacts) -> LossFunction:
    """Make the loss of a selection: cross-entropy of the candidates that count, smooth L1 of those that find a box."""
    positive, negative, share, weight, edge, negatives = (
        float(options[name]) for name in ("positive", "negative", "share", "offsets", "edge", "negatives")
    )
    best, sampled = bool(options["best"]), int(options["sampled"])

    def loss(value: Tensor, target: Tensor) -> Tensor:
        rows = part_columns(value, output.scores)
        target = target.to(rows.boxes.dtype)
        with torch.no_grad():
            matches = match(rows.boxes, target, positive, negative, best)
        labels = matches.labels.clamp(max=1) if output.scores <= 2 else matches.labels
        mistaken = _class_losses(rows.logits, labels.clamp_min(0))
        with torch.no_grad():
            finds, background = labels > 0, labels == 0
            if sampled:
                finds, background = _drawn(finds, background, sampled, share, value)
                count = (finds.sum() + background.sum()).clamp_min(1)
            else:
                background = _worst(background, mistaken, finds.sum(1), negatives)
                count = finds.sum().clamp_min(1)
        classes = mistaken[finds | background].sum() / count
        moved = _chosen_offsets(rows.offsets[finds], labels[finds])
        wanted = target[..., 1:].gather(1, matches.targets[..., None].expand(-1, -1, 4))[finds]
        places = functional.huber_loss(
            moved, offsets_to(rows.boxes[finds], wanted, output.variances), reduction="sum", delta=edge
        )
        # Smooth L1 is Huber's loss by its edge.
        return classes + weight * places / edge / count

    return loss


def _class_losses(logits: Tensor, labels: Tensor) -> Tensor:
    if logits.shape[-1] == 1:
        return functional.binary_cross_entropy_with_logits(
            logits[..., 0], (labels > 0).to(logits.dtype), reduction="none"
        )
    return functional.cross_entropy(logits.movedim(-1, 1), labels, reduction="none")


def _chosen_offsets(offsets: Tensor, labels: Tensor) -> Tensor:
    """Give the offsets of each one's class."""
    if offsets.shape[1] == 1:
        return offsets[:, 0]
    return offsets[torch.arange(len(labels), device=labels.device), labels]


def _worst(background: Tensor, mistaken: Tensor, found: Tensor, negatives: float) -> Tensor:
    """Choose the background candidates with the largest losses, so many for each that finds a box."""
    ranks = _ranks(mistaken.masked_fill(~background, -1.0))
    return background & (ranks < (negatives * found.clamp_min(1))[:, None])


def _drawn(finds: Tensor, background: Tensor, count: int, share: float, value: Tensor) -> tuple[Tensor, Tensor]:
    """Draw candidates; the seed comes from the numbers themselves, so that the same numbers give the same loss."""
    seed = int(value.detach().double().sum().nan_to_num().view(torch.int64)) & (2**62 - 1)
    chance = torch.rand(finds.shape, generator=torch.Generator().manual_seed(seed)).to(finds.device)
    finds = finds & (_ranks(chance.masked_fill(~finds, -1.0)) < int(count * share))
    left = count - finds.sum(1)
    return finds, background & (_ranks(chance.masked_fill(~background, -1.0)) < left[:, None])


def _ranks(values: Tensor) -> Tensor:
    """Give the place of each number of a row when the largest comes first."""
    return values.argsort(dim=1, descending=True, stable=True).argsort(dim=1, stable=True)
