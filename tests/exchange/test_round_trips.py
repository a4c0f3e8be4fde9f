"""Round trips: a drawing that went out as PyTorch or ONNX and came in again is the same network."""

from __future__ import annotations

import pytest
import torch
from foreign import compare
from small_zoo import draw_small

from inkcap.engine.build import build
from inkcap.exchange import from_torch, print_torch
from inkcap.exchange.exporting import loaded
from inkcap.exchange.onnx_file import to_onnx
from inkcap.exchange.proof import random_inputs, randomise, stored_in
from inkcap.network import Report, check
from inkcap.zoo import NETWORKS

OTHER_SYMBOLS = {
    "amplifying", "class-vote", "codes", "em-routing", "expression", "hardwired", "length", "mask", "matrix-vote",
    "primary-capsules", "product", "routing", "squash", "subsampling", "vote",
}  # fmt: skip
"""What is not among the capsules K1 to K11 and the connections W1 to W9."""
QUICK_TORCH = {"perceptron", "figure-26", "lenet_caffe", "vgg11_bn", "alexnet_caffe_groups"}
QUICK_ONNX = {"perceptron", "figure-26", "lenet-digits"}
OUTSIDE = {
    "mp_neuron", "mlp-figure-22", "figure-25", "neocognitron", "lenet5_1998", "3dcnn_ji",
    "capsnet_sabour", "capsnet_sabour_tfcode", "capsnet-digits",
    "emcaps_A32_B32_C32_D32", "emcaps_A64_B8_C16_D16", "emcaps-digits",
}  # fmt: skip
PLAIN = [name for name in NETWORKS if name not in OUTSIDE]


def _each(quick: set[str]) -> list:
    return [name if name in quick else pytest.param(name, marks=pytest.mark.soak) for name in PLAIN]


def _going_out(name: str):
    """Print a network with random weights and running statistics, and give the module, inputs and report."""
    file = print_torch(draw_small(name))
    ours = build(file.report.network)
    randomise(ours, file.report.network, 0)
    return file, loaded(file, stored_in(ours))


def _same(one: Report, other: Report) -> None:
    assert one.classification.kind == other.classification.kind
    assert (one.parameters, one.multiply_adds) == (other.parameters, other.multiply_adds)
    assert len(one.inputs) == len(other.inputs)
    assert len(one.outputs) == len(other.outputs)


@pytest.mark.soak
def test_all_others_have_symbols_of_their_own() -> None:
    for name in NETWORKS:
        network = check(draw_small(name)).network
        used = {c.symbol for c in (*network.capsules.values(), *network.connections.values())}
        assert bool(used & OTHER_SYMBOLS) == (name in OUTSIDE), name


@pytest.mark.parametrize("name", _each(QUICK_TORCH))
def test_through_pytorch(name) -> None:
    file, module = _going_out(name)
    examples = random_inputs(file.report.network, 0, 2)
    imported = from_torch(module, examples, name)
    assert imported.difference <= 1e-5
    _same(check(imported.drawing), file.report)


@pytest.mark.parametrize("name", _each(QUICK_ONNX))
def test_through_onnx(name) -> None:
    file, module = _going_out(name)
    made, difference = compare(to_onnx(file, module))
    assert difference <= 1e-4
    _same(made.report, file.report)


@pytest.mark.soak
@pytest.mark.parametrize("name", ["capsnet-digits", "capsnet_sabour", "emcaps-digits"])
def test_routing_goes_out_as_pytorch_and_computes_the_same(name) -> None:
    """Routing has no form outside that could be found again: equal outputs are what holds."""
    file, module = _going_out(name)
    ours = build(file.report.network)
    randomise(ours, file.report.network, 0)
    inputs = random_inputs(file.report.network, 1)
    with torch.no_grad():
        mine, other = ours.eval()(*inputs), module(*inputs)
    pairs = zip(mine, other, strict=True) if isinstance(mine, tuple) else [(mine, other)]
    for one, another in pairs:
        torch.testing.assert_close(one, another)
