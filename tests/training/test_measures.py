"""What is measured beside the loss, by hand and by slow loops."""

import math
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from inkcap.training.facts import CapsuleFacts
from inkcap.training.precision import Found, average_precision
from inkcap.training.scores import MeanIou, OutputScore, Retrieval


def test_mean_iou_by_hand() -> None:
    score = MeanIou(CapsuleFacts("m", "softmax", (3, 1, 4)))
    truth = torch.tensor([[[0, 0, 1, 1]]])
    said = torch.tensor([[[0, 1, 1, 1]]])
    score.add(torch.nn.functional.one_hot(said, 3).movedim(-1, 1).float(), truth)
    # Class 0: 1 of 2 pixels; class 1: 2 of 3; class 2 is nowhere and does not count.
    assert score.value() == pytest.approx((1 / 2 + 2 / 3) / 2)
    assert math.isnan(MeanIou(CapsuleFacts("m", "softmax", (3, 1, 4))).value())


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 10**6), classes=st.integers(2, 5))
def test_mean_iou_is_that_of_sets_of_pixels(seed: int, classes: int) -> None:
    rng = np.random.default_rng(seed)
    truth, said = rng.integers(0, classes, (2, 6, 3, 5)), rng.integers(0, classes, (2, 6, 3, 5))
    score = MeanIou(CapsuleFacts("m", "softmax", (classes, 3, 5)))
    for true, answer in ((truth[0], said[0]), (truth[1], said[1])):
        value = torch.nn.functional.one_hot(torch.from_numpy(answer), classes).movedim(-1, 1).float()
        score.add(value, torch.from_numpy(true))
    found = [
        ((truth == label) & (said == label)).sum() / ((truth == label) | (said == label)).sum()
        for label in range(classes)
        if ((truth == label) | (said == label)).any()
    ]
    assert score.value() == pytest.approx(float(np.mean(found)))


def test_the_nearest_other_sample_decides() -> None:
    score = Retrieval(CapsuleFacts("e", "l2-normalisation", (1,)))
    score.add(torch.tensor([[0.0], [1.0], [10.0]]), torch.tensor([0, 0, 1]))
    score.add(torch.tensor([[10.5], [1.4]]), torch.tensor([1, 1]))
    # The last one's nearest is 1.0, of the other class, and 1.0's nearest is the last one.
    assert score.value() == pytest.approx(3 / 5)
    alone = Retrieval(CapsuleFacts("e", "l2-normalisation", (1,)))
    alone.add(torch.zeros(1, 1), torch.zeros(1, dtype=torch.int64))
    assert math.isnan(alone.value())


def test_what_was_not_asked_is_no_error() -> None:
    score = OutputScore(CapsuleFacts("q", "identical", (3,)), "huber", "numbers")
    score.add(torch.tensor([[1.0, 2.0, 3.0]]), torch.tensor([[math.nan, 4.0, math.nan]]))
    assert score.value() == 2.0


def test_average_precision_by_hand() -> None:
    # Right, wrong, right, of 4 boxes: precision 1, 1/2, 2/3; made to fall only: 1, 2/3, 2/3 at recalls 1/4, 1/4, 1/2.
    assert average_precision([True, False, True], 4) == pytest.approx(1 / 4 * 1 + 1 / 4 * 2 / 3)
    assert average_precision([True, True], 2) == 1.0
    assert average_precision([False], 3) == 0.0
    assert average_precision([], 3) == 0.0
    assert math.isnan(average_precision([True], 0))


def test_a_box_is_found_once_and_by_its_class() -> None:
    found = Found()
    boxes = torch.tensor([[[1, 0, 0, 10, 10], [2, 20, 20, 30, 30], [0, 0, 0, 0, 0]]], dtype=torch.float32)
    detections = torch.tensor(
        [[
            [1, 0.9, 0, 0, 10, 9],  # right
            [1, 0.8, 0, 0, 10, 10],  # the same box again: wrong
            [1, 0.7, 20, 20, 30, 30],  # the box of the other class: wrong
            [2, 0.6, 20, 20, 30, 24],  # shares 0.4 alone: wrong
            [2, 0.5, 20, 20, 30, 26],  # right
            [0, 0.0, 0, 0, 0, 0],
        ]]
    )  # fmt: skip
    found.add(detections, boxes)
    assert found.precision(1) == 1.0
    assert found.precision(2) == 0.5
    assert found.mean_precision() == 0.75
    assert found.recall() == 1.0
    assert found.recall(1.01) == 0.0
    empty = Found()
    empty.add(torch.zeros(1, 3, 6), torch.zeros(1, 2, 5))
    assert math.isnan(empty.mean_precision())
    assert math.isnan(empty.recall())


def slow_iou(a: NDArray[Any], b: NDArray[Any]) -> float:
    wide = min(a[2], b[2]) - max(a[0], b[0])
    high = min(a[3], b[3]) - max(a[1], b[1])
    common = max(wide, 0) * max(high, 0)
    return common / ((a[2] - a[0]) * (a[3] - a[1]) + (b[2] - b[0]) * (b[3] - b[1]) - common)


def slow_precision(detections: NDArray[Any], boxes: NDArray[Any], label: int) -> float:
    """Go through all detections one by one, and through all recalls one by one."""
    every = [(row, sample) for sample in range(len(boxes)) for row in detections[sample] if row[0] == label]
    every.sort(key=lambda pair: -pair[0][1])
    taken: set[tuple[int, int]] = set()
    hits: list[bool] = []
    for row, sample in every:
        real = [(slow_iou(row[2:], box[1:]), place) for place, box in enumerate(boxes[sample]) if box[0] == label]
        best, place = max(real, key=lambda pair: (pair[0], -pair[1]), default=(0.0, -1))
        hits.append(best >= 0.5 and (sample, place) not in taken)
        if hits[-1]:
            taken.add((sample, place))
    count = int((boxes[..., 0] == label).sum())
    area = 0.0
    for number in range(1, count + 1):
        # The best precision of all that have at least this recall.
        sure = [sum(hits[: i + 1]) / (i + 1) for i in range(len(hits)) if sum(hits[: i + 1]) >= number]
        area += max(sure, default=0.0) / count
    return area


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_mean_precision_is_that_of_a_slow_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    boxes, detections = np.zeros((3, 4, 5)), np.zeros((3, 9, 6))
    for sample in range(3):
        for place in range(int(rng.integers(0, 5))):
            corner = rng.integers(0, 12, 2)
            boxes[sample, place] = [rng.integers(1, 3), *corner, *(corner + rng.integers(3, 9, 2))]
        for place in range(9):
            near = boxes[sample, int(rng.integers(0, 4))]
            corner = near[1:3] + rng.integers(-1, 2, 2)
            size = np.maximum(near[3:] - near[1:3], 3) + rng.integers(-1, 2, 2)
            detections[sample, place] = [rng.integers(1, 3), rng.random(), *corner, *(corner + size)]
    found = Found()
    found.add(torch.from_numpy(detections), torch.from_numpy(boxes))
    labels = [label for label in (1, 2) if (boxes[..., 0] == label).any()]
    if labels:
        expected = np.mean([slow_precision(detections, boxes, label) for label in labels])
        assert found.mean_precision() == pytest.approx(float(expected), abs=1e-12)
