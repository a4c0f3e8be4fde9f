"""A plain network: compiled from columns, computed forwards, differentiated backwards."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from functools import cached_property
from typing import Any

import numpy as np
import torch
from numpy.typing import DTypeLike, NDArray

from inkcap.engine.plain.columns import PlainColumns, PlainError, read
from inkcap.engine.plain.dense import DenseLayers
from inkcap.engine.plain.layout import lay_out
from inkcap.engine.plain.threads import share

Array = NDArray[Any]

CHUNKS = 8
"""In how many parts a batch's gradients are summed. Fixed, so that the bits do not depend on the number of threads."""

WORTH_THREADS = 1_000_000
"""Connections times samples from which a step is shared among threads: below, starting them costs more."""

WORTH_PRODUCTS = 1_000_000
"""Connections times samples from which matrix products repay their calls, where a network can be contracted."""


class PlainNetwork:
    """Scalar neurons on a directed acyclic graph, compiled.

    ``weight`` and ``bias`` are the parameters in the drawing's order: a weight per connection, tied connections once,
    at the first of them; a bias per neuron, data neurons having none. ``inputs`` and ``outputs`` are the drawing's
    numbers of the data neurons and of the output neurons: by default those that nothing leaves.
    """

    def __init__(self, columns: PlainColumns, outputs: Sequence[int] | NDArray[Any] | None = None) -> None:
        checked = read(columns)
        self.layout = lay_out(checked, None if outputs is None else np.asarray(outputs))
        s = self.layout.structure
        self.neurons, self.connections, self.levels = s.code.size, s.front.size, int(self.layout.level.max()) + 1
        self.inputs = self.layout.neuron[: s.data]
        self.outputs = self.layout.neuron[s.outputs]
        self.weight = np.empty(s.slots)
        self.weight[self.layout.weight_of_connection] = checked.weight
        self.bias = checked.bias[np.sort(self.layout.neuron[s.data :])]
        for parameter in (self.weight, self.bias):
            parameter.flags.writeable = False
        self._own: dict[str, tuple[Array, Array, Array]] = {}
        self._spare: list[Array] = []

    @cached_property
    def dense(self) -> DenseLayers | None:
        """The network as matrix products, or None where its structure does not allow them."""
        return DenseLayers.of(self.layout)

    def contracts(self, samples: int, contract: bool | None = None) -> bool:
        """Tell whether so many samples at a time run as matrix products; ``contract`` forces or forbids it."""
        if contract is None:
            return self.connections * samples >= WORTH_PRODUCTS and self.dense is not None
        if contract and self.dense is None:
            raise PlainError(
                "the network cannot be contracted to matrix products: every level must be completely connected "
                "to the next, of one symbol, without skips and ties; leave contract out"
            )
        return contract

    def pack(self, weight: Array | None, bias: Array | None, dtype: DTypeLike) -> Array:
        """Put parameters from the drawing's order into the kernels': weights, then biases."""
        s = self.layout.structure
        packed = np.empty(s.slots + s.code.size - s.data, dtype)
        packed[self.layout.slot_of_weight] = self._fitting("weight", weight, self.weight)
        packed[s.slots + self.layout.neuron_of_bias] = self._fitting("bias", bias, self.bias)
        return packed

    def unpack(self, packed: Array) -> tuple[Array, Array]:
        """Take parameters, or their gradients, from the kernels' order back to the drawing's."""
        slots = self.layout.structure.slots
        return packed[self.layout.slot_of_weight], packed[slots + self.layout.neuron_of_bias]

    @staticmethod
    def _fitting(name: str, given: Array | None, own: Array) -> Array:
        if given is not None and given.shape != own.shape:
            raise PlainError(f"{name}: has the shape {given.shape}, the network needs {own.shape}")
        return own if given is None else given

    def samples(self, x: Array, dtype: DTypeLike) -> Array:
        """Check samples: a row for each, a column for each data neuron."""
        if x.ndim != 2 or x.shape[1] != self.inputs.size:
            raise PlainError(f"x: has the shape {x.shape}, the network needs (samples, {self.inputs.size})")
        return np.ascontiguousarray(x, dtype)

    def forward(
        self,
        x: Array,
        weight: Array | None = None,
        bias: Array | None = None,
        *,
        dtype: DTypeLike = np.float32,
        threads: int | None = None,
        contract: bool | None = None,
    ) -> Array:
        """Compute the outputs of samples: a row for each sample, a column for each output neuron."""
        x = self.samples(x, dtype)
        if self.contracts(x.shape[0], contract) and self.dense is not None:
            weight, bias = self._fitting("weight", weight, self.weight), self._fitting("bias", bias, self.bias)
            # Copied: torch would warn of arrays that cannot be written.
            flat_weight, flat_bias = (torch.from_numpy(np.array(array, dtype)) for array in (weight, bias))
            return self.dense.outputs(self.dense.forward(torch.from_numpy(x), flat_weight, flat_bias)).numpy()
        # The network's own parameters do not change: they are arranged once.
        own = weight is None and bias is None
        arranged = self._own.get(x.dtype.name) if own else None
        if arranged is None:
            arranged = self.arrange(self.pack(weight, bias, dtype))
        if own:
            self._own[x.dtype.name] = arranged
        in_order, _, biases = arranged
        return self.run(x, in_order, biases, threads)[0]

    def arrange(self, packed: Array) -> tuple[Array, Array, Array]:
        """Lay packed parameters out for the kernels: the weights in in order and in out order, and the biases."""
        from inkcap.engine.plain.parameters import arrange

        s = self.layout.structure
        in_order, out_order = np.empty((2, s.front.size), packed.dtype)
        arrange(s, packed, in_order, out_order, 0, packed.size)
        return in_order, out_order, packed[s.slots :]

    def run(
        self, x: Array, in_order: Array, bias: Array, threads: int | None, keep: bool = False
    ) -> tuple[Array, Array]:
        """Run the kernels forwards on checked samples; give the outputs, and every tile if they are to be kept."""
        from inkcap.engine.plain.kernels import forward_tiles
        from inkcap.engine.plain.lanes import LANES

        s = self.layout.structure
        tiles = -(-x.shape[0] // LANES)
        out = np.empty((x.shape[0], s.outputs.size), x.dtype)
        kept = np.empty((tiles, s.code.size * LANES), x.dtype) if keep else None
        threads = self.threads(x.shape[0], threads)
        parts = min(tiles, 2 * threads) if threads > 1 else min(tiles, 1)

        def part(i: int) -> None:
            y = self._tile(x.dtype) if kept is None else kept
            forward_tiles(s, in_order, bias, x, y, keep, i * tiles // parts, (i + 1) * tiles // parts, out)
            if kept is None:
                self._spare.append(y)

        share(part, parts, threads)
        return out, np.empty((0, 0), x.dtype) if kept is None else kept

    def _tile(self, dtype: np.dtype[Any]) -> Array:
        """Give room for one tile: one that is free, or a new one."""
        from inkcap.engine.plain.lanes import LANES

        with suppress(IndexError):  # asking first would leave a moment for another thread
            tile = self._spare.pop()
            if tile.dtype == dtype:
                return tile
        return np.empty((1, self.neurons * LANES), dtype)

    def threads(self, samples: int, threads: int | None) -> int:
        """Say on how many threads so many samples run: torch's number, unless told or not worth it."""
        if self.connections * samples < WORTH_THREADS:
            return 1
        return max(1, torch.get_num_threads() if threads is None else threads)

    def chunks(self, samples: int) -> int:
        """Say in how many parts the gradients of so many samples are summed: never by the number of threads."""
        from inkcap.engine.plain.lanes import LANES

        return max(1, min(CHUNKS, -(-samples // LANES))) if self.connections * samples >= WORTH_THREADS else 1

    def differentiate(
        self, out_order: Array, kept: Array, seed: Array, threads: int | None, by_x: bool = False
    ) -> tuple[Array, Array]:
        """Run kept tiles backwards from the derivatives by the outputs; give those by the parameters and the data."""
        from inkcap.engine.plain.kernels import backward_tiles
        from inkcap.engine.plain.lanes import LANES
        from inkcap.engine.plain.parameters import gather_gradient

        s, dtype = self.layout.structure, seed.dtype
        samples, tiles = seed.shape[0], kept.shape[0]
        chunks, threads = self.chunks(samples), self.threads(samples, threads)
        sums = np.zeros((chunks, s.front.size + s.code.size - s.data), dtype)
        data = np.empty((samples if by_x else 0, s.data), dtype)

        def chunk(i: int) -> None:
            d = np.empty(s.code.size * LANES, dtype)
            first, last = i * tiles // chunks, (i + 1) * tiles // chunks
            backward_tiles(s, out_order, kept, d, seed, first, last, sums[i], data)

        share(chunk, chunks, threads)
        gradient = np.empty(s.slots + s.code.size - s.data, dtype)
        gather_gradient(s, sums, gradient, 0, gradient.size)
        return gradient, data
