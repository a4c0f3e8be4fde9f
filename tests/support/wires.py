"""Connections to the studio's application in this process: its own code from the gate on, without sockets."""

import asyncio
import json
from collections import deque
from contextlib import suppress
from typing import Any

import httpx

from inkcap.studio.app import Studio

PORT, TOKEN = 8765, "t" * 43
BEARER = {"authorization": f"Bearer {TOKEN}"}


def client_of(app: Studio) -> httpx.AsyncClient:
    """Give a client that asks the application."""
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    return httpx.AsyncClient(transport=transport, base_url=f"http://127.0.0.1:{PORT}", headers=BEARER)


async def kill(app: Studio) -> None:
    """Let go of an application as a kill does: nothing is written any more."""
    hub = app.state.hub
    tasks = [task for live in hub._live.values() for task in live._tasks]
    tasks += [hub._watcher] if hub._watcher else []
    for task in tasks:
        task.cancel()
    await asyncio.gather(*tasks, return_exceptions=True)
    hub.close()


class Wire:
    """One connection as the application sees it, and what is under way on it in both directions."""

    def __init__(self, app: Any, drawing: str) -> None:
        self.up: deque[str] = deque()
        self.down: deque[str] = deque()
        self.ended = self.blocked = False
        self._given: asyncio.Queue[dict[str, Any]] = asyncio.Queue()
        self._waits = asyncio.Event()
        path = f"/api/drawings/{drawing}/live"
        scope = {
            "type": "websocket",
            "path": path,
            "raw_path": path.encode(),
            "query_string": b"",
            "root_path": "",
            "scheme": "ws",
            "http_version": "1.1",
            "headers": [(b"host", f"127.0.0.1:{PORT}".encode()), (b"authorization", f"Bearer {TOKEN}".encode())],
            "subprotocols": [],
            "state": {},
        }
        self._given.put_nowait({"type": "websocket.connect"})
        self.task = asyncio.create_task(app(scope, self._receive, self._send))

    async def _receive(self) -> dict[str, Any]:
        if self._given.empty():
            self._waits.set()
        message = await self._given.get()
        self._waits.clear()
        return message

    async def _send(self, message: dict[str, Any]) -> None:
        if message["type"] == "websocket.send":
            while self.blocked:
                await asyncio.sleep(0.05)
            self.down.append(message["text"])
        elif message["type"] == "websocket.close":
            self.ended = True

    async def give(self, text: str) -> None:
        """Let the studio read one frame, and wait until it has done what it says."""
        await self._put({"type": "websocket.receive", "text": text})

    async def cut(self) -> None:
        """Let the studio see that the line is cut."""
        await self._put({"type": "websocket.disconnect", "code": 1006})
        await asyncio.wait([self.task])

    async def _put(self, message: dict[str, Any]) -> None:
        if self.task.done():
            return
        self._waits.clear()
        self._given.put_nowait(message)
        ready = asyncio.ensure_future(self._waits.wait())
        await asyncio.wait([ready, self.task], return_when=asyncio.FIRST_COMPLETED)
        ready.cancel()
        # What was told lies in the boxes of the tabs; their senders need a few turns of the loop.
        for _ in range(6):
            await asyncio.sleep(0)

    async def kill(self) -> None:
        self.task.cancel()
        with suppress(asyncio.CancelledError, Exception):
            await self.task


class Reader:
    """A tab on a wire that sends one edit after another and waits for each answer."""

    def __init__(self, app: Studio, drawing: str, client: str) -> None:
        self.wire, self.client, self.number = Wire(app, drawing), client, 0
        self.state: dict[str, Any] = {}

    async def join(self) -> dict[str, Any] | None:
        """Say hello, and give the state, or nothing where the studio closes the line."""
        await self.wire.give(json.dumps({"type": "hello", "client": self.client, "seen": None}))
        found = self.heard("state")
        if found is not None:
            self.state, self.number = found, found["acknowledged"]
        return found

    async def edit(self, *patches: dict[str, Any]) -> dict[str, Any] | None:
        """Send an edit and give its answer, or nothing where the studio closes the line."""
        self.number += 1
        edit = {"label": "edit", "patches": list(patches)}
        return await self.ask({"type": "edit", "number": self.number, "edit": edit})

    async def ask(self, message: dict[str, Any]) -> dict[str, Any] | None:
        """Send a message and give its answer, or nothing where the studio closes the line."""
        await self.wire.give(json.dumps(message))
        return self.heard("applied", "rejected")

    def heard(self, *kinds: str) -> dict[str, Any] | None:
        found = None
        while self.wire.down:
            message = json.loads(self.wire.down.popleft())
            found = message if message["type"] in kinds else found
        return found

    async def leave(self) -> None:
        await self.wire.cut()
