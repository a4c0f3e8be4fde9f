"""Losses of boxes, cells, neighbours and numbers that are not asked for: by hand, and against slow loops."""

import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor
from torch.nn import functional

from inkcap import Drawing, Recipe, evaluate, train
from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec
from inkcap.training.box_loss import match
from inkcap.training.boxes import offsets_to, shared_areas
from inkcap.training.data import DataError
from inkcap.training.data.placed import with_labels
from inkcap.training.detecting import cells_detections, decoder
from inkcap.training.errors import TrainingError
from inkcap.training.facts import CapsuleFacts
from inkcap.training.losses import explicit_loss, loss_function
from inkcap.training.mask_loss import MaskIou, rows_of
from inkcap.training.targets import encode_target, target_kind
from inkcap.training.yolo_loss import grid_of

VARIANCES = (0.1, 0.1, 0.2, 0.2)


def selection(rows: int, scores: int, dtype: str = "float32") -> CapsuleFacts:
    return CapsuleFacts("found", "selection", (1, rows, 6), dtype, scores=scores, variances=VARIANCES, picture=(32, 32))


def both(spec: LossSpec, output: CapsuleFacts, value: Tensor, target: Tensor) -> tuple[float, Tensor]:
    """Give the loss and its gradient by autograd, after seeing that universal backpropagation has the same."""
    leaf = value.clone().requires_grad_()
    loss = loss_function(spec, output)(leaf, target)
    (slope,) = torch.autograd.grad(loss, leaf)
    found, gradient = explicit_loss(spec, output)(value, target)
    assert float(found) == pytest.approx(float(loss.detach()), rel=1e-5, abs=1e-6)
    torch.testing.assert_close(gradient, slope, rtol=1e-4, atol=1e-6)
    return float(loss.detach()), slope


# Boxes


def test_shared_areas_and_offsets_by_hand() -> None:
    boxes = torch.tensor([[0.0, 0, 10, 10], [5, 0, 15, 10], [0, 0, 0, 0]])
    shared = shared_areas(boxes, boxes)
    assert shared.tolist()[0] == pytest.approx([1.0, 50 / 150, 0.0])
    assert shared[2].tolist() == [0.0, 0.0, 0.0]
    wanted = torch.tensor([[2.0, 3, 22, 13]])
    offsets = offsets_to(boxes[:1], wanted, VARIANCES)[0].tolist()
    assert offsets == pytest.approx([0.7 / 0.1, 0.3 / 0.1, math.log(2) / 0.2, 0.0], rel=1e-5)


def test_each_box_has_its_best_candidate_and_others_by_their_share() -> None:
    boxes = torch.tensor([[[0.0, 0, 10, 10], [0, 0, 10, 8], [0, 0, 10, 4], [20, 20, 24, 24], [0, 0, 0, 0]]])
    target = torch.tensor([[[2.0, 0, 0, 10, 10], [3, 20, 20, 32, 32], [0, 0, 0, 0, 0]]])
    found = match(boxes, target, positive=0.7, negative=0.3, best=True)
    # Shares of the first: 1, 0.8, 0.4 (between both: does not count); of the second 1/9, its best; nothing is there.
    assert found.labels.tolist() == [[2, 2, -1, 3, -1]]
    assert found.targets[0, [0, 1, 3]].tolist() == [0, 0, 1]
    alone = match(boxes, target, positive=0.7, negative=0.3, best=False)
    assert alone.labels.tolist() == [[2, 2, -1, 0, -1]]


