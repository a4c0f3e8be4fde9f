"""Engines: the ways in which a trained network answers, by their names."""

from __future__ import annotations

import shutil
from collections.abc import Callable, Mapping
from typing import Any, Literal, get_args

import torch
from torch import Tensor, nn

from inkcap.engine.inference.program import freeze_module
from inkcap.network import Network
from inkcap.structures import InkcapError

EngineName = Literal["auto", "eager", "frozen", "compiled", "onnxruntime"]
ENGINES: tuple[str, ...] = get_args(EngineName)
Answerer = Callable[..., Tensor | tuple[Tensor, ...]]
"""Gives the outputs for the inputs, as a module does."""
EngineMaker = Callable[[Network, nn.Module, int], Answerer]
"""Makes an engine of a network, its module in evaluation, and the samples that come at a time."""
WORTH_FREEZING = 16
"""From so many samples on a frozen program has soon earned what it takes to make it."""


class EngineError(InkcapError):
    """An engine that there is not, or that cannot run here."""


def make_answerer(
    network: Network,
    module: nn.Module,
    engine: str | EngineMaker = "auto",
    *,
    samples: int,
    batch: int,
    returns: Mapping[str, str] | None = None,
) -> Answerer:
    """Make what answers: ``samples`` are all that are asked about, ``batch`` those at a time.

    ``auto`` freezes where there is enough to answer, and else calls the module, which needs no preparation. Neurons in
    columns stay on their kernels whatever is wanted.
    """
    if network.plain is not None:
        return module
    size = min(samples, batch)
    if not isinstance(engine, str):
        return engine(network, module, size)
    if engine not in ENGINES:
        raise EngineError(f"engine: there is no {engine!r}; give one of {', '.join(ENGINES)}.")
    if engine == "onnxruntime":
        raise EngineError("engine: onnxruntime comes with the exports; give engine=inkcap.exchange.by_onnxruntime.")
    if engine == "compiled":
        return compiled(module, batch if samples >= batch else None)
    here = all(value.device.type == "cpu" for value in module.state_dict().values())
    if engine == "eager" or (engine == "auto" and (samples < WORTH_FREEZING or not here)):
        return module
    return freeze_module(network, module, returns, size)


def compiled(module: nn.Module, batch: int | None = None) -> Answerer:
    """Compile a module by inductor with its weights inside; of a given batch, a last smaller one is filled up."""
    if shutil.which("c++") is None and shutil.which("g++") is None and shutil.which("clang++") is None:
        raise EngineError("engine: compiled needs a C++ compiler, and there is none here; give frozen, or install g++.")
    import torch._inductor.config as inductor

    settings: Any = inductor
    with torch.no_grad():
        made: Any = torch.compile(module, dynamic=False)

    def answer(*inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        count = len(inputs[0])
        if batch is not None and count < batch:
            inputs = tuple(_filled(value, batch) for value in inputs)
        with torch.no_grad(), settings.patch(freezing=True):
            found: Tensor | tuple[Tensor, ...] = made(*inputs)
        if isinstance(found, Tensor):
            return found[:count]
        return tuple(value[:count] for value in found)

    return answer


def _filled(value: Tensor, count: int) -> Tensor:
    """Repeat the last sample until there are so many."""
    last = value[-1:].expand(count - len(value), *value.shape[1:])
    return torch.cat((value, last))
