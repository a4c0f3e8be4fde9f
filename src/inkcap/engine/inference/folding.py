"""Folding: scales, shifts, functions and sums go into the convolutions and matrices beside them.

Every rewrite gives the same numbers but for rounding. Factors and shifts are kept in double precision until they are
written, so that a long chain of them rounds once.
"""

from __future__ import annotations

from dataclasses import replace

import torch
from torch import Tensor

from inkcap.engine.inference.pieces import WEIGHING, Piece, Pieces

FUNCTIONS = frozenset({"relu", "sigmoid", "tanh"})
"""Functions of every number that a piece with a weight can end with."""


def fold(pieces: Pieces) -> None:
    """Fold all that can be folded."""
    _push_back(pieces)
    _cut(pieces)
    _push_forward(pieces)
    _add(pieces)
    _end(pieces)
    pieces.prune()


def along_outputs(piece: Piece, numbers: Tensor | None) -> Tensor | None:
    """Give numbers that stand for one sample of a piece as one for each of its kernels or rows; None if they differ."""
    if numbers is None:
        return None
    if numbers.numel() == 1:
        return numbers.reshape(1).expand(_outputs(piece))
    wanted = (_outputs(piece),) if piece.name == "matmul" else (_outputs(piece), *(1,) * (len(piece.shape) - 1))
    laid = (1,) * (len(wanted) - numbers.ndim) + tuple(numbers.shape)
    return numbers.reshape(-1) if laid == wanted else None


def _outputs(piece: Piece) -> int:
    return piece.shape[-1] if piece.name == "matmul" else piece.shape[0]


def _push_back(pieces: Pieces) -> None:
    """Fold every affine piece into what makes its argument, where nothing else looks at that."""
    instead: dict[int, int] = {}
    makers, uses = pieces.makers(), pieces.uses()
    for piece in pieces.order:
        piece.arguments = tuple(instead.get(number, number) for number in piece.arguments)
        if piece.name != "affine":
            continue
        source = piece.arguments[0]
        if _can_take(source, piece, makers, uses):
            _take(source, piece, makers, uses)
            instead[piece.target] = source
            uses[source] = uses[piece.target]
    pieces.redirect(instead)


def _can_take(number: int, affine: Piece, makers: dict[int, Piece], uses: dict[int, int]) -> bool:
    maker = makers.get(number)
    if maker is None or uses[number] != 1 or maker.after:
        return False
    if maker.name == "affine":
        return True
    if maker.name in WEIGHING and maker.weight is not None:
        return all(x is None or along_outputs(maker, x) is not None for x in (affine.weight, affine.bias))
    if maker.name != "add":
        return False
    scaled = replace(affine, bias=None)
    if affine.weight is None:
        return any(_can_take(part, affine, makers, uses) for part in maker.arguments)
    first, second = maker.arguments
    return _can_take(first, affine, makers, uses) and _can_take(second, scaled, makers, uses)


def _take(number: int, affine: Piece, makers: dict[int, Piece], uses: dict[int, int]) -> None:
    maker = makers[number]
    if maker.name == "add":
        if affine.weight is None:
            _take(next(p for p in maker.arguments if _can_take(p, affine, makers, uses)), affine, makers, uses)
            return
        _take(maker.arguments[0], affine, makers, uses)
        _take(maker.arguments[1], replace(affine, bias=None), makers, uses)
        return
    factor, shift = affine.weight, affine.bias
    if maker.name == "affine":
        maker.weight = _times(maker.weight, factor)
    else:
        assert maker.weight is not None
        factor, shift = along_outputs(maker, factor), along_outputs(maker, shift)
        if factor is not None:
            maker.weight = _scaled_outputs(maker, maker.weight, factor)
    maker.bias = _plus(_times(maker.bias, factor) if maker.bias is not None else None, shift)


def _times(numbers: Tensor | None, factor: Tensor | None) -> Tensor | None:
    if numbers is None or factor is None:
        return factor if numbers is None else numbers
    return numbers.double() * factor.double()


def _plus(numbers: Tensor | None, shift: Tensor | None) -> Tensor | None:
    if numbers is None or shift is None:
        return shift if numbers is None else numbers
    return numbers.double() + shift.double()


def _scaled_outputs(piece: Piece, weight: Tensor, factor: Tensor) -> Tensor:
    weight, factor = weight.double(), factor.double()
    if piece.name != "deconvolve":
        return weight * factor.reshape(-1, *(1,) * (weight.ndim - 1))
    # The kernels of a transposed convolution lie by their inputs: those of a group behind each other.
    groups = piece.attributes["groups"]
    parted = weight.reshape(groups, -1, *weight.shape[1:])
    return (parted * factor.reshape(groups, 1, -1, *(1,) * (weight.ndim - 2))).reshape(weight.shape)


def _push_forward(pieces: Pieces) -> None:
    """Fold an affine piece into the one weighing piece behind it, where its shift meets no padding."""
    users, uses = pieces.users(), pieces.uses()
    instead: dict[int, int] = {}
    for piece in pieces.order:
        if piece.name != "affine" or uses.get(piece.target) != 1:
            continue
        (user,) = users.get(piece.target, [None])
        if user is None or user.weight is None or user.plus is not None or user.arguments != (piece.target,):
            continue
        if not _weighs_inputs(user, piece):
            continue
        _absorb(user, piece)
        instead[piece.target] = piece.arguments[0]
    pieces.redirect(instead)


