"""How kernels are compiled: without the interpreter's lock, kept on disk for the next process."""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from importlib import import_module
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

P = ParamSpec("P")
R = TypeVar("R")

# numba states its types in part: it is taken as untyped here, and what is compiled keeps its own signature.
_numba: Any = import_module("numba")


_KERNELS = ("compiled", "kernels", "lanes", "layout", "parameters", "sorting", "steps")


def _sources() -> str:
    digest = hashlib.sha256()
    for name in _KERNELS:
        digest.update(Path(__file__).with_name(f"{name}.py").read_bytes())
    return digest.hexdigest()


_STAMP = _sources()


def compiled(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function when it is first called; the machine code is cached where a folder can be written.

    Division follows NumPy (1/0 is inf), which also lets loops over lanes and parameters become vector code.
    """
    options: dict[str, Any] = {"nogil": True, "error_model": "numpy"}
    try:
        result = _numba.njit(cache=True, **options)(function)
    except RuntimeError:  # neither the package's folder nor the user's cache can be written
        return _numba.njit(**options)(function)
    # numba renews its cache when the function's own file changes; these kernels also depend on their neighbours.
    file = getattr(getattr(result, "_cache", None), "_cache_file", None)
    if file is not None:
        file._source_stamp = _STAMP
    return result