def test_the_loss_of_boxes_by_hand() -> None:
    output = selection(3, 3)
    boxes = [[0.0, 0, 10, 10], [16, 16, 26, 26], [0, 16, 10, 26]]
    offsets = [[1.0, 0, 0, 0], [0, 0, 0, 0], [0, 0, 0, 0]]
    logits = [[0.0, 0, 0], [0.0, math.log(2), 0], [math.log(2), 0, 0]]
    value = torch.tensor([[[*o, *s, *b] for o, s, b in zip(offsets, logits, boxes, strict=True)]])[:, None]
    target = torch.tensor([[[2.0, 0, 0, 10, 10]]])
    spec = LossSpec("found", "boxes", options={"negatives": 1.0})
    # One finds the box: log 3 for its class, ½ for an offset of 1; the most mistaken other says 1/4 of background.
    loss, slope = both(spec, output, value, target)
    assert loss == pytest.approx(math.log(3) + math.log(4) + 0.5, rel=1e-6)
    assert slope[0, 0, 2].abs().sum() == 0
    assert slope[..., -4:].abs().sum() == 0
    wide = LossSpec("found", "boxes", options={"negatives": 2.0, "offsets": 2.0, "edge": 0.5})
    # The offset of 1 is beyond the edge: 1 − ¼; the third says 1/2 of background.
    assert both(wide, output, value, target)[0] == pytest.approx(math.log(3) + math.log(4) + math.log(2) + 1.5)


def test_offsets_of_each_class_are_apart() -> None:
    output = selection(1, 3)
    offsets = [9.0, 9, 9, 9, 5, 5, 5, 5, 0, 0, 0, 2]
    value = torch.tensor([[[*offsets, 0, 0, 0, 0, 0, 10, 10]]])[:, None]
    target = torch.tensor([[[2.0, 0, 0, 10, 10]]])
    loss, slope = both(LossSpec("found", "boxes"), output, value, target)
    assert loss == pytest.approx(math.log(3) + 1.5)
    assert slope[0, 0, 0, :11].abs().sum() == 0


@pytest.mark.parametrize("scores", [1, 2])
def test_proposals_know_objects_alone(scores: int) -> None:
    output = selection(1, scores)
    value = torch.tensor([[[0.0, 0, 0, 0, *[0.0] * (scores - 1), math.log(3), 0, 0, 10, 10]]])[:, None]
    loss, _ = both(LossSpec("found", "boxes"), output, value, torch.tensor([[[7.0, 0, 0, 10, 10]]]))
    assert loss == pytest.approx(math.log(4 / 3))


def slow_box_loss(value: Any, target: Any, scores: int, options: dict[str, float]) -> float:
    """Compute the loss candidate by candidate."""
    classes_total = places_total = 0.0
    finders = 0
    for rows, boxes in zip(value[:, 0], target, strict=True):
        real = [box for box in boxes if box[0] > 0]
        shares = [[float(shared_areas(b[1:][None], r[-4:][None])) for b in real] for r in rows]
        found: dict[int, int] = {
            i: int(np.argmax(share)) for i, share in enumerate(shares) if real and max(share) >= options["positive"]
        }
        for number in reversed(range(len(real))):
            column = [share[number] for share in shares]
            if max(column) > 0:
                found[int(np.argmax(column))] = number
        losses: list[float] = []
        for i, row in enumerate(rows):
            logits = row[4 : 4 + scores]
            label = int(real[found[i]][0]) if i in found else 0
            entropy = float(functional.cross_entropy(logits[None], torch.tensor([label])))
            if i in found:
                classes_total += entropy
                difference = row[:4] - offsets_to(row[-4:], real[found[i]][1:], VARIANCES)
                places_total += sum(0.5 * float(d) ** 2 if abs(d) < 1 else abs(float(d)) - 0.5 for d in difference)
            elif (max(shares[i]) if real else 0.0) < options["negative"]:
                losses.append(entropy)
        finders += len(found)
        classes_total += sum(sorted(losses, reverse=True)[: int(options["negatives"] * max(len(found), 1))])
    return (classes_total + places_total) / max(finders, 1)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), negatives=st.integers(0, 4))
def test_the_loss_of_boxes_is_that_of_a_slow_loop(seed: int, negatives: int) -> None:
    rng = np.random.default_rng(seed)
    corners = rng.integers(0, 20, (2, 9, 2))
    boxes = np.concatenate([corners, corners + rng.integers(4, 12, (2, 9, 2))], 2)
    value = np.concatenate([rng.normal(size=(2, 9, 4 + 3)), boxes], 2)[:, None]
    target = np.zeros((2, 3, 5))
    for sample in range(2):
        for place in range(int(rng.integers(0, 4))):
            near = boxes[sample, int(rng.integers(0, 9))] + rng.integers(-2, 3, 4)
            target[sample, place] = [rng.integers(1, 3), *near]
    options = {"positive": 0.5, "negative": 0.4, "negatives": float(negatives)}
    tensors = torch.from_numpy(value), torch.from_numpy(target)
    loss, _ = both(LossSpec("found", "boxes", options=options), selection(9, 3, "float64"), *tensors)
    assert loss == pytest.approx(slow_box_loss(*tensors, 3, options), rel=1e-6)


