"""Contraction: a network whose every level is completely connected to the next is a row of matrix products."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inkcap.engine.plain.columns import CODES
from inkcap.engine.plain.layout import Layout

_NAMES = {code: name for name, code in CODES.items()}


@dataclass(frozen=True, eq=False)
class _Places:
    """Where a matrix or a row of biases stands in a flat tensor: in one piece, transposed or not, or here and there."""

    shape: tuple[int, ...]
    stride: tuple[int, ...]
    first: int
    index: Tensor | None = None

    @staticmethod
    def of(index: NDArray[np.int32], shape: tuple[int, ...]) -> _Places:
        """Find out how these places lie."""
        first = int(index.min())
        run = np.arange(first, first + index.size)
        straight = (*shape[1:], 1)
        if (index == run).all():
            return _Places(shape, straight, first)
        if len(shape) > 1 and (index.reshape(shape).T.ravel() == run).all():
            return _Places(shape, (1, shape[0]), first)
        return _Places(shape, straight, 0, torch.from_numpy(index.astype(np.int64)))

    def read(self, flat: Tensor) -> Tensor:
        """Give the matrix: a view where it stands in one piece."""
        if self.index is not None:
            return flat[self.index].view(self.shape)
        return flat.as_strided(self.shape, self.stride, flat.storage_offset() + self.first)

    def write(self, flat: Tensor, value: Tensor) -> None:
        """Put a matrix that was not computed in its place where it belongs."""
        if self.index is not None:
            flat[self.index] = value.reshape(-1)


@dataclass(frozen=True, eq=False)
class _Layer:
    symbol: str
    weight: _Places
    bias: _Places


class Scratch:
    """Tensors that a training run uses again in every step, where new ones would have to be cleared by the system."""

    def __init__(self) -> None:
        self._kept: dict[tuple[str, int], Tensor] = {}

    def take(self, use: str, number: int, rows: int, columns: int, like: Tensor) -> Tensor:
        """Give the tensor for a use; what it held is lost."""
        kept = self._kept.get((use, number))
        if kept is None or kept.shape[0] < rows:
            kept = self._kept[use, number] = like.new_empty(rows, columns)
        return kept[:rows]


def _activate(symbol: str, u: Tensor) -> Tensor:
    if symbol == "relu":
        return u.relu_()
    if symbol == "sigmoid":
        return u.sigmoid_()
    if symbol == "tanh":
        return u.tanh_()
    return u.ge(0).to(u.dtype) if symbol == "step" else u


def _differentiate(symbol: str, y: Tensor, delta: Tensor) -> Tensor:
    """Multiply δ by the derivative of the activation, in place, from its value."""
    if symbol == "relu":
        return torch.ops.aten.threshold_backward.grad_input(delta, y, 0, grad_input=delta)
    if symbol == "sigmoid":
        return delta.mul_(y * (1 - y))
    if symbol == "tanh":
        return delta.mul_(1 - y * y)
    return delta.zero_() if symbol == "step" else delta


class DenseLayers:
    """The layers of a contracted network; weights and biases are flat and in the drawing's order."""

    def __init__(self, layers: Sequence[_Layer], outputs: Tensor | None) -> None:
        self._layers = tuple(layers)
        self._outputs = outputs
        self.sizes = (layers[0].weight.shape[1], *(layer.weight.shape[0] for layer in layers))

    @staticmethod
    def of(layout: Layout, raw_outputs: bool = False) -> DenseLayers | None:
        """Contract a network, or give None: levels complete and of one symbol each, no skips, no ties.

        ``raw_outputs`` leaves out the activation of the last layer.
        """
        if (starts := _level_starts(layout)) is None:
            return None
        s = layout.structure
        bias_of_neuron = np.empty(layout.neuron_of_bias.size, np.int32)
        bias_of_neuron[layout.neuron_of_bias] = np.arange(layout.neuron_of_bias.size, dtype=np.int32)
        layers: list[_Layer] = []
        for (before, start), (_, end) in pairwise(pairwise(starts)):
            edges = layout.in_edge[s.in_start[start] : s.in_start[end]]
            layers.append(
                _Layer(
                    _NAMES[int(s.code[start])],
                    _Places.of(layout.weight_of_connection[edges], (end - start, start - before)),
                    _Places.of(bias_of_neuron[start - s.data : end - s.data], (end - start,)),
                )
            )
        if raw_outputs:
            layers[-1] = _Layer("identical", layers[-1].weight, layers[-1].bias)
        places = s.outputs.astype(np.int64) - starts[-2]
        in_order = bool((places == np.arange(places.size)).all())
        return DenseLayers(layers, None if in_order else torch.from_numpy(places))

    def forward(self, x: Tensor, weight: Tensor, bias: Tensor, scratch: Scratch | None = None) -> list[Tensor]:
        """Give the data and the values of every layer."""
        values = [x]
        for k, layer in enumerate(self._layers):
            out = scratch and scratch.take("value", k, x.shape[0], self.sizes[k + 1], x)
            u = torch.addmm(layer.bias.read(bias), values[-1], layer.weight.read(weight).t(), out=out)
            values.append(_activate(layer.symbol, u))
        return values

    def outputs(self, values: Sequence[Tensor]) -> Tensor:
        """Give the outputs in the drawing's order."""
        return values[-1] if self._outputs is None else values[-1][:, self._outputs]

    def backward(
        self,
        values: Sequence[Tensor],
        weight: Tensor,
        seed: Tensor,
        by_weight: Tensor,
        by_bias: Tensor,
        by_x: bool,
        scratch: Scratch | None = None,
    ) -> Tensor | None:
        """Take the derivatives by the outputs back; fill the gradients, and give those by the data if asked."""
        delta = seed.clone() if self._outputs is None else torch.empty_like(seed)
        if self._outputs is not None:
            delta[:, self._outputs] = seed
        for k in range(len(self._layers) - 1, -1, -1):
            layer, below = self._layers[k], values[k]
            delta = _differentiate(layer.symbol, values[k + 1], delta)
            into = layer.weight.read(by_weight)
            torch.mm(delta.t(), below, out=into)
            layer.weight.write(by_weight, into)
            row = layer.bias.read(by_bias)
            torch.sum(delta, 0, out=row)
            layer.bias.write(by_bias, row)
            if k > 0 or by_x:
                out = scratch and scratch.take("delta", k, seed.shape[0], self.sizes[k], seed)
                delta = torch.mm(delta, layer.weight.read(weight), out=out)
        return delta if by_x else None


def _level_starts(layout: Layout) -> list[int] | None:
    """Say where each level starts in topological order, and the last ends, if every level is a complete layer."""
    s, level = layout.structure, layout.level
    if s.slot_start.size or s.front.size == 0 or (np.diff(level) < 0).any():
        return None
    sizes = np.bincount(level)
    starts = [0, *np.cumsum(sizes).tolist()]
    wanted = np.zeros(level.size, np.int64)
    wanted[s.data :] = sizes[level[s.data :] - 1]
    if starts[1] != s.data or not (np.diff(s.in_start) == wanted).all():
        return None
    for (before, start), (_, end) in pairwise(pairwise(starts)):
        back = s.back[s.in_start[start] : s.in_start[end]].reshape(end - start, -1)
        # In order, in-connections are sorted by back neuron: each row must count through the level before.
        if (back != np.arange(before, start)).any() or (s.code[start:end] != s.code[start]).any():
            return None
    last = np.arange(starts[-2], starts[-1])
    return starts if np.array_equal(np.sort(s.outputs), last) else None
