"""Faster R-CNN and Mask R-CNN: boxes that might hold something are proposed, and then each is looked at."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial
from typing import Any

from inkcap.drawing import Drawing
from inkcap.zoo.building import add_data, convolve
from inkcap.zoo.record import KnownNetwork, Reference, Sizes
from inkcap.zoo.resnet import add_stages
from inkcap.zoo.vgg import STAGES

PYRAMID = 4
"""Levels that are looked into; one more, half as wide, is only proposed from."""


def faster_rcnn_vgg(
    *,
    classes: int = 21,
    input: Sizes = (600, 800, 3),
    width: int = 64,
    dense: int = 4096,
    proposals: int = 300,
    trained: bool = False,
) -> Drawing:
    """Faster R-CNN of VGG-16 as Caffe has it; ``trained`` ends with scores and boxes that a loss can be given."""
    drawing = Drawing(f"Faster R-CNN of VGG-16{', to be trained' if trained else ''}")
    add_data(drawing, "data", input)
    for stage, count in enumerate(STAGES[16], 1):
        kernels = min(width * 2 ** (stage - 1), width * 8)
        for number in range(1, count + 1):
            drawing.then(f"conv{stage}_{number}", "2D-relu", "convolution", kernels=kernels, kernel=3, padding=1)
        if stage < 5:
            drawing.then(f"pool{stage}", "2D-downsampling", window=2, edge="ceil")
    drawing.add("im_info", "1D-data", dimension=3)
    convolve(drawing, "rpn_conv", "2D-relu", "conv5_3", 3, kernels=width * 8)
    convolve(drawing, "rpn_cls_score", "2D-identical" if trained else "2D-group-softmax", "rpn_conv", 1, kernels=18)
    if not trained:
        drawing.change("rpn_cls_score", group=2, apart=True)
    convolve(drawing, "rpn_bbox_pred", "2D-identical", "rpn_conv", 1, kernels=36)
    anchors = {"scales": "128 256 512", "ratios": "0.5 1 2", "strides": "16", "rounding": "cell"}
    chosen = {"count": proposals, "before": 6000, "overlap": 0.7, "smallest": 16, "probabilities": not trained}
    for id in ("rois", "rpn")[: 1 + trained]:
        _select(drawing, id, [("rpn_bbox_pred", "")], [("rpn_cls_score", "")], variances="1 1 1 1", **chosen, **anchors)
        drawing.connect("im_info", id, "transfer", port="image")
    _look(drawing, "roi_pool5", ["conv5_3"], "rois", kind="maximum", strides="16")
    _name(drawing, "roi_pool5", classes, dense, trained, ("cls_prob", "bbox_pred"), dropout=True)
    if trained:
        _select(drawing, "detections", [("bbox_pred", "")], [("cls_prob", "")], "rois", overlap=0.3, least=0.05)
        drawing.connect("im_info", "detections", "transfer", port="image")
    return drawing


def rcnn_fpn(
    *,
    masks: bool = False,
    classes: int = 91,
    input: Sizes = (800, 800, 3),
    width: int = 64,
    channels: int = 256,
    dense: int = 1024,
    proposals: int = 1000,
    detections: int = 100,
    usual: int = 224,
    trained: bool = False,
) -> Drawing:
    """Faster R-CNN of ResNet-50 and a pyramid as torchvision has it; with ``masks`` Mask R-CNN.

    What is about as wide as ``usual`` is looked at in the third level of the pyramid; anchors are scaled by it.
    """
    name = f"{'Mask' if masks else 'Faster'} R-CNN of ResNet-50 and a pyramid"
    drawing = Drawing(f"{name}{', to be trained' if trained else ''}")
    add_data(drawing, "data", input)
    add_stages(drawing, 50, width, part="frozen-norm")
    levels = _pyramid(drawing, channels)
    drawing.define("rpn-head", _head(channels, trained), inputs={"in": "x"}, outputs={"cls": "cls", "box": "box"})
    for number, level in enumerate((*levels, "fpn-pool")):
        drawing.add(f"rpn-{number}", "rpn-head", tie="rpn", channels=channels)
        drawing.connect(level, f"rpn-{number}")
    heads = [f"rpn-{number}" for number in range(PYRAMID + 1)]
    chosen = {"count": proposals, "overlap": 0.7, "smallest": 0.001, "picture": input[:2], "probabilities": not trained}
    for id in ("proposals", "rpn")[: 1 + trained]:
        offsets, scores = ([(head, output) for head in heads] for output in ("box", "cls"))
        _select(drawing, id, offsets, scores, variances="1 1 1 1", **chosen, **_anchors(input[0], usual))
    aligned = {"strides": "4 8 16 32", "bins": 7, "usual": usual}
    _look(drawing, "roi_align7", levels, "proposals", **aligned)
    _name(drawing, "roi_align7", classes, dense, trained, ("cls_score", "bbox_pred"))
    chosen = {"count": detections, "least": 0.05, "smallest": 0.01, "picture": input[:2], "probabilities": not trained}
    if masks or trained:
        _select(drawing, "detections", [("bbox_pred", "")], [("cls_score", "")], "proposals", **chosen)
    items = "items" if trained else "detections"
    if masks and trained:
        _select(drawing, items, [("bbox_pred", "")], [("cls_score", "")], "proposals", **chosen)
    if masks:
        _look(drawing, "roi_align14", levels, items, **(aligned | {"bins": 14}))
        _mask(drawing, "roi_align14", channels, classes - trained, trained)
    if masks and trained:
        _list_masks(drawing, items, (classes - 1) * 28**2)
    return drawing


def _anchors(size: int, usual: int) -> dict[str, Any]:
    """Give the anchors of the pyramid of a picture of this height: one scale a level, 32 to 512 as usual."""
    sizes, strides = (size + 1) // 2, list[str]()
    for _ in range(PYRAMID + 1):
        sizes = (sizes + 1) // 2
        strides.append(str(size // sizes))
    scales = " ".join(f"{usual / 7 * 2**level:g}" for level in range(PYRAMID + 1))
    ratios = "0.5 1 2"
    return {"scales": scales, "ratios": ratios, "strides": " ".join(strides), "rounding": "corners", "place": "corner"}


def _pyramid(drawing: Drawing, channels: int) -> list[str]:
    """Bring all stages to as many channels, and let what coarser ones saw come down to finer ones."""
    for number in range(PYRAMID):
        convolve(drawing, f"fpn-inner{number}", "2D-identical", f"L{number + 1}", 1, kernels=channels)
    above = f"fpn-inner{PYRAMID - 1}"
    summed = {PYRAMID - 1: above}
    for number in reversed(range(PYRAMID - 1)):
        drawing.add(f"fpn-down{number}", "2D-identical")
        drawing.connect(f"fpn-inner{number}", f"fpn-down{number}", "transfer")
        drawing.connect(above, f"fpn-down{number}", "resampling")
        above = summed[number] = f"fpn-down{number}"
    levels = [f"fpn-layer{number}" for number in range(PYRAMID)]
    for number, level in enumerate(levels):
        convolve(drawing, level, "2D-identical", summed[number], 3, kernels=channels)
    drawing.add("fpn-pool", "2D-downsampling", window=1, stride=2, edge="floor")
    drawing.connect(levels[-1], "fpn-pool", "transfer")
    return levels


def _head(channels: int, trained: bool) -> Drawing:
    """What proposes from one level, with the same weights at all of them: three anchors a place."""
    body = Drawing("rpn-head", arguments={"channels": channels})
    body.add("x", "2D-identical")
    convolve(body, "conv", "2D-relu", "x", 3, kernels="=channels")
    convolve(body, "cls", "2D-identical" if trained else "2D-sigmoid", "conv", 1, kernels=3)
    convolve(body, "box", "2D-identical", "conv", 1, kernels=12)
    return body


Backs = Sequence[tuple[str, str]]
"""Capsules or uses of groups, each with the output that is left."""


def _select(drawing: Drawing, id: str, offsets: Backs, scores: Backs, boxes: str = "", **attributes: Any) -> None:
    """Add a selection of boxes: of what enters, level by level, and of the boxes that it corrects."""
    drawing.add(id, "2D-selection", **attributes)
    for (box, offset), (cls, score) in zip(offsets, scores, strict=True):
        drawing.connect(box, id, "transfer", output=offset)
        drawing.connect(cls, id, "transfer", port="scores", output=score)
    if boxes:
        drawing.connect(boxes, id, "transfer", port="boxes")


def _look(drawing: Drawing, id: str, levels: Sequence[str], boxes: str, **attributes: Any) -> None:
    """Add what is seen inside of boxes."""
    drawing.add(id, "2D-region", **attributes)
    for level in levels:
        drawing.connect(level, id, "transfer")
    drawing.connect(boxes, id, "transfer", port="boxes")


def _name(
    drawing: Drawing, back: str, classes: int, dense: int, trained: bool, ids: tuple[str, str], dropout: bool = False
) -> None:
    """Add two full connections for every box, and behind them its class and its offsets class by class."""
    for id in ("fc6", "fc7"):
        drawing.add(id, "2D-relu")
        drawing.connect(back, id, "full", height=dense, **({"list": "depth"} if id == "fc6" else {}))
        if dropout:
            drawing.wear(id, "dropout", probability=0.5)
        back = id
    faces = ("2D-identical" if trained else "2D-row-softmax", "2D-identical")
    for id, face, count in zip(ids, faces, (classes, 4 * classes), strict=True):
        drawing.add(id, face)
        drawing.connect(back, id, "full", height=count)


def _mask(drawing: Drawing, back: str, channels: int, classes: int, trained: bool, deep: int = 4) -> None:
    """Add what draws a mask for every class into every box; the boxes are the depth, so kernels are flat there."""
    for number in range(1, deep + 1):
        drawing.add(f"mask_fcn{number}", "3D-relu")
        drawing.connect(back, f"mask_fcn{number}", "convolution", kernels=channels, kernel=(1, 3, 3), padding=(0, 1, 1))
        back = f"mask_fcn{number}"
    drawing.add("conv5_mask", "3D-relu")
    drawing.connect(back, "conv5_mask", "transposed-convolution", kernels=channels, kernel=(1, 2, 2), stride=(1, 2, 2))
    drawing.add("mask_logits", "3D-identical" if trained else "3D-sigmoid")
    drawing.connect("conv5_mask", "mask_logits", "convolution", kernels=classes, kernel=1)


def _list_masks(drawing: Drawing, items: str, numbers: int) -> None:
    """Add the list that masks are learnt by: a row for each item, its masks and what was found."""
    drawing.add("mask_rows", "2D-identical", channels=1, width=numbers)
    drawing.connect("mask_logits", "mask_rows", "reshaping", order=(1, 0, 2, 3))
    drawing.add("instances", "2D-identical")
    for back in ("mask_rows", items):
        drawing.connect(back, "instances", "inject", axis="width")


def rcnn_narrow(
    *, masks: bool = False, classes: int = 4, input: Sizes = (64, 64, 3), width: int = 16, dense: int = 64
) -> Drawing:
    """R-CNN of one level for small pictures, drawn to be trained: few kernels, 32 proposals; with ``masks`` Mask R-CNN.

    What others look into is no output any more, so what is to be learnt as well is selected twice.
    """
    drawing = Drawing(f"narrow {'Mask' if masks else 'Faster'} R-CNN")
    back = add_data(drawing, "data", input)
    for number, (times, stride) in enumerate(((1, 2), (2, 2), (3, 1), (3, 1)), 1):
        back = convolve(drawing, f"conv{number}", "2D-relu", back, 3, {}, kernels=times * width, stride=stride)
    convolve(drawing, "rpn-conv", "2D-relu", back, 3, {}, kernels=3 * width)
    convolve(drawing, "rpn-cls", "2D-identical", "rpn-conv", 1, kernels=9)
    convolve(drawing, "rpn-box", "2D-identical", "rpn-conv", 1, kernels=36)
    anchors = {"scales": "12 20 32", "ratios": "0.5 1 2", "strides": "4", "variances": "1 1 1 1"}
    for id in ("proposals", "rpn"):
        chosen = {"count": 32, "before": 256, "overlap": 0.7, "smallest": 2, "picture": input[:2]}
        _select(drawing, id, [("rpn-box", "")], [("rpn-cls", "")], **chosen, **anchors)
    _look(drawing, "inside", [back], "proposals", bins=5, strides="4")
    _name(drawing, "inside", classes, dense, True, ("cls", "box"))
    ends: dict[str, Any] = {"count": 12, "before": 200, "overlap": 0.4, "least": 0.05, "picture": input[:2]}
    for id in ("detections", "items")[: 1 + masks]:
        _select(drawing, id, [("box", "")], [("cls", "")], "proposals", **ends)
    if masks:
        _look(drawing, "inside-items", [back], "items", bins=7, strides="4")
        _mask(drawing, "inside-items", 2 * width, classes - 1, trained=True, deep=2)
        _list_masks(drawing, "items", (classes - 1) * 14**2)
    return drawing


REN = Reference(
    "Ren, He, Girshick and Sun", 2015, "Faster R-CNN: Towards Real-Time Object Detection with Region Proposal Networks"
)
LIN = Reference("Lin, Dollár, Girshick, He, Hariharan and Belongie", 2017, "Feature Pyramid Networks")
HE = Reference("He, Gkioxari, Dollár and Girshick", 2017, "Mask R-CNN")
NETWORKS = (
    KnownNetwork(
        "faster_rcnn_vgg16_caffe",
        "Faster R-CNN of VGG of 16 layers, 300 boxes",
        REN,
        faster_rcnn_vgg,
        (600, 800, 3),
        21,
        ("faster-rcnn",),
    ),
    KnownNetwork(
        "faster_rcnn_r50_fpn_tv",
        "Faster R-CNN of ResNet-50 and a pyramid, 1000 boxes",
        LIN,
        rcnn_fpn,
        (800, 800, 3),
        91,
    ),
    KnownNetwork(
        "mask_rcnn_r50_fpn_tv",
        "Mask R-CNN of ResNet-50 and a pyramid",
        HE,
        partial(rcnn_fpn, masks=True),
        (800, 800, 3),
        91,
        ("mask-rcnn",),
    ),
    KnownNetwork(
        "faster_rcnn_narrow",
        "narrow Faster R-CNN for small pictures",
        REN,
        rcnn_narrow,
        (64, 64, 3),
        4,
    ),
    KnownNetwork(
        "mask_rcnn_narrow",
        "narrow Mask R-CNN for small pictures",
        HE,
        partial(rcnn_narrow, masks=True),
        (64, 64, 3),
        4,
    ),
)
