"""Steps of PyTorch written by hand: eager, given every favour, or compiled; and by ONNX Runtime."""

from __future__ import annotations

import io
from collections.abc import Callable
from importlib import import_module
from typing import Any

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812

from inkcap.bench.by_hand import MODULES, margin_loss
from inkcap.bench.cases import MOMENTUM, RATE, RECONSTRUCTION, Case, Work
from inkcap.bench.workload import Workload, repeated


def _prepared(case: Case, favoured: bool) -> tuple[nn.Module, Tensor, Tensor]:
    torch.manual_seed(0)
    samples, classes = case.samples()
    x, y = torch.from_numpy(samples), torch.from_numpy(classes)
    module: Any = MODULES[case.family](case)
    if favoured and x.ndim == 4:
        module = module.to(memory_format=torch.channels_last)
        x = x.contiguous(memory_format=torch.channels_last)
    return module, x, y


def _training(case: Case, favoured: bool, compiled: bool) -> Workload:
    module, x, y = _prepared(case, favoured)
    parameters = sum(p.numel() for p in module.parameters())
    run: Any = torch.compile(module) if compiled else module
    optimiser = torch.optim.SGD(module.parameters(), lr=RATE, momentum=MOMENTUM, fused=favoured or None)

    def capsules() -> Tensor:
        length, drawn = run(x, y)
        return margin_loss(length, y) + RECONSTRUCTION * F.mse_loss(drawn, x.flatten(1))

    criterion = nn.CrossEntropyLoss()
    loss_of: Callable[[], Tensor] = capsules if case.family == "capsnet" else lambda: criterion(run(x), y)

    def step() -> Tensor:
        optimiser.zero_grad()
        loss = loss_of()
        loss.backward()
        optimiser.step()
        return loss.detach()

    return repeated(step, parameters)


def _inference(case: Case, favoured: bool, compiled: bool) -> Workload:
    module, x, _ = _prepared(case, favoured)
    parameters = sum(p.numel() for p in module.parameters())
    module.eval()
    run: Any = torch.compile(module) if compiled else module

    def step() -> Any:
        with torch.inference_mode():
            return run(x)

    return repeated(step, parameters)


def eager(case: Case, work: Work) -> Workload:
    """The loop that everyone writes."""
    return _training(case, False, False) if work == "training" else _inference(case, False, False)


def favoured(case: Case, work: Work) -> Workload:
    """The same with its images channels-last and its optimiser fused."""
    return _training(case, True, False) if work == "training" else _inference(case, True, False)


def compiled(case: Case, work: Work) -> Workload:
    """The same with its module compiled by ``torch.compile``."""
    return _training(case, False, True) if work == "training" else _inference(case, False, True)


def onnxruntime(case: Case, work: Work) -> Workload:
    """The module of the eager loop, exported to ONNX and run by ONNX Runtime."""
    assert work == "inference"
    runtime: Any = import_module("onnxruntime")
    module, x, _ = _prepared(case, False)
    file = io.BytesIO()
    exported: Any = torch.onnx.export(module.eval(), (x,), dynamo=True, verbose=False)
    exported.save(file)
    options = runtime.SessionOptions()
    options.intra_op_num_threads = torch.get_num_threads()
    session = runtime.InferenceSession(file.getvalue(), options, providers=["CPUExecutionProvider"])
    feed = {session.get_inputs()[0].name: x.numpy()}
    return repeated(lambda: session.run(None, feed), sum(p.numel() for p in module.parameters()))
