"""Serving the studio on this machine: finding a port, saying the address, stopping on Ctrl-C."""

import errno
import gc
import os
import socket
import sys
import webbrowser
from contextlib import suppress
from pathlib import Path

import uvicorn

from inkcap.structures.errors import InkcapError
from inkcap.studio.app import create_app
from inkcap.studio.connections import Connection
from inkcap.studio.policy import TEXT

DEFAULT_PORT = 8765
LAST_PORT = 65535
PORTS_TRIED = 50
LARGEST_MESSAGE = TEXT
"""The largest message of a tab: as much as a request may bring that carries a drawing."""
ASKED_EVERY, PATIENCE = 15.0, 15.0
"""Seconds between two questions to a tab whether it is there, and until one that does not answer is let go."""
FAMILIES = {"127.0.0.1": socket.AF_INET, "localhost": socket.AF_INET, "::1": socket.AF_INET6}


class _Server(uvicorn.Server):
    """A server that says its address once it is listening."""

    def __init__(self, config: uvicorn.Config, address: str, open_browser: bool) -> None:
        super().__init__(config)
        self.address = address
        self.open_browser = open_browser

    async def startup(self, sockets: list[socket.socket] | None = None) -> None:
        await super().startup(sockets)
        _say(f"Inkcap studio: {self.address}")
        if self.open_browser:
            webbrowser.open(self.address)


def serve(workspace: Path, host: str = "127.0.0.1", port: int = DEFAULT_PORT, open_browser: bool = False) -> None:
    """Serve the workspace until Ctrl-C; a port that is taken gives way to the next free one, 0 means any."""
    if host not in FAMILIES:
        raise InkcapError(
            f"The studio cannot listen on {host}: it serves this machine alone. Choose one of {', '.join(FAMILIES)}."
        )
    listener = _listen(host, port)
    with listener:
        taken: int = listener.getsockname()[1]
        app = create_app(workspace, taken)
        config = uvicorn.Config(
            app,
            # The parser that the tests attack, whatever other is installed; and no word of a proxy is believed.
            http=Connection,
            proxy_headers=False,
            ws="websockets-sansio",
            ws_max_size=LARGEST_MESSAGE,
            # What comes packed could unpack to a thousand times as much; on one machine it saves nothing.
            ws_per_message_deflate=False,
            ws_ping_interval=ASKED_EVERY,
            ws_ping_timeout=PATIENCE,
            log_level="error",
            access_log=False,
            server_header=False,
            timeout_graceful_shutdown=3,
        )
        if app.state.hub.store.note:
            _say(app.state.hub.store.note)
        if port not in (0, taken):
            _say(f"Port {port} is taken: the studio uses {taken}.")
        name = f"[{host}]" if ":" in host else host
        link = f"http://{name}:{taken}/?code={app.access.new_code()}"
        server = _Server(config, link, open_browser)
        # What is loaded now stays: the collector need not walk through it again in the middle of an answer.
        gc.freeze()
        gc.set_threshold(50_000, 20, 50)
        # A shell that started the studio in the background let it ignore Ctrl-C: then it stops without an exception.
        with suppress(KeyboardInterrupt):
            server.run(sockets=[listener])
        _say("Inkcap studio: stopped.")


def _listen(host: str, port: int) -> socket.socket:
    """Return a socket bound to the port, or to the first free one after it."""
    if not 0 <= port <= LAST_PORT:
        raise InkcapError(
            f"The port {port} does not exist: choose one from 1 to {LAST_PORT}, or 0 for any that is free."
        )
    last = min(port + PORTS_TRIED, LAST_PORT) if port else 0
    for candidate in range(port, last + 1):
        listener = socket.socket(FAMILIES[host], socket.SOCK_STREAM, socket.IPPROTO_TCP)
        if os.name == "posix":  # elsewhere this option would share a port that is in use
            listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        if hasattr(socket, "TCP_USER_TIMEOUT"):
            # A peer that takes nothing for so long is cut off by the kernel: closing in peace would wait for it.
            listener.setsockopt(socket.IPPROTO_TCP, socket.TCP_USER_TIMEOUT, int(2e3 * PATIENCE))
        try:
            listener.bind((host, candidate))
        except OSError as error:
            listener.close()
            if error.errno not in (errno.EADDRINUSE, errno.EACCES):
                raise InkcapError(
                    f"The studio cannot listen on {host}, port {candidate}: {error.strerror}. Choose another."
                ) from error
        else:
            return listener
    raise InkcapError(f"No port from {port} to {last} is free on {host}: choose another with --port.")


def _say(line: str) -> None:
    """Write one line for the person at the terminal, at once."""
    sys.stdout.write(f"{line}\n")
    sys.stdout.flush()
