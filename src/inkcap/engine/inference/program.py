"""Frozen programs: a network with its weights as one function, for answers alone."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from math import prod
from typing import Any

import torch
from torch import Tensor, nn

from inkcap.engine.build import lower, weights_of
from inkcap.engine.inference.folding import fold, settled
from inkcap.engine.inference.geometry import flatten_in_place, shrink
from inkcap.engine.inference.pieces import WEIGHING, Piece, Pieces, pieces_of
from inkcap.engine.inference.routing import route_by_parent
from inkcap.engine.inference.siblings import join_siblings
from inkcap.engine.inference.writing import LITTLE_WORK, packing, write
from inkcap.network import Network, structure_of

USUAL_BATCH = 64
"""For so many samples at a time weights are laid out, where nothing else is said; others are answered alike."""


class Frozen:
    """A frozen program: called with the inputs in the order of the drawing, it gives the outputs, as the module does.

    Its weights are those of the moment when it was made: what is trained further needs another one.
    """

    def __init__(self, source: str, run: Callable[..., Any], work: int) -> None:
        """Take a source, the function that it is, and the multiply-adds of one of its products for one sample."""
        self.source = source
        self._run, self._work = run, work

    def __call__(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Answer; little work is done by one thread, since to wake another takes longer."""
        threads = torch.get_num_threads()
        alone = threads > 1 and bool(inputs) and len(inputs[0]) * self._work < LITTLE_WORK
        if alone:
            torch.set_num_threads(1)
        try:
            # Not inference_mode, whose tensors nobody could go on with: a loss, a metric, a person at a prompt.
            with torch.no_grad():
                return self._run(*inputs)
        finally:
            if alone:
                torch.set_num_threads(threads)


def freeze(
    network: Network,
    weights: Mapping[str, Tensor],
    returns: Mapping[str, str] | None = None,
    batch: int = USUAL_BATCH,
) -> Frozen:
    """Freeze a network with weights and states by their names in the drawing; ``returns`` as in ``build``."""
    lowered = lower(network, returns)
    program = lowered.program
    inputs = {number: structure_of(network.capsules[id]).sizes for id, number in program.inputs.items()}
    stored = {number: weights[name] for name, number in {**program.weights, **program.states}.items()}
    processor = all(value.device.type == "cpu" for value in stored.values())
    with torch.no_grad():
        pieces = pieces_of(lowered.steps, inputs, lowered.returned, stored)
        fold(pieces)
        join_siblings(pieces)
        shrink(pieces, batch)
        flatten_in_place(pieces)
        route_by_parent(pieces)
        for piece in pieces.order:
            settled(piece)
        source, namespace = write(pieces, batch, packing(), processor)
        # Our own print, as in build: names are numbered, numbers come from checked records.
        exec(compile(source, f"<frozen {network.name}>", "exec"), namespace)  # noqa: S102
    return Frozen(source, namespace["run"], _work(pieces))


def _work(pieces: Pieces) -> int:
    """Give the multiply-adds of a product of the program, in the mean."""
    found = [
        piece.weight.numel() * (_positions(piece) if piece.name == "convolve" else 1)
        for piece in pieces.order
        if piece.name in WEIGHING and piece.weight is not None
    ]
    return sum(found) // max(len(found), 1)


def _positions(piece: Piece) -> int:
    return prod(piece.shape[1:])


def freeze_module(
    network: Network, module: nn.Module, returns: Mapping[str, str] | None = None, batch: int = USUAL_BATCH
) -> Frozen | nn.Module:
    """Freeze a built module as it stands; neurons in columns stay on their kernels."""
    if network.plain is not None:
        return module
    return freeze(network, weights_of(module), returns, batch)
