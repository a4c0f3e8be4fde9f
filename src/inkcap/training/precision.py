"""Average precision of detections: how few false ones come with how many of the boxes that are there.

Detections of all pictures are taken from the surest on. One is right when the box of its class that it shares most with
is not found yet and is shared by at least IoU 0.5. Precision is made to fall only, and its area over recall is the
average precision of a class, by all points, as VOC has it since 2010.
"""

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inkcap.training.boxes import shared_areas

IOU = 0.5
Numbers = NDArray[np.float64]


@dataclass
class Found:
    """Detections (samples, k, 6) and boxes (samples, m, 5), kept until all are there."""

    detections: list[Numbers] = field(default_factory=list[Numbers])
    boxes: list[Numbers] = field(default_factory=list[Numbers])

    def add(self, detections: Tensor, boxes: Tensor) -> None:
        """Keep a batch: rows with a score or a label above 0."""
        for rows, real in zip(_arrays(detections), _arrays(boxes), strict=True):
            rows = rows.reshape(-1, 6)
            self.detections.append(rows[rows[:, 0] > 0])
            self.boxes.append(real[real[:, 0] > 0])

    def mean_precision(self, iou: float = IOU) -> float:
        """Give the mean of the average precisions of the classes that are there; NaN where none is."""
        labels = sorted({int(label) for real in self.boxes for label in real[:, 0]})
        return float(np.mean([self.precision(label, iou) for label in labels])) if labels else math.nan

    def precision(self, label: int, iou: float = IOU) -> float:
        """Give the average precision of one class."""
        scores, right = self._judged(label, iou)
        count = sum(int((real[:, 0] == label).sum()) for real in self.boxes)
        order = np.argsort(-scores, kind="stable")
        return average_precision(right[order], count)

    def recall(self, iou: float = IOU) -> float:
        """Give the share of all boxes, whatever their class, that any detection shares enough with."""
        found = total = 0
        for rows, real in zip(self.detections, self.boxes, strict=True):
            total += len(real)
            if len(rows) and len(real):
                found += int((_shared(real[:, 1:], rows[:, 2:]).max(1) >= iou).sum())
        return found / total if total else math.nan

    def _judged(self, label: int, iou: float) -> tuple[Numbers, NDArray[np.bool_]]:
        """Tell of every detection of a class its score, and whether it is right."""
        scores: list[float] = []
        right: list[bool] = []
        for rows, real in zip(self.detections, self.boxes, strict=True):
            mine, there = rows[rows[:, 0] == label], real[real[:, 0] == label]
            mine = mine[np.argsort(-mine[:, 1], kind="stable")]
            shared = _shared(mine[:, 2:], there[:, 1:])
            taken: set[int] = set()
            for row, share in zip(mine, shared, strict=True):
                best = int(share.argmax()) if len(there) else -1
                hit = best >= 0 and bool(share[best] >= iou) and best not in taken
                if hit:
                    taken.add(best)
                scores.append(float(row[1]))
                right.append(hit)
        return np.array(scores, np.float64), np.array(right, np.bool_)


def average_precision(right: Sequence[bool] | NDArray[np.bool_], count: int) -> float:
    """Give the area under precision over recall of detections from the surest on, of so many boxes in all."""
    hits = np.cumsum(np.asarray(right, np.float64))
    if not count or not len(hits):
        return 0.0 if count else math.nan
    precision = hits / np.arange(1, len(hits) + 1)
    recall = np.concatenate([[0.0], hits / count])
    falling = np.maximum.accumulate(precision[::-1])[::-1]
    return float((np.diff(recall) * falling).sum())


def _shared(first: Numbers, second: Numbers) -> Numbers:
    if not len(first) or not len(second):
        return np.zeros((len(first), len(second)))
    found: Any = shared_areas(torch.from_numpy(first), torch.from_numpy(second)).numpy()
    return found


def _arrays(values: Tensor) -> Numbers:
    found: Any = values.detach().double().cpu().numpy()
    return found
