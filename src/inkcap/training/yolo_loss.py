"""YOLO's cells: the sum of squares by which they learn, and the boxes that they tell.

A cell of the grid has for each of its boxes x and y within the cell from 0 to 1, the roots of width and height as
shares of the picture, and the confidence; then a number for each class. A vector has the cells row by row.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from inkcap.training.boxes import shared_areas
from inkcap.training.errors import TrainingError
from inkcap.training.facts import CapsuleFacts

LossFunction = Callable[[Tensor, Tensor], Tensor]


@dataclass(frozen=True)
class Grid:
    """The cells of an output: how many down and across, the boxes of each, and the classes."""

    rows: int
    columns: int
    boxes: int
    classes: int
    height: int
    width: int

    def part(self, value: Tensor) -> tuple[Tensor, Tensor]:
        """Give the boxes (samples, rows, columns, boxes, 5) and the classes of an output."""
        wide = value.float() if value.dtype == torch.float16 else value
        numbers = 5 * self.boxes + self.classes
        cells = wide.movedim(1, -1) if wide.ndim == 4 else wide.reshape(-1, self.rows, self.columns, numbers)
        boxes, classes = cells[..., : 5 * self.boxes], cells[..., 5 * self.boxes :]
        return boxes.reshape(*boxes.shape[:3], self.boxes, 5), classes

    def corners(self, boxes: Tensor) -> Tensor:
        """Give x1, y1, x2, y2 in pixels of boxes as the cells tell them."""
        down = torch.arange(self.rows, dtype=boxes.dtype, device=boxes.device)[:, None, None]
        right = torch.arange(self.columns, dtype=boxes.dtype, device=boxes.device)[None, :, None]
        x = (boxes[..., 0] + right) * (self.width / self.columns)
        y = (boxes[..., 1] + down) * (self.height / self.rows)
        half_width, half_height = boxes[..., 2].square() * self.width / 2, boxes[..., 3].square() * self.height / 2
        return torch.stack((x - half_width, y - half_height, x + half_width, y + half_height), -1)


def grid_of(output: CapsuleFacts, options: Mapping[str, Any]) -> Grid:
    """Tell the grid of an output, a map of cells or a vector, or what does not fit."""
    boxes, side = int(options["boxes"]), int(options["cells"])
    if output.picture is None:
        raise TrainingError(f"the loss yolo of {output.name!r} needs a picture as input; draw a 2D-data capsule.")
    is_map = len(output.shape) == 3
    rows, columns = output.shape[1:] if is_map else (side, side)
    numbers, left = divmod(output.size, rows * columns)
    if left or numbers <= 5 * boxes or len(output.shape) not in (1, 3):
        raise TrainingError(
            f"the output {output.name!r} of {output.shape_text()} is no grid of {rows}×{columns} cells with {boxes} "
            f"boxes of 5 numbers and at least one class; give it {rows * columns}·({5 * boxes} + classes) numbers, or "
            "the loss other options boxes and cells."
        )
    return Grid(rows, columns, boxes, numbers - 5 * boxes, *output.picture)


def yolo_loss(options: Mapping[str, Any], output: CapsuleFacts) -> LossFunction:
    """Make the loss: of each cell with an object, its best box, the class; of all other boxes, the confidence."""
    grid = grid_of(output, options)
    coordinates, nothing = float(options["coordinates"]), float(options["nothing"])

    def loss(value: Tensor, target: Tensor) -> Tensor:
        boxes, classes = grid.part(value)
        with torch.no_grad():
            has, wanted, labels = _cells(grid, target.to(boxes.dtype))
            shared, responsible = _responsible(grid, boxes, has, wanted)
        chosen = boxes[responsible]
        told = wanted[:, :, :, None].expand(-1, -1, -1, grid.boxes, -1)[responsible]
        places = (chosen[:, :4] - told).square().sum()
        sure = (chosen[:, 4] - shared[responsible]).square().sum()
        unsure = boxes[..., 4][~responsible].square().sum()
        right = torch.nn.functional.one_hot(labels[has], grid.classes).to(classes.dtype)
        named = (classes[has] - right).square().sum()
        return (coordinates * places + sure + nothing * unsure + named) / max(len(value), 1)

    return loss


def _cells(grid: Grid, target: Tensor) -> tuple[Tensor, Tensor, Tensor]:
    """Lay targets into cells: which have one, its x, y, √w, √h, and its class; the first of a cell counts."""
    count = len(target)
    has = torch.zeros(count, grid.rows, grid.columns, dtype=torch.bool, device=target.device)
    wanted = target.new_zeros(count, grid.rows, grid.columns, 4)
    labels = torch.zeros_like(has, dtype=torch.int64)
    for number in reversed(range(target.shape[1])):
        label, left, top, right, bottom = target[:, number].unbind(1)
        real = label > 0
        x, y = (left + right) / 2 * (grid.columns / grid.width), (top + bottom) / 2 * (grid.rows / grid.height)
        column, row = x.floor().clamp(0, grid.columns - 1), y.floor().clamp(0, grid.rows - 1)
        sizes = ((right - left) / grid.width).clamp_min(0).sqrt(), ((bottom - top) / grid.height).clamp_min(0).sqrt()
        place = real.nonzero()[:, 0], row.long()[real], column.long()[real]
        has[place] = True
        wanted[place] = torch.stack((x - column, y - row, *sizes), 1)[real]
        labels[place] = label.long()[real] - 1
    return has, wanted, labels


def _responsible(grid: Grid, boxes: Tensor, has: Tensor, wanted: Tensor) -> tuple[Tensor, Tensor]:
    """Give the IoU of every box with its cell's target, and whether it is the one that has to find it."""
    there = grid.corners(wanted[:, :, :, None])
    shared = shared_areas(grid.corners(boxes), there)[..., 0] * has[..., None]
    # Where no box touches the target, the one whose numbers are nearest has to find it.
    near = (boxes[..., :4] - wanted[:, :, :, None]).square().sum(-1)
    touches = (shared > 0).any(-1, keepdim=True)
    best = torch.where(touches, shared, -near).argmax(-1)
    responsible = torch.nn.functional.one_hot(best, grid.boxes).bool() & has[..., None]
    return shared, responsible
