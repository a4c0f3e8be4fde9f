"""Geometry: kernels without taps that see padding alone, small maps as one matrix, and flat values without a copy."""

from __future__ import annotations

from itertools import product

import torch

from inkcap.engine.inference.pieces import Piece, Pieces

DENSE_GROWTH = 2
"""So many times the numbers of its kernels may the matrix of a convolution have."""
FEW = 8
"""Up to so many samples reading the numbers takes the time, and a matrix may have no more of them."""


def shrink(pieces: Pieces, batch: int) -> None:
    """Trim kernels, and write the convolutions of small maps as matrices."""
    growth = 1 if batch <= FEW else DENSE_GROWTH
    for piece in pieces.order:
        if piece.name == "convolve" and piece.weight is not None:
            _trim(piece, pieces.shapes[piece.arguments[0]])
            _make_dense(piece, pieces.shapes[piece.arguments[0]], growth)


def _trim(piece: Piece, taken: tuple[int, ...]) -> None:
    """Leave out the outer taps of a kernel that meet nothing but padding, as many do on small maps."""
    assert piece.weight is not None
    at = dict(piece.attributes)
    weight = piece.weight
    padding = list(at["padding"])
    for axis, (size, made) in enumerate(zip(taken[1:], piece.shape[1:], strict=True)):
        stride, before, apart, taps = at["stride"][axis], padding[axis], at["dilation"][axis], weight.shape[2 + axis]
        seen = [tap for tap in range(taps) if any(0 <= o * stride - before + tap * apart < size for o in range(made))]
        if not seen or len(seen) == taps:
            continue
        first, count = seen[0], seen[-1] - seen[0] + 1
        less = before - first * apart
        # torch pads both sides alike: what is left must still give as many positions.
        if less < 0 or (size + 2 * less - apart * (count - 1) - 1) // stride + 1 != made:
            continue
        weight, padding[axis] = weight.narrow(2 + axis, first, count), less
    piece.weight = weight
    piece.attributes = at | {"padding": tuple(padding)}


def _make_dense(piece: Piece, taken: tuple[int, ...], growth: int) -> None:
    """Write a convolution of a small map as the matrix that it is, its numbers position by position."""
    assert piece.weight is not None
    at, weight = piece.attributes, piece.weight
    positions, made = taken[1:], piece.shape[1:]
    numbers = _count(taken) * _count(piece.shape)
    if at["groups"] != 1 or numbers > growth * weight.numel():
        return
    matrix = weight.new_zeros((*made, piece.shape[0], *positions, taken[0]))
    for there in product(*map(range, made)):
        for tap in product(*map(range, weight.shape[2:])):
            axes = zip(there, at["stride"], at["padding"], tap, at["dilation"], strict=True)
            here = tuple(o * stride - before + t * apart for o, stride, before, t, apart in axes)
            if all(0 <= place < size for place, size in zip(here, positions, strict=True)):
                matrix[(*there, slice(None), *here)] = weight[(slice(None), slice(None), *tap)]
    piece.name, piece.attributes = "dense", {"taken": taken}
    piece.weight = matrix.reshape(_count(made) * piece.shape[0], -1)
    if piece.bias is not None:
        piece.bias = piece.bias.repeat(_count(made))


def _count(shape: tuple[int, ...]) -> int:
    return int(torch.Size(shape).numel())


def flatten_in_place(pieces: Pieces) -> None:
    """Flatten maps position by position where matrices alone look at the row, whose columns are then in that order.

    Maps lie so that all channels of a position stand together: to flatten them as drawn would copy them.
    """
    users, uses = pieces.users(), pieces.uses()
    for piece in pieces.order:
        if piece.name != "reshape" or len(piece.shape) != 1:
            continue
        taken = pieces.shapes[piece.arguments[0]]
        readers = users.get(piece.target, [])
        matrices = [user for user in readers if user.name == "matmul" and user.weight is not None]
        if len(taken) < 3 or len(matrices) != len(readers) or uses[piece.target] != len(readers):
            continue
        if any(user.plus == piece.target for user in matrices):
            continue
        piece.name = "flatten"
        for user in matrices:
            assert user.weight is not None
            parted = user.weight.reshape(-1, taken[0], _count(taken[1:]))
            user.weight = parted.transpose(1, 2).reshape(user.weight.shape)
