"""Detectors drawn to be trained: their outputs are selections, whose candidates lead to every weight."""

from __future__ import annotations

import pytest
import torch

from inkcap.engine import build, initialise, named_weights
from inkcap.network import check
from inkcap.training.facts import facts_of
from inkcap.zoo.rcnn import faster_rcnn_vgg, rcnn_fpn
from inkcap.zoo.ssd import ssd300

SMALL = {"input": (64, 64, 3), "classes": 3, "width": 2, "dense": 6, "proposals": 8}
TRAINED = {
    "ssd": (lambda: ssd300(classes=5, width=2, boxes=True), {"detections": (5, 8732)}),
    "vgg": (lambda: faster_rcnn_vgg(**SMALL, trained=True), {"rpn": (2, 4 * 4 * 9), "detections": (3, 8)}),
    "pyramid": (
        lambda: rcnn_fpn(**SMALL, channels=4, usual=14, trained=True),
        {"rpn": (1, 3 * (256 + 64 + 16 + 4 + 1)), "detections": (3, 8)},
    ),
}


@pytest.mark.parametrize("name", TRAINED)
def test_every_weight_is_reached_from_candidates(name: str) -> None:
    draw, wanted = TRAINED[name]
    network = check(draw()).network
    assert set(network.outputs) == wanted.keys()
    scores = {one.name: one.scores for one in facts_of(network).outputs}
    assert scores == {id: count for id, (count, _) in wanted.items()}
    module = build(network, dict.fromkeys(network.outputs, "U"))
    initialise(module, network, 2)
    size = network.capsules["data"].output.sizes
    inputs = [torch.randn(1, *size, generator=torch.Generator().manual_seed(1))]
    inputs += [torch.tensor([[64.0, 64, 1]])] if "im_info" in network.inputs else []
    rows = module(*inputs)
    found = dict(zip(network.outputs, [rows] if isinstance(rows, torch.Tensor) else rows, strict=True))
    assert {id: value.shape[2] for id, value in found.items()} == {id: count for id, (_, count) in wanted.items()}
    sum(value[..., :-4].square().sum() for value in found.values()).backward()
    assert not [name for name, weight in named_weights(module).items() if weight.grad is None]


def test_the_default_boxes_of_ssd_are_those_that_are_known() -> None:
    network = check(ssd300(width=1, classes=3, boxes=True)).network
    rows = build(network, {"detections": "U"})(torch.zeros(1, 3, 300, 300))
    boxes = rows[0, 0, :, -4:].double() / 300
    assert len(boxes) == 8732
    first = boxes[:4]
    assert ((first[:, :2] + first[:, 2:]) / 2).flatten().tolist() == pytest.approx([0.013333333333333334] * 8, abs=1e-6)
    sizes = (first[:, 2:] - first[:, :2]).tolist()
    near = {"abs": 1e-6}
    assert sizes[0] == pytest.approx([0.07, 0.07], **near)
    assert sizes[1] == pytest.approx([0.10246950765959599] * 2, **near)
    assert sizes[2] == pytest.approx([0.09899494936611666, 0.049497474683058325], **near)
    assert sizes[3] == pytest.approx([0.049497474683058325, 0.09899494936611666], **near)


def test_the_anchors_of_the_pyramid_are_as_many_as_are_known() -> None:
    report = check(rcnn_fpn(trained=True))
    levels = [report.capsules["rpn"].ports[f"scores.{n}" if n else "scores"].sizes for n in range(5)]
    assert sum(channels * height * width for channels, height, width in levels) == 159_882
