"""Conversions that prove themselves: both networks compute the same random samples before anything is believed."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from torch import Tensor

from inkcap.drawing import Drawing, Edit, Put
from inkcap.engine.contraction import Contraction
from inkcap.engine.expansion import Expansion
from inkcap.engine.gathering import Neurons, read_neurons
from inkcap.engine.plain.network import PlainNetwork
from inkcap.engine.proof import largest_difference, random_inputs, run_block, run_network
from inkcap.network import Network, check, structure_of


def prove_expansion(network: Network, weights: Mapping[str, Tensor], expansion: Expansion) -> float:
    """Give the largest difference between a network and its neurons on random samples; too large a one is an error."""
    inputs = random_inputs([structure_of(network.capsules[id]).elements for id in network.inputs])
    expected = run_network(network, weights, inputs)
    drawing = expansion.drawing
    if drawing.plain is None:
        columns = [inputs[0][:, [i]] for i in range(inputs[0].shape[1])]
        carried = expansion.correspondence.carry(weights)
        made = run_network(check(drawing).network, carried, columns)
        return largest_difference(expected, [np.stack(made, 1)])
    if not drawing.plain.writes:
        return largest_difference(expected, run_block(drawing, inputs))
    given = dict(zip(network.inputs, inputs, strict=True))
    made = run_block(drawing, [given[id] for id in drawing.capsules if id in given])
    named = dict(zip((id for id in drawing.capsules if id in network.outputs), made, strict=True))
    return largest_difference(expected, [named[id] for id in network.outputs])


def prove_contraction(drawing: Drawing, contraction: Contraction, weights: Mapping[str, Tensor] | None = None) -> float:
    """Give the largest difference between neurons and their capsules on random samples; too large a one is an error."""
    neurons, network = read_neurons(drawing, weights), contraction.network
    if drawing.plain is not None and drawing.plain.writes:
        return _prove_mixed(drawing, neurons, contraction)
    plain = PlainNetwork(neurons.columns)
    inputs = random_inputs([plain.inputs.size])
    expected = plain.forward(inputs[0], dtype=np.float64)
    made = dict(zip(network.outputs, run_network(network, contraction.weights, inputs), strict=True))
    places = [contraction.place(neuron) for neuron in plain.outputs.tolist()]
    return largest_difference([expected], [np.stack([made[id][:, index] for id, index in places], 1)])


def _prove_mixed(drawing: Drawing, neurons: Neurons, contraction: Contraction) -> float:
    assert drawing.plain is not None
    filled = drawing.copy()
    values = replace(drawing.plain, weight=tuple(neurons.weight.tolist()), bias=tuple(neurons.bias.tolist()))
    filled.apply(Edit("fill", (Put(values),)))
    network = contraction.network
    inputs = dict(
        zip(
            network.inputs,
            random_inputs([structure_of(network.capsules[id]).elements for id in network.inputs]),
            strict=True,
        )
    )
    left = {c.back for c in drawing.connections.values()} | set(drawing.plain.reads)
    ends = [id for id in drawing.capsules if id not in left]
    expected = run_block(filled, [inputs[id] for id in drawing.capsules if id in inputs])
    made = dict(zip(network.outputs, run_network(network, contraction.weights, list(inputs.values())), strict=True))
    return largest_difference(expected, [made[id] for id in ends])
