"""The exported program: through ``torch.export`` for any batch, saved, loaded again and run."""

from __future__ import annotations

import io

import torch
from torch import nn

from inkcap.exchange.onnx_file import EXAMPLES, OTHER_BATCHES, first_line_of, quietly
from inkcap.exchange.proof import Proof, largest_difference, random_pair
from inkcap.exchange.random_weights import as_tuple, random_inputs
from inkcap.exchange.torch_file import TorchFile
from inkcap.structures import InkcapError


class ProgramError(InkcapError):
    """A network that ``torch.export`` cannot turn into a program."""


def prove_program(file: TorchFile, seed: int = 0) -> Proof:
    """Export with random weights and running statistics, and compare what the loaded program computes."""
    ours, theirs = random_pair(file, seed)
    return Proof(check_program(to_program(file, theirs), file, ours.eval(), seed))


def to_program(file: TorchFile, module: nn.Module) -> bytes:
    """Give a module of a printed file as a ``.pt2`` file."""
    network = file.report.network
    examples = random_inputs(network, 0, EXAMPLES)
    batch = torch.export.Dim("batch")
    packed = io.BytesIO()
    try:
        with quietly():
            shapes = tuple({0: batch} for _ in examples)
            torch.export.save(torch.export.export(module.eval(), examples, dynamic_shapes=shapes), packed)
    except Exception as error:
        raise ProgramError(
            f"{network.name} was not written: torch.export cannot take it ({first_line_of(error)}); "
            "'--to torch' takes any drawing"
        ) from None
    return packed.getvalue()


def check_program(content: bytes, file: TorchFile, ours: nn.Module, seed: int = 0) -> float:
    """Load a program and give the largest difference of what it computes to the drawing's outputs."""
    with quietly():
        program = torch.export.load(io.BytesIO(content)).module()
    worst = 0.0
    for batch in OTHER_BATCHES:
        inputs = random_inputs(file.report.network, seed + batch, batch)
        with torch.no_grad():
            mine, theirs = as_tuple(ours(*inputs)), as_tuple(program(*inputs))
        worst = max(worst, largest_difference("outputs", mine, theirs))
    return worst
