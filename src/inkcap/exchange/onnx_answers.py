"""Answers by onnxruntime: a trained network written as ONNX and run by it, with as many threads as torch has."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from inkcap.engine.inference import Answerer
from inkcap.exchange.onnx_file import open_session, to_onnx_of
from inkcap.network import Network
from inkcap.program import Identifiers


def by_onnxruntime(network: Network, module: nn.Module, batch: int) -> Answerer:
    """Make the engine of a network and its module; a network that ONNX cannot hold is refused with the reason."""
    session = open_session(to_onnx_of(network, module), torch.get_num_threads())
    identifiers = Identifiers()
    places = {identifiers.of(id): place for place, id in enumerate(network.inputs)}
    # An input that nothing depends on may be gone.
    kept = {entry.name: places[entry.name] for entry in session.get_inputs()}

    def answer(*inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        given = {name: inputs[place].cpu().contiguous().numpy() for name, place in kept.items()}
        found: list[Any] = session.run(None, given)
        made = tuple(torch.from_numpy(array) for array in found)
        return made[0] if len(made) == 1 else made

    return answer
