"""What is where on pictures: against boxes and pixels that are known, of data and of runs that were trained."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from inkcap.recipes import DataSpec, OptimiserSpec, Recipe, RunFolder
from inkcap.studio.routes.insight import MODELS
from inkcap.training import Inspection, TrainingError, predict, train
from inkcap.training.data import load
from inkcap.training.data.marks import marks_of, true_marks
from inkcap.zoo.rcnn import rcnn_narrow
from inkcap.zoo.ssd import ssd_narrow
from inkcap.zoo.unet import unet_narrow

CLASSES = ("background", "circle", "square", "triangle")


def test_marks_tell_boxes_and_pixels_and_leave_out_what_is_none() -> None:
    boxes = np.array([[2, 0.75, 1, 2, 5, 8], [0, 0, 0, 0, 0, 0], [9, 0.5, 0, 0, 1, 1]], np.float32)
    told = marks_of((8, 10), CLASSES, boxes, np.eye(2, dtype=np.uint8))
    assert told["boxes"] == [
        {"label": 2, "name": "square", "score": 0.75, "corners": [1.0, 2.0, 5.0, 8.0]},
        {"label": 9, "name": "9", "score": 0.5, "corners": [0.0, 0.0, 1.0, 1.0]},
    ]
    assert (told["height"], told["width"], told["pixels"]) == (8, 10, [[1, 0], [0, 1]])
    assert marks_of((8, 8), CLASSES, boxes[:, [0, 2, 3, 4, 5]])["boxes"][0]["score"] is None
    stripes = np.repeat(np.array([[0] * 8, [3] * 8]), 4, axis=0)
    assert marks_of((8, 8), CLASSES, pixels=stripes, most=2)["pixels"] == [[0, 0], [3, 3]]


def test_the_marks_of_data_are_their_targets(tmp_path: Path) -> None:
    shapes = load("shapes", {"n": "4", "size": "32x48"}, tmp_path)
    told = true_marks(shapes, 1)
    assert told is not None
    real = shapes.targets["boxes"][1]
    assert [[box["label"], *box["corners"]] for box in told["boxes"]] == real[real[:, 0] > 0].tolist()
    assert told["pixels"] == shapes.targets["classes"][1].tolist()
    assert (told["height"], told["width"], tuple(told["classes"])) == (32, 48, CLASSES)
    things = load("shapes", {"n": "4", "size": "32x48", "targets": "boxes;instances"}, tmp_path)
    only = true_marks(things, 1, ("instances",))
    assert only is not None
    # Nothing hides a thing that is told, so that its pixels have the label of its box.
    assert (only["boxes"], only["pixels"]) == ([], told["pixels"])
    assert true_marks(load("digits", {}, tmp_path), 0) is None


@pytest.fixture(scope="module")
def detector(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A narrow SSD that has seen a few shapes once."""
    recipe = Recipe(DataSpec("shapes", {"n": "24"}), epochs=1, batch=8, signals=True)
    return train(ssd_narrow(width=4), recipe, tmp_path_factory.mktemp("detector")).run


@pytest.fixture(scope="module")
def segmenter(tmp_path_factory: pytest.TempPathFactory) -> RunFolder:
    """A narrow U-Net that has seen a few shapes once."""
    recipe = Recipe(DataSpec("shapes", {"n": "24"}), epochs=1, batch=8, optimiser=OptimiserSpec("adam", 0.003))
    return train(unet_narrow(width=2, depth=2), recipe, tmp_path_factory.mktemp("segmenter")).run


