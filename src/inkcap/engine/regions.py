"""Regions on torch: the bins of boxes, read from maps of one or several levels; with products and references.

``box_places``, ``axis_samples``, ``aligned_places``, ``region_align``, ``bin_edges``, ``largest_places`` and
``region_max`` are printed into modules as they stand here, so they name nothing but torch and each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - printed modules call it so

from inkcap.engine.detection import print_call
from inkcap.engine.printed import Printed
from inkcap.operations import Step

Array = NDArray[Any]
Attributes = Mapping[str, Any]
Compute = Callable[[Sequence[Tensor], Attributes], Tensor]
Product = Callable[[Sequence[Tensor], Tensor, Tensor, Attributes], tuple[Tensor, ...]]


def box_places(maps: tuple[Tensor, ...], boxes: Tensor, strides: tuple[float, ...], usual: float) -> tuple[Tensor, ...]:
    """Find for every box its level by its size: where its map starts in a table of all, the map's sizes, the stride."""
    area = (boxes[..., 2:] - boxes[..., :2]).clamp(min=1e-8).prod(-1)
    level = torch.floor(4 + (area.sqrt() / usual).log2() + 1e-6) - torch.tensor(strides[0]).log2()
    level = level.clamp(0, len(maps) - 1).long()
    sizes = torch.tensor([m.shape[2:] for m in maps], device=boxes.device)
    counts = sizes.prod(1) * boxes.shape[0]
    height, width = sizes[level].unbind(-1)
    samples = torch.arange(boxes.shape[0], device=boxes.device)[:, None]
    first = (counts.cumsum(0) - counts)[level] + samples * height * width
    return first, height, width, boxes.new_tensor(strides)[level]


def axis_samples(start: Tensor, size: Tensor, bins: int, samples: int, limit: Tensor) -> tuple[Tensor, Tensor]:
    """Find along one axis the two neighbours of every sample of every bin, and how much each counts."""
    steps = (torch.arange(bins * samples, dtype=start.dtype, device=start.device) + 0.5) / (bins * samples)
    at, last = start[..., None] + steps * size[..., None], limit[..., None] - 1
    inside = (at >= -1) & (at <= last + 1)
    at = torch.minimum(at.clamp(min=0), last.to(at.dtype))
    low = at.floor()
    share = torch.stack((1 - (at - low), at - low), -1) * inside[..., None] / samples
    places = torch.stack((low.long(), torch.minimum(low.long() + 1, last)), -1)
    return places.reshape(*start.shape, bins, 2 * samples), share.reshape(*start.shape, bins, 2 * samples)


def aligned_places(
    maps: tuple[Tensor, ...],
    boxes: Tensor,
    bins: tuple[int, int],
    strides: tuple[float, ...],
    usual: float,
    samples: int,
    aligned: bool,
) -> tuple[Tensor, Tensor]:
    """Find for every bin of every box the places of a table of all maps, and how much each counts."""
    first, height, width, stride = box_places(maps, boxes, strides, usual)
    corners = boxes / stride[..., None] - (0.5 if aligned else 0)
    start, size = corners[..., :2], corners[..., 2:] - corners[..., :2]
    size = size if aligned else size.clamp(min=1)
    y, by_y = axis_samples(start[..., 1], size[..., 1], bins[0], samples, height)
    x, by_x = axis_samples(start[..., 0], size[..., 0], bins[1], samples, width)
    rows = first[..., None, None] + y * width[..., None, None]
    places = rows[:, :, :, None, :, None] + x[:, :, None, :, None, :]
    shares = by_y[:, :, :, None, :, None] * by_x[:, :, None, :, None, :]
    return places.flatten(4).flatten(0, 3), shares.flatten(4).flatten(0, 3)


def region_align(
    maps: tuple[Tensor, ...],
    boxes: Tensor,
    bins: tuple[int, int],
    strides: tuple[float, ...],
    usual: float,
    samples: int,
    aligned: bool,
) -> Tensor:
    """Give the mean of samples in each bin of every box, each sample between its neighbours."""
    places, shares = aligned_places(maps, boxes[:, 0], bins, strides, usual, samples, aligned)
    table = torch.cat([m.permute(0, 2, 3, 1).flatten(0, 2) for m in maps])
    # Maps may have been computed in fewer bits than the boxes.
    made = F.embedding_bag(places, table, per_sample_weights=shares.to(table.dtype), mode="sum")
    return made.reshape(boxes.shape[0], boxes.shape[2], *bins, -1).permute(0, 4, 1, 2, 3)


