"""Detectors, maps and embeddings through the whole machinery: trained, measured, asked, looked into, gone on with."""

from pathlib import Path

import numpy as np
import pytest

from inkcap import Drawing, Recipe, evaluate, predict, resume, train
from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec, RecipeError
from inkcap.training import Inspection, StopRequest
from inkcap.training.data import load
from inkcap.zoo.rcnn import rcnn_narrow

SMALL = {"n": 40, "size": "32x32"}


def detector(**attributes: object) -> Drawing:
    """Draw a detector of one level with two anchors a place."""
    drawing = Drawing("detector")
    drawing.add("picture", "2D-data", height=32, width=32, channels=3)
    drawing.then("conv", "2D-relu", "convolution", kernels=8, kernel=4, stride=4)
    drawing.then("pool", "2D-downsampling", window=2)
    drawing.add("anchors", "2D-anchors", scales="10 14", stride=8)
    drawing.connect("pool", "anchors", "transfer")
    for name, numbers in (("offsets", 4), ("scores", 4)):
        drawing.add(f"{name}-maps", "2D-identical")
        drawing.connect("pool", f"{name}-maps", "convolution", kernels=2 * numbers, kernel=3, padding=1)
        drawing.add(name, "2D-identical", channels=1, width=numbers)
        drawing.connect(f"{name}-maps", name, "reshaping", order=(1, 2, 0))
    drawing.add("found", "2D-selection", count=6, picture=(32, 32), **attributes)
    for back, port in (("offsets", "in"), ("scores", "scores"), ("anchors", "boxes")):
        drawing.connect(back, "found", "transfer", port=port)
    return drawing


def recipe(epochs: int = 2, **settings: object) -> Recipe:
    data = DataSpec("shapes", SMALL, augment="flip=both,shift=2")
    return Recipe(data, batch=8, epochs=epochs, optimiser=OptimiserSpec("adam", 0.01), **settings)


def test_a_detector_learns_is_measured_and_asked(tmp_path: Path) -> None:
    result = train(detector(), recipe(6), workspace=tmp_path)
    first = result.run.metrics().epochs()[0].values
    assert result.values["loss"] < 0.85 * first["loss"]
    assert 0 <= result.values["val_map"] <= 1
    assert result.run.recipe().losses == (LossSpec("found", "boxes"),)
    found = evaluate(result.run, weights="last")
    assert found.values["map"] == result.values["val_map"]
    assert found.values["loss"] == pytest.approx(result.values["val_loss"], rel=1e-5)
    assert found.reports == {}
    pictures = load("shapes", {"n": "3", "size": "32x32"}, tmp_path).inputs["x"]
    answer = predict(result.run, pictures).outputs["found"]
    assert answer.values.shape == (3, 6, 6)
    assert answer.classes == ("background", "circle", "square", "triangle")
    (words, score), *_ = answer.best(0)
    assert words.split(" at ")[0] in ("circle", "square", "triangle")
    assert score == pytest.approx(float(answer.values[0, 0, 1]))


def test_universal_backpropagation_trains_a_detector_alike(tmp_path: Path) -> None:
    by_autograd, universal = (
        train(detector(), recipe(1, engine=engine), workspace=tmp_path).values for engine in ("eager", "explicit")
    )
    assert universal["val_loss"] == pytest.approx(by_autograd["val_loss"], rel=1e-4)
    assert universal["loss"] == pytest.approx(by_autograd["loss"], rel=1e-4)


def test_a_detector_goes_on_to_the_same_numbers(tmp_path: Path) -> None:
    drawn = recipe(2, losses=(LossSpec("found", "boxes", options={"sampled": 8}),), monitor="map")
    whole = train(detector(), drawn, workspace=tmp_path)
    part = train(detector(), drawn, workspace=tmp_path, stop=StopRequest(until=1))
    assert resume(part.run).values == whole.values


def test_two_stages_learn_the_same_boxes(tmp_path: Path) -> None:
    drawing = rcnn_narrow(input=(32, 32, 3), width=4, dense=8)
    plain = Recipe(DataSpec("shapes", SMALL), batch=8, epochs=1)
    result = train(drawing, plain, workspace=tmp_path)
    assert result.run.recipe().data.feed == "rpn=boxes,detections=boxes"
    assert {"val_map", "val_recall", "val_recall.rpn", "val_map.detections"} <= result.values.keys()
    assert evaluate(result.run, weights="last").values["recall"] == result.values["val_recall"]


def test_a_run_of_boxes_is_looked_into(tmp_path: Path) -> None:
    result = train(detector(), recipe(1), workspace=tmp_path)
    inspection = Inspection(result.run)
    found = inspection.confusion()
    assert found["classes"] == []
    assert len(found["worst"]) == 8
    assert found["worst"][0]["loss"] >= found["worst"][-1]["loss"]
    told = inspection.answer(example={"part": "validation", "number": 0})["answers"][0]
    assert told["meaning"] == "detections"
    assert told["loss"] is not None


def test_neighbours_need_no_dimension_of_their_own(tmp_path: Path) -> None:
    drawing = Drawing("sphere")
    drawing.add("a", "2D-data", height=8, width=8, channels=1)
    drawing.then("c", "1D-identical", "reshaping")
    drawing.then("e", "1D-l2-normalisation", "full", dimension=6)
    result = train(drawing, Recipe(DataSpec("digits"), epochs=3, monitor="retrieval"), workspace=tmp_path)
    assert result.values["val_retrieval"] > 0.85
    assert evaluate(result.run, weights="last").values["retrieval"] == result.values["val_retrieval"]
    places = predict(result.run, np.zeros((2, 1, 8, 8), np.uint8)).outputs["e"]
    assert places.meaning == "numbers"
    assert places.values.shape == (2, 6)
    with pytest.raises(RecipeError, match=r"accuracy .* is not measured of these outputs; give loss or retrieval"):
        train(drawing, Recipe(DataSpec("digits"), epochs=1, monitor="accuracy"), workspace=tmp_path)


def test_masks_are_learnt_from_rows(tmp_path: Path) -> None:
    drawing = detector(least=0.0)
    drawing.add("instances", "2D-identical")
    drawing.add("masks", "2D-identical")
    drawing.connect("found", "masks", "full", height=3 * 4 * 4)
    for back in ("masks", "found"):
        drawing.connect(back, "instances", "inject", axis="width")
    # A selection that others read is no output any more, so that the masks are the only one.
    masks = LossSpec("instances", "masks", options={"bins": 4, "positive": 0.1})
    result = train(drawing, recipe(4, losses=(masks,)), workspace=tmp_path)
    assert 0 < result.values["loss"] < 0.7 * result.run.metrics().epochs()[0].values["loss"]
    assert 0 <= result.values["val_mean_iou"] <= 1
