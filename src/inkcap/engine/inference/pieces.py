"""Pieces: the steps of a program with their weights inside, as they are folded before they are written.

A piece is a step of the program, or what several steps have become. Weights are numbers here, no longer values that
may change: whatever depends on nothing else is computed once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from inkcap.engine.torch_operations import TORCH
from inkcap.operations import Step
from inkcap.structures import FLOATING

WEIGHING = frozenset({"convolve", "deconvolve", "matmul", "dense"})
"""Pieces that hold a weight and maybe a bias, add maybe another value, and end with a function of every number."""


@dataclass
class Piece:
    """What makes one value. ``affine`` is x·weight + bias, and ``dense`` a convolution of a small map as one matrix."""

    target: int
    name: str
    arguments: tuple[int, ...]
    """Values of other pieces; a weight that the piece holds is none."""
    shape: tuple[int, ...]
    dtype: str
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    weight: Tensor | None = None
    bias: Tensor | None = None
    plus: int | None = None
    """A value that is added before the function."""
    after: str = ""
    """The function of every number that comes last, if any."""
    step: Step | None = None
    """The step of the program, where the piece is still that step."""

    @property
    def takes(self) -> tuple[int, ...]:
        """All values that it is computed from."""
        return self.arguments if self.plus is None else (*self.arguments, self.plus)


@dataclass
class Pieces:
    """The pieces in order, the values that are constants, and the values that are given back."""

    inputs: tuple[int, ...]
    returned: tuple[int, ...]
    order: list[Piece] = field(default_factory=list[Piece])
    constants: dict[int, Tensor] = field(default_factory=dict[int, Tensor])
    shapes: dict[int, tuple[int, ...]] = field(default_factory=dict[int, tuple[int, ...]])

    def makers(self) -> dict[int, Piece]:
        """Give the piece that makes each value."""
        return {piece.target: piece for piece in self.order}

    def users(self) -> dict[int, list[Piece]]:
        """Give the pieces that take each value; one that takes it twice stands there twice."""
        found: dict[int, list[Piece]] = {}
        for piece in self.order:
            for number in piece.takes:
                found.setdefault(number, []).append(piece)
        return found

    def uses(self) -> dict[int, int]:
        """Count how often each value is taken or given back."""
        counts = {number: len(found) for number, found in self.users().items()}
        for number in self.returned:
            counts[number] = counts.get(number, 0) + 1
        return counts

    def redirect(self, instead: Mapping[int, int]) -> None:
        """Let every use of a value be a use of another."""

        def real(number: int) -> int:
            while number in instead:
                number = instead[number]
            return number

        for piece in self.order:
            piece.arguments = tuple(map(real, piece.arguments))
            piece.plus = None if piece.plus is None else real(piece.plus)
        self.order = [piece for piece in self.order if piece.target not in instead]
        self.returned = tuple(map(real, self.returned))

    def prune(self) -> None:
        """Leave out what nothing needs any more."""
        wanted = set(self.returned)
        kept: list[Piece] = []
        for piece in reversed(self.order):
            if piece.target in wanted:
                wanted.update(piece.takes)
                kept.append(piece)
        self.order = kept[::-1]
        self.constants = {number: value for number, value in self.constants.items() if number in wanted}


def pieces_of(
    steps: Sequence[Step],
    inputs: Mapping[int, tuple[int, ...]],
    returned: Sequence[int],
    stored: Mapping[int, Tensor],
) -> Pieces:
    """Make pieces of the steps of an evaluation: constants computed, dropout and identities gone, weights inside."""
    pieces = Pieces(tuple(inputs), tuple(returned), constants=dict(stored), shapes=dict(inputs))
    instead: dict[int, int] = {}
    masks: dict[int, Step] = {}
    for step in steps:
        arguments = tuple(instead.get(number, number) for number in step.arguments)
        shape = _sizes(step)
        pieces.shapes[step.target] = shape
        if step.operation.name == "random_mask":
            masks[step.target] = step
        if all(number in pieces.constants for number in arguments):
            values = [pieces.constants[number] for number in arguments]
            pieces.constants[step.target] = TORCH[step.operation.name].compute(values, step.attributes)
            continue
        same = _same_as(step, arguments, masks)
        if same is not None:
            instead[step.target] = same
            continue
        piece = _piece(step, arguments, shape, pieces.constants, masks)
        pieces.order.append(piece)
    pieces.returned = tuple(instead.get(number, number) for number in returned)
    pieces.prune()
    return pieces


def _sizes(step: Step) -> tuple[int, ...]:
    sizes = tuple(size for size in step.shape if isinstance(size, int))
    assert len(sizes) == len(step.shape)
    return sizes


def _same_as(step: Step, arguments: tuple[int, ...], masks: Mapping[int, Step]) -> int | None:
    """Give the value that a step only hands on."""
    name, at = step.operation.name, step.attributes
    if name == "same" or (name == "cast" and at["dtype"] == step.dtype and step.dtype not in FLOATING):
        return arguments[0]
    mask = masks.get(arguments[1]) if name == "multiply" else None
    if mask is not None and (mask.attributes["inverted"] or mask.attributes["probability"] == 0):
        return arguments[0]
    return None


def _piece(
    step: Step,
    arguments: tuple[int, ...],
    shape: tuple[int, ...],
    constants: Mapping[int, Tensor],
    masks: Mapping[int, Step],
) -> Piece:
    name, at = step.operation.name, step.attributes
    piece = Piece(step.target, name, arguments, shape, step.dtype, at, step=step)
    if name in ("convolve", "deconvolve") and arguments[1] in constants:
        piece.arguments, piece.weight = arguments[:1], constants[arguments[1]]
    elif name == "matmul" and arguments[0] in constants:
        piece.arguments, piece.weight = arguments[1:], constants[arguments[0]]
    elif name in ("scale", "bias") and arguments[1] in constants:
        number = _spread(constants[arguments[1]], len(shape), at["per"])
        weight, bias = (number, None) if name == "scale" else (None, number)
        return Piece(step.target, "affine", arguments[:1], shape, step.dtype, weight=weight, bias=bias)
    elif name == "normalise_batch" and all(number in constants for number in arguments[1:]):
        mean, variance = (_spread(constants[number].double(), len(shape), "channel") for number in arguments[1:])
        weight = (variance + at["epsilon"]).rsqrt()
        return Piece(step.target, "affine", arguments[:1], shape, step.dtype, weight=weight, bias=-mean * weight)
    elif name == "multiply" and arguments[1] in masks:
        weight = torch.tensor(1 - masks[arguments[1]].attributes["probability"], dtype=torch.float64)
        return Piece(step.target, "affine", arguments[:1], shape, step.dtype, weight=weight)
    elif name == "add_positions":
        dtype = getattr(torch, step.dtype)
        rows = TORCH[name].compute([torch.zeros(1, *shape, dtype=dtype)], at)[0]
        return Piece(step.target, "affine", arguments, shape, step.dtype, bias=rows)
    return piece


def _spread(numbers: Tensor, rank: int, per: str) -> Tensor:
    """Lay numbers out so that they meet those of one sample."""
    return numbers.reshape(-1, *(1,) * (rank - 1)) if per == "channel" else numbers