def test_drawn_candidates_are_the_same_for_the_same_numbers() -> None:
    value = torch.from_numpy(np.random.default_rng(0).normal(size=(2, 1, 40, 11)))
    value[..., 7:9] = value[..., 7:9].abs() * 10
    value[..., 9:] = value[..., 7:9] + 8
    target = torch.tensor([[[1.0, 0, 0, 9, 9]], [[2.0, 5, 5, 14, 14]]])
    output = selection(40, 3, "float64")
    few = LossSpec("found", "boxes", options={"sampled": 8, "positive": 0.3, "negative": 0.3})
    first, slope = both(few, output, value, target)
    assert both(few, output, value, target)[0] == first
    # Scores of at most 8 candidates of a picture learn, and at least one of them finds the box.
    learns = (slope[..., 4:7].abs().sum(-1) > 0).sum(-1)
    assert (learns == 8).all()
    assert both(few, output, value + 1e-9, target)[0] != first
    every = LossSpec("found", "boxes", options={"sampled": 1000, "share": 1.0, "positive": 0.3, "negative": 0.3})
    assert (both(every, output, value, target)[1][..., 4:7].abs().sum(-1) > 0).all()


def test_half_precision_and_empty_pictures_stay_finite() -> None:
    output = selection(2, 3, "float16")
    value = torch.zeros(1, 1, 2, 11, dtype=torch.float16)
    value[..., -2:] = 8
    for target in (torch.zeros(1, 2, 5), torch.tensor([[[1.0, 0, 0, 8, 8]]])):
        found, gradient = explicit_loss(LossSpec("found", "boxes"), output)(value, target)
        assert math.isfinite(float(found))
        assert gradient.dtype == torch.float16
        assert bool(torch.isfinite(gradient).all())


def test_detections_are_those_that_the_selection_gives() -> None:
    choosing: dict[str, Any] = {
        "scores": 3, "count": 2, "before": 10, "levels": (2,), "overlap": 0.5, "least": 0.3, "smallest": 0.0,
        "variances": VARIANCES, "picture": (32, 32),
    }  # fmt: skip
    output = CapsuleFacts("f", "selection", (1, 2, 6), scores=3, variances=VARIANCES, choosing=choosing)
    rows = [[0.0, 0, 0, 0, 0, 0, math.log(6), 0, 0, 10, 10], [0.0, 0, 0, 0, math.log(9), 0, 0, 0, 0, 9, 9]]
    found = decoder(output, "boxes", {})(torch.tensor([[rows]]))
    assert found[0, 0].tolist() == pytest.approx([2, 0.75, 0, 0, 10, 10])
    assert found[0, 1].tolist() == [0] * 6


# YOLO


def cells(rows: int, columns: int, classes: int, boxes: int = 2) -> CapsuleFacts:
    return CapsuleFacts("out", "identical", (5 * boxes + classes, rows, columns), picture=(20, 40))


def test_the_loss_of_cells_by_hand() -> None:
    output = cells(1, 2, 3)
    value = torch.zeros(1, 13, 1, 2)
    # The box 20…40 × 0…20 fills the second cell: x, y = ½, √w = √½, √h = 1. The second box there has it exactly.
    value[0, 5:10, 0, 1] = torch.tensor([0.5, 0.5, math.sqrt(0.5), 1.0, 0.25])
    value[0, 4, 0, 1] = 0.5
    value[0, 10, 0, 1] = 1.0
    target = torch.tensor([[[3.0, 20, 0, 40, 20]]])
    loss, slope = both(LossSpec("out", "yolo"), output, value, target)
    # Its confidence lacks ¾; the first box's ½ is for nothing, by ½; the class says 1, 0, 0 for 0, 0, 1.
    assert loss == pytest.approx(0.75**2 + 0.5 * 0.5**2 + 2, rel=1e-5)
    assert slope[0, :, 0, 0].abs().sum() == 0
    moved = value.clone()
    moved[0, 5, 0, 1] = 0.6
    shared = 18 / 22
    heavy = LossSpec("out", "yolo", options={"coordinates": 7.0, "nothing": 0.0})
    assert both(heavy, output, moved, target)[0] == pytest.approx(7 * 0.01 + (0.25 - shared) ** 2 + 2, rel=1e-4)


