"""Boxes as tensors: x1, y1, x2, y2 along the last axis; how much two share, and how one is moved to another."""

import torch
from torch import Tensor


def shared_areas(first: Tensor, second: Tensor) -> Tensor:
    """Give the IoU of every box of (…, m, 4) with every box of (…, n, 4); 0 where both are empty."""
    one, other = first[..., :, None, :], second[..., None, :, :]
    sides = torch.minimum(one[..., 2:], other[..., 2:]) - torch.maximum(one[..., :2], other[..., :2])
    common = sides.clamp_min(0).prod(-1)
    either = areas(first)[..., :, None] + areas(second)[..., None, :] - common
    return common / either.clamp_min(torch.finfo(common.dtype).tiny)


def areas(boxes: Tensor) -> Tensor:
    """Give the areas of boxes."""
    return (boxes[..., 2:] - boxes[..., :2]).clamp_min(0).prod(-1)


def offsets_to(boxes: Tensor, wanted: Tensor, variances: tuple[float, ...]) -> Tensor:
    """Give the offsets dx, dy, dw, dh that bring boxes to the wanted ones, divided by the variances."""
    sizes, wanted_sizes = (corners[..., 2:] - corners[..., :2] for corners in (boxes, wanted))
    moved = (wanted[..., :2] + wanted_sizes / 2 - boxes[..., :2] - sizes / 2) / sizes
    return torch.cat((moved, (wanted_sizes / sizes).log()), -1) / boxes.new_tensor(variances)
