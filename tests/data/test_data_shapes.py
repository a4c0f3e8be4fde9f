"""Shapes: pictures whose boxes and maps agree to the pixel, and stay with the picture when it is moved."""

from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from inkcap import Drawing, Recipe
from inkcap.network import as_plain, check
from inkcap.recipes import DataSpec, RecipeError
from inkcap.training.data import Augmentation, DataError, Dataset, Preparation, load, validate
from inkcap.training.data.placed import flip_boxes, resize_map, shift_boxes
from inkcap.training.facts import CapsuleFacts, NetworkFacts, facts_of
from inkcap.training.material import gather, make_batches
from inkcap.training.suiting import suited

FEW = {"n": "12", "size": "24x32", "seed": "5"}


def shapes(**options: str) -> Dataset:
    return load("shapes", {**FEW, **options}, Path())


def box_of(mask: NDArray[Any]) -> list[int]:
    rows, columns = np.nonzero(mask)
    return [int(columns.min()), int(rows.min()), int(columns.max()) + 1, int(rows.max()) + 1]


def test_maps_and_boxes_agree() -> None:
    dataset = shapes(overlap="0", most="4")
    boxes, classes, instances = (dataset.targets[name] for name in ("boxes", "classes", "instances"))
    assert validate(dataset) == []
    assert dataset.inputs["x"].shape == (12, 3, 24, 32)
    assert boxes.shape == (12, 4, 5)
    for sample in range(12):
        rows = boxes[sample][boxes[sample][:, 0] > 0]
        assert len(rows) >= 1
        for place, (label, *box) in enumerate(rows.tolist(), start=1):
            # Nothing hides anything here, so the visible pixels have the whole box.
            mine = instances[sample] == place
            assert box_of(mine) == box
            assert set(classes[sample][mine].tolist()) == {label}
        assert ((instances[sample] == 0) == (classes[sample] == 0)).all()


def test_the_same_seed_gives_the_same_pictures_whatever_their_number() -> None:
    first, more, other = shapes(), shapes(n="20"), shapes(seed="6")
    assert first.manifest == shapes().manifest
    np.testing.assert_array_equal(first.inputs["x"], more.inputs["x"][:12])
    assert not np.array_equal(first.inputs["x"], other.inputs["x"])


def test_no_shape_is_hidden_more_than_allowed() -> None:
    dataset = shapes(n="40", most="6", small="0.4", large="0.8", overlap="0.25", noise="0")
    boxes, instances = dataset.targets["boxes"], dataset.targets["instances"]
    crowded = 0
    for sample in range(40):
        for place, row in enumerate(boxes[sample][boxes[sample][:, 0] > 0], start=1):
            area = (row[3] - row[1]) * (row[4] - row[2])
            # A triangle fills at least 3/8 of its box, of which a quarter may be hidden.
            assert (instances[sample] == place).sum() >= 0.75 * 3 / 8 * area - 4
            crowded += place > 3
    assert crowded


@pytest.mark.parametrize(
    ("options", "words"),
    [
        ({"least": "4"}, "least=4 and most=3"),
        ({"small": "0.6"}, "small=0.6 and large=0.5"),
        ({"size": "4x40"}, "too small to tell shapes apart"),
        ({"targets": "boxes;masks"}, "boxes, classes, instances"),
        ({"targets": ""}, "nothing is not possible"),
        ({"shapes": "3"}, "no option called shapes"),
    ],
)
def test_impossible_options_are_named(options: dict[str, str], words: str) -> None:
    with pytest.raises(DataError, match=words):
        shapes(**options)


def test_a_row_tells_boxes_and_pixels_in_words() -> None:
    row = shapes(n="2").preview(rows=1).rows[0]
    assert "boxes=(" in row
    assert " at " in row
    assert "pixels" in row
    assert len(row) < 400


@settings(max_examples=25, deadline=None)
@given(
    seed=st.integers(0, 1000),
    text=st.sampled_from(["flip=horizontal", "flip=vertical", "flip=both", "shift=4", "crop=3,flip=both,shift=1"]),
)
def test_boxes_and_maps_go_with_the_picture(seed: int, text: str) -> None:
    dataset = shapes(overlap="0")
    augmentation = Augmentation.parse(text)
    augmentation.check(dataset)
    numbers = np.arange(12)
    boxes = augmentation.apply_boxes(dataset.targets["boxes"], (24, 32), numbers, 2, seed)
    maps = augmentation.apply(dataset.targets["instances"][:, None], numbers, 2, seed)[:, 0]
    for sample in range(12):
        for place, row in enumerate(boxes[sample], start=1):
            mine = maps[sample] == place
            if row[0] == 0:
                assert not row.any()
                assert not mine.any()
            elif mine.any():
                # What is left of a shape that was cut may have a smaller box than what is left of its box.
                left, top, right, bottom = box_of(mine)
                assert row[1] <= left < right <= row[3]
                assert row[2] <= top < bottom <= row[4]
                if "shift" not in text:
                    assert row[1:].tolist() == [left, top, right, bottom]


def test_a_turned_picture_is_refused() -> None:
    with pytest.raises(DataError, match=r"a turned picture has other boxes, which boxes, classes, instances of shapes"):
        Augmentation.parse("rotate=5").check(shapes())