def test_where_no_box_touches_the_nearest_numbers_learn() -> None:
    output = cells(1, 1, 1)
    value = torch.zeros(1, 11, 1, 1)
    value[0, 5:9, 0, 0] = 0.1
    value[0, 5, 0, 0] = 5.0
    target = torch.tensor([[[1.0, 0, 0, 8, 8]]])
    _, slope = both(LossSpec("out", "yolo"), output, value, target)
    assert slope[0, :4].abs().sum() > 0
    assert slope[0, 5:9].abs().sum() == 0


def slow_cells(value: Any, target: Any, rows: int, columns: int, classes: int) -> float:
    """Compute YOLO's sum cell by cell; the boxes are two."""
    total = 0.0
    for numbers, boxes in zip(value, target, strict=True):
        for i in range(rows):
            for j in range(columns):
                cell = numbers[:, i, j]
                mine = [
                    box for box in boxes
                    if box[0] > 0
                    and int((box[1] + box[3]) / 2 * columns / 40) == j
                    and int((box[2] + box[4]) / 2 * rows / 20) == i
                ]  # fmt: skip
                if not mine:
                    total += 0.5 * (cell[4] ** 2 + cell[9] ** 2)
                    continue
                label, left, top, right, bottom = mine[0]
                wanted = np.array([
                    (left + right) / 2 * columns / 40 - j, (top + bottom) / 2 * rows / 20 - i,
                    math.sqrt((right - left) / 40), math.sqrt((bottom - top) / 20),
                ])  # fmt: skip
                shares: list[float] = []
                for number in range(2):
                    x, y, w, h = cell[5 * number : 5 * number + 4]
                    x, y, w, h = (x + j) * 40 / columns, (y + i) * 20 / rows, w * w * 40, h * h * 20
                    wide = min(x + w / 2, right) - max(x - w / 2, left)
                    high = min(y + h / 2, bottom) - max(y - h / 2, top)
                    common = max(wide, 0) * max(high, 0)
                    shares.append(common / (w * h + (right - left) * (bottom - top) - common))
                near = [-((cell[5 * n : 5 * n + 4] - wanted) ** 2).sum() for n in range(2)]
                best = int(np.argmax(shares if max(shares) > 0 else near))
                total += 5 * ((cell[5 * best : 5 * best + 4] - wanted) ** 2).sum()
                total += (cell[5 * best + 4] - shares[best]) ** 2 + 0.5 * cell[5 * (1 - best) + 4] ** 2
                total += ((cell[10:] - np.eye(classes)[int(label) - 1]) ** 2).sum()
    return total / len(value)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_the_loss_of_cells_is_that_of_a_slow_loop(seed: int) -> None:
    rng = np.random.default_rng(seed)
    rows, columns, classes = 2, 3, 4
    value = rng.normal(0.5, 0.4, (2, 10 + classes, rows, columns))
    target = np.zeros((2, 4, 5))
    for sample in range(2):
        for place in range(int(rng.integers(0, 5))):
            corner = rng.integers(0, (32, 14), 2)
            target[sample, place] = [rng.integers(1, classes + 1), *corner, *(corner + rng.integers(3, (9, 7), 2))]
    tensors = torch.from_numpy(value), torch.from_numpy(target)
    loss, _ = both(LossSpec("out", "yolo"), cells(rows, columns, classes), *tensors)
    assert loss == pytest.approx(slow_cells(value, target, rows, columns, classes), rel=1e-6)
    # A vector has the same cells, row by row.
    flat = CapsuleFacts("out", "identical", (rows * columns * (10 + classes),), picture=(20, 40))
    with pytest.raises(TrainingError, match="no grid of 7×7 cells with 2 boxes"):
        grid_of(flat, {"boxes": 2, "cells": 7})


