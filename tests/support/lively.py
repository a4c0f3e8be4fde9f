"""Weights by which a network is awake: its outputs depend on its inputs, so that equal outputs say something."""

from __future__ import annotations

import torch
from torch import nn

from inkcap.engine.build import named_weights
from inkcap.exchange.proof import as_tuple, random_inputs, randomise
from inkcap.network import Network

GAINS = (1.0, 1.3, 1.6, 0.8, 2.0, 3.0)
"""Factors for kernels and matrices; which of them keeps numbers alive depends on depth, functions and sums."""
ENOUGH = 0.02
SAMPLES = 4


def enliven(module: nn.Module, network: Network, seed: int = 0) -> float:
    """Give random weights and running statistics; tell how much the outputs of several samples differ at least."""
    found: dict[tuple[int, float], float] = {}
    for choice in [(number, gain) for number in (seed, seed + 1) for gain in GAINS]:
        found[choice] = _varies(module, network, *choice)
        if found[choice] >= ENOUGH:
            return found[choice]
    return _varies(module, network, *max(found, key=lambda choice: found[choice]))


def _varies(module: nn.Module, network: Network, seed: int, gain: float) -> float:
    """Give the smallest difference over the outputs, in relation to the largest number of each."""
    randomise(module, network, seed)
    generator = torch.Generator().manual_seed(seed)
    with torch.no_grad():
        for name, weight in named_weights(module).items():
            if name.endswith("norm.scale"):
                weight.uniform_(0.6, 1.4, generator=generator)
            elif weight.dim() > 1:
                weight.mul_(gain)
            else:
                weight.mul_(0.3)
        outputs = as_tuple(module(*random_inputs(network, seed + 1, SAMPLES)))
    return min(float((out.amax(0) - out.amin(0)).max() / out.abs().max().clamp(min=1e-30)) for out in outputs)
