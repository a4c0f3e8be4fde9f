"""Optimisers of our own move weights to the same bits as torch's, however the weights lie, and copies reach them."""

from __future__ import annotations

import pytest
import torch

from inkcap.recipes import OptimiserSpec
from inkcap.training.optimisers import MomentumDescent, make_optimiser

SHAPES = ((8, 4, 3, 3), (8,), (8, 4, 1, 1), (8, 1, 3, 3))


@pytest.mark.parametrize("form", [torch.contiguous_format, torch.channels_last])
@pytest.mark.parametrize("nesterov", [False, True])
def test_descent_with_momentum_is_that_of_torch(form: torch.memory_format, nesterov: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    first = [torch.randn(shape, generator=generator) for shape in SHAPES]
    theirs = [torch.nn.Parameter(value.clone()) for value in first]
    ours = [torch.nn.Parameter(_laid(value, form)) for value in first]
    chosen = {"lr": 0.1, "momentum": 0.9, "weight_decay": 1e-3, "nesterov": nesterov, "fused": True}
    reference, optimiser = torch.optim.SGD(theirs, **chosen), MomentumDescent(ours, **chosen)
    for turn in range(5):
        for place, (their, our) in enumerate(zip(theirs, ours, strict=True)):
            slope = torch.randn(their.shape, generator=generator)
            their.grad = slope
            # Gradients may lie otherwise than their weights.
            our.grad = _laid(slope, torch.channels_last if (turn + place) % 2 else torch.contiguous_format)
        reference.step()
        optimiser.step()
    for their, our in zip(theirs, ours, strict=True):
        assert torch.equal(their, our)
        assert torch.equal(reference.state[their]["momentum_buffer"], optimiser.state[our]["momentum_buffer"])


def _laid(value: torch.Tensor, form: torch.memory_format) -> torch.Tensor:
    return value.clone().to(memory_format=form) if value.ndim == 4 else value.clone()


def test_a_weight_without_a_gradient_stays() -> None:
    weights = [torch.nn.Parameter(torch.ones(2)) for _ in range(2)]
    optimiser = MomentumDescent(weights, lr=0.5, momentum=0.9)
    weights[0].grad = torch.ones(2)
    optimiser.step()
    assert weights[0].tolist() == [0.5, 0.5]
    assert weights[1].tolist() == [1.0, 1.0]


@pytest.mark.parametrize("kind", ["sgd", "momentum", "nesterov", "adam"])
@pytest.mark.parametrize("dtype", [torch.float16, torch.bfloat16])
def test_weights_of_16_bits_learn(kind: str, dtype: torch.dtype) -> None:
    weight = torch.nn.Parameter(torch.ones(4, dtype=dtype))
    optimiser = make_optimiser(OptimiserSpec(kind, 0.5), [weight])
    weight.grad = torch.ones(4, dtype=dtype)
    optimiser.step()
    assert (weight < 1).all()
