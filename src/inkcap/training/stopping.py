"""Stopping a training kindly: the step is finished and what was learnt is saved."""

import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class StopRequest:
    """A wish to stop, with its reason; the loop looks at `wanted` after each step."""

    def __init__(self) -> None:
        self.wanted = False
        self.reason = ""

    def stop(self, reason: str) -> None:
        """Ask for the end; the first reason stays."""
        if not self.wanted:
            self.reason = reason
            self.wanted = True


@contextmanager
def listening_for_signals(request: StopRequest) -> Generator[None]:
    """Turn the first SIGINT or SIGTERM into a wish to stop; a second one does what it did before.

    Only the main thread may set signal handlers, so elsewhere the caller has to use the request itself.
    """
    if threading.current_thread() is not threading.main_thread():
        yield
        return
    before: dict[int, Any] = {}

    def restore() -> None:
        while before:
            number, handler = before.popitem()
            signal.signal(number, handler)

    def handle(number: int, frame: FrameType | None) -> None:
        name = signal.Signals(number).name
        request.stop(f"stopped by {name}")
        restore()

    handler: Callable[[int, FrameType | None], None] = handle
    for number in (signal.SIGINT, signal.SIGTERM):
        previous = signal.getsignal(number)
        # A handler that was not set from Python cannot be put back, and an ignored signal was ignored on purpose.
        if previous is not None and previous != signal.SIG_IGN:
            before[number] = previous
            signal.signal(number, handler)
    try:
        yield
    finally:
        restore()
