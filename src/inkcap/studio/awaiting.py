"""Work that lasts, done as long as somebody waits for it."""

from __future__ import annotations

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

from starlette.requests import Request

from inkcap.structures.errors import InkcapError

Result = TypeVar("Result")
LOOK_EVERY = 0.5
"""Seconds between two looks whether somebody still waits."""


class GivenUp(InkcapError):
    """Work that nobody waited for any more."""


async def while_awaited(request: Request, work: Coroutine[Any, Any, Result]) -> Result:
    """Do the work that a request asked for; whoever goes away ends it. The request's body must have come whole."""
    working = asyncio.create_task(work)
    try:
        while not working.done():
            await asyncio.wait({working}, timeout=LOOK_EVERY)
            if not working.done() and await request.is_disconnected():
                raise GivenUp("nobody waits for it any more")
    finally:
        if working.cancel():
            await asyncio.wait({working})
    return working.result()
