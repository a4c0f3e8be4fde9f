"""Boxes on torch: anchors, corrections, and the best that do not overlap; with references and printed forms.

``anchor_boxes``, ``corrected``, ``outdone``, ``ranked`` and ``select`` are printed into modules as they stand
here, so they name nothing but torch and each other.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - printed modules call it so

from inkcap.engine.printed import Printed
from inkcap.operations import Step

Array = NDArray[Any]
Attributes = Mapping[str, Any]
Compute = Callable[[Sequence[Tensor], Attributes], Tensor]
Product = Callable[[Sequence[Tensor], Tensor, Tensor, Attributes], tuple[Tensor, ...]]


def anchor_boxes(x: Tensor, boxes: tuple[tuple[float, ...], ...], stride: tuple[float, float], place: float) -> Tensor:
    """Lay the same boxes about every place of a map: rows x1, y1, x2, y2, place by place."""
    height, width = x.shape[2:]
    down = (torch.arange(height, dtype=x.dtype, device=x.device) + place) * stride[0]
    right = (torch.arange(width, dtype=x.dtype, device=x.device) + place) * stride[1]
    top, left = down[:, None].expand(height, width), right.expand(height, width)
    centres = torch.stack((left, top, left, top), -1)[:, :, None]
    return (centres + x.new_tensor(boxes)).reshape(1, 1, -1, 4).expand(x.shape[0], -1, -1, -1)


def corrected(boxes: Tensor, offsets: Tensor, variances: tuple[float, ...]) -> Tensor:
    """Move boxes by shares of their sizes and scale them by powers of e, at most by 62.5."""
    sizes = boxes[..., 2:] - boxes[..., :2]
    by = offsets * offsets.new_tensor(variances)
    centres = boxes[..., :2] + sizes / 2 + by[..., :2] * sizes
    sizes = sizes * by[..., 2:].clamp(max=4.135166556742356).exp()
    return torch.cat((centres - sizes / 2, centres + sizes / 2), -1)


def outdone(boxes: Tensor, kinds: Tensor, valid: Tensor, overlap: float) -> Tensor:
    """Tell which of the boxes, the best first, overlap a better one of their kind that stays."""
    areas = (boxes[..., 2:] - boxes[..., :2]).prod(-1)
    over = torch.zeros((*kinds.shape, kinds.shape[1]), dtype=torch.bool, device=boxes.device)
    for first in range(0, kinds.shape[1], 512):
        # A box is outdone by better ones alone, which stand before it.
        part, rest = slice(first, first + 512), slice(first, None)
        one, other = boxes[:, part, None], boxes[:, None, rest]
        sides = torch.minimum(one[..., 2:], other[..., 2:]) - torch.maximum(one[..., :2], other[..., :2])
        common = sides.clamp(min=0).prod(-1)
        shared = common > overlap * (areas[:, part, None] + areas[:, None, rest] - common)
        over[:, part, rest] = shared & (kinds[:, part, None] == kinds[:, None, rest]) & valid[:, part, None]
    over = over.triu(1)
    # Who stays depends on the better ones alone, so that going over all at once comes to the same end as one by one.
    stays = valid
    while True:
        lost = (over & stays[:, :, None]).any(1)
        if torch.equal(valid & ~lost, stays):
            return lost
        stays = valid & ~lost


def ranked(shares: Tensor, before: int, levels: tuple[int, ...]) -> tuple[Tensor, Tensor, Tensor]:
    """Give the best scores of every level, all together the best first, their places and their levels."""
    first, score, place, level = 0, list[Tensor](), list[Tensor](), list[Tensor]()
    for number, length in enumerate(levels):
        best, at = shares[:, first : first + length].flatten(1).sort(dim=1, descending=True, stable=True)
        score.append(best[:, :before])
        place.append(at[:, :before] + first * shares.shape[2])
        level.append(torch.full_like(place[-1], number))
        first += length
    best, order = torch.cat(score, 1).sort(dim=1, descending=True, stable=True)
    return best, torch.cat(place, 1).gather(1, order), torch.cat(level, 1).gather(1, order)


def select(
    rows: Tensor,
    image: Tensor | None,
    scores: int,
    count: int,
    before: int,
    levels: tuple[int, ...],
    overlap: float,
    least: float,
    smallest: float,
    variances: tuple[float, ...],
    picture: tuple[int, int] | None,
) -> Tensor:
    """Give the best of corrected boxes that overlap no better one of their kind: label, score, x1, y1, x2, y2."""
    rows = rows.detach()[:, 0]
    classes = (rows.shape[2] - scores - 4) // 4
    logits = rows[:, :, 4 * classes : -4]
    shares = torch.sigmoid(logits) if scores == 1 else logits.softmax(2)[:, :, 1:]
    score, place, level = ranked(shares, before, levels)
    row, label = place // shares.shape[2], place % shares.shape[2] + 1
    samples = torch.arange(rows.shape[0], device=rows.device)[:, None]
    first = 4 * label if classes > 1 else 0 * label
    offsets = rows[samples[..., None], row[..., None], first[..., None] + torch.arange(4, device=rows.device)]
    box = corrected(rows[samples, row, -4:], offsets, variances)
    side = torch.full_like(score, smallest)
    if image is not None:
        height, width, scale = image.detach().unbind(1)
        side = side * scale[:, None]
        box = torch.minimum(box.clamp(min=0), torch.stack((width, height, width, height), 1)[:, None])
    elif picture is not None:
        box = torch.minimum(box.clamp(min=0), box.new_tensor((picture[1], picture[0]) * 2))
    narrow = (box[..., 2:] - box[..., :2]).amin(-1)
    valid = (score > least) & (narrow >= side) & (narrow > 0)
    valid = valid & ~outdone(box, level * (scores + 1) + label, valid, overlap)
    order = valid.to(torch.uint8).sort(dim=1, descending=True, stable=True).indices[:, :count]
    made = torch.cat((label[..., None].to(box.dtype), score[..., None], box), 2) * valid[..., None]
    return F.pad(made[samples, order], (0, 0, 0, count - order.shape[1]))[:, None]


PRINTED = {"anchors": (anchor_boxes,), "select": (corrected, outdone, ranked, select)}
"""The functions that the printed form of an operation calls."""


def _still(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    return tuple(torch.zeros_like(argument) for argument in v)


def _select(v: Sequence[Tensor], at: Attributes) -> Tensor:
    return select(v[0], v[1] if len(v) > 1 else None, **at)


CALLS: dict[str, tuple[Compute, Product]] = {
    "boxes": (lambda v, at: v[0][..., -4:].detach(), _still),
    "anchors": (lambda v, at: anchor_boxes(v[0], **at), _still),
    "select": (_select, _still),
}
"""How torch computes each operation; none of them passes a gradient."""


def _reference_anchors(map: Array, at: Attributes) -> Array:
    down, right = at["stride"]
    corners = [
        ((j + at["place"]) * right, (i + at["place"]) * down) for i in range(map.shape[2]) for j in range(map.shape[3])
    ]
    found = [[x + b[0], y + b[1], x + b[2], y + b[3]] for x, y in corners for b in at["boxes"]]
    return np.broadcast_to(np.array(found, map.dtype), (map.shape[0], 1, len(found), 4))


def _reference_corrected(box: Array, offset: Array, at: Attributes) -> Array:
    dx, dy, dw, dh = offset * np.array(at["variances"])
    w, h = box[2] - box[0], box[3] - box[1]
    x, y = box[0] + w / 2 + dx * w, box[1] + h / 2 + dy * h
    w, h = w * min(np.exp(dw), 62.5), h * min(np.exp(dh), 62.5)
    return np.array([x - w / 2, y - h / 2, x + w / 2, y + h / 2])


def _overlaps(a: Array, b: Array, share: float) -> bool:
    common = max(min(a[2], b[2]) - max(a[0], b[0]), 0) * max(min(a[3], b[3]) - max(a[1], b[1]), 0)
    areas = [(box[2] - box[0]) * (box[3] - box[1]) for box in (a, b)]
    return bool(common > share * (areas[0] + areas[1] - common))


def _reference_choices(rows: Array, at: Attributes) -> list[tuple[float, int, int, int]]:
    """List what may be chosen, the best first: score, row, label and level."""
    scores, found, first = at["scores"], list[tuple[float, int, int, int]](), 0
    for level, length in enumerate(at["levels"]):
        here = list[tuple[float, int, int, int]]()
        for i in range(first, first + length):
            logits = rows[i, -4 - scores : -4]
            shares = np.exp(logits - logits.max()) / np.exp(logits - logits.max()).sum()
            told = [1 / (1 + np.exp(-logits[0]))] if scores == 1 else shares[1:]
            here += [(float(share), i, label, level) for label, share in enumerate(told, 1)]
        found += sorted(here, key=lambda one: -one[0])[: at["before"]]
        first += length
    return sorted(found, key=lambda one: -one[0])


def _reference_select(v: Sequence[Array], at: Attributes) -> Array:
    made = np.zeros((len(v[0]), 1, at["count"], 6), v[0].dtype)
    for z, (rows,) in enumerate(v[0]):
        classes = (rows.shape[1] - at["scores"] - 4) // 4
        image = v[1][z] if len(v) > 1 else (*(at["picture"] or (np.inf, np.inf)), 1)
        least = 0 if len(v) > 1 or at["picture"] else -np.inf
        kept = list[tuple[tuple[int, int], Array]]()
        for score, i, label, level in _reference_choices(rows, at):
            place = 4 * label if classes > 1 else 0
            box = _reference_corrected(rows[i, -4:], rows[i, place : place + 4], at)
            box = np.minimum(np.maximum(box, least), (image[1], image[0]) * 2)
            side = min(box[2] - box[0], box[3] - box[1])
            if score <= at["least"] or side < at["smallest"] * image[2] or side <= 0:
                continue
            if not any(kind == (level, label) and _overlaps(one[2:], box, at["overlap"]) for kind, one in kept):
                kept.append(((level, label), np.array([label, score, *box])))
        for k, (_, one) in enumerate(kept[: at["count"]]):
            made[z, 0, k] = one
    return made


BOX_REFERENCE: dict[str, Callable[[Sequence[Array], Attributes], Array]] = {
    "boxes": lambda v, at: v[0][..., -4:],
    "anchors": lambda v, at: _reference_anchors(v[0], at),
    "select": _reference_select,
}


def print_call(name: str, first: str, at: Attributes) -> Printed:
    """Print a call of a function that the module brings along."""
    return Printed(f"{name}({', '.join((first, *(f'{key}={value!r}' for key, value in at.items())))})")


BOX_FORMS: dict[str, Callable[[Step, Sequence[Printed]], Printed]] = {
    "boxes": lambda step, v: Printed(f"{v[0].tight}[..., -4:].detach()"),
    "anchors": lambda step, v: print_call("anchor_boxes", v[0].text, step.attributes),
    "select": lambda step, v: print_call(
        "select", f"{v[0].text}, {v[1].text if len(v) > 1 else None}", step.attributes
    ),
}
