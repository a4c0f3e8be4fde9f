"""Coupling: how much of every child's vote goes to each parent, read from a network for given inputs."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor

from inkcap.engine.backpropagation import Backpropagator
from inkcap.engine.evaluation import run_on_torch
from inkcap.network import Network, structure_of
from inkcap.program import lower_to_steps
from inkcap.structures import InkcapError

COUPLING = frozenset({"couple", "em_coefficients"})
"""The operations whose result is coupling coefficients: (children, parents) for a sample, and maybe positions."""


class CouplingError(InkcapError):
    """A network that routes nothing."""


def coupling(network: Network, weights: Mapping[str, Any], inputs: Mapping[str, Any]) -> dict[str, Tensor]:
    """Give the coupling coefficients c of every routing capsule: (samples, children, parents), as in evaluation.

    Positions stand behind them where a capsule has several.
    Weights and inputs are arrays, tensors or lists by name, a sample or a batch of them. An input on which no
    coefficient depends, such as the label of a decoder, may be left out.
    """
    program = lower_to_steps(network)
    found = {s.target: program.owners[s.target] for s in program.trace.steps if s.operation.name in COUPLING}
    if not found:
        raise CouplingError(f"{network.name} has no coupling coefficients; draw a routing capsule, which votes enter")
    needed, steps = set(found), list[Any]()
    for step in reversed(program.trace.steps):
        if step.target in needed:
            needed.update(step.arguments)
            steps.insert(0, step)
    spare = {id for id, number in program.inputs.items() if number not in needed}
    reader = Backpropagator(network)
    stored = reader.weights(weights)
    samples = _samples(network, inputs)
    unseen = {id: torch.zeros(samples + structure_of(network.capsules[id]).sizes) for id in spare if id not in inputs}
    given, batched = reader.inputs({**inputs, **unseen})
    values = {program.inputs[id]: value for id, value in given.items()}
    values |= {number: stored[name] for name, number in {**program.weights, **program.states}.items()}
    with torch.no_grad():
        computed = run_on_torch(steps, values)
    return {id: computed[number] if batched else computed[number][0] for number, id in found.items()}


def _samples(network: Network, inputs: Mapping[str, Any]) -> tuple[int, ...]:
    """Give the number of samples where the inputs have a batch axis, else nothing."""
    for id in network.inputs:
        if id in inputs:
            shape = tuple(torch.as_tensor(inputs[id]).shape)
            return shape[:1] if len(shape) > len(structure_of(network.capsules[id]).sizes) else ()
    return ()
