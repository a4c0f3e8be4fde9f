"""Exporting: a drawing goes out as files, none of which is written before it is proven."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import torch
from safetensors.torch import save
from torch import Tensor, nn

from inkcap.drawing import Drawing
from inkcap.engine.build import build, initialise, load_weights, run_source
from inkcap.exchange.proof import Proof, give_weights, largest_difference, prove_torch, stored_in
from inkcap.exchange.random_weights import as_tuple, random_inputs
from inkcap.exchange.torch_file import TorchFile, print_torch
from inkcap.structures import InkcapError
from inkcap.structures.atomic import write_atomic

if TYPE_CHECKING:
    from inkcap.exchange.keras_file import KerasFile

Weights = Mapping[str, Tensor]


class ExportError(InkcapError):
    """An export that cannot be made as it was asked for."""


@dataclass(frozen=True)
class Exported:
    """What was written, how it was proven, and what a person should know of it."""

    files: tuple[Path, ...]
    proof: Proof
    notes: tuple[str, ...] = ()


def export_torch(drawing: Drawing, path: Path, weights: Weights | None = None, *, train: bool = False) -> Exported:
    """Write a drawing as a Python file, and weights, if there are any, beside it for ``load_state_dict``."""
    file = print_torch(drawing, train=train)
    proof = prove_torch(file)
    contents: dict[Path, str | bytes] = {path: file.source}
    if weights is not None:
        contents[path.with_suffix(".safetensors")] = _packed(file, weights)
    return Exported(_write(contents), proof, notes_of(file))


def export_safetensors(drawing: Drawing, path: Path, weights: Weights) -> Exported:
    """Write weights under the names of the Python file that ``export_torch`` writes."""
    file = print_torch(drawing)
    difference = compare_with(file, loaded(file, weights), weights)
    return Exported(_write({path: _packed(file, weights)}), Proof(difference))


def export_keras(drawing: Drawing, path: Path, weights: Weights | None = None) -> Exported:
    """Write a drawing as a Keras file, and weights, if there are any, beside it for ``load_weights``."""
    from inkcap.exchange.keras_file import print_keras
    from inkcap.exchange.keras_proof import compare, give_weights, make_model, prove_keras, weights_file

    file = print_keras(drawing)
    proof = prove_keras(file)
    contents: dict[Path, str | bytes] = {path: file.source}
    if weights is not None:
        ours = build(file.report.network)
        load_weights(ours, weights)
        model = make_model(file)
        give_weights(model, file, stored_in(ours))
        compare(model, file, ours.eval())
        contents[path.with_suffix(".weights.h5")] = weights_file(model)
    return Exported(_write(contents), proof, notes_of(file))


def export_onnx(drawing: Drawing, path: Path, weights: Weights | None = None) -> Exported:
    """Write a drawing as an ONNX file for any batch, with these weights or with those that it starts with."""
    from inkcap.exchange.onnx_file import check_onnx, prove_onnx, to_onnx

    file = print_torch(drawing)
    proof = prove_onnx(file)
    ours = drawn_with(file, weights)
    content = to_onnx(file, loaded(file, stored_in(ours)))
    # Once more with the weights that go out, so that the very file is proven.
    check_onnx(content, file, ours)
    return Exported(_write({path: content}), proof)


def export_program(drawing: Drawing, path: Path, weights: Weights | None = None) -> Exported:
    """Write a drawing as a program of ``torch.export`` for any batch, with these weights or those of a start."""
    from inkcap.exchange.program_file import check_program, prove_program, to_program

    file = print_torch(drawing)
    proof = prove_program(file)
    ours = drawn_with(file, weights)
    content = to_program(file, loaded(file, stored_in(ours)))
    check_program(content, file, ours)
    return Exported(_write({path: content}), proof)


def loaded(file: TorchFile, weights: Weights) -> nn.Module:
    """Make the module of a printed file with these weights."""
    module = run_source(file.source, file.name)
    give_weights(module, file.names, weights)
    return module.eval()


def compare_with(file: TorchFile, module: nn.Module, weights: Weights, seed: int = 0) -> float:
    """Give the largest difference of a module's outputs to those of the drawing with the same weights."""
    ours = drawn_with(file, weights)
    inputs = random_inputs(file.report.network, seed)
    with torch.no_grad():
        return largest_difference("outputs", as_tuple(ours(*inputs)), as_tuple(module(*inputs)))


def drawn_with(file: TorchFile, weights: Weights | None) -> nn.Module:
    """Make the module that trains, with these weights or with those that it starts with."""
    ours = build(file.report.network)
    if weights is None:
        initialise(ours, file.report.network, 0)
    else:
        load_weights(ours, weights)
    return ours.eval()


def notes_of(file: TorchFile | KerasFile) -> tuple[str, ...]:
    """Say which uses of groups are no blocks, and why."""
    return tuple(f"{use} is written out: {reason}" for use, reason in file.flat.items())


def _packed(file: TorchFile, weights: Weights) -> bytes:
    # What fits the drawing is loaded, so that a wrong run is refused by the names of the drawing.
    own = stored_in(drawn_with(file, weights))
    state = loaded(file, own).state_dict()
    return save({name: value.detach().cpu().contiguous().clone() for name, value in state.items()})


def _write(contents: Mapping[Path, str | bytes]) -> tuple[Path, ...]:
    for path in contents:
        if path.is_dir():
            raise ExportError(f"{path}: this is a folder; give the name of a file")
    for path, content in contents.items():
        try:
            write_atomic(path, content)
        except OSError as error:
            raise ExportError(f"{path}: cannot be written: {error.strerror}") from None
    return tuple(contents)
