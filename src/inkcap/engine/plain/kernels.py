"""The kernels: one tile of sixteen samples forwards and backwards through the network.

A tile's activations are a flat array of neuron after neuron, sixteen lanes each, so that a connection is one
multiplication and addition of sixteen neighbours with the weight as a scalar. A tile is small enough for the cache,
and tiles know nothing of each other.
"""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.engine.plain import lanes
from inkcap.engine.plain.compiled import compiled
from inkcap.engine.plain.lanes import LANES, add_four_totals, item, load, multiply, multiply_add, spread, store, total
from inkcap.engine.plain.layout import Structure

Array = NDArray[Any]

relu, sigmoid, tanh, step = lanes.relu, lanes.sigmoid, lanes.tanh, lanes.step
add, subtract, where_positive = lanes.add, lanes.subtract, lanes.where_positive


@compiled
def load_tile(x: Array, order: Array, first: int, count: int, width: int, tile: Array) -> None:
    """Turn rows of samples into lanes: those that ``order`` names (empty: as they stand); lanes without a row are 0."""
    for lane in range(LANES):
        if lane < count:
            row = x[order[first + lane] if order.size else first + lane]
            for i in range(width):
                tile[i * LANES + lane] = row[i]
        else:
            for i in range(width):
                tile[i * LANES + lane] = 0


@compiled
def forward_tile(s: Structure, weight: Array, bias: Array, y: Array) -> None:
    """Compute every neuron of a tile whose data neurons are filled; weights in in order."""
    nothing = spread(y.dtype.type(0))
    for h in range(s.data, s.code.size):
        # Two sums side by side, so that one addition need not wait for the other.
        u, odd = spread(bias[h - s.data]), nothing
        e, end = s.in_start[h], s.in_start[h + 1]
        while e + 2 <= end:
            u = multiply_add(u, item(weight, e), load(y, item(s.back, e) * LANES))
            odd = multiply_add(odd, item(weight, e + 1), load(y, item(s.back, e + 1) * LANES))
            e += 2
        if e < end:
            u = multiply_add(u, item(weight, e), load(y, item(s.back, e) * LANES))
        u = add(u, odd)
        code = s.code[h]
        if code == 1:
            u = relu(u)
        elif code == 2:
            u = sigmoid(u)
        elif code == 3:
            u = tanh(u)
        elif code == 4:
            u = step(u)
        store(y, h * LANES, u)


@compiled
def backward_tile(s: Structure, weight: Array, y: Array, d: Array, gradient: Array) -> None:
    """Take δ from the output neurons back to the data, and add to the gradients; weights in out order.

    ``d`` holds the loss's derivatives by the outputs, and becomes its derivative by every neuron's total input
    (of data neurons: by their value). ``gradient`` holds one number per connection, then one per bias.
    """
    biases = s.front.size - s.data
    nothing = spread(y.dtype.type(0))
    for z in range(s.code.size - 1, -1, -1):
        y_z = load(y, z * LANES)
        delta = load(d, z * LANES) if s.is_output[z] else nothing
        e, end = s.out_start[z], s.out_start[z + 1]
        while e + 4 <= end:
            d0, d1 = load(d, item(s.front, e) * LANES), load(d, item(s.front, e + 1) * LANES)
            d2, d3 = load(d, item(s.front, e + 2) * LANES), load(d, item(s.front, e + 3) * LANES)
            delta = multiply_add(multiply_add(delta, item(weight, e), d0), item(weight, e + 1), d1)
            delta = multiply_add(multiply_add(delta, item(weight, e + 2), d2), item(weight, e + 3), d3)
            add_four_totals(gradient, e, multiply(y_z, d0), multiply(y_z, d1), multiply(y_z, d2), multiply(y_z, d3))
            e += 4
        while e < end:
            d0 = load(d, item(s.front, e) * LANES)
            delta = multiply_add(delta, item(weight, e), d0)
            gradient[e] += total(multiply(y_z, d0))
            e += 1
        code = s.code[z]
        if code == 1:
            delta = where_positive(y_z, delta)
        elif code == 2:
            delta = multiply(delta, multiply(y_z, subtract(1.0, y_z)))
        elif code == 3:
            delta = multiply(delta, subtract(1.0, multiply(y_z, y_z)))
        elif code == 4:
            delta = nothing
        if z >= s.data:
            gradient[biases + z] += total(delta)
        store(d, z * LANES, delta)


@compiled
def forward_tiles(
    s: Structure, weight: Array, bias: Array, x: Array, y: Array, keep: bool, first: int, last: int, out: Array
) -> None:
    """Run the tiles from first to last, forwards; ``y`` has a row for each tile, or one row if none is kept."""
    nothing = np.zeros(0, np.int64)
    for t in range(first, last):
        tile = y[t] if keep else y[0]
        count = min(LANES, x.shape[0] - t * LANES)
        load_tile(x, nothing, t * LANES, count, s.data, tile)
        forward_tile(s, weight, bias, tile)
        for lane in range(count):
            for o in range(s.outputs.size):
                out[t * LANES + lane, o] = tile[s.outputs[o] * LANES + lane]


@compiled
def backward_tiles(
    s: Structure, weight: Array, y: Array, d: Array, seed: Array, first: int, last: int, gradient: Array, by_x: Array
) -> None:
    """Run kept tiles from first to last, backwards, from the derivatives by the outputs; ``by_x`` may be empty."""
    for t in range(first, last):
        count = min(LANES, seed.shape[0] - t * LANES)
        for o in range(s.outputs.size):
            at = s.outputs[o] * LANES
            for lane in range(LANES):
                d[at + lane] = seed[t * LANES + lane, o] if lane < count else 0
        backward_tile(s, weight, y[t], d, gradient)
        if by_x.size:
            for lane in range(count):
                for i in range(s.data):
                    by_x[t * LANES + lane, i] = d[i * LANES + lane]
