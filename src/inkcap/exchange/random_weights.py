"""Random weights and inputs for proofs, under which what a network gives depends on what it gets."""

from __future__ import annotations

import copy
from collections.abc import Sequence

import torch
from torch import Tensor, nn

from inkcap.engine.build import named_states, named_weights
from inkcap.network import Network, structure_of
from inkcap.structures import FLOATING

BATCH = 3
"""Samples of a proof: one would hide what mixes samples, and a batch norm needs more than one."""
GAINS = (1.4, 1.0, 1.7, 0.7, 2.0, 3.0)
"""Factors for kernels and matrices; which of them keeps numbers alive depends on depth, functions and sums."""
ENOUGH = 0.02
"""By how much samples should differ at an output, in relation to its largest number."""
STEADY = 1e-5
"""By how much outputs may move, in relation to the largest number, when what enters moves in its last places."""


def randomise(module: nn.Module, network: Network, seed: int) -> float:
    """Give a built module random weights and running statistics, and tell by how much samples differ at its outputs.

    A network whose numbers die out or saturate on the way gives the same for every input, and then equal outputs show
    nothing; one that enlarges what is rounded gives others on every engine, and then unequal outputs show nothing.
    Weights are drawn until neither is so, and else the liveliest of those that were tried are taken.
    """
    found: dict[tuple[int, float], float] = {}
    for choice in [(number, gain) for number in (seed, seed + 1) for gain in GAINS]:
        _draw(module, network, *choice)
        found[choice] = _liveliness(module, network, seed)
        if found[choice] >= ENOUGH and _is_steady(module, network, seed):
            return found[choice]
    best = max(found, key=lambda choice: found[choice])
    _draw(module, network, *best)
    return found[best]


def _draw(module: nn.Module, network: Network, seed: int, gain: float) -> None:
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in named_weights(module).items():
            noise = torch.randn(weight.shape, generator=generator)
            record = network.weights[name]
            if record.initialiser == "ones":
                # The scale of a normalisation: around 1, each another.
                drawn = 1 + 0.2 * noise
            elif weight.dim() > 1 or record.initialiser == "uniform":
                drawn = noise * gain / max(record.fan_in, 1) ** 0.5
            else:
                drawn = 0.3 * noise
            weight.copy_(drawn)
        for name, state in named_states(module).items():
            noise = torch.rand(state.shape, generator=generator)
            # Variances lie around 1 and means around 0, neither of them on it.
            state.copy_(noise - 0.5 if network.states[name].initialiser == "zeros" else noise + 0.5)


def _liveliness(module: nn.Module, network: Network, seed: int) -> float:
    """Give the smallest difference between samples over the outputs, in relation to the largest number of each."""
    training = module.training
    module.eval()
    with torch.no_grad():
        outputs = [output.double() for output in as_tuple(module(*random_inputs(network, seed)))]
    module.train(training)
    spreads = [float((o.amax(0) - o.amin(0)).max() / o.abs().max().clamp(min=1e-30)) for o in outputs if o.numel()]
    return min(spreads, default=0.0)


def _is_steady(module: nn.Module, network: Network, seed: int) -> bool:
    training = module.training
    moved = moved_by_rounding(module.eval(), random_inputs(network, seed))
    module.train(training)
    return moved <= STEADY


def moved_by_rounding(module: nn.Module, inputs: Sequence[Tensor], draws: int = 1) -> float:
    """Tell how far outputs move, beside their largest number, when weights and inputs move in their last places."""
    worst = 0.0
    with torch.no_grad():
        before = as_tuple(module(*inputs))
        for seed in range(draws):
            generator, moved = torch.Generator().manual_seed(seed), copy.deepcopy(module)
            for weight in named_weights(moved).values():
                weight.copy_(_in_the_last_place(weight, generator))
            after = as_tuple(moved(*(_in_the_last_place(value, generator) for value in inputs)))
            for one, other in zip(before, after, strict=True):
                if one.numel():
                    scale = one.double().abs().max().clamp(min=1e-30)
                    worst = max(worst, float((one.double() - other.double()).abs().max() / scale))
    return worst


def _in_the_last_place(value: Tensor, generator: torch.Generator) -> Tensor:
    if not value.is_floating_point():
        return value
    epsilon = torch.finfo(value.dtype).eps
    up = torch.rand(value.shape, generator=generator) < 0.5
    return value * torch.where(up, 1 + epsilon, 1 - epsilon).to(value.dtype)


def random_inputs(network: Network, seed: int, batch: int = BATCH) -> tuple[Tensor, ...]:
    """Draw samples for every input."""
    generator = torch.Generator().manual_seed(seed + 1)
    found: list[Tensor] = []
    for id in network.inputs:
        structure = structure_of(network.capsules[id])
        shape = (batch, *structure.sizes)
        if structure.dtype in FLOATING:
            drawn = torch.randn(shape, generator=generator)
        else:
            drawn = torch.randint(0, 2, shape, generator=generator)
        found.append(drawn.to(getattr(torch, structure.dtype)))
    return tuple(found)


def as_tuple(made: Tensor | tuple[Tensor, ...]) -> tuple[Tensor, ...]:
    """Give outputs as a tuple, also where there is one."""
    return made if isinstance(made, tuple) else (made,)
