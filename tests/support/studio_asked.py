"""A studio in this process, and a client that asks it as a browser would, thousands of times over one loop."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import httpx

from inkcap.studio import create_app
from inkcap.studio.app import Studio

PORT = 8765
TOKEN = "t" * 43


@asynccontextmanager
async def asking(workspace: Path) -> AsyncIterator[tuple[Studio, httpx.AsyncClient]]:
    """Give the application over a workspace, and a client that has its token."""
    app = create_app(workspace, PORT, TOKEN)
    transport = httpx.ASGITransport(app, raise_app_exceptions=False)
    headers = {"authorization": f"Bearer {TOKEN}"}
    try:
        async with httpx.AsyncClient(
            transport=transport, base_url=f"http://127.0.0.1:{PORT}", headers=headers, timeout=60
        ) as client:
            yield app, client
    finally:
        await app.state.hub.stop()