def bin_edges(start: Tensor, size: Tensor, bins: int, limit: Tensor) -> tuple[Tensor, Tensor]:
    """Find along one axis where every bin begins and ends, in whole places inside of the map."""
    steps = torch.arange(bins + 1, dtype=start.dtype, device=start.device) * size[..., None] / bins
    first, last = steps[..., :-1].floor() + start[..., None], steps[..., 1:].ceil() + start[..., None]
    most = limit[..., None].to(start.dtype)
    return torch.minimum(first.clamp(min=0), most).long(), torch.minimum(last.clamp(min=0), most).long()


def largest_places(
    maps: tuple[Tensor, ...],
    table: Tensor,
    boxes: Tensor,
    bins: tuple[int, int],
    strides: tuple[float, ...],
    usual: float,
) -> Tensor:
    """Find for every bin of every box and every channel where in the table its largest number is; -1 for empty bins."""
    first, height, width, stride = box_places(maps, boxes, strides, usual)
    corners = torch.floor(boxes / stride[..., None] + 0.5)
    start, size = corners[..., :2], (corners[..., 2:] - corners[..., :2] + 1).clamp(min=1)
    top, bottom = bin_edges(start[..., 1], size[..., 1], bins[0], height)
    left, right = bin_edges(start[..., 0], size[..., 0], bins[1], width)
    best = table.new_full((top.numel() * bins[1], table.shape[1]), -torch.inf)
    chosen = torch.full_like(best, -1, dtype=torch.int64)
    for down in range(int((bottom - top).amax())):
        for over in range(int((right - left).amax())):
            y, x = top + down, left + over
            inside = (y < bottom)[..., :, None] & (x < right)[..., None, :]
            place = first[..., None, None] + y[..., :, None] * width[..., None, None] + x[..., None, :]
            here = inside.reshape(-1).nonzero()[:, 0]
            place = place.reshape(-1)[here]
            value, old = table[place], best[here]
            chosen[here] = torch.where(value > old, place[:, None], chosen[here])
            best[here] = torch.maximum(value, old)
    return chosen


def region_max(
    maps: tuple[Tensor, ...], boxes: Tensor, bins: tuple[int, int], strides: tuple[float, ...], usual: float
) -> Tensor:
    """Give the largest number in each bin of every box, its edges rounded to whole places."""
    table = torch.cat([m.permute(0, 2, 3, 1).flatten(0, 2) for m in maps])
    with torch.no_grad():
        chosen = largest_places(maps, table, boxes[:, 0], bins, strides, usual)
    made = torch.where(chosen >= 0, table.gather(0, chosen.clamp(min=0)), 0)
    return made.reshape(boxes.shape[0], boxes.shape[2], *bins, -1).permute(0, 4, 1, 2, 3)


PRINTED = {
    "region_align": (box_places, axis_samples, aligned_places, region_align),
    "region_max": (box_places, bin_edges, largest_places, region_max),
}
"""The functions that the printed form of an operation calls."""


def _apart(table: Tensor, maps: Sequence[Tensor], boxes: Tensor) -> tuple[Tensor, ...]:
    """Give the gradient of a table of all maps as those of the maps, and none of the boxes."""
    parts = torch.split(table, [m[:, 0].numel() for m in maps])
    sizes = [(m.shape[0], m.shape[2], m.shape[3], -1) for m in maps]
    found = [part.reshape(size).permute(0, 3, 1, 2).contiguous() for part, size in zip(parts, sizes, strict=True)]
    return (*found, torch.zeros_like(boxes))


def _align_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    *maps, boxes = v
    places, shares = aligned_places(tuple(maps), boxes[:, 0], **at)
    slope = g.permute(0, 2, 3, 4, 1).reshape(len(places), -1)
    table = g.new_zeros((sum(m[:, 0].numel() for m in maps), g.shape[1]))
    for place, share in zip(places.unbind(1), shares.unbind(1), strict=True):
        table.index_add_(0, place, slope * share[:, None])
    return _apart(table, maps, boxes)


