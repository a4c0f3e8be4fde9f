"""Correspondence: the same numbers under two names, in a network of capsules and in its network of neurons."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inkcap.engine.build import WeightsError
from inkcap.network import CheckedCapsule, CheckedConnection, Network

Array = NDArray[Any]
Shape = tuple[int, ...]


@dataclass(frozen=True, eq=False)
class Correspondence:
    """Where every number of the network of neurons stands among the weights of the network of capsules.

    All numbers of the capsules' weights are counted through, ``places`` telling where each weight begins and its
    shape; behind them stand the ``constants``. ``sources`` gives, for each weight of the network of neurons, the
    numbers that it holds.
    """

    places: Mapping[str, tuple[int, Shape]]
    constants: NDArray[np.float64]
    sources: Mapping[str, NDArray[np.int64]]
    dtype: torch.dtype

    def carry(self, weights: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Carry the weights of the network of capsules to the network of neurons."""
        flat = np.concatenate([flatten(self.places, weights), self.constants])
        return {name: torch.as_tensor(flat[numbers]).to(self.dtype) for name, numbers in self.sources.items()}

    def carry_back(self, weights: Mapping[str, Tensor], others: Mapping[str, Tensor]) -> dict[str, Tensor]:
        """Carry weights of the network of neurons back; what has no neuron is taken from the ``others``."""
        flat = np.concatenate([flatten(self.places, others), self.constants])
        for name, numbers in self.sources.items():
            if name not in weights or tuple(weights[name].shape) != numbers.shape:
                raise WeightsError(f"the weight {name} is missing, or its shape is not {numbers.shape}")
            flat[numbers] = weights[name].detach().cpu().double().numpy()
        return {
            name: torch.as_tensor(flat[first : first + int(np.prod(shape))].reshape(shape)).to(self.dtype)
            for name, (first, shape) in self.places.items()
        }


def flatten(places: Mapping[str, tuple[int, Shape]], weights: Mapping[str, Tensor]) -> NDArray[np.float64]:
    """Lay weights one after another, as ``places`` says; a missing or misshapen one is refused."""
    parts: list[Array] = [np.zeros(0)]
    for name, (_, shape) in places.items():
        if name not in weights or tuple(weights[name].shape) != shape:
            found = tuple(weights[name].shape) if name in weights else "missing"
            raise WeightsError(f"the weights do not fit the network: {name} needs the shape {shape}, it is {found}")
        parts.append(weights[name].detach().cpu().double().numpy().reshape(-1))
    return np.concatenate(parts)


@dataclass(frozen=True, eq=False)
class Numbers:
    """All numbers of a network's weights, counted through."""

    places: Mapping[str, tuple[int, Shape]]
    flat: NDArray[np.float64]
    trainable: NDArray[np.bool_]

    @staticmethod
    def of(network: Network, weights: Mapping[str, Tensor]) -> Numbers:
        """Count through the weights of a network, with the values that are given."""
        places: dict[str, tuple[int, Shape]] = {}
        trainable: list[Array] = [np.zeros(0, np.bool_)]
        first = 0
        for name, record in network.weights.items():
            places[name] = (first, record.structure.sizes)
            trainable.append(np.full(record.structure.elements, record.trainable))
            first += record.structure.elements
        flat = np.concatenate([flatten(places, weights), np.zeros(1)])
        return Numbers(places, flat, np.concatenate([*trainable, np.zeros(1, np.bool_)]))

    def of_connection(self, connection: CheckedConnection) -> NDArray[np.int64]:
        """Give the numbers of a connection's weights, one after another."""
        parts = [np.zeros(0, np.int64)]
        for record in connection.weights.values():
            first = self.places[record.name][0]
            parts.append(np.arange(first, first + record.structure.elements))
        return np.concatenate([*parts, [-1]])

    def of_bias(self, capsule: CheckedCapsule, is_data: bool, size: int) -> NDArray[np.int64]:
        """Give the number of every element's bias; −1 where there is none."""
        if is_data or capsule.bias is None:
            return np.full(size, -1)
        first = self.places[capsule.bias.name][0]
        count = capsule.bias.structure.elements
        spread = np.tile if capsule.bias_kind == "item" else np.repeat
        return first + spread(np.arange(count), size // count)

    def tie_of(self, number: NDArray[np.int64], free: int, fixed: int) -> NDArray[np.int64]:
        """Give every use of a number its tie: those used once are free, what training leaves alone is fixed."""
        trained = (number >= 0) & self.trainable[number]
        shared = np.bincount(number[trained], minlength=self.flat.size) > 1
        tie = np.cumsum(shared) - 1
        return np.where(trained, np.where(shared[number], tie[number], free), fixed)


def stored(number: NDArray[np.int64], tie: NDArray[np.int64], fixed: int) -> NDArray[np.int64]:
    """Give the numbers that a plain block stores: each that training changes once, where it is used first."""
    trained = number[tie != fixed]
    _, first = np.unique(trained, return_index=True)
    return trained[np.sort(first)]