def test_what_is_found_is_what_the_run_predicts(detector: RunFolder) -> None:
    inspection = Inspection(detector)
    shapes = load("shapes", {"n": "24"}, detector.path)
    told = inspection.examples("training", count=2, only="worst", found=True)
    MODELS["examples"].model_validate(told)
    assert told["examples"][0]["loss"] >= told["examples"][1]["loss"]
    one = inspection.answer(example={"part": "training", "number": told["examples"][0]["number"]})
    MODELS["answer"].model_validate(one)
    (answer,) = one["answers"]
    assert answer["meaning"] == "detections"
    assert answer["found"] == told["examples"][0]["found"]
    assert answer["there"] == told["examples"][0]["there"]
    assert answer["loss"] == pytest.approx(told["examples"][0]["loss"])
    number = next(i for i in range(24) if true_marks(shapes, i, ("boxes",)) == answer["there"])
    (said,) = predict(detector, shapes.inputs["x"][number : number + 1], weights="last").outputs.values()
    rows = [row for row in said.values[0].tolist() if row[0] > 0]
    found = [[box["label"], box["score"], *box["corners"]] for box in answer["found"]["boxes"]]
    assert len(found) == len(rows)
    np.testing.assert_allclose(np.array(found).reshape(-1, 6), np.array(rows).reshape(-1, 6), atol=0.006)
    judged = inspection.confusion("training", worst=1)
    MODELS["confusion"].model_validate(judged)
    assert (judged["places"], judged["classes"]) == (True, [])
    with pytest.raises(TrainingError, match="answers with places"):
        inspection.examples("training", only="wrong")


def test_pixels_that_are_found_are_those_that_the_run_predicts(segmenter: RunFolder) -> None:
    inspection = Inspection(segmenter)
    (answer,) = inspection.answer(example={"part": "training", "number": 3})["answers"]
    assert answer["classes"] is None
    assert answer["values"] is None
    shapes = load("shapes", {"n": "24"}, segmenter.path)
    number = next(i for i in range(24) if shapes.targets["classes"][i].tolist() == answer["there"]["pixels"])
    (said,) = predict(segmenter, shapes.inputs["x"][number : number + 1], weights="last").outputs.values()
    assert said.labels is not None
    assert answer["found"]["pixels"] == said.labels[0].tolist()
    assert tuple(answer["found"]["classes"]) == CLASSES
    small = inspection.examples("training", count=1)["examples"][0]
    assert (len(small["there"]["pixels"]), small["label"], small["found"]) == (32, None, None)
    with pytest.raises(TrainingError, match="answers with places"):
        inspection.examples("training", only="wrong")


def test_boxes_and_masks_are_laid_over_one_picture_and_proposals_left_out(tmp_path: Path) -> None:
    recipe = Recipe(DataSpec("shapes", {"n": "12"}), epochs=1, batch=6, optimiser=OptimiserSpec("adam", 0.003))
    run = train(rcnn_narrow(masks=True, width=2, dense=8), recipe, tmp_path).run
    assert run.recipe().data.feed == "rpn=boxes,detections=boxes,instances=instances"
    inspection = Inspection(run)
    told = inspection.examples("validation", count=2, found=True)
    MODELS["examples"].model_validate(told)
    shapes = load("shapes", {"n": "12"}, tmp_path)
    for one in told["examples"]:
        known = [true_marks(shapes, i, ("boxes", "classes")) for i in range(12)]
        assert one["there"] in known
        assert tuple(one["found"]["classes"]) == CLASSES
        assert np.array(one["found"]["pixels"]).shape == (64, 64)
    answers = inspection.answer(example={"part": "validation", "number": 0})["answers"]
    assert [answer["meaning"] for answer in answers] == ["detections", "detections", "instances"]
    assert answers[1]["found"]["boxes"] == told["examples"][0]["found"]["boxes"]
    assert answers[2]["found"]["pixels"] == told["examples"][0]["found"]["pixels"]
    assert inspection.confusion("validation")["output"] == "detections"


def test_rows_of_a_list_are_no_dead_units(detector: RunFolder) -> None:
    signals = Inspection(detector).signals()["capsules"]
    assert signals["detections"]["dead"] == [None] * len(signals["detections"]["dead"])
    assert None not in signals["conv1"]["dead"]