def test_a_vector_has_the_cells_row_by_row() -> None:
    value = torch.from_numpy(np.random.default_rng(1).normal(size=(2, 12, 2, 2)))
    target = torch.tensor([[[2.0, 3, 4, 15, 12]], [[1.0, 22, 2, 30, 18]]])
    vector = CapsuleFacts("out", "identical", (48,), picture=(20, 40))
    options = {"boxes": 2, "cells": 2}
    first, _ = both(LossSpec("out", "yolo", options=options), vector, value.movedim(1, -1).flatten(1), target)
    assert first == pytest.approx(both(LossSpec("out", "yolo"), cells(2, 2, 2), value, target)[0])


def test_cells_tell_detections() -> None:
    output = cells(1, 2, 3)
    value = torch.zeros(1, 13, 1, 2)
    value[0, 5:10, 0, 1] = torch.tensor([0.5, 0.5, math.sqrt(0.5), 1.0, 0.9])
    value[0, 0:5, 0, 1] = torch.tensor([0.5, 0.5, math.sqrt(0.5), 0.9, 0.8])
    value[0, 12, 0, 1] = 1.0
    found = cells_detections(grid_of(output, {"boxes": 2, "cells": 7}), value)
    # The smaller box overlaps the surer one and goes.
    assert found[0, 0].tolist() == pytest.approx([3, 0.9, 20, 0, 40, 20])
    assert found[0, 1:].abs().sum() == 0


# Neighbours


def slow_triplets(value: Any, labels: Any, margin: float, hard: bool) -> float:
    losses: list[float] = []
    for a in range(len(value)):
        for p in range(len(value)):
            if a == p or labels[a] != labels[p]:
                continue
            near = ((value[a] - value[p]) ** 2).sum()
            far = [((value[a] - value[n]) ** 2).sum() for n in range(len(value)) if labels[n] != labels[a]]
            if not far:
                return 0.0
            beyond = [distance for distance in far if distance > near]
            chosen = min(far) if hard else min(beyond) if beyond else max(far)
            losses.append(max(near - chosen + margin, 0.0))
    return float(np.mean(losses)) if losses else 0.0


def test_a_triplet_by_hand() -> None:
    output = CapsuleFacts("e", "l2-normalisation", (2,))
    value = torch.tensor([[1.0, 0], [0.6, 0.8], [0, 1.0]])
    # Pairs 0–1 at 0.8; from 0 the other is at 2, from 1 at 0.4, which is not beyond but the only one.
    labels = torch.tensor([4, 4, 9])
    loss, _ = both(LossSpec("e", "triplet"), output, value, labels)
    assert loss == pytest.approx((0 + (0.8 - 0.4 + 0.2)) / 2, rel=1e-5)
    assert both(LossSpec("e", "triplet", options={"margin": 2.0}), output, value, labels)[0] == pytest.approx(1.6)
    alone, slope = both(LossSpec("e", "triplet"), output, value, torch.tensor([1, 2, 3]))
    assert alone == 0.0
    assert slope.abs().sum() == 0


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6), mining=st.sampled_from(["semi-hard", "hard"]), dtype=st.sampled_from([32, 64]))
def test_triplets_are_those_of_a_slow_loop(seed: int, mining: str, dtype: int) -> None:
    rng = np.random.default_rng(seed)
    value = rng.normal(size=(9, 3))
    value /= np.linalg.norm(value, axis=1, keepdims=True)
    labels = rng.integers(0, int(rng.integers(1, 5)), 9)
    output = CapsuleFacts("e", "l2-normalisation", (3,), f"float{dtype}")
    spec = LossSpec("e", "triplet", options={"margin": 0.5, "mining": mining})
    loss, _ = both(spec, output, torch.from_numpy(value).to(getattr(torch, f"float{dtype}")), torch.from_numpy(labels))
    assert loss == pytest.approx(slow_triplets(value, labels, 0.5, mining == "hard"), rel=1e-4, abs=1e-6)


# Numbers that are not asked for


