"""Compiling a whole step: traced to one graph, which inductor turns into loops of its own."""

from __future__ import annotations

import os
import shutil
import warnings
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import platformdirs
import torch
from torch import Tensor

from inkcap.structures import InkcapError
from inkcap.training.engines.left_whole import leave_whole

Compiled = Callable[..., Any]

NO_COMPILER = (
    "There is no C++ compiler here, so the steps are computed eagerly; install g++ or clang++ for the compiled engine."
)


NO_TRITON = "There is no Triton here for this device, which the compiled engine needs on a GPU; install triton."
COMPILING = "compiling the step, which takes a minute the first time"


class CompileFailure(InkcapError):
    """A step that cannot be compiled here; the message says why."""


def has_compiler() -> bool:
    """Tell whether there is a C++ compiler, which inductor needs on the processor."""
    named = os.environ.get("CXX")
    return any(shutil.which(name) for name in ([named] if named else ("g++", "clang++", "c++")))


def keep_compiled() -> None:
    """Let what is compiled be kept for the next process; call it before an optimiser is made.

    Torch's optimisers ask the compiler for its folder, and a folder for what is temporary is then pinned.
    """
    os.environ.setdefault("TORCHINDUCTOR_CACHE_DIR", str(Path(platformdirs.user_cache_dir("inkcap")) / "compiled"))


def inductor_settings(device: str) -> dict[str, Any]:
    """Give the settings of inductor for a kind of device."""
    # Random numbers come from torch's own generator, so that a checkpoint holds where they stand.
    settings: dict[str, Any] = {"fallback_random": True}
    if device == "cuda":
        # How a sum is split must not be found by a clock: a run that goes on would add in another order. And steps
        # are recorded by us, whole: inductor would record none of those that change what they are given.
        settings |= {"deterministic": True, "triton.cudagraphs": False}
    return settings


def _check_tools(device: str) -> None:
    if device == "cpu" and not has_compiler():
        raise CompileFailure(NO_COMPILER)
    if device == "cuda":
        from torch.utils._triton import has_triton

        if not has_triton():
            raise CompileFailure(NO_TRITON)


def compile_step(step: Callable[..., Tensor], values: Sequence[Tensor]) -> Compiled:
    """Trace a step on tensors of these forms and compile it; the function that is given back takes such tensors."""
    device = values[0].device
    _check_tools(device.type)
    keep_compiled()
    from torch._guards import TracingContext, tracing
    from torch._inductor import compile as compile_graph  # pyright: ignore[reportUnknownVariableType]
    from torch._inductor import config as inductor
    from torch._subclasses import FakeTensorMode
    from torch.fx.experimental.proxy_tensor import make_fx
    from torch.fx.experimental.symbolic_shapes import ShapeEnv

    settings: Any = inductor
    try:
        with ExitStack() as stack:
            stack.enter_context(torch.no_grad())
            stack.enter_context(warnings.catch_warnings())
            warnings.simplefilter("ignore")
            stack.enter_context(settings.patch(inductor_settings(device.type)))
            trace: Any = make_fx(step, tracing_mode="fake", _allow_non_fake_inputs=True)
            graph: Any = trace(*values)
            if device.type == "cpu":
                leave_whole(graph)
            # Inductor looks into what it has compiled before only where sizes are known to somebody.
            mode: Any = FakeTensorMode(shape_env=ShapeEnv(), allow_non_fake_inputs=True, static_shapes=True)
            stack.enter_context(tracing(TracingContext(mode)))
            # Left to itself it takes every size for a symbol, and its loops are those of any size.
            fixed = [mode.from_tensor(value, static_shapes=True) for value in values]
            compiled: Any = compile_graph(graph, fixed)
    except Exception as problem:  # whatever tracer and compiler come upon: the eager program is always there
        first = str(problem).strip().split("\n")[0][:200]
        raise CompileFailure(f"the step cannot be compiled ({type(problem).__name__}: {first})") from problem
    return compiled
