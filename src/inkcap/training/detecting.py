"""Detections of what a loss is given: of the candidates of a selection, and of YOLO's cells."""

from collections.abc import Callable, Mapping

import torch
from torch import Tensor

from inkcap.engine.detection import outdone, select
from inkcap.recipes.fields import Scalar
from inkcap.training.facts import CapsuleFacts
from inkcap.training.yolo_loss import Grid, grid_of

_LEAST = 0.01
_OVERLAP = 0.5
_MOST = 100


def decoder(output: CapsuleFacts, kind: str, options: Mapping[str, Scalar]) -> Callable[[Tensor], Tensor]:
    """Give what makes detections (samples, k, 6) of what the loss of that kind is given."""
    if kind == "yolo":
        grid = grid_of(output, options)
        return lambda value: cells_detections(grid, value)
    return lambda value: select(value, None, **output.choosing)[:, 0]


@torch.no_grad()
def cells_detections(grid: Grid, value: Tensor) -> Tensor:
    """Give label, score, x1, y1, x2, y2 of the boxes of all cells that overlap no better one of their class."""
    boxes, classes = grid.part(value)
    shares = (boxes[..., 4:].clamp(0, 1) * classes.clamp(0, 1)[:, :, :, None]).flatten(1)
    corners = grid.corners(boxes[..., :4]).reshape(len(value), -1, 4)
    limits = corners.new_tensor((grid.width, grid.height) * 2)
    corners = torch.minimum(corners.clamp_min(0), limits)
    score, order = shares.sort(dim=1, descending=True, stable=True)
    score, order = score[:, :_MOST], order[:, :_MOST]
    box = corners.gather(1, (order // grid.classes)[..., None].expand(-1, -1, 4))
    label = order % grid.classes + 1
    valid = (score > _LEAST) & (box[..., 2:] > box[..., :2]).all(-1)
    stays = valid & ~outdone(box, label, valid, _OVERLAP)
    found = torch.cat((label[..., None].to(box.dtype), score[..., None], box), -1) * stays[..., None]
    first = stays.to(torch.uint8).sort(dim=1, descending=True, stable=True).indices
    return found.gather(1, first[..., None].expand(-1, -1, 6))
