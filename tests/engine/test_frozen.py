"""Frozen programs: folded, unrolled and joined, they answer what the module answers."""

from __future__ import annotations

import pytest
import torch
from drawn import random_drawings
from hypothesis import given, settings
from hypothesis import strategies as st
from small_zoo import draw_small, each_network
from torch import Tensor, nn
from torch.nn import functional
from training_alike import in_float64

from inkcap.drawing import Drawing
from inkcap.engine import build, initialise, weights_of
from inkcap.engine.inference import Frozen, freeze, freeze_module, kernels
from inkcap.exchange.random_weights import as_tuple, random_inputs, randomise
from inkcap.network import Network, as_plain, check

BATCHES = (1, 3, 64)


def furthest(mine: object, theirs: object) -> float:
    """Tell how far answers are apart, beside the largest number of each."""
    worst = 0.0
    for one, other in zip(as_tuple(mine), as_tuple(theirs), strict=True):  # pyright: ignore[reportArgumentType]
        assert one.shape == other.shape
        assert one.dtype == other.dtype
        if one.numel():
            worst = max(worst, float((one - other).abs().max() / other.abs().max().clamp(min=1e-6)))
    return worst


def answers(module: nn.Module, inputs: tuple[Tensor, ...]) -> object:
    with torch.no_grad():
        return module.eval()(*inputs)


def alive(network: Network, seed: int = 0) -> tuple[Network, nn.Module]:
    module = build(network)
    randomise(module, network, seed)
    return network, module


@pytest.mark.parametrize("name", each_network())
def test_every_network_of_the_zoo_answers_frozen_what_its_module_answers(name: str) -> None:
    network, module = alive(check(draw_small(name)).network)
    inputs = random_inputs(network, 1)
    for batch in (1, 64):
        frozen = freeze_module(network, module, batch=batch)
        assert furthest(frozen(*inputs), answers(module, inputs)) < 1e-4


@pytest.mark.parametrize("name", ["resnet18", "googlenet_tv_aux", "densenet121", "capsnet_sabour", "lenet5_1998"])
def test_in_doubles_nothing_but_rounding_differs(name: str) -> None:
    network, module = alive(in_float64(draw_small(name)))
    inputs = random_inputs(network, 1)
    for batch in BATCHES:
        frozen = freeze_module(network, module, batch=batch)
        assert furthest(frozen(*inputs), answers(module, inputs)) < 1e-9


@settings(max_examples=60, deadline=None)
@given(random_drawings(), st.sampled_from(BATCHES), st.integers(0, 3))
def test_random_drawings_answer_frozen_what_their_modules_answer(drawing: Drawing, batch: int, seed: int) -> None:
    network = check(drawing).network
    module = build(network)
    randomise(module, network, seed)
    inputs = random_inputs(network, seed)
    kept = [value.clone() for value in inputs]
    frozen = freeze_module(network, module, batch=batch)
    near = 1e-9 if drawing.dtype == "float64" else 1e-4
    assert furthest(frozen(*inputs), answers(module, inputs)) < near
    assert all(torch.equal(value, before) for value, before in zip(inputs, kept, strict=True))
    assert furthest(frozen(*inputs), answers(module, inputs)) < near


def a_block(dtype: str = "float64") -> Drawing:
    """Draw what residual and dense networks are made of: norms after and before kernels, a sum, siblings, dropout."""
    drawing = Drawing("block", dtype)
    drawing.add("x", "2D-data", height=6, width=6, channels=4)
    drawing.add("a", "2D-relu")
    drawing.connect("x", "a", "convolution", kernels=8, kernel=3, padding=1)
    drawing.wear("a", "batch-norm")
    drawing.add("b", "2D-identical")
    drawing.connect("a", "b", "convolution", kernels=8, kernel=3, padding=1)
    drawing.wear("b", "batch-norm")
    drawing.add("s", "2D-relu")
    drawing.connect("a", "s", "transfer")
    drawing.connect("b", "s", "transfer")
    for name in ("c", "d"):
        drawing.add(name, "2D-relu")
        drawing.connect("s", name, "convolution", kernels=5, kernel=1)
    drawing.add("e", "2D-identical")
    drawing.connect("c", "e", "transfer")
    drawing.connect("d", "e", "transfer")
    drawing.add("f", "2D-relu")
    drawing.connect("e", "f", "transfer")
    drawing.wear("f", "batch-norm")
    drawing.wear("f", "dropout", probability=0.5)
    drawing.add("g", "2D-identical")
    drawing.connect("f", "g", "convolution", kernels=3, kernel=1)
    drawing.add("h", "1D-softmax", dimension=4)
    drawing.add("r", "1D-identical")
    drawing.connect("g", "r", "reshaping")
    drawing.connect("r", "h", "full")
    return drawing


