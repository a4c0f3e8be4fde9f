"""HTTP connections that nobody can hold for nothing: whoever sends or reads too slowly is let go, and so is a crowd."""

from __future__ import annotations

import asyncio

import h11
from uvicorn.protocols.http.h11_impl import H11Protocol

PATIENCE = 30.0
"""Seconds until a request must have come, from when the connection could bring it; a body has more, by its bytes."""
SLOWEST = 10_000
"""Bytes a second that a body comes with at the least."""
UNREAD = 60.0
"""Seconds until an answer that is not read is given up."""
MOST = 500
"""So many connections at the same time, tabs included: files need some of what a process may have open, too."""
COMING = (h11.IDLE, h11.SEND_BODY)


class Connection(H11Protocol):
    """A connection of which each request comes in its time, and each answer is read in its own."""

    _begun = 0.0
    _received = 0
    _watch: asyncio.TimerHandle | None = None
    _unread: asyncio.TimerHandle | None = None

    def connection_made(self, transport: asyncio.Transport) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Wait for the first request, unless there are too many who wait."""
        super().connection_made(transport)
        if len(self.connections) > MOST:
            transport.abort()
        else:
            self._begin()

    def data_received(self, data: bytes) -> None:
        """Count what comes."""
        self._received += len(data)
        super().data_received(data)

    def on_response_complete(self) -> None:
        """Wait for the next request."""
        self._begin()
        super().on_response_complete()

    def handle_websocket_upgrade(self, event: h11.Request) -> None:
        """Leave the connection to the tab's own rules."""
        self._forget()
        super().handle_websocket_upgrade(event)

    def pause_writing(self) -> None:
        """Note that an answer waits to be read."""
        super().pause_writing()
        self._unread = self.loop.call_later(UNREAD, self.transport.abort)

    def resume_writing(self) -> None:
        """Go on: some of it was read."""
        if self._unread is not None:
            self._unread.cancel()
        super().resume_writing()

    def connection_lost(self, exc: Exception | None) -> None:
        """Forget the clocks."""
        self._forget()
        super().connection_lost(exc)

    def _begin(self) -> None:
        self._begun, self._received = self.loop.time(), 0
        if self._watch is None:
            self._look()

    def _look(self) -> None:
        self._watch = None
        if self.transport.is_closing():
            return
        left = self._begun + PATIENCE + self._received / SLOWEST - self.loop.time()
        # A body that is not taken yet does not come later for its sender's fault.
        if left <= 0 and self.conn.their_state in COMING and not self.flow.read_paused:
            self.transport.abort()
        else:
            self._watch = self.loop.call_later(max(left, 1.0), self._look)

    def _forget(self) -> None:
        for timer in (self._watch, self._unread):
            if timer is not None:
                timer.cancel()
        self._watch = self._unread = None
