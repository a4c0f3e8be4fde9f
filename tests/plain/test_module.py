"""The module: torch trains it as it trains any other."""

import numpy as np
import pytest
import torch
from torch.nn import functional

from inkcap.engine.plain import PlainError, PlainModule


@pytest.mark.parametrize(
    "make",
    [
        lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True),
        lambda p: torch.optim.AdamW(p, 0.01),
        lambda p: torch.optim.RMSprop(p, 0.01),
    ],
)
@pytest.mark.parametrize("contract", [None, True])
def test_torch_optimisers_train_it(draw_layered, make, contract):
    module = PlainModule(draw_layered((3, 16, 2)), contract=contract)
    optimiser = make(module.parameters())
    x = torch.randn(64, 3, generator=torch.Generator().manual_seed(0))
    y = (x[:, 0] * x[:, 1] > 0).long()
    losses = []
    for _ in range(150):
        optimiser.zero_grad()
        loss = functional.cross_entropy(module(x), y)
        loss.backward()
        optimiser.step()
        losses.append(loss.item())
    assert losses[-1] < 0.5 * losses[0]


def test_its_parameters_are_the_drawings(draw_random):
    columns = draw_random(1, 50, 5, 4, ties=3)
    module = PlainModule(columns)
    assert {name: tuple(p.shape) for name, p in module.named_parameters()} == {
        "weight": module.network.weight.shape,
        "bias": (45,),
    }
    per_connection = module.weight.detach().numpy()[module.network.layout.weight_of_connection]
    np.testing.assert_allclose(per_connection, columns.weight, rtol=1e-6)
    other = PlainModule(columns)
    with torch.no_grad():
        module.weight += 1
    other.load_state_dict(module.state_dict())
    x = torch.randn(3, 5)
    assert torch.equal(module(x), other(x))


def test_it_computes_the_same_with_and_without_the_tape_and_in_double(draw_random):
    module = PlainModule(draw_random(2, 100, 5, 4))
    x = torch.randn(20, 5)
    taped = module(x)
    assert taped.requires_grad
    with torch.no_grad():
        assert torch.equal(module(x), taped)
    torch.testing.assert_close(module.double()(x.double()), taped.double(), rtol=1e-3, atol=1e-4)


def test_only_what_is_asked_for_is_differentiated(draw_random):
    module = PlainModule(draw_random(2, 100, 5, 4))
    module.bias.requires_grad_(False)
    module(torch.randn(20, 5)).sum().backward()
    assert module.bias.grad is None
    assert module.weight.grad is not None


def test_a_step_between_the_passes_does_not_change_the_gradient(draw_random):
    module = PlainModule(draw_random(2, 100, 5, 4, symbols=("tanh",)))
    x = torch.randn(20, 5)
    (expected,) = torch.autograd.grad(module(x).sum(), module.weight)
    out = module(x).sum()
    with torch.no_grad():
        module.weight.data.mul_(2)
    (got,) = torch.autograd.grad(out, module.weight)
    assert torch.equal(got, expected)


def test_other_types_and_shapes_are_refused(draw_random):
    module = PlainModule(draw_random(2, 100, 5, 4))
    with pytest.raises(PlainError, match=r"torch\.float32; the samples are torch\.float64"):
        module(torch.randn(2, 5).double())
    with pytest.raises(PlainError, match=r"needs \(samples, 5\)"):
        module(torch.randn(2, 6))
