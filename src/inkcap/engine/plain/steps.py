"""Whole training steps in one compiled call: samples in, loss out, parameters changed."""

from __future__ import annotations

import math
from typing import Any

from numpy.typing import NDArray

from inkcap.engine.plain import lanes
from inkcap.engine.plain.compiled import compiled
from inkcap.engine.plain.kernels import backward_tile, forward_tile, load_tile
from inkcap.engine.plain.lanes import LANES, load, multiply, spread, store, total
from inkcap.engine.plain.layout import Structure
from inkcap.engine.plain.parameters import finish_step

Array = NDArray[Any]

add, subtract, divide, larger = lanes.add, lanes.subtract, lanes.divide, lanes.larger
exponential, sigmoid = lanes.exponential, lanes.sigmoid


@compiled
def squared_error(s: Structure, y: Array, d: Array, wanted: Array, count: int, scale: float) -> float:
    """Seed δ with the derivative of Σ scale·(y − t)², and give the sum over the tile."""
    error = 0.0
    for o in range(s.outputs.size):
        at = s.outputs[o] * LANES
        for lane in range(count, LANES):
            wanted[o * LANES + lane] = y[at + lane]  # a lane without a sample has no error
        difference = subtract(load(y, at), load(wanted, o * LANES))
        error += total(multiply(difference, difference))
        store(d, at, multiply(difference, 2.0 * scale))
    return error * scale


@compiled
def cross_entropy(s: Structure, y: Array, d: Array, wanted: Array, count: int, scale: float) -> float:
    """Seed δ for softmax and cross-entropy over the output neurons; ``wanted`` holds the number of each class."""
    highest = load(y, s.outputs[0] * LANES)
    for o in range(1, s.outputs.size):
        highest = larger(highest, load(y, s.outputs[o] * LANES))
    powers = spread(y.dtype.type(0))
    for o in range(s.outputs.size):
        power = exponential(subtract(load(y, s.outputs[o] * LANES), highest))
        powers = add(powers, power)
        store(d, s.outputs[o] * LANES, power)
    for o in range(s.outputs.size):
        at = s.outputs[o] * LANES
        store(d, at, multiply(divide(load(d, at), powers), scale))
        for lane in range(count, LANES):
            d[at + lane] = 0
    error = 0.0
    store(wanted, LANES, highest)
    store(wanted, 2 * LANES, powers)
    for lane in range(count):
        at = s.outputs[int(wanted[lane])] * LANES + lane
        d[at] -= scale
        error += math.log(wanted[2 * LANES + lane]) + wanted[LANES + lane] - y[at]
    return error * scale


@compiled
def binary_cross_entropy(s: Structure, y: Array, d: Array, wanted: Array, count: int, scale: float) -> float:
    """Seed δ for sigmoid and cross-entropy of each output by itself; outputs are taken before the sigmoid."""
    error = 0.0
    for o in range(s.outputs.size):
        at = s.outputs[o] * LANES
        store(d, at, multiply(subtract(sigmoid(load(y, at)), load(wanted, o * LANES)), scale))
        for lane in range(count, LANES):
            d[at + lane] = 0
        for lane in range(count):
            u = y[at + lane]
            error += max(u, 0.0) - u * wanted[o * LANES + lane] + math.log1p(math.exp(-abs(u)))
    return error * scale


@compiled
def train_tiles(
    s: Structure, in_order: Array, out_order: Array, bias: Array, x: Array, target: Array, order: Array, begin: int,
    batch: int, loss: int, first: int, last: int, y: Array, d: Array, wanted: Array, chunk: Array,
) -> float:  # fmt: skip
    """Take the tiles from first to last of one batch forwards and backwards; give their part of the loss."""
    error = 0.0
    scale = 1.0 / batch if loss == 1 else 1.0 / (batch * s.outputs.size)
    for t in range(first, last):
        start = begin + t * LANES
        count = min(LANES, batch - t * LANES)
        load_tile(x, order, start, count, s.data, y)
        forward_tile(s, in_order, bias, y)
        load_tile(target, order, start, count, target.shape[1], wanted)
        if loss == 0:
            error += squared_error(s, y, d, wanted, count, scale)
        elif loss == 1:
            error += cross_entropy(s, y, d, wanted, count, scale)
        else:
            error += binary_cross_entropy(s, y, d, wanted, count, scale)
        backward_tile(s, out_order, y, d, chunk)
    return error


@compiled
def train_steps(
    s: Structure, in_order: Array, out_order: Array, x: Array, target: Array, order: Array, batch: int, loss: int,
    rule: int, setting: Array, time: int, p: Array, m: Array, v: Array, g: Array, y: Array, d: Array, wanted: Array,
    chunks: Array, losses: Array,
) -> None:  # fmt: skip
    """Take as many steps as there are places for losses, batch after batch of ``order``, on one thread."""
    bias = p[s.slots :]
    for step in range(losses.size):
        begin = step * batch
        size = min(batch, order.size - begin)
        tiles = (size + LANES - 1) // LANES
        losses[step] = train_tiles(
            s, in_order, out_order, bias, x, target, order, begin, size, loss, 0, tiles, y, d, wanted, chunks[0]
        )
        finish_step(s, rule, setting, time + step, p, m, v, g, chunks, in_order, out_order, 0, p.size)
