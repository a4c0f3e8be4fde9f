"""Whether the head of a cluster is there still: without it Ray waits for a minute, and then ends the process."""

import _thread
import os
import signal
import threading
import time
from collections.abc import Generator
from contextlib import contextmanager

from inkcap.cluster.errors import ClusterError
from inkcap.cluster.joining import Cluster

_EVERY = 1.0
_REFUSALS = 3
"""How often in a row nobody answers until the head counts as gone."""


class Knocker:
    """Knocks at the head from time to time."""

    def __init__(self, cluster: Cluster) -> None:
        """Begin with a head that was there a moment ago."""
        self.cluster, self.refusals, self.last = cluster, 0, time.monotonic()
        self._missing = ""

    def gone(self) -> str:
        """Say what is gone, the head or this machine's own part; it is asked for once a second at most."""
        if time.monotonic() - self.last >= _EVERY:
            self.last = time.monotonic()
            self._missing = self.cluster.missing()
            self.refusals = self.refusals + 1 if self._missing else 0
        return self._missing if self.refusals >= _REFUSALS else ""

    def check(self, then: str) -> None:
        """Raise when something is gone, and say what to do then."""
        if missing := self.gone():
            raise ClusterError(f"{missing}; {then}.")


@contextmanager
def interrupted_without_head(cluster: Cluster, then: str) -> Generator[None]:
    """Break off what the main thread waits for in Ray when the head is gone, and say what to do then."""
    knocker, ended = Knocker(cluster), threading.Event()

    def watch() -> None:
        while not ended.wait(_EVERY):
            if knocker.gone() and not ended.is_set():
                _interrupt_main()
                return

    threading.Thread(target=watch, daemon=True).start()
    try:
        yield
    except KeyboardInterrupt:
        knocker.check(then)
        raise
    finally:
        ended.set()


def _interrupt_main() -> None:
    """Do to the main thread what Ctrl-C does."""
    main = threading.main_thread().ident
    if os.name == "posix" and main is not None:
        # It ends a sleep, too.
        signal.pthread_kill(main, signal.SIGINT)
    else:
        _thread.interrupt_main()