def test_what_is_nan_is_not_asked_for() -> None:
    output = CapsuleFacts("q", "identical", (3,))
    value, nan = torch.tensor([[1.0, 5.0, -3.0], [0.0, 0.0, 0.0]]), math.nan
    target = encode_target(np.array([[1.5, nan, 1.0], [nan, nan, nan]], np.float32), output, "huber", "y")
    # ½·0.5² within the edge of 1; beyond, 4 − ½: the mean of both.
    loss, slope = both(LossSpec("q", "huber"), output, value, target)
    assert loss == pytest.approx((0.125 + 3.5) / 2)
    assert slope.tolist() == [[-0.25, 0.0, -0.5], [0.0, 0.0, 0.0]]
    assert both(LossSpec("q", "huber", options={"edge": 0.25}), output, value, target)[0] == pytest.approx(
        (0.25 * (0.5 - 0.125) + 0.25 * (4 - 0.125)) / 2
    )
    half = CapsuleFacts("q", "identical", (3,), "float16")
    target = encode_target(np.array([[nan, 6e4, 0.0]], np.float32), half, "huber", "y")
    found, gradient = explicit_loss(LossSpec("q", "huber"), half)(torch.zeros(1, 3, dtype=torch.float16), target)
    assert float(found) == pytest.approx((59968 - 0.5) / 2, rel=1e-3)
    assert gradient.tolist() == [[0.0, -0.5, 0.0]]
    nothing, _ = explicit_loss(LossSpec("q", "huber"), output)(value, torch.full((2, 3), nan))
    assert float(nothing) == 0.0


# What does not fit


@pytest.mark.parametrize(
    ("output", "loss", "values", "words"),
    [
        (CapsuleFacts("o", "identical", (6,)), "boxes", np.zeros((2, 3, 5)), "'o' is no selection.*2D-selection"),
        (selection(4, 3), "boxes", np.zeros((2, 3)), r"shape \(3,\) for each sample.*rows of a label"),
        (selection(4, 3), "boxes", np.full((2, 1, 5), 3.0), "labels up to 3, but.*3 scores.*give it 4"),
        (CapsuleFacts("o", "identical", (6,)), "yolo", np.zeros((2, 6)), "the loss yolo needs boxes"),
        (CapsuleFacts("o", "identical", (6,)), "triplet", np.zeros((2, 6)), "needs one class a sample"),
    ],
)
def test_wrong_targets_are_named(output: CapsuleFacts, loss: str, values: Any, words: str) -> None:
    with pytest.raises(TrainingError, match=words):
        encode_target(values, output, loss, "y")


def test_cells_need_a_picture_and_room() -> None:
    with pytest.raises(TrainingError, match="needs a picture"):
        loss_function(LossSpec("o", "yolo"), CapsuleFacts("o", "identical", (13, 7, 7)))
    with pytest.raises(TrainingError, match=r"o' of 7×7×10 is no grid.*give it 49·\(10 \+ classes\) numbers"):
        loss_function(LossSpec("o", "yolo"), CapsuleFacts("o", "identical", (10, 7, 7), picture=(9, 9)))


def test_kinds_of_targets_follow_from_outputs_and_losses() -> None:
    boxes, labels = np.zeros((2, 3, 5), np.float32), np.array([0, 1])
    sphere = CapsuleFacts("e", "l2-normalisation", (8,))
    assert target_kind(boxes, selection(4, 3), layout="boxes") == "boxes"
    assert target_kind(boxes, selection(4, 3), "boxes") == "boxes"
    assert target_kind(labels, sphere) == "neighbours"
    assert target_kind(labels, sphere, "cross-entropy") == "classes"
    assert target_kind(labels, CapsuleFacts("e", "identical", (8,))) == "classes"


# Masks


def items(count: int, classes: int, bins: int) -> CapsuleFacts:
    return CapsuleFacts("m", "identical", (1, count, classes * bins * bins + 6), picture=(4, 6))


