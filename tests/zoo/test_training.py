"""Every network of the zoo runs and learns: each weight has its part in the loss, and a step lowers it."""

from __future__ import annotations

import json

import pytest
import torch
from small_zoo import LEARNING, LEARNS_OTHERWISE, draw_small, each_network
from torch.nn import functional

from inkcap.drawing import Drawing, from_text
from inkcap.engine import build, initialise, named_weights
from inkcap.network import Network, check
from inkcap.program import lower_to_steps

SCORED = ("softmax", "position-softmax")
"""Outputs whose loss is computed from their total input."""

SHARE = 1e-3
"""The share of the loss that a step is to take away, as far as the loss is straight."""


def in_float64(drawing: Drawing) -> Network:
    return check(from_text(json.dumps({**json.loads(drawing.to_text()), "dtype": "float64"}))).network


def fixed_batch(network: Network, batch: int) -> tuple[list[torch.Tensor], dict[str, torch.Tensor]]:
    generator = torch.Generator().manual_seed(3)
    inputs = []
    for id in network.inputs:
        sizes = network.capsules[id].output.sizes
        if id == "label":
            inputs.append(functional.one_hot(torch.arange(batch) % sizes[0], sizes[0]).double())
        elif network.capsules[id].output.dtype == "int64":
            # Every row of a table is picked.
            rows = next(c.attributes["height"] for c in network.connections.values() if c.back == id)
            inputs.append(torch.arange(batch * sizes[0]).reshape(batch, *sizes) % rows)
        elif id == "im_info":
            inputs.append(torch.tensor([[64.0, 64, 1]] * batch, dtype=torch.float64))
        else:
            inputs.append(torch.randn((batch, *sizes), generator=generator, dtype=torch.float64))
    targets = {
        id: torch.rand((batch, *network.capsules[id].output.sizes), generator=generator, dtype=torch.float64)
        for id in network.outputs
    }
    return inputs, targets


def loss_of(module, network: Network, inputs, targets) -> torch.Tensor:
    torch.manual_seed(11)  # every call draws the same masks
    given = module(*inputs)
    outputs = [given] if isinstance(given, torch.Tensor) else list(given)
    total = torch.zeros((), dtype=torch.float64)
    for id, output in zip(network.outputs, outputs, strict=True):
        if network.capsules[id].record.candidates:
            # Their boxes are what they are.
            total = total + (output[..., :-4] - 0.3).square().mean()
        elif network.capsules[id].symbol in SCORED:
            # All points of a board compete, as the classes of a vector do.
            total = total + functional.cross_entropy(output.flatten(1), targets[id].flatten(1).softmax(1))
        else:
            total = total + functional.mse_loss(output, targets[id])
    return total


def covered_biases(network: Network) -> set[str]:
    """The biases that a batch norm takes away again, or a softmax that sees them in all scores alike."""
    keys = {c.parameters["keys_bias"].name for c in network.capsules.values() if "keys_bias" in c.parameters}
    return keys | {
        capsule.bias.name
        for capsule in network.capsules.values()
        if capsule.bias and any(part.part == "batch-norm" for part in capsule.parts)
    }


def only_choosing(network: Network, returns: dict[str, str]) -> set[str]:
    """The weights that only help to choose boxes, which passes no gradient."""
    program = lower_to_steps(network)
    reached = set(program.returned(returns))
    for step in reversed(program.trace.steps):
        if step.target in reached and not step.operation.still:
            reached.update(step.arguments)
    return {name for name, number in program.weights.items() if number not in reached}


def levels_of(network: Network) -> set[str]:
    """The weights of the levels of a pyramid: no box may be of the size that is read in one of them."""
    regions = [c for c in network.capsules.values() if c.symbol == "region" and "in.1" in c.ports]
    backs = {network.connections[i].back for c in regions for i in c.incoming if network.connections[i].port != "boxes"}
    fronts = [c for c in network.connections.values() if c.front in backs]
    biases = {network.capsules[id].bias.name for id in backs if network.capsules[id].bias}
    return biases | {weight.name for c in fronts for weight in c.weights.values()}


@pytest.mark.parametrize("name", each_network(LEARNING))
def test_a_network_runs_and_a_step_lowers_its_loss(name: str) -> None:
    network = in_float64(draw_small(name))
    capsules = {id: network.capsules[id] for id in network.outputs}
    returns = {id: "U" for id, c in capsules.items() if c.symbol in SCORED or c.record.candidates}
    module = build(network, returns)
    initialise(module, network, 4)
    module.train()
    # A neuron that is silent for all of a few samples would have no slope: small networks get many.
    small = sum(connection.multiply_adds for connection in network.connections.values()) < 20_000
    inputs, targets = fixed_batch(network, 64 if small else 3)
    before = loss_of(module, network, inputs, targets)
    before.backward()
    weights = {name: weight for name, weight in named_weights(module).items() if weight.requires_grad}
    covered, chosen, levels = covered_biases(network), only_choosing(network, returns), levels_of(network)
    squares = 0.0
    assert all(weights.pop(stored).grad is None for stored in chosen)
    for stored, weight in weights.items():
        assert weight.grad is not None, stored
        assert torch.isfinite(weight.grad).all(), stored
        largest = float(weight.grad.abs().max())
        assert largest < 1e-12 if stored in covered else largest > 0 or stored in levels, stored
        squares += float(weight.grad.square().sum())
    rate = SHARE * before.item() / squares
    with torch.no_grad():
        for weight in weights.values():
            weight -= rate * weight.grad
        after = loss_of(module, network, inputs, targets)
    assert after.item() < before.item()


@pytest.mark.parametrize("name", sorted(LEARNS_OTHERWISE))
def test_a_step_has_no_slope(name: str) -> None:
    network = in_float64(draw_small(name))
    module = build(network)
    initialise(module, network, 4)
    inputs, targets = fixed_batch(network, 3)
    assert not loss_of(module, network, inputs, targets).requires_grad


def test_the_neuron_of_mcculloch_and_pitts_is_an_and() -> None:
    network = check(draw_small("mp_neuron")).network
    module = build(network)
    initialise(module, network, 4)
    x, y = torch.tensor([0.0, 0.0, 1.0, 1.0]), torch.tensor([0.0, 1.0, 0.0, 1.0])
    assert module(x, y).tolist() == [0, 0, 0, 1]
