"""Calls that a compiler is to leave as they are.

Inductor writes loops of its own for pooling and for batch normalisation; torch's kernels, which take whole vectors of
channels at a time, are several times as fast, and need not be compiled.
A twin of such an operation has another name, so the compiler knows nothing of it but its shapes and calls it.
"""

from __future__ import annotations

from functools import cache
from typing import Any

import torch

_aten = torch.ops.aten
_WHOLE: tuple[Any, ...] = (
    _aten.max_pool2d_with_indices.default,
    _aten.max_pool2d_with_indices_backward.default,
    _aten.avg_pool2d.default,
    _aten.avg_pool2d_backward.default,
    _aten._native_batch_norm_legit_functional.default,
    _aten.native_batch_norm.default,
    _aten.native_batch_norm_backward.default,
)


@cache
def _library() -> Any:
    """Give the library of the twins, which lives as long as the process: without it they are gone."""
    return torch.library.Library("inkcap", "FRAGMENT")


@cache
def _twins() -> dict[Any, Any]:
    library = _library()
    made: dict[Any, Any] = {}
    for operation in _WHOLE:
        schema = str(operation._schema)
        name = schema.partition("(")[0].partition("::")[2]
        library.define(f"{name}{schema[schema.index('(') :]}")
        library.impl(name, operation, "CPU")
        torch.library.register_fake(f"inkcap::{name}", operation, lib=library)
        made[operation] = getattr(torch.ops.inkcap, name).default
    return made


def leave_whole(graph: torch.fx.GraphModule) -> None:
    """Put twins in the place of what is not to be taken apart."""
    twins = _twins()
    for node in graph.graph.nodes:
        if node.op == "call_function" and node.target in twins:
            node.target = twins[node.target]
    graph.recompile()
