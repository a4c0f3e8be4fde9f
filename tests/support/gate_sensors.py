"""Two sensors in a studio that is about to start, before its gate and behind it: each notes what passes it."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any

PRELUDE = "import gate_sensors; gate_sensors.place({notes!r})"
"""What a process runs before it serves; see `serving.Server`."""


@dataclass(frozen=True)
class Passed:
    """A request that passed a sensor."""

    behind: bool
    kind: str
    method: str
    path: str
    query: str
    headers: dict[str, str]


def place(notes: str) -> None:
    """Let every studio of this process note what comes to its gate, and what the gate lets through."""
    from inkcap.studio.app import Studio

    file = os.open(notes, os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
    build = Studio.build_middleware_stack

    def sensor(app: Any, behind: bool) -> Any:
        async def noting(scope: Any, receive: Any, send: Any) -> None:
            if scope["type"] != "lifespan":
                headers = {name.decode("latin-1"): value.decode("latin-1") for name, value in scope["headers"]}
                for secret in ("cookie", "authorization"):
                    headers.pop(secret, None)
                line = [behind, scope["type"], scope.get("method", "WEBSOCKET"), scope["path"]]
                line += [scope["query_string"].decode("latin-1"), headers]
                os.write(file, f"{json.dumps(line)}\n".encode())
            await app(scope, receive, send)

        return noting

    def watched(self: Studio) -> Any:
        gate: Any = build(self)
        gate.app = sensor(gate.app, behind=True)
        return sensor(gate, behind=False)

    Studio.build_middleware_stack = watched  # type: ignore[method-assign]


def passed(notes: Path, since: int = 0) -> list[Passed]:
    """Give what was noted, from a number of lines on."""
    lines = notes.read_text().splitlines() if notes.exists() else []
    return [Passed(*json.loads(line)) for line in lines[since:]]
