"""Memory that is kept from step to step.

glibc gives large blocks back to the system as soon as they are free, and every step has them mapped and cleared anew.
A training needs the same blocks again and again, so while one runs they stay. Huge pages spare the processor most of
its look-ups; where the system gives them on request only, the request is made for the memory that is there.
"""

from __future__ import annotations

import ctypes
import os
import platform
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

_TRIM_THRESHOLD, _TOP_PAD, _MMAP_THRESHOLD, _MMAP_MAX = -1, -2, -3, -4
_KEPT = {_MMAP_MAX: 0, _TRIM_THRESHOLD: -1, _TOP_PAD: 64 << 20}
_USUAL = {_MMAP_MAX: 65536, _TRIM_THRESHOLD: 128 << 10, _TOP_PAD: 128 << 10, _MMAP_THRESHOLD: 128 << 10}

TUNABLES = "GLIBC_TUNABLES"
HUGE_PAGES = "glibc.malloc.hugetlb=1"
"""Asks for huge pages; glibc reads it when a process starts, so it is for processes that we start ourselves."""


def _library() -> Any:
    """Give the C library where it is glibc, else nothing."""
    if platform.libc_ver()[0] != "glibc":
        return None
    library = ctypes.CDLL(None)
    return library if hasattr(library, "mallopt") and hasattr(library, "malloc_trim") else None


@contextmanager
def kept_memory() -> Generator[None]:
    """Keep freed memory for the next step; afterwards the system gets it back, since the process may go on living."""
    library = _library()
    if library is None:
        yield
        return
    for parameter, value in _KEPT.items():
        library.mallopt(parameter, value)
    try:
        yield
    finally:
        for parameter, value in _USUAL.items():
            library.mallopt(parameter, value)
        library.malloc_trim(0)


def roomy_environment() -> dict[str, str]:
    """Give the variables of a process that trains: huge pages, where the C library knows them."""
    if platform.libc_ver()[0] != "glibc":
        return {}
    given = os.environ.get(TUNABLES, "")
    if "glibc.malloc.hugetlb" in given:
        return {TUNABLES: given}
    return {TUNABLES: f"{given}:{HUGE_PAGES}" if given else HUGE_PAGES}


_MADV_HUGEPAGE = 14


def ask_for_huge_pages() -> bool:
    """Ask for huge pages for the heap as it is now; tell whether the system has granted it."""
    library = _library()
    if library is None:
        return False
    try:
        lines = Path("/proc/self/maps").read_text().splitlines()
    except OSError:
        return False
    granted = False
    for line in lines:
        if line.endswith("[heap]"):
            first, last = (int(number, 16) for number in line.split()[0].split("-"))
            page = 2 << 20
            start = -(-first // page) * page
            if last > start:
                granted |= library.madvise(ctypes.c_void_p(start), ctypes.c_size_t(last - start), _MADV_HUGEPAGE) == 0
    return granted
