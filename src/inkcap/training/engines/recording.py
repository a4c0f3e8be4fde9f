"""Steps recorded on a GPU: a CUDA graph starts all kernels of a step in one call.

Inductor has a way of its own for this, which leaves out every program that changes tensors it was given unless a
tracer marked them as staying in place; our steps change weights and memory. They do stay in place, so a step is
recorded once, whole, with the tensors that it changes, and only the batch is copied to where the recording reads it.
Recording computes nothing. Random numbers go on from the device's generator at every replay, as they do step by step.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from inkcap.training.engines.compiling import Compiled, CompileFailure

Record = Callable[[Callable[[], Tensor]], tuple[Callable[[], None], Tensor]]
"""Records what a function does; gives what does it again, and where its result lies then."""


def can_record(device: torch.device) -> bool:
    """Tell whether steps on a device can be recorded."""
    return device.type == "cuda"


def record_on_cuda(run: Callable[[], Tensor]) -> tuple[Callable[[], None], Tensor]:
    """Record a function as a CUDA graph; threads that prepare batches meanwhile do not matter."""
    graph: Any = torch.cuda.CUDAGraph()
    try:
        with torch.cuda.graph(graph, capture_error_mode="thread_local"):
            result = run()
    except RuntimeError as problem:
        first = str(problem).strip().split("\n")[0][:200]
        raise CompileFailure(f"the step cannot be recorded as a CUDA graph ({first})") from problem
    return graph.replay, result


class Recording:
    """A compiled step on tensors that stay where they are, but for the first ones: those of the batch."""

    def __init__(
        self, program: Compiled, values: Sequence[Tensor], batch: int, record: Record = record_on_cuda
    ) -> None:
        self._batch = [
            torch.empty_strided(v.size(), v.stride(), dtype=v.dtype, device=v.device) for v in values[:batch]
        ]
        # They must live as long as the recording that reads and changes them.
        self._staying = list(values[batch:])
        self._replay, self._loss = record(lambda: program(*self._batch, *self._staying))

    @torch.no_grad()
    def __call__(self, *batch: Tensor) -> Tensor:
        """Take the step on another batch of the same form; the loss is a copy, since the next replay overwrites it."""
        for place, value in zip(self._batch, batch, strict=True):
            place.copy_(value)
        self._replay()
        return self._loss.clone()
