"""The proof of a Keras file: its model, with the same weights, computes what the drawing computes."""

from __future__ import annotations

import importlib
import importlib.util
import os
import warnings
from collections.abc import Mapping
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from inkcap.engine.build import build
from inkcap.exchange.keras_file import KerasFile, NoKeras
from inkcap.exchange.proof import Proof, as_near_as_rounding, stored_in
from inkcap.exchange.random_weights import as_tuple, random_inputs, randomise
from inkcap.program import Layer

TOLERANCE = 1e-4
"""How far Keras may be from torch, in relation to the largest number: another backend sums in another order."""


def load_keras() -> Any:
    """Import Keras; where nothing else is asked for it computes with torch, which is there anyway."""
    if importlib.util.find_spec("keras") is None:
        raise NoKeras("keras is not installed; 'pip install inkcap[keras]' brings it")
    os.environ.setdefault("KERAS_BACKEND", "torch")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return importlib.import_module("keras")


def prove_keras(file: KerasFile, seed: int = 0) -> Proof:
    """Give a model random weights and running statistics, and compare its outputs with the drawing's."""
    ours = build(file.report.network)
    randomise(ours, file.report.network, seed)
    model = make_model(file)
    give_weights(model, file, stored_in(ours))
    return Proof(compare(model, file, ours.eval(), seed))


def make_model(file: KerasFile) -> Any:
    """Run a printed file and make its model."""
    load_keras()
    scope: dict[str, Any] = {}
    exec(compile(file.source, "<exported>", "exec"), scope)  # noqa: S102 - the very source that goes out
    return scope[file.name]()


def compare(model: Any, file: KerasFile, ours: nn.Module, seed: int = 0) -> float:
    """Give the largest difference of a model's outputs to those of the drawing."""
    worst = 0.0
    for batch in (1, 3):
        inputs = random_inputs(file.report.network, seed + batch, batch)
        with torch.no_grad(), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            mine = as_tuple(ours(*inputs))
            given = [_channels_last(value).numpy() for value in inputs]
            made: Any = model(given[0] if len(given) == 1 else given, training=False)
            parts: list[Any] = [made] if len(mine) == 1 else list(made)
            theirs = [_channels_first(torch.from_numpy(_array(part))) for part in parts]
        worst = max(worst, as_near_as_rounding(ours, inputs, mine, theirs, TOLERANCE))
    return worst


def _array(value: Any) -> Any:
    return np.array(load_keras().ops.convert_to_numpy(value))


def _channels_last(value: Tensor) -> Tensor:
    return value if value.ndim < 3 else value.movedim(1, -1).contiguous()


def _channels_first(value: Tensor) -> Tensor:
    return value if value.ndim < 3 else value.movedim(-1, 1).contiguous()


def give_weights(model: Any, file: KerasFile, weights: Mapping[str, Tensor]) -> None:
    """Load weights and states, known by their names in the drawing, into a model."""
    for name, layer in file.layers.items():
        held = {own: weights[stored].detach().cpu() for own, stored in layer.held.items()}
        model.get_layer(name).set_weights([value.numpy() for value in _in_order(layer, held)])


def _in_order(layer: Layer, held: Mapping[str, Tensor]) -> list[Tensor]:
    """Give what a layer holds as Keras keeps it: channels last, the scale before the shift."""
    weight = held.get("weight")
    if layer.worn is not None:
        # A norm over whole samples has a scale for each number, the others one for each channel.
        order = {own: value.movedim(0, -1) for own, value in held.items()}
        return [order[own] for own in ("weight", "bias", "running_mean", "running_var") if own in order]
    assert weight is not None
    if layer.kind == "PReLU":
        return [weight.reshape(*[1] * (len(layer.step.shape) - 1), -1)]
    # Kernels: what comes first in torch comes last in Keras, and the two after it stand in their order.
    turned_weight = weight.T if layer.kind == "Linear" else weight.movedim((0, 1), (-1, -2))
    return [turned_weight.contiguous(), *([held["bias"]] if "bias" in held else [])]


def weights_file(model: Any) -> bytes:
    """Give the weights of a model as the file that ``model.load_weights`` reads."""
    with TemporaryDirectory() as folder:
        path = Path(folder) / "model.weights.h5"
        model.save_weights(path)
        return path.read_bytes()
