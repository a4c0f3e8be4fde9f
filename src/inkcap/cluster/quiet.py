"""Keeping what Ray Data has to say out of what a command prints; it stays in Ray's own logs."""

import logging
import os
import sys
import warnings
from collections.abc import Generator
from contextlib import contextmanager


@contextmanager
def data_quiet() -> Generator[None]:
    """Let Ray Data print nothing.

    Ray's core knows nothing of Python's streams, and warns of every worker of Ray Data's own that can be started again;
    so the terminal's errors are led away as a whole.
    """
    import ray.data

    sys.stderr.flush()
    kept, nowhere = os.dup(2), os.open(os.devnull, os.O_WRONLY)
    try:
        os.dup2(nowhere, 2)
        with warnings.catch_warnings():
            # It warns of names that it uses itself.
            warnings.simplefilter("ignore", DeprecationWarning)
            context = ray.data.DataContext.get_current()
            context.enable_progress_bars = False
            context.print_on_execution_start = False
            for handler in logging.getLogger("ray.data").handlers:
                if isinstance(handler, logging.StreamHandler):
                    handler.setLevel(logging.CRITICAL)
            yield
    finally:
        os.dup2(kept, 2)
        os.close(kept)
        os.close(nowhere)
