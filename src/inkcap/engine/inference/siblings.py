"""Siblings: convolutions of one position that look at the same value, computed as one."""

from __future__ import annotations

import torch

from inkcap.engine.inference.pieces import Piece, Pieces


def join_siblings(pieces: Pieces) -> None:
    """Join convolutions by 1×1 kernels of the same value that end alike, and give each its channels."""
    found: dict[tuple[object, ...], list[Piece]] = {}
    for piece in pieces.order:
        if _joins(piece):
            found.setdefault((*piece.arguments, piece.dtype, piece.after), []).append(piece)
    free = 1 + max((*pieces.shapes, *pieces.constants, -1))
    for group in found.values():
        if len(group) > 1:
            _join(pieces, group, free)
            free += 1


def _joins(piece: Piece) -> bool:
    if piece.name != "convolve" or piece.weight is None or piece.plus is not None or len(piece.shape) != 3:
        return False
    at = piece.attributes
    plain = at["groups"] == 1 and not any(at["padding"]) and set(at["stride"]) == {1}
    return plain and tuple(piece.weight.shape[2:]) == (1, 1)


def _join(pieces: Pieces, group: list[Piece], target: int) -> None:
    first = group[0]
    weights = [piece.weight for piece in group if piece.weight is not None]
    biases = [
        weight.new_zeros(weight.shape[0]) if piece.bias is None else piece.bias
        for piece, weight in zip(group, weights, strict=True)
    ]
    kernels = sum(piece.shape[0] for piece in group)
    whole = Piece(target, "convolve", first.arguments, (kernels, *first.shape[1:]), first.dtype, first.attributes)
    whole.weight, whole.after, whole.step = torch.cat(weights), first.after, first.step
    whole.bias = None if all(piece.bias is None for piece in group) else torch.cat([b.double() for b in biases])
    pieces.shapes[target] = whole.shape
    pieces.order.insert(pieces.order.index(first), whole)
    start = 0
    for piece in group:
        count = piece.shape[0]
        piece.name, piece.arguments, piece.after = "channels", (target,), ""
        piece.weight = piece.bias = None
        piece.attributes = {"first": start, "count": count}
        start += count