def test_the_loss_of_masks_by_hand() -> None:
    instances = np.zeros((1, 4, 6), np.uint8)
    instances[0, :2, :4] = 1
    instances[0, 0, 3] = 2
    boxes = np.array([[[2, 0, 0, 4, 2], [1, 3, 0, 4, 1]]], np.float32)
    codes = with_labels(instances, boxes)
    assert sorted(set(codes.reshape(-1).tolist())) == [0, 2 + 1 * 256, 1 + 2 * 256]
    output = items(2, 2, 2)
    target = encode_target(codes, output, "masks", "instances")
    value = torch.zeros(1, 1, 2, 14)
    # The first item has the first box: its bins' middles, at 1 and 3 across, see all of it but the upper right one.
    value[0, 0, 0, 4:8] = torch.tensor([math.log(3), math.log(3), 0.0, 0.0])
    value[0, 0, 0, 8:] = torch.tensor([2, 0.9, 0, 0, 4, 2])
    # The second matches nothing.
    value[0, 0, 1, 8:] = torch.tensor([1, 0.8, 0, 2, 4, 4])
    spec = LossSpec("m", "masks", options={"bins": 2})
    loss, slope = both(spec, output, value, target)
    assert loss == pytest.approx((math.log(4 / 3) + math.log(4) + 2 * math.log(2)) / 4)
    assert slope[0, 0, 0, :4].abs().sum() == slope[0, 0, 1].abs().sum() == slope[..., 8:].abs().sum() == 0
    score = MaskIou(output, 0, rows_of(output, spec.options))
    score.add(value, target)
    # It says the upper two, true are the upper left and the lower two: 1 of 4.
    assert score.value() == pytest.approx(1 / 4)
    nothing, gradient = both(spec, output, value, torch.zeros_like(target))
    assert nothing == 0.0
    assert gradient.abs().sum() == 0


def test_masks_are_laid_over_pictures_the_surest_on_top() -> None:
    output = items(3, 2, 2)
    value = torch.full((1, 1, 3, 14), -1.0)
    # The surest has the mask of class 2 on its left half; a less sure one of class 1 fills the box below and beside it.
    value[0, 0, 0, 4:8] = torch.tensor([1.0, -1, 1, -1])
    value[0, 0, 0, 8:] = torch.tensor([2, 0.9, 0, 0, 4, 2])
    value[0, 0, 1, :4] = 1.0
    value[0, 0, 1, 8:] = torch.tensor([1, 0.6, 0, 1, 6, 4])
    # What is not sure enough is left out.
    value[0, 0, 2, :4] = 1.0
    value[0, 0, 2, 8:] = torch.tensor([1, 0.4, 0, 0, 6, 4])
    laid = rows_of(output, {"bins": 2, "positive": 0.5}).painted(value, (4, 6))[0]
    first, second = 1 + 2 * 256, 2 + 1 * 256
    rows = [[first] * 2 + [0] * 4, [first] * 2 + [second] * 4, [second] * 6, [second] * 6]
    assert laid.tolist() == rows


def test_masks_need_rows_and_maps() -> None:
    with pytest.raises(TrainingError, match=r"no rows of 14×14 bins.*classes·196 \+ 6 numbers"):
        rows_of(CapsuleFacts("m", "identical", (4, 9, 14)), {"bins": 14, "positive": 0.5})
    with pytest.raises(TrainingError, match="give a target instances"):
        encode_target(np.zeros((1, 4, 6)), items(2, 2, 2), "masks", "y")


def test_gaps_in_numbers_are_trained_through(tmp_path: Path) -> None:
    rng = np.random.default_rng(0)
    x = rng.normal(size=(60, 3)).astype(np.float32)
    y = 2 * x
    y[np.arange(60)[:, None] % 3 != np.arange(3)] = np.nan
    np.savez(tmp_path / "actions.npz", x=x, y=y)
    drawing = Drawing("q")
    drawing.add("a", "1D-data", dimension=3)
    drawing.then("q", "1D-identical", "full", dimension=3)
    data, losses = DataSpec("actions.npz", normalise="none"), (LossSpec(kind="huber"),)
    result = train(drawing, Recipe(data, losses, OptimiserSpec("adam", 0.05), epochs=60), workspace=tmp_path)
    assert result.values["val_mae"] < 0.2
    assert evaluate(result.run).values["mae"] == pytest.approx(result.values["val_mae"], abs=0.1)
    with pytest.raises(DataError, match="nan is not a finite number"):
        train(drawing, Recipe(data), workspace=tmp_path)
