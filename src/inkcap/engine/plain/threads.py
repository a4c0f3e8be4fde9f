"""Sharing work among threads: kernels run without the interpreter's lock, so plain threads are enough."""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

_pool: ThreadPoolExecutor | None = None


def _forget() -> None:
    global _pool  # noqa: PLW0603
    _pool = None


if hasattr(os, "register_at_fork"):
    # A child has the object and none of its threads.
    os.register_at_fork(after_in_child=_forget)


def _helpers() -> ThreadPoolExecutor:
    global _pool  # noqa: PLW0603
    if _pool is None:
        _pool = ThreadPoolExecutor(max(1, (os.cpu_count() or 1) - 1), "inkcap-plain")
    return _pool


def share(work: Callable[[int], None], count: int, threads: int) -> None:
    """Call ``work`` for 0 to count − 1 on so many threads, of which the caller's is one; who is free takes the next.

    What runs where is left to chance, so each call must write to a place of its own.
    """
    turn = itertools.count()

    def take() -> None:
        while (i := next(turn)) < count:
            work(i)

    helpers = [_helpers().submit(take) for _ in range(min(threads, count) - 1)]
    take()
    for helper in helpers:
        if not helper.cancel():  # one that has not begun would find nothing left to do
            helper.result()
