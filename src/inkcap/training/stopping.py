"""Stopping a training kindly: the step is finished and what was learnt is saved."""

import os
import signal
import threading
from collections.abc import Callable, Generator
from contextlib import contextmanager
from types import FrameType
from typing import Any


class StopRequest:
    """A wish to stop, with its reason; the loop looks at `wanted` after each step.

    `saving` is set when the loop is over: there is nothing left to stop then, and what was learnt is not to be lost.
    With `until`, the run pauses before the epoch that comes after that one.
    """

    def __init__(self, until: int | None = None) -> None:
        self.until = until
        self.wanted = False
        self.reason = ""
        self.saving = False

    @property
    def pressed(self) -> bool:
        """Whether this process was asked to stop; where several train together, all may not know of it yet."""
        return self.wanted

    def stop(self, reason: str) -> None:
        """Ask for the end; the first reason stays."""
        if not self.wanted:
            self.reason = reason
            self.wanted = True

    def pauses(self, done: int, wanted: int) -> bool:
        """Tell whether so many epochs are done as there were to be for now; the run can be gone on with."""
        if self.until is None or done < self.until:
            return False
        self.stop(f"paused after epoch {done} of {wanted}")
        return True


@contextmanager
def listening_for_signals(request: StopRequest) -> Generator[None]:
    """Turn the first SIGINT or SIGTERM into a wish to stop; a second one does what it did before, further ones nothing.

    Only the main thread may set signal handlers, so elsewhere the caller has to use the request itself.
    """

    def handle(number: int, frame: FrameType | None) -> None:
        if request.saving:
            return
        if not heard:
            heard.append(number)
            request.stop(f"stopped by {signal.Signals(number).name}")
            return
        old = before[number]
        for each in before:
            signal.signal(each, signal.SIG_IGN)
        if callable(old):
            old(number, frame)
        else:
            # The platform's own way of ending: nothing of Python's is run any more.
            signal.signal(number, old)
            os.kill(os.getpid(), number)

    heard: list[int] = []
    before = _set_handlers(handle)
    try:
        yield
    finally:
        _restore(before)


@contextmanager
def ignoring_signals() -> Generator[None]:
    """Let SIGINT and SIGTERM pass unheard while something is saved; they mean what they did before afterwards."""
    before = _set_handlers(signal.SIG_IGN)
    try:
        yield
    finally:
        _restore(before)


def _set_handlers(handler: Callable[[int, FrameType | None], None] | signal.Handlers) -> dict[int, Any]:
    """Set a handler for both signals, in the main thread, and give the old ones."""
    before: dict[int, Any] = {}
    if threading.current_thread() is threading.main_thread():
        for number in (signal.SIGINT, signal.SIGTERM):
            previous = signal.getsignal(number)
            # A handler that was not set from Python cannot be put back, and an ignored signal was ignored on purpose.
            if previous is not None and previous != signal.SIG_IGN:
                before[number] = previous
                signal.signal(number, handler)
    return before


def _restore(before: dict[int, Any]) -> None:
    for number, previous in before.items():
        signal.signal(number, previous)
