"""A studio as a process of its own, and tabs that speak to it through real sockets."""

import json
import os
import re
import signal
import subprocess
import sys
import uuid
from pathlib import Path
from typing import Any

import httpx
from websockets.sync.client import ClientConnection, connect

import inkcap.studio

SOURCE = Path(inkcap.studio.__file__).parents[2]
STARTED = r"Inkcap studio: (http://127\.0\.0\.1:(\d+)/)\?code=([\w-]+)\n"
"""What a studio says once it listens."""
SUPPORT = Path(__file__).parent


class Server:
    """A studio that serves a folder on a port of its own, until it is stopped or killed."""

    def __init__(self, workspace: Path, port: int = 0, before: str = "") -> None:
        """Start it; ``before`` is Python that its process runs first."""
        code = (
            f"{before}\nfrom pathlib import Path; from inkcap.studio import serve; "
            f"serve(Path({str(workspace)!r}), port={port})"
        )
        state = workspace.parent / "state"
        self.workspace = workspace
        self.process = subprocess.Popen(
            [sys.executable, "-W", "error", "-c", code],
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            env={**os.environ, "PYTHONPATH": f"{SOURCE}{os.pathsep}{SUPPORT}", "XDG_STATE_HOME": str(state)},
        )
        assert self.process.stdout is not None
        self.lines: list[str] = []
        while True:
            line = self.process.stdout.readline()
            if not line:
                _, errors = self.process.communicate()
                raise AssertionError(f"the studio did not start: {errors}")
            self.lines.append(line)
            if found := re.fullmatch(STARTED, line):
                break
        self.read_address(found, state)

    def read_address(self, found: re.Match[str], state: Path) -> None:
        """Take from its first words where it is, and from its state folder what lets in."""
        self.address, self.port, self.code = found[1], int(found[2]), found[3]
        (token,) = (file.read_text().strip() for file in (state / "inkcap" / "studio").glob("*.token"))
        self.token = token

    def client(self, **options: Any) -> httpx.Client:
        """A client with the token; it loads no certificates, for it speaks to this machine alone."""
        headers = {"authorization": f"Bearer {self.token}"}
        plain = {"trust_env": False, "verify": False, "timeout": 60}
        return httpx.Client(base_url=self.address, headers=headers, **plain, **options)

    def kill(self) -> None:
        """End it as a power cut would."""
        if self.process.returncode is None:
            self.process.kill()
            self.process.communicate()

    def stop(self) -> tuple[int, str, str]:
        """Stop it as Ctrl-C does."""
        self.process.send_signal(signal.SIGINT)
        out, errors = self.process.communicate(timeout=20)
        return self.process.returncode, out, errors

    def __enter__(self) -> "Server":
        return self

    def __exit__(self, *_: object) -> None:
        self.kill()


class Tab:
    """One tab of a client: it numbers its edits, and knows what it was told."""

    def __init__(self, server: Server, drawing: str, client: str = "") -> None:
        self.client = client or uuid.uuid4().hex
        uri = f"ws://127.0.0.1:{server.port}/api/drawings/{drawing}/live"
        headers = {"authorization": f"Bearer {server.token}"}
        self._context = connect(uri, additional_headers=headers, max_size=2**26, proxy=None)
        self.socket: ClientConnection = self._context.__enter__()
        self.say({"type": "hello", "client": self.client, "seen": None})
        self.state = self.hear("state")
        self.number = self.state["acknowledged"]

    def say(self, message: dict[str, Any]) -> None:
        self.socket.send(json.dumps(message))

    def hear(self, *kinds: str, timeout: float = 20, **wanted: Any) -> dict[str, Any]:
        """Wait for the next message of some kind."""
        while True:
            message = json.loads(self.socket.recv(timeout=timeout))
            if message["type"] in kinds and all(message.get(key) == value for key, value in wanted.items()):
                return message

    def edit(
        self, *patches: dict[str, Any], label: str = "edit", number: int | None = None, **more: Any
    ) -> dict[str, Any]:
        """Send an edit and wait for its answer."""
        if number is None:
            self.number += 1
            number = self.number
        self.say({"type": "edit", "number": number, "edit": {"label": label, "patches": list(patches)}, **more})
        return self.hear("applied", "rejected", number=number)

    def command(self, command: str, **arguments: Any) -> dict[str, Any]:
        """Give a command and wait for its answer."""
        self.number += 1
        self.say({"type": "command", "number": self.number, "command": command, "arguments": arguments})
        return self.hear("applied", "rejected", number=self.number)

    def close(self) -> None:
        self._context.__exit__(None, None, None)

    def __enter__(self) -> "Tab":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def place(id: str, x: float, y: float) -> dict[str, Any]:
    """A patch that moves a thing."""
    return {"put": "position", "id": id, "record": [x, y]}
