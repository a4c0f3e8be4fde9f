"""A process beside the server that knows torch: it is started when it is first needed, and ends with the server.

The server itself never imports torch: it starts at once, stays small, and nothing that torch does can take it down.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import sys
from typing import Any

from inkcap.structures.errors import InkcapError

PATIENCE = 120.0
"""Seconds that an answer may take; the first one waits for torch."""
LONGEST = 512 * 2**20


class HelperError(InkcapError):
    """What the helper refused, in its own words, or that it could not answer."""


class Helper:
    """The process, and the one question at a time that it is asked."""

    def __init__(self, patience: float = PATIENCE) -> None:
        """Start nothing yet; an answer may take so many seconds."""
        self._patience = patience
        self._process: asyncio.subprocess.Process | None = None
        self._lock = asyncio.Lock()

    async def ask(self, what: str, **given: Any) -> dict[str, Any]:
        """Ask one thing and give the answer."""
        async with self._lock:
            process = await self._running()
            try:
                async with asyncio.timeout(self._patience):
                    answer = await _exchange(process, {"what": what, **given})
            except TimeoutError:
                await self._end()
                raise HelperError(f"this took longer than {self._patience:.0f} seconds and was given up") from None
            except (OSError, ValueError, asyncio.IncompleteReadError):
                await self._end()
                raise HelperError("the process that computes ended unexpectedly, maybe for want of memory") from None
            except asyncio.CancelledError:
                # Its answer would be taken for that to the next question.
                await self._end()
                raise
        if "error" in answer:
            raise HelperError(answer["error"])
        return answer

    async def _running(self) -> asyncio.subprocess.Process:
        if self._process is None or self._process.returncode is not None:
            environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"}
            self._process = await asyncio.create_subprocess_exec(
                *(sys.executable, "-m", "inkcap.cli.helper"),
                stdin=asyncio.subprocess.PIPE,
                stdout=asyncio.subprocess.PIPE,
                env=environment,
                limit=LONGEST,
            )
        return self._process

    async def _end(self) -> None:
        process, self._process = self._process, None
        if process is not None and process.returncode is None:
            with contextlib.suppress(ProcessLookupError):
                process.kill()
            await process.wait()

    async def stop(self) -> None:
        """End the process."""
        async with self._lock:
            await self._end()


async def _exchange(process: asyncio.subprocess.Process, question: dict[str, Any]) -> dict[str, Any]:
    assert process.stdin is not None
    assert process.stdout is not None
    process.stdin.write(json.dumps(question).encode() + b"\n")
    await process.stdin.drain()
    line = await process.stdout.readuntil(b"\n")
    return json.loads(line)
