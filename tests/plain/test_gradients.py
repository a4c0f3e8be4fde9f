"""Backward: every derivative against torch's tape and against central differences."""

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from inkcap.engine.plain import Columns, PlainModule, PlainNetwork


def compare_with_tape(columns, by_tape, samples, outputs=None, **options):
    module = PlainModule(columns, outputs, dtype=torch.float64, **options)
    generator = torch.Generator().manual_seed(1)
    x = torch.randn(samples, module.network.inputs.size, dtype=torch.float64, generator=generator, requires_grad=True)
    places = [x, module.weight, module.bias]
    ours = module(x)
    seed = torch.randn(ours.shape, dtype=torch.float64, generator=generator)
    theirs = by_tape(columns, module.network, *places)
    torch.testing.assert_close(ours, theirs, rtol=1e-12, atol=1e-12)
    expected = torch.autograd.grad(theirs, places, seed, allow_unused=True)
    for got, want in zip(torch.autograd.grad(ours, places, seed), expected, strict=True):
        torch.testing.assert_close(got, torch.zeros_like(got) if want is None else want, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize(
    "shape",
    [
        {"neurons": 200, "data": 20, "degree": 6},
        {"neurons": 200, "data": 4, "degree": 3, "reach": 3},
        {"neurons": 150, "data": 10, "degree": 8, "ties": 12},
        {"neurons": 60, "data": 40, "degree": 30},
    ],
)
def test_gradients_are_those_of_the_tape(draw_random, by_tape, shape):
    compare_with_tape(draw_random(5, **shape), by_tape, 37)


@given(st.integers(0, 2**32), st.integers(2, 30), st.integers(0, 6), st.integers(1, 35), st.integers(0, 3))
@settings(deadline=None, max_examples=30)
def test_gradients_of_any_graph_are_those_of_the_tape(draw_random, by_tape, seed, neurons, degree, samples, ties):
    data = 1 + seed % (neurons - 1)
    compare_with_tape(draw_random(seed, neurons, data, degree, ties=ties), by_tape, samples)


def test_an_output_may_also_be_used_by_others(draw_random, by_tape):
    columns = draw_random(2, 80, 5, 4)
    some = np.flatnonzero(np.asarray(columns.symbol) != "data")[::3]
    compare_with_tape(columns, by_tape, 20, outputs=some)


@pytest.mark.parametrize("order", ["front", "back", "shuffled"])
@pytest.mark.parametrize("symbol", ["relu", "tanh", "sigmoid", "step", "identical"])
def test_gradients_of_contracted_networks_are_those_of_the_tape(draw_layered, by_tape, order, symbol):
    compare_with_tape(draw_layered((4, 6, 5, 3), order=order, hidden=symbol), by_tape, 20, contract=True)


@pytest.mark.parametrize("outputs", [[9, 7, 8], [8, 9, 7]])
def test_contracted_outputs_may_stand_in_any_order(draw_layered, by_tape, outputs):
    compare_with_tape(draw_layered((3, 4, 3)), by_tape, 20, outputs=outputs, contract=True)


def test_gradients_are_those_of_central_differences(draw_random):
    columns = draw_random(4, 60, 6, 4, ties=5, symbols=("tanh", "sigmoid", "identical"))
    network = PlainNetwork(columns)
    rng = np.random.default_rng(0)
    x, seed = rng.standard_normal((19, 6)), rng.standard_normal((19, network.outputs.size))
    in_order, out_order, bias = network.arrange(network.pack(None, None, np.float64))
    _, kept = network.run(x, in_order, bias, 1, keep=True)
    by_weight, by_bias = network.unpack(network.differentiate(out_order, kept, seed, 1)[0])

    def value(weight, bias):
        return float((network.forward(x, weight, bias, dtype=np.float64) * seed).sum())

    step = 1e-6
    for which, gradient in ((0, by_weight), (1, by_bias)):
        for i in range(gradient.size):
            there, back = ([network.weight.copy(), network.bias.copy()] for _ in range(2))
            there[which][i] += step
            back[which][i] -= step
            assert (value(*there) - value(*back)) / (2 * step) == pytest.approx(gradient[i], rel=1e-6, abs=1e-7)


@pytest.mark.parametrize(("symbol", "slope"), [("relu", 0.0), ("step", 0.0), ("identical", 3.0), ("sigmoid", 0.75)])
def test_slopes_at_zero(symbol, slope):
    module = PlainModule(Columns(["data", symbol], [0, 0], [0], [1], [3.0]))
    x = torch.zeros(1, 1, requires_grad=True)
    module(x).sum().backward()
    assert x.grad is not None
    assert x.grad.item() == slope


def test_gradients_do_not_depend_on_the_number_of_threads(draw_random):
    columns = draw_random(3, 2000, 50, 20)
    gradients = []
    for threads in (1, 2, 5):
        module = PlainModule(columns, threads=threads)
        module(torch.randn(200, 50, generator=torch.Generator().manual_seed(0))).square().sum().backward()
        gradients.append((module.weight.grad, module.bias.grad))
    for weight, bias in gradients[1:]:
        assert torch.equal(weight, gradients[0][0])
        assert torch.equal(bias, gradients[0][1])
