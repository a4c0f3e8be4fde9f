"""Masks of items: for each item of a list the mask of its class, yes or no for each bin of its box.

An item is a row: bins × bins numbers for each class, as logits, then label, score and box x1, y1, x2, y2, as in a
selection. The target is a map of what every pixel belongs to; an item matches the instance whose box it shares most
with, and learns its class's mask.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, cast

import torch
from torch import Tensor
from torch.nn import functional

from inkcap.training.boxes import shared_areas
from inkcap.training.data.placed import INSTANCES
from inkcap.training.errors import TrainingError
from inkcap.training.facts import CapsuleFacts

FOUND = 6
"""Numbers of an item behind its masks: label, score and box."""
SURE = 0.5
"""Items less sure than this are not laid over a picture."""

LossFunction = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class MaskRows:
    """How the rows of an output are read: so many classes, of so many bins along each side."""

    classes: int
    bins: int
    positive: float

    def matched(self, value: Tensor, target: Tensor) -> tuple[Tensor, Tensor]:
        """Give the logits (items, bins, bins) of the items that match an instance, and what they are to be."""
        rows = value.float() if value.dtype == torch.float16 else value
        rows = rows.reshape(len(rows), -1, rows.shape[-1])
        masks = rows[..., :-FOUND].reshape(*rows.shape[:2], self.classes, self.bins, self.bins)
        found = [self._of_one(masks[i], rows[i, :, -4:].detach(), target[i]) for i in range(len(rows))]
        return torch.cat([logits for logits, _ in found]), torch.cat([wanted for _, wanted in found])

    def _of_one(self, masks: Tensor, boxes: Tensor, codes: Tensor) -> tuple[Tensor, Tensor]:
        known = cast(Tensor, codes.unique())  # pyright: ignore[reportUnknownMemberType]
        known = known[known % INSTANCES > 0]
        none = masks[:0, 0]
        if not len(known):
            return none, none
        there = torch.stack([_box_of(codes == code) for code in known]).to(boxes.dtype)
        most, which = shared_areas(boxes, there).max(1)
        chosen = most >= self.positive
        if not bool(chosen.any()):
            return none, none
        mine = known[which[chosen]]
        label = (mine // INSTANCES - 1).clamp(0, self.classes - 1)
        wanted = _seen(codes, boxes[chosen], self.bins) == mine[:, None, None]
        return masks[chosen, label], wanted.to(masks.dtype)

    def painted(self, value: Tensor, size: tuple[int, int]) -> Tensor:
        """Lay the items over pictures of a size, the surest on top, and tell what every pixel belongs to.

        As in targets, the i-th item of a picture, from 1, with the label l gives its pixels the number i + 256·l.
        """
        rows = value.float().reshape(len(value), -1, value.shape[-1])
        maps = torch.zeros(len(rows), *size, dtype=torch.int64)
        for sample, items in enumerate(rows):
            order = cast(list[int], items[:, -FOUND + 1].argsort().tolist())  # pyright: ignore[reportUnknownMemberType]
            for place in order:
                label, score, *box = _numbers(items[place, -FOUND:])
                if 0 < label <= self.classes and score >= SURE:
                    masks = items[place, :-FOUND].reshape(self.classes, self.bins, self.bins)
                    _lay(maps[sample], masks[int(label) - 1], box, place + 1 + INSTANCES * int(label))
        return maps


def rows_of(output: CapsuleFacts, options: Mapping[str, Any]) -> MaskRows:
    """Tell how the rows of an output are read, or what does not fit."""
    bins = int(options["bins"])
    classes, left = divmod(output.shape[-1] - FOUND, bins * bins) if len(output.shape) == 3 else (0, 1)
    if left or classes < 1 or output.shape[0] != 1:
        raise TrainingError(
            f"the output {output.name!r} of {output.shape_text()} has no rows of {bins}×{bins} bins a class, with "
            f"label, score and box behind; draw rows of classes·{bins * bins} + {FOUND} numbers, or give the loss "
            "masks other bins."
        )
    return MaskRows(classes, bins, float(options["positive"]))


def mask_loss(options: Mapping[str, Any], output: CapsuleFacts) -> LossFunction:
    """Make the loss: the mean binary cross-entropy of all bins of the items that match."""
    rows = rows_of(output, options)

    def loss(value: Tensor, target: Tensor) -> Tensor:
        logits, wanted = rows.matched(value, target)
        if not len(logits):
            return value.sum() * 0
        return functional.binary_cross_entropy_with_logits(logits, wanted)

    return loss


@dataclass
class MaskIou:
    """The mean IoU of the masks of the items that match, bin by bin."""

    output: CapsuleFacts
    place: int
    rows: MaskRows
    measure: str = field(default="mean_iou", init=False)
    _sum: float = field(default=0.0, init=False)
    _count: int = field(default=0, init=False)

    def add(self, value: Tensor, target: Tensor) -> None:
        """Count one batch."""
        logits, wanted = self.rows.matched(value, target)
        said, true = logits > 0, wanted > 0.5
        either = (said | true).sum((1, 2))
        shares = (said & true).sum((1, 2)) / either.clamp_min(1)
        self._sum += float(torch.where(either > 0, shares, 1.0).sum())
        self._count += len(logits)

    def value(self) -> float:
        """Give the mean so far."""
        return self._sum / self._count if self._count else math.nan

    def counted(self) -> tuple[float, int]:
        """Give the sum and the count."""
        return self._sum, self._count

    def join(self, counted: Sequence[tuple[float, int]]) -> None:
        """Add up sums and counts."""
        self._sum, self._count = sum(each for each, _ in counted), sum(count for _, count in counted)


def _numbers(row: Tensor) -> list[float]:
    return cast(list[float], row.tolist())  # pyright: ignore[reportUnknownMemberType]


def _lay(map: Tensor, logits: Tensor, box: list[float], number: int) -> None:
    """Write a number where the mask of a box says yes, seen smoothly at the middles of the pixels inside."""
    (x1, y1, x2, y2), (height, width) = box, map.shape
    left, top, right, bottom = max(0, round(x1)), max(0, round(y1)), min(width, round(x2)), min(height, round(y2))
    if left >= right or top >= bottom:
        return
    across = (torch.arange(left, right) + 0.5 - x1) / (x2 - x1) * 2 - 1
    down = (torch.arange(top, bottom) + 0.5 - y1) / (y2 - y1) * 2 - 1
    grid = torch.stack(torch.meshgrid(across, down, indexing="xy"), -1)
    seen = functional.grid_sample(
        logits[None, None], grid[None], mode="bilinear", padding_mode="border", align_corners=False
    )
    map[top:bottom, left:right][seen[0, 0] > 0] = number


def _box_of(mask: Tensor) -> Tensor:
    rows, columns = mask.any(1).nonzero()[:, 0], mask.any(0).nonzero()[:, 0]
    return torch.stack((columns[0], rows[0], columns[-1] + 1, rows[-1] + 1))


def _seen(codes: Tensor, boxes: Tensor, bins: int) -> Tensor:
    """Give the numbers of the map at the middles of the bins of each box."""
    steps = (torch.arange(bins, device=boxes.device, dtype=boxes.dtype) + 0.5) / bins
    at = boxes[:, None, :2] + steps[None, :, None] * (boxes[:, 2:] - boxes[:, :2])[:, None]
    column = at[..., 0].floor().long().clamp(0, codes.shape[1] - 1)
    row = at[..., 1].floor().long().clamp(0, codes.shape[0] - 1)
    return codes[row[:, :, None], column[:, None, :]]
