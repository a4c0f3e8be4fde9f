"""The networks of the zoo made small: as many capsules, joined alike, with fewer kernels, classes and pixels."""

from __future__ import annotations

import fnmatch
from collections.abc import Iterable
from functools import partial
from typing import Any

import pytest

from inkcap.drawing import Drawing
from inkcap.zoo import NETWORKS

SMALL: dict[str, dict[str, Any]] = {
    "seide2011*": {"input": (20,), "classes": 7, "hidden": (16,) * 7},
    "deepae_*": {"input": (40,), "encoder": (24, 16, 6)},
    "alexnet_torchvision": {"input": (67, 67, 3), "classes": 5, "width": 8, "dense": 16},
    "alexnet_*": {"input": (67, 67, 3), "classes": 5, "width": 12, "dense": 16},
    "googlenet_*": {"input": (80, 80, 3), "classes": 5, "shrink": 8},
    "squeezenet*": {"input": (48, 48, 3), "classes": 5, "shrink": 8},
    "sppnet*": {"input": (128, 128, 3), "classes": 5, "width": 6, "dense": 12},
    "resnet*": {"input": (33, 33, 3), "classes": 5, "width": 4},
    "densenet*": {"input": (64, 64, 3), "classes": 5, "growth": 2},
    "vgg*": {"input": (32, 32, 3), "classes": 5, "width": 4, "dense": 16},
    "fcn_narrow": {"input": (16, 16, 3), "width": 2},
    "fcn_resnet*": {"input": (33, 33, 3), "classes": 5, "width": 4},
    "fcn*": {"input": (32, 32, 3), "classes": 5, "width": 2, "dense": 6},
    "yolov1_paper": {"input": (64, 64, 3), "classes": 1, "width": 1, "dense": 4},
    "yolov1_darknet_cfg": {"input": (64, 64, 3), "classes": 1, "width": 1},
    # Fewer pixels leave too few for its last map; so many meet an edge that is rounded up, as 300 do.
    "ssd300*": {"input": (268, 268, 3), "classes": 3, "width": 1},
    "ssd_narrow": {"input": (32, 32, 3), "width": 2},
    "*_rcnn_narrow": {"input": (32, 32, 3), "width": 2, "dense": 6},
    "faster_rcnn_vgg*": {"input": (64, 64, 3), "classes": 3, "width": 2, "dense": 8, "proposals": 6},
    "*_rcnn_r50_fpn_tv": {
        "input": (32, 32, 3),
        "classes": 3,
        "width": 2,
        "channels": 4,
        "dense": 6,
        "proposals": 8,
        "detections": 4,
        "usual": 7,
    },
    "facenet_narrow": {"width": 4, "dense": 8},
    "facenet_nn1": {"input": (64, 64, 3), "width": 4, "dense": 8},
    "facenet_nn2": {"input": (64, 64, 3), "width": 8},
    "unet_narrow": {"input": (16, 16, 3), "width": 2, "depth": 2},
    "unet": {"input": (60, 60, 1), "width": 4, "depth": 2},
    "mobilenet_v2": {"input": (40, 40, 3), "classes": 5, "shrink": 4},
    "dncnn": {"input": (12, 12, 1), "width": 4, "layers": 6},
    "vit_b_16": {"input": (16, 16, 3), "classes": 5, "patch": 4, "width": 12, "heads": 3, "blocks": 3},
    "gpt_small": {"input": (7,), "classes": 9, "width": 8, "heads": 2},
    "capsnet_*": {"kernel": 5, "channels": 8, "types": 2, "decoder": (8, 12), "input": (14, 14, 1)},
    "emcaps_*": {"a": 6, "b": 2, "c": 3, "d": 3, "input": (18, 18, 2)},
    "neocognitron": {"planes": 4},
    "dqn_nature*": {"input": (36, 36, 4)},
    "dqn_small": {"width": 4, "hidden": 8},
    "alphago2016_*": {"input": (5, 5, 4), "width": 6},
    "alphagozero_*": {"input": (5, 5, 3), "width": 4, "hidden": 8},
}
"""Arguments by the pattern of a name."""

LIKE_ANOTHER = (
    "vgg13*", "vgg19*", "vgg16_bn", "resnet34", "resnet101*", "resnet152*", "resnet50_original", "densenet16*",
    "densenet201", "alphagozero_39*", "alphagozero_19_convbias", "googlenet_caffe_main", "deepae_faces*",
    "dqn_nature_A18", "dqn_nature_A6", "3dcnn_ji", "fcn16s*", "fcn32s*", "fcn_resnet*", "ssd300*", "yolov1_darknet*",
    "faster_rcnn_r50*", "faster_rcnn_narrow", "facenet_nn1", "unet_narrow", "densenet121", "vgg16",
    "googlenet_caffe_aux", "lenet_fig21_32-64-128", "lenet_fig21_32-64-1024", "alexnet_caffe_groups", "vgg11",
    "alexnet_nogroups", "squeezenet1_0", "capsnet_sabour_tfcode", "emcaps_A64*", "deepae_curves*",
)  # fmt: skip
"""Networks with more of what another has, or dear for what they show: what is done to each takes them in a soak."""

LEARNS_OTHERWISE = {"mp_neuron", "perceptron"}
"""A step has no slope: these do not learn by gradients."""
LEARNING = [name for name in NETWORKS if name not in LEARNS_OTHERWISE]


def each_network(names: Iterable[str] = NETWORKS) -> list[Any]:
    """Give networks of the zoo as cases of a test; those that are like another, or dear, are a soak."""

    def dear(name: str) -> bool:
        return any(fnmatch.fnmatch(name, pattern) for pattern in LIKE_ANOTHER)

    return [pytest.param(name, marks=pytest.mark.soak) if dear(name) else name for name in names]


def draw_small(name: str) -> Drawing:
    """Draw a network of the zoo small, or as it is when it is small anyway."""
    known = NETWORKS[name]
    for pattern, arguments in SMALL.items():
        if fnmatch.fnmatch(name, pattern):
            return call_by_name(known.draw, arguments)
    return known.draw()


def call_by_name(draw: Any, arguments: dict[str, Any]) -> Drawing:
    """Call a function that may have been given some of its arguments in order already."""
    if isinstance(draw, partial) and draw.args:
        code = draw.func.__code__
        given = dict(zip(code.co_varnames, draw.args, strict=False))
        return draw.func(**{**given, **draw.keywords, **arguments})
    return draw(**arguments)
