"""Too little memory: how it is known and told, and threads that need none when work comes."""

from __future__ import annotations

import asyncio
import os
import threading
from concurrent.futures import ThreadPoolExecutor

from inkcap.structures.errors import InkcapError

NO_MEMORY = "There is not enough memory for that: end something that takes much of it, and try again."
FAULT = "the server could not do that; its log says why"
THREADS = min(32, (os.cpu_count() or 1) + 4)


def is_shortage(error: BaseException) -> bool:
    """Tell whether something failed for lack of memory; a thread wants some too, and has no error of its own for it."""
    return isinstance(error, MemoryError) or (
        isinstance(error, RuntimeError) and "can't start new thread" in str(error)
    )


def why(error: Exception) -> str:
    """Say to a tab why something was not done."""
    if isinstance(error, InkcapError):
        return str(error)
    return NO_MEMORY if is_shortage(error) else FAULT


def start_threads() -> None:
    """Give the running loop a pool whose threads are all there.

    Python's own pool starts a thread when work has been put down for it already. Where there is no memory for the
    thread, whoever asked is told so, and the work is done later all the same, behind everybody's back.
    """
    pool, all_there = ThreadPoolExecutor(THREADS, "inkcap"), threading.Barrier(THREADS)
    for _ in range(THREADS):
        # Each waits for the others, so that none is idle and takes the work of the next.
        pool.submit(all_there.wait)
    asyncio.get_running_loop().set_default_executor(pool)
