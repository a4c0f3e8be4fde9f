"""A workspace, an application over it, and ways to ask it."""

import asyncio
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest

from inkcap.studio import create_app
from inkcap.studio.app import Studio

PORT = 8765
TOKEN = "t" * 43
BEARER = {"authorization": f"Bearer {TOKEN}"}
Ask = Callable[..., httpx.Response]


@pytest.fixture
def app(tmp_path: Path) -> Iterator[Studio]:
    app = create_app(tmp_path, PORT, TOKEN)
    yield app
    app.state.hub.close()


@pytest.fixture
def ask(app: Studio) -> Ask:
    """Return a function that sends one request to the application and gives its answer."""

    def send(path: str = "/", method: str = "GET", **options: Any) -> httpx.Response:
        async def one() -> httpx.Response:
            transport = httpx.ASGITransport(app, raise_app_exceptions=False)
            base = f"http://127.0.0.1:{PORT}"
            async with httpx.AsyncClient(transport=transport, base_url=base, headers=BEARER) as client:
                answer = await client.request(method, path, **options)
            await settle(app)
            return answer

        return asyncio.run(one())

    return send


async def settle(app: Studio) -> None:
    """Write what is open and let it go: its tasks belong to the loop that ends now."""
    hub = app.state.hub
    if hub._watcher is not None:
        hub._watcher.cancel()
        hub._watcher = None
    for id in list(hub._live):
        async with hub.closed(id):
            pass
    for helper in (hub.helper, hub.inspector):
        await helper.stop()
        helper._lock = asyncio.Lock()
    hub._opening = asyncio.Lock()