def _cut(pieces: Pieces) -> None:
    """Write ReLU(w·x + b) before one weighing piece as w·max(x, −b/w) + b, whose affine part the piece can take.

    Where w is negative the largest becomes the smallest, and where it is zero nothing of x is left.
    """
    makers, users, uses = pieces.makers(), pieces.users(), pieces.uses()
    for place, piece in reversed(list(enumerate(pieces.order))):
        affine = makers.get(piece.arguments[0]) if piece.name == "relu" else None
        if affine is None or affine.name != "affine" or affine.weight is None or uses[affine.target] != 1:
            continue
        readers = users.get(piece.target, [])
        if len(readers) != 1 or uses[piece.target] != 1 or readers[0].weight is None:
            continue
        shift = torch.zeros_like(affine.weight) if affine.bias is None else affine.bias.double()
        factor = affine.weight.double()
        if tuple(factor.shape) != tuple(shift.shape):
            continue
        rest = Piece(piece.target, "affine", (affine.target,), piece.shape, piece.dtype, weight=factor, bias=shift)
        rest.bias = torch.where(factor == 0, shift.clamp_min(0), shift)
        if readers[0].arguments != (piece.target,) or not _weighs_inputs(readers[0], rest):
            continue
        edge = torch.where(factor == 0, 0.0, -shift / torch.where(factor == 0, 1.0, factor))
        endless = torch.full_like(edge, torch.inf)
        affine.name, affine.weight = "clamp", torch.where(factor < 0, -endless, edge)
        affine.bias = torch.where(factor > 0, endless, edge) if bool((factor <= 0).any()) else None
        pieces.order[place] = rest
    pieces.prune()


def _weighs_inputs(user: Piece, affine: Piece) -> bool:
    """Tell whether a piece weighs every input on its own, all of a channel alike."""
    if user.name == "matmul":
        inputs = affine.shape[-1]
        return all(x is None or x.numel() == 1 or tuple(x.shape) == (inputs,) for x in (affine.weight, affine.bias))
    if user.name != "convolve":
        return False
    wanted = (affine.shape[0], *(1,) * (len(affine.shape) - 1))
    fits = all(x is None or x.numel() == 1 or tuple(x.shape) == wanted for x in (affine.weight, affine.bias))
    return fits and (affine.bias is None or not any(user.attributes["padding"]))


def _absorb(user: Piece, affine: Piece) -> None:
    assert user.weight is not None
    weight = user.weight.double()
    groups = user.attributes.get("groups", 1)
    inputs = weight.shape[1]

    def by_group(numbers: Tensor) -> Tensor:
        """Lay the numbers of the inputs beside the kernels that see them."""
        spread = numbers.double().reshape(-1).expand(groups * inputs).reshape(groups, 1, inputs)
        spread = spread.expand(groups, weight.shape[0] // groups, inputs).reshape(-1, inputs)
        return spread.reshape(*spread.shape, *(1,) * (weight.ndim - 2))

    if affine.bias is not None:
        brought = (weight * by_group(affine.bias)).flatten(1).sum(1)
        user.bias = brought if user.bias is None else user.bias.double() + brought
    user.weight = weight if affine.weight is None else weight * by_group(affine.weight)


def _add(pieces: Pieces) -> None:
    """Let the later of two summands add the other one, where it weighs and nothing else looks at it."""
    makers, uses = pieces.makers(), pieces.uses()
    places = {piece.target: place for place, piece in enumerate(pieces.order)}
    for piece in list(pieces.order):
        if piece.name != "add" or pieces.shapes[piece.arguments[0]] != pieces.shapes[piece.arguments[1]]:
            continue
        late, early = sorted(piece.arguments, key=lambda number: places.get(number, -1), reverse=True)
        maker = makers.get(late)
        if late == early or maker is None or uses[late] != 1 or maker.after or early in pieces.constants:
            continue
        if maker.name in WEIGHING and maker.weight is not None and maker.plus is None:
            maker.plus = early
            pieces.redirect({piece.target: late})
            makers, uses = pieces.makers(), pieces.uses()


def _end(pieces: Pieces) -> None:
    """Let a piece that weighs, scales or adds end with the function of its one user."""
    instead: dict[int, int] = {}
    makers, uses = pieces.makers(), pieces.uses()
    for piece in pieces.order:
        if piece.name not in FUNCTIONS:
            continue
        source = instead.get(piece.arguments[0], piece.arguments[0])
        maker = makers.get(source)
        if maker is None or maker.after or uses[source] != 1:
            continue
        if (maker.name in WEIGHING and maker.weight is not None) or maker.name in ("affine", "add"):
            maker.after = piece.name
            instead[piece.target] = source
    pieces.redirect(instead)


def settled(piece: Piece) -> None:
    """Bring folded numbers back to the data type of the piece, once."""
    dtype: torch.dtype = getattr(torch, piece.dtype)
    if piece.weight is not None:
        piece.weight = piece.weight.to(dtype).contiguous()
    if piece.bias is not None:
        piece.bias = piece.bias.to(dtype).contiguous()