def test_mirrored_and_moved_boxes_by_hand() -> None:
    boxes = np.array([[[2, 1, 3, 5, 9], [0, 0, 0, 0, 0]]] * 2, np.float32)
    only_second = np.array([False, True])
    np.testing.assert_array_equal(flip_boxes(boxes, only_second, 20, 1)[:, 0], [[2, 1, 3, 5, 9], [2, 15, 3, 19, 9]])
    np.testing.assert_array_equal(flip_boxes(boxes, only_second, 10, 2)[:, 0], [[2, 1, 3, 5, 9], [2, 1, 1, 5, 7]])
    moved = shift_boxes(boxes, np.array([-4, 7]), np.array([2, 0]), 10, 20)
    np.testing.assert_array_equal(moved, [[[2, 3, 0, 7, 5], [0] * 5], [[0] * 5, [0] * 5]])


def test_resizing_brings_boxes_and_maps_along() -> None:
    dataset = shapes()
    small = Preparation(resize=(12, 64)).resized(dataset)
    assert small.targets["classes"].shape == (12, 12, 64)
    np.testing.assert_array_equal(small.targets["boxes"][..., 1], 2 * dataset.targets["boxes"][..., 1])
    np.testing.assert_array_equal(small.targets["boxes"][..., 4], dataset.targets["boxes"][..., 4] / 2)
    np.testing.assert_array_equal(small.targets["boxes"][..., 0], dataset.targets["boxes"][..., 0])
    assert validate(small) == []
    assert resize_map(np.array([[[1, 2], [3, 4]]]), (1, 4)).tolist() == [[[3, 3, 4, 4]]]


@pytest.mark.parametrize(
    ("row", "words"),
    [
        ([1, 5, 5, 5, 9], "box 2: 1 5 5 5 9 is no label"),
        ([1, 0, 0, 33, 9], "within 24×32 pixels"),
        ([4, 0, 0, 9, 9], "box 2: 4 0 0 9 9"),
        ([1.5, 0, 0, 9, 9], "box 2: 1.5"),
    ],
)
def test_boxes_off_the_picture_are_named(row: list[float], words: str) -> None:
    dataset = shapes()
    dataset.targets["boxes"][3, 1] = row
    with pytest.raises(DataError, match="sample 3, target boxes, ") as caught:
        validate(dataset)
    assert words in str(caught.value)


def drawn(name: str, symbol: str, shape: tuple[int, ...]) -> CapsuleFacts:
    return CapsuleFacts(name, symbol, shape, scores=4 if symbol == "selection" else 0, picture=(24, 32))


def test_each_output_takes_what_suits_it() -> None:
    picture = drawn("a", "data", (3, 24, 32))
    outputs = (
        drawn("rpn", "selection", (1, 9, 6)),
        drawn("found", "selection", (1, 5, 6)),
        drawn("m", "relu", (4, 24, 32)),
        drawn("cells", "identical", (13, 7, 7)),
        drawn("instances", "identical", (1, 9, 200)),
    )
    dataset, chosen = suited(shapes(), NetworkFacts((picture,), outputs), {})
    suiting = {"rpn": "boxes", "found": "boxes", "m": "classes", "cells": "boxes", "instances": "instances"}
    assert chosen == suiting
    assert dataset.targets["rpn"] is dataset.targets["found"]
    assert dataset.layouts == suiting
    assert dataset.labels_of("rpn") == dataset.classes_of("m")
    assert dataset.classes_of("rpn") == ()
    _, asked = suited(shapes(), NetworkFacts((picture,), outputs[2:3]), {"m": "instances"})
    assert asked == {"m": "instances"}
    with pytest.raises(RecipeError, match="none of the targets suits the output 'm' of 24×32×4"):
        suited(shapes(targets="boxes;instances"), NetworkFacts((picture,), outputs[2:3]), {})


def test_a_map_is_learnt_while_it_is_moved(tmp_path: Path) -> None:
    drawing = Drawing("pixels")
    drawing.add("a", "2D-data", height=24, width=32, channels=3)
    drawing.then("m", "2D-softmax", "convolution", kernels=4, kernel=1)
    options = {"n": 12, "size": "24x32", "noise": 0}
    recipe = Recipe(DataSpec("shapes", options=options, augment="flip=both,shift=2", normalise="none"), validation=0)
    facts = facts_of(as_plain(check(drawing).network))
    material = gather(recipe, facts, tmp_path)
    assert material.recipe.losses[0].kind == "cross-entropy"
    assert material.recipe.data.feed == "m=classes"
    batches = make_batches(
        material.training, facts, material.fit, material.preparation, material.recipe, torch.device("cpu"),
        material.augmentation,
    )  # fmt: skip
    (inputs,), (targets,) = next(batches.shuffled(torch.arange(12), 3))
    # Without noise a shape has one colour: pixels of one colour have one class, wherever they were moved.
    for picture, labels in zip(inputs.numpy(), targets.numpy(), strict=True):
        colours = {tuple(picture[:, row, column]): label for (row, column), label in np.ndenumerate(labels) if label}
        for (row, column), label in np.ndenumerate(labels):
            assert colours.get(tuple(picture[:, row, column]), 0) == label


def test_an_archive_brings_boxes_and_maps(tmp_path: Path) -> None:
    made = shapes()
    np.savez(tmp_path / "mine.npz", x=made.inputs["x"], **made.targets)  # pyright: ignore[reportArgumentType]
    options = {"targets": "boxes;classes;instances", "classes": "none;round;square;pointed"}
    dataset = load("mine.npz", options, tmp_path)
    assert validate(dataset) == []
    assert dataset.layouts == made.layouts
    assert dataset.labels_of("boxes") == ("none", "round", "square", "pointed")
    for name, values in made.targets.items():
        np.testing.assert_array_equal(dataset.targets[name], values)
