"""ONNX: what onnxruntime computes is what the drawing computes, for any batch."""

from __future__ import annotations

import onnx
import pytest
import torch
from small_zoo import draw_small

from inkcap.drawing import Drawing
from inkcap.engine.build import build
from inkcap.exchange import NotProven, print_torch
from inkcap.exchange.exporting import drawn_with, loaded
from inkcap.exchange.onnx_file import OnnxError, check_onnx, prove_onnx, to_onnx
from inkcap.exchange.proof import as_near_as_rounding, largest_difference, stored_in
from inkcap.network import check
from inkcap.zoo import NETWORKS, draw

QUICK = {"mlp_fig20_2-6-4-2", "figure-16", "lenet5_1998", "capsnet_sabour", "resnet18"}
CHOOSING = {
    "ssd_narrow": "the 2D-selection capsule detections reads",
    "faster_rcnn_narrow": "the 2D-selection capsule proposals and the 2D-selection capsule rpn",
    "faster_rcnn_vgg16_caffe": "the 2D-selection capsule rois and the 2D-region capsule roi_pool5",
    "faster_rcnn_r50_fpn_tv": "the 2D-selection capsule proposals and the 2D-region capsule roi_align7",
    "mask_rcnn_narrow": "the 2D-selection capsule proposals and the 2D-selection capsule rpn",
    "mask_rcnn_r50_fpn_tv": "the 2D-selection capsule proposals and the 2D-region capsule roi_align7",
}
"""Networks that choose boxes, and the capsules that do."""
EACH = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.soak) for name in NETWORKS if name not in CHOOSING
]


@pytest.mark.parametrize("name", EACH)
def test_every_network_of_the_zoo_is_proven(name: str) -> None:
    assert prove_onnx(print_torch(draw_small(name))).outputs <= 1e-4


def test_what_only_rounding_moves_is_proven_and_no_more() -> None:
    drawing = Drawing("steep")
    drawing.add("x", "1D-data", dimension=50)
    drawing.then("y", "1D-expression", "transfer", expression="sin(3000*x)")
    ours = build(check(drawing).network)
    inputs = (torch.randn((3, 50), generator=torch.Generator().manual_seed(0)),)
    near, far = torch.sin(3000 * inputs[0].double()).float(), torch.sin(3001 * inputs[0].double()).float()
    mine = (ours(*inputs),)
    with pytest.raises(NotProven):
        largest_difference("outputs", mine, (near,), 1e-5)
    assert as_near_as_rounding(ours, inputs, mine, (near,), 1e-5) < 1e-3
    with pytest.raises(NotProven, match="outputs differ"):
        as_near_as_rounding(ours, inputs, mine, (far,), 1e-5)


@pytest.mark.parametrize("name", CHOOSING)
def test_a_choice_of_boxes_is_refused_by_its_name(name: str) -> None:
    with pytest.raises(OnnxError, match=CHOOSING[name]):
        prove_onnx(print_torch(draw_small(name)))


def test_another_weight_is_not_proven_and_the_batch_is_open() -> None:
    file = print_torch(draw("mlp"))
    ours = drawn_with(file, None)
    content = to_onnx(file, loaded(file, stored_in(ours)))
    assert check_onnx(content, file, ours) <= 1e-4
    model = onnx.load_from_string(content)
    assert model.graph.input[0].type.tensor_type.shape.dim[0].dim_param == "batch"
    weight = next(iter(stored_in(ours).values()))
    weight.data += 0.01
    with pytest.raises(NotProven, match="outputs differ"):
        check_onnx(content, file, ours)