def _max_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    *maps, boxes = v
    table = torch.cat([m.permute(0, 2, 3, 1).flatten(0, 2) for m in maps])
    chosen = largest_places(tuple(maps), table, boxes[:, 0], **at)
    slope = g.permute(0, 2, 3, 4, 1).reshape(chosen.shape) * (chosen >= 0)
    return _apart(torch.zeros_like(table).scatter_add_(0, chosen.clamp(min=0), slope), maps, boxes)


CALLS: dict[str, tuple[Compute, Product]] = {
    "region_align": (lambda v, at: region_align(tuple(v[:-1]), v[-1], **at), _align_product),
    "region_max": (lambda v, at: region_max(tuple(v[:-1]), v[-1], **at), _max_product),
}
"""How torch computes each operation, and how its gradient goes back."""


def _reference_level(box: Array, count: int, at: Attributes) -> int:
    area = max(box[2] - box[0], 1e-8) * max(box[3] - box[1], 1e-8)
    level = np.floor(4 + np.log2(np.sqrt(area) / at["usual"]) + 1e-6) - np.log2(at["strides"][0])
    return int(min(max(level, 0), count - 1))


def _between(x: Array, y: float, at: float) -> Array:
    height, width = x.shape[1:]
    if not -1 <= y <= height or not -1 <= at <= width:
        return np.zeros(len(x))
    y, at = min(max(y, 0), height - 1), min(max(at, 0), width - 1)
    i, j = int(y), int(at)
    down, right = min(i + 1, height - 1), min(j + 1, width - 1)
    above = x[:, i, j] * (1 - at + j) + x[:, i, right] * (at - j)
    below = x[:, down, j] * (1 - at + j) + x[:, down, right] * (at - j)
    return above * (1 - y + i) + below * (y - i)


def _reference_bin_mean(x: Array, box: Array, i: int, j: int, at: Attributes) -> Array:
    shift = 0.5 if at["aligned"] else 0
    start, size = box[:2] - shift, box[2:] - box[:2]
    width, height = size if at["aligned"] else np.maximum(size, 1)
    (rows, columns), samples, total = at["bins"], at["samples"], np.zeros(len(x))
    for down in range(samples):
        for over in range(samples):
            y = start[1] + (i + (down + 0.5) / samples) * height / rows
            total = total + _between(x, y, start[0] + (j + (over + 0.5) / samples) * width / columns)
    return total / samples**2


def _reference_bin_max(x: Array, box: Array, i: int, j: int, at: Attributes) -> Array:
    left, top, right, bottom = np.floor(box + 0.5)
    height, width = max(bottom - top + 1, 1), max(right - left + 1, 1)
    rows, columns = at["bins"]
    y = [np.floor(i * height / rows) + top, np.ceil((i + 1) * height / rows) + top]
    z = [np.floor(j * width / columns) + left, np.ceil((j + 1) * width / columns) + left]
    y, z = (np.clip(edges, 0, size).astype(int) for edges, size in ((y, x.shape[1]), (z, x.shape[2])))
    if y[0] >= y[1] or z[0] >= z[1]:
        return np.zeros(len(x))
    return x[:, y[0] : y[1], z[0] : z[1]].max((1, 2))


def _reference(v: Sequence[Array], at: Attributes, of: Callable[..., Array]) -> Array:
    *maps, boxes = v
    made = np.zeros((len(boxes), maps[0].shape[1], boxes.shape[2], *at["bins"]), maps[0].dtype)
    for z, k, i, j in np.ndindex(len(boxes), *made.shape[2:]):
        level = _reference_level(boxes[z, 0, k], len(maps), at)
        made[z, :, k, i, j] = of(maps[level][z], boxes[z, 0, k] / at["strides"][level], i, j, at)
    return made


REGION_REFERENCE: dict[str, Callable[[Sequence[Array], Attributes], Array]] = {
    "region_align": lambda v, at: _reference(v, at, _reference_bin_mean),
    "region_max": lambda v, at: _reference(v, at, _reference_bin_max),
}


def _print_region(step: Step, v: Sequence[Printed]) -> Printed:
    maps = ", ".join(x.text for x in v[:-1])
    return print_call(step.operation.name, f"({maps},), {v[-1].text}", step.attributes)


REGION_FORMS: dict[str, Callable[[Step, Sequence[Printed]], Printed]] = {
    "region_align": _print_region,
    "region_max": _print_region,
}
