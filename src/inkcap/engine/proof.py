"""Proof: two networks on the same random data in float64, one of them drawn with neurons."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inkcap.drawing import Drawing
from inkcap.engine.build import build, initialise
from inkcap.engine.evaluation import run_on_torch
from inkcap.engine.patterns import in_float64
from inkcap.network import Network, check, structure_of
from inkcap.program import lower_to_steps
from inkcap.structures import InkcapError

Array = NDArray[Any]

TOLERANCE = 1e-12
"""How far apart two networks may be for outputs of size 1: they sum the same numbers in another order."""

SAMPLES = 8


class NotEqual(InkcapError):
    """A conversion after which the network computes something else."""


def largest_difference(first: Sequence[Array], second: Sequence[Array]) -> float:
    """Give the largest difference of outputs, each flattened; beyond the tolerance it is an error."""
    ours, theirs = (np.concatenate([a.reshape(len(a), -1) for a in arrays], 1) for arrays in (first, second))
    difference = float(np.abs(ours - theirs).max(initial=0.0))
    scale = max(1.0, float(np.abs(ours).max(initial=0.0)))
    if not difference <= TOLERANCE * scale:
        raise NotEqual(
            f"the conversion was not written: outputs differ by {difference:.3g}, {TOLERANCE * scale:.3g} is allowed; "
            "this is a fault of Inkcap, please report it with the drawing"
        )
    return difference


def random_inputs(sizes: Sequence[int], seed: int = 0) -> list[Array]:
    """Draw samples for inputs of these sizes, a row for each sample."""
    rng = np.random.default_rng(seed)
    return [rng.standard_normal((SAMPLES, size)) for size in sizes]


def run_network(network: Network, weights: Mapping[str, Tensor], inputs: Sequence[Array]) -> list[Array]:
    """Compute a network's outputs step by step in float64, from inputs in the order of the network."""
    program = lower_to_steps(network)
    values = {number: weights[name].detach().double() for name, number in program.weights.items()}
    for id, x in zip(network.inputs, inputs, strict=True):
        sizes = structure_of(network.capsules[id]).sizes
        values[program.inputs[id]] = torch.from_numpy(np.array(x, np.float64)).reshape(len(x), *sizes)
    computed = run_on_torch(in_float64(program.trace.steps), values)
    return [computed[program.outputs[id]].numpy() for id in network.outputs]


def run_block(drawing: Drawing, inputs: Sequence[Array]) -> list[Array]:
    """Compute a drawing with a plain block in float64, by the module that trains it.

    Inputs are its data capsules in the drawing's order, or, if it has none, what its data neurons hold in theirs.
    """
    network = check(drawing).network
    module = build(network).double().eval()
    initialise(module, network, 0)
    arrays = inputs if drawing.capsules else [np.concatenate(inputs, 1)]
    shaped = [
        torch.from_numpy(np.array(x, np.float64)).reshape(len(x), *structure_of(network.capsules[id]).sizes)
        for id, x in zip(network.inputs, arrays, strict=True)
    ]
    with torch.no_grad():
        made: Tensor | tuple[Tensor, ...] = module(*shaped)
    return [value.numpy() for value in (made if isinstance(made, tuple) else (made,))]
