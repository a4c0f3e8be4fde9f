"""Small networks as neurons: the kernels that take many steps in one call, on the weights of a built module."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from inkcap.engine.build import named_weights, weights_of
from inkcap.engine.expansion import wire
from inkcap.engine.plain.columns import Columns
from inkcap.engine.plain.drawn import PlainDrawn
from inkcap.engine.plain.network import PlainNetwork
from inkcap.network import Network

Array = NDArray[Any]


@dataclass(frozen=True, eq=False)
class CarriedNeurons:
    """A network of neurons whose numbers are those of a module's parameters: each parameter number stands once."""

    network: PlainNetwork
    names: tuple[str, ...]
    """The parameters, in whose numbers, one after another, `weight` and `bias` give the places."""
    weight: NDArray[np.int64]
    bias: NDArray[np.int64]

    def gather(self, values: Mapping[str, Tensor]) -> tuple[Array, Array]:
        """Take the numbers of weights and of biases out of what lies as the parameters do."""
        flat = np.concatenate([values[name].detach().reshape(-1).numpy() for name in self.names])
        return flat[self.weight], flat[self.bias]

    @torch.no_grad()
    def scatter(self, numbers: tuple[Array, Array], values: Mapping[str, Tensor]) -> None:
        """Write the numbers of weights and of biases into what lies as the parameters do."""
        flat = np.empty(self.weight.size + self.bias.size, numbers[0].dtype)
        flat[self.weight], flat[self.bias] = numbers
        first = 0
        for name in self.names:
            value = values[name]
            value.copy_(torch.from_numpy(flat[first : first + value.numel()]).reshape(value.shape))
            first += value.numel()


def carry_neurons(network: Network, module: nn.Module, outputs_before: bool) -> CarriedNeurons | None:
    """Give a network's neurons, where all its numbers learn, each in one place; None for any other network.

    ``outputs_before`` leaves the function of the output out, as a loss that is computed from U wants it.
    """
    if len(network.inputs) != 1 or len(network.outputs) != 1:
        return None
    if network.plain is not None:
        return _drawn(module, outputs_before)
    (output,) = network.outputs
    capsule = network.capsules[output]
    if outputs_before and capsule.symbol != "identical":
        plain = replace(capsule, symbol="identical", attributes={})
        network = replace(network, capsules={**network.capsules, output: plain})
    wired = wire(network, weights_of(module))
    if wired is None:
        return None
    wiring, numbers = wired
    computing = wiring.symbol != "data"
    bias = wiring.bias[computing]
    used = np.concatenate([wiring.number, bias])
    total = numbers.flat.size - 1
    if not numbers.trainable[:-1].all() or used.size != total or not np.array_equal(np.sort(used), np.arange(total)):
        return None
    columns = Columns(
        wiring.symbol,
        np.where(computing, numbers.flat[wiring.bias], 0.0),
        wiring.back,
        wiring.front,
        numbers.flat[wiring.number],
    )
    return CarriedNeurons(PlainNetwork(columns), tuple(numbers.places), wiring.number, bias)


def _drawn(module: nn.Module, outputs_before: bool) -> CarriedNeurons | None:
    """Take the kernels of a drawn network of neurons, where nothing of it is fixed or stands among capsules."""
    if not isinstance(module, PlainDrawn) or module.capsules is not None or len(module.segments) != 1:
        return None
    (segment,) = module.segments.values()
    fixed = module.fixed_weight.numel() + module.fixed_bias.numel()
    if fixed or segment.weight is not None or segment.bias is not None:
        return None
    sizes = [parameter.numel() for parameter in named_weights(module).values()]
    places = np.split(np.arange(sum(sizes)), np.cumsum(sizes)[:-1])
    return CarriedNeurons(segment.network, tuple(named_weights(module)), *places)
