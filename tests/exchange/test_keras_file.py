"""Keras: the model of the printed file computes what the drawing computes; what has no layer there is named."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest
from small_zoo import draw_small

from inkcap import Drawing, check
from inkcap.drawing import Edit, Meta, Put
from inkcap.exchange import NotProven, export_keras
from inkcap.exchange.exporting import drawn_with
from inkcap.exchange.keras_file import NoKeras, print_keras
from inkcap.exchange.keras_proof import compare, give_weights, make_model, prove_keras
from inkcap.exchange.proof import stored_in
from inkcap.exchange.torch_file import print_torch
from inkcap.zoo import NETWORKS, draw

pytestmark = pytest.mark.filterwarnings("ignore")
WITHOUT = {
    "mp_neuron": "one neuron",
    "perceptron": "1D-step",
    "mlp-figure-22": "one neuron",
    "figure-25": "one neuron",
    "neocognitron": "2D-expression",
    "lenet5_1998": "2D-tanh",
    "alexnet_two_tower_2012": "local response normalisation",
    "alexnet_caffe_groups": "local response normalisation",
    "alexnet_nogroups": "local response normalisation",
    "googlenet_caffe_main": "local response normalisation",
    "googlenet_caffe_aux": "local response normalisation",
    "googlenet_tv_aux": "2D-average downsampling .*do not part",
    "sppnet_zf5": "local response normalisation",
    "3dcnn_ji": "3D-identical",
    "capsnet_sabour": "2D-squash",
    "capsnet_sabour_tfcode": "2D-squash",
    "capsnet-digits": "2D-squash",
    "emcaps_A32_B32_C32_D32": "2D-primary capsules",
    "emcaps_A64_B8_C16_D16": "2D-primary capsules",
    "emcaps-digits": "2D-primary capsules",
    "alphago2016_policy_k192": "position softmax",
    "ssd_narrow": "2D-selection",
    "faster_rcnn_narrow": "2D-selection",
    "faster_rcnn_vgg16_caffe": "2D-selection",
    "faster_rcnn_r50_fpn_tv": "2D-selection",
    "mask_rcnn_r50_fpn_tv": "2D-selection",
    "mask_rcnn_narrow": "2D-selection",
    "facenet_narrow": "local response normalisation",
    "facenet_nn1": "local response normalisation",
    "facenet_nn2": "local response normalisation",
    "fcn32s_vgg16_caffe": "2D-softmax .*a block of x",
    "fcn16s_vgg16_caffe": "2D-softmax .*a block of x",
    "fcn8s_vgg16_caffe": "2D-softmax .*a block of x",
    "fcn_resnet50_tv": "resamples by no whole number",
    "fcn_resnet101_tv": "resamples by no whole number",
    "unet": "2D-identical .*a block of x",
    "yolov1_darknet_cfg": "a kernel of its own for every position",
    "ssd300_voc21": "2D-L2 normalisation",
    "ssd300_tv_coco91": "2D-L2 normalisation",
    "mobilenet_v2": "2D-hard tanh",
    "elman_rows": "1D-identical",
    "vit_b_16": "2D-identical",
    "gpt_small": "its data are int64",
}
"""The networks that have something for which Keras has no layer, and what it is."""
QUICK = {"mlp_fig1_5-7-7-7-4", "figure-16", "lenet_caffe", "vgg11_bn", "googlenet_tv_main", "squeezenet1_0", "resnet18"}
EACH = [
    name if name in QUICK else pytest.param(name, marks=pytest.mark.soak) for name in NETWORKS if name not in WITHOUT
]


@pytest.mark.parametrize("name", EACH)
def test_every_network_that_keras_can_hold_is_proven(name: str) -> None:
    assert prove_keras(print_keras(draw_small(name))).outputs <= 1e-4


@pytest.mark.parametrize("name", WITHOUT)
def test_what_has_no_layer_is_named(name: str) -> None:
    with pytest.raises(NoKeras, match=WITHOUT[name]):
        print_keras(draw_small(name))


def around(face: str, **attributes: object) -> Drawing:
    drawing = Drawing("one")
    drawing.add("x", "2D-data", height=6, width=4, channels=3)
    drawing.then("y", "2D-relu", "convolution", kernels=4, kernel=3)
    drawing.then("z", face, "transfer", **attributes)
    drawing.then("f", "1D-identical", "reshaping")
    drawing.then("o", "1D-softmax", "full", dimension=3)
    return drawing


SMALL = {
    "channels and positions are turned for the vector": around("2D-relu"),
    "elu": around("2D-elu"),
    "silu": around("2D-silu"),
    "softplus": around("2D-softplus"),
    "gelu": around("2D-gelu"),
    "hard sigmoid": around("2D-hard-sigmoid"),
    "hard swish": around("2D-hard-swish"),
    "leaky": around("2D-relu", slope=0.2),
    "learnt slope": around("2D-prelu"),
    "sum of windows": around("2D-downsampling", window=2, kind="sum"),
    "mean of windows": around("2D-downsampling", window=2, kind="average"),
    "batch norm": around("2D-batch-norm"),
    "frozen norm": around("2D-frozen-norm"),
    "layer norm": around("2D-layer-norm"),
    "group norm": around("2D-group-norm", groups=2),
    "instance norm": around("2D-instance-norm"),
    "dropout": around("2D-dropout"),
}


@pytest.mark.parametrize("what", SMALL)
def test_each_layer_is_proven(what: str) -> None:
    assert check(SMALL[what]).well_formed
    assert prove_keras(print_keras(SMALL[what])).outputs <= 1e-4


def test_a_transposed_convolution_is_proven() -> None:
    drawing = Drawing("up")
    drawing.add("x", "2D-data", height=3, width=4, channels=2)
    drawing.then("y", "2D-sigmoid", "transposed-convolution", kernels=3, kernel=4, stride=2, padding=1)
    assert prove_keras(print_keras(drawing)).outputs <= 1e-4


def test_another_weight_is_not_proven() -> None:
    file = print_keras(draw("lenet-digits"))
    ours = drawn_with(print_torch(draw("lenet-digits")), None)
    model = make_model(file)
    give_weights(model, file, stored_in(ours))
    assert compare(model, file, ours) <= 1e-4
    next(iter(stored_in(ours).values())).data += 0.1
    with pytest.raises(NotProven, match="outputs differ"):
        compare(model, file, ours)


def test_the_files_run_without_inkcap_and_are_formatted(tmp_path: Path) -> None:
    drawing = draw("lenet-digits")
    drawing.apply(Edit("name", (Put(Meta('le"net\\', drawing.dtype)),)))
    weights = stored_in(drawn_with(print_torch(drawing), None))
    exported = export_keras(drawing, tmp_path / "net.py", weights)
    assert [path.name for path in exported.files] == ["net.py", "net.weights.h5"]
    ruff = [sys.executable, "-m", "ruff"]
    assert subprocess.run([*ruff, "check", "--isolated", "--quiet", tmp_path]).returncode == 0
    assert (
        subprocess.run([*ruff, "format", "--isolated", "--check", "--line-length=120", "--quiet", tmp_path]).returncode
        == 0
    )
    script = (
        "import sys, os; os.environ['KERAS_BACKEND'] = 'torch'; sys.modules['inkcap'] = None\n"
        "import net, numpy; model = net.make_le_net(); model.load_weights('net.weights.h5')\n"
        "print(tuple(model(numpy.zeros((5, 8, 8, 1), 'float32')).shape))"
    )
    done = subprocess.run([sys.executable, "-c", script], cwd=tmp_path, capture_output=True, text=True)
    assert done.stdout.strip() == "(5, 10)", done.stderr
