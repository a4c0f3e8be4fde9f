"""Memory that is kept from step to step.

glibc gives large blocks back to the system as soon as they are free, and every step has them mapped and cleared anew.
A training needs the same blocks again and again, so while one runs they stay. Huge pages spare the processor most of
its look-ups; processes that we start ourselves ask for them.
"""

from __future__ import annotations

import ctypes
import platform
from collections.abc import Generator
from contextlib import contextmanager
from typing import Any

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -2, -3, -4
_KEPT = {_MMAP_MAX: 0, _TRIM_THRESHOLD: -1, _TOP_PAD: 64 << 20}
_USUAL = {_MMAP_MAX: 65536, _TRIM_THRESHOLD: 128 << 10, _TOP_PAD: 128 << 10, _MMAP_THRESHOLD: 128 << 10}


def _library() -> Any:
    """Give the C library where it is glibc, else nothing."""
    if platform.libc_ver()[0] != "glibc":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


def keep_memory() -> None:
    """Keep freed memory for the next step, from now on."""
    library = _library()
    if library is not None:
        for parameter, value in _KEPT.items():
            library.mallopt(parameter, value)


@contextmanager
def kept_memory() -> Generator[None]:
    """Keep freed memory for the next step; afterwards the system gets it back, since the process may go on living."""
    library = _library()
    if library is None:
        yield
        return
    keep_memory()
    try:
        yield
    finally:
        for parameter, value in _USUAL.items():
            library.mallopt(parameter, value)
        library.malloc_trim(0)