def test_norms_dropout_sums_and_functions_are_gone_and_siblings_are_one() -> None:
    network, module = alive(check(a_block("float32")).network)
    frozen = freeze_module(network, module)
    assert isinstance(frozen, Frozen)
    inputs = random_inputs(network, 2)
    assert furthest(frozen(*inputs), answers(module, inputs)) < 1e-5
    assert "addcmul" not in frozen.source
    assert "dropout" not in frozen.source
    assert frozen.source.count(" + ") == 1, "c + d, which two kernels cannot make"
    # c and d are one product, g another, h the last; the norm of f is cut before g.
    assert frozen.source.count("torch.addmm") == 3
    assert frozen.source.count("torch.clamp") + frozen.source.count("torch.maximum") == 1


@pytest.mark.parametrize("factor", [1.5, -0.7, 0.0])
def test_a_norm_of_any_sign_is_cut_before_the_kernels_behind_it(factor: float) -> None:
    network, module = alive(check(a_block()).network)
    weights = weights_of(module)
    name = next(name for name in weights if name.startswith("f") and name.endswith("scale"))
    weights[name][::2] = factor
    own = dict(module.named_parameters())
    own[module.weight_names[name]].data.copy_(weights[name])  # pyright: ignore
    inputs = random_inputs(network, 2)
    assert furthest(freeze(network, weights)(*inputs), answers(module, inputs)) < 1e-9


def test_statistics_that_training_moved_are_folded() -> None:
    network = check(a_block()).network
    module = build(network)
    initialise(module, network, 0)
    before = freeze_module(network, module)
    rule = torch.optim.SGD(module.parameters(), lr=0.1)
    module.train()
    for seed in range(3):
        rule.zero_grad()
        (value,) = as_tuple(module(*random_inputs(network, seed)))
        value[:, 0].log().mean().neg().backward()
        rule.step()
    inputs = random_inputs(network, 9)
    now = answers(module, inputs)
    assert furthest(freeze_module(network, module)(*inputs), now) < 1e-9
    # What was frozen before has the weights of then.
    assert furthest(before(*inputs), now) > 1e-4


@pytest.mark.parametrize("size", [1, 2, 3])
@pytest.mark.parametrize(("stride", "padding", "kernel"), [(1, 1, 3), (2, 1, 3), (1, 2, 5), (2, 3, 7)])
def test_kernels_on_small_maps_lose_the_taps_that_see_padding_alone(
    size: int, stride: int, padding: int, kernel: int
) -> None:
    drawing = Drawing("small map", "float64")
    drawing.add("x", "2D-data", height=size, width=size + 1, channels=3)
    drawing.add("y", "2D-tanh")
    drawing.connect("x", "y", "convolution", kernels=4, kernel=kernel, padding=padding, stride=stride)
    network, module = alive(check(drawing).network)
    inputs = random_inputs(network, 1)
    for batch in BATCHES:
        assert furthest(freeze_module(network, module, batch=batch)(*inputs), answers(module, inputs)) < 1e-12


@pytest.mark.parametrize("dilation", [1, 2])
@pytest.mark.parametrize("stride", [1, 2])
@pytest.mark.parametrize("padding", [0, 2])
def test_unrolled_convolutions_are_convolutions_however_many_samples_come(
    monkeypatch: pytest.MonkeyPatch, dilation: int, stride: int, padding: int
) -> None:
    monkeypatch.setattr(kernels, "MOST_COLUMNS", 2000)
    x = torch.randn((5, 3, 9, 8), dtype=torch.float64).contiguous(memory_format=torch.channels_last)
    weight, bias = torch.randn((4, 3, 3, 2), dtype=torch.float64), torch.randn(4, dtype=torch.float64)
    expected = functional.conv2d(x, weight, bias, stride, padding, dilation)
    laid = weight.permute(2, 3, 1, 0).reshape(-1, 4)
    found = kernels.unrolled(x, laid, bias, (3, 2), ((stride,) * 2, (padding,) * 2, (dilation,) * 2))
    torch.testing.assert_close(found, expected)


def test_neurons_in_columns_stay_on_their_kernels() -> None:
    drawing = Drawing("neurons")
    drawing.add("x", "data neuron")
    drawing.add("y", "relu neuron")
    drawing.connect("x", "y", "amplifying")
    network = as_plain(check(drawing).network)
    assert network.plain is not None
    module = build(network)
    assert freeze_module(network, module) is module
