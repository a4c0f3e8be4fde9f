"""What a workspace holds, as one number: every file, every row of its log, and the runs and drawings it shows."""

from __future__ import annotations

import hashlib
import shutil
import sqlite3
import tempfile
import time
from contextlib import closing
from pathlib import Path

from serving import Server

DATABASE = "studio.db"
COUNTS = "zoo.json"
"""The studio counts the zoo's networks once, whenever the start screen is first shown; nobody's work is in it."""
SHOWN = ("/api/workspace", "/api/runs", "/api/sweeps")


def state_of(server: Server) -> dict[str, str]:
    """Give a check sum for each thing that a workspace holds; what changes nothing leaves all of them alone."""
    found: dict[str, str] = {}
    for path in sorted(server.workspace.rglob("*")):
        # The files of the database change when it is read; its rows do not.
        if path.is_file() and not path.name.startswith((DATABASE, COUNTS)):
            found[str(path.relative_to(server.workspace))] = hashlib.sha256(path.read_bytes()).hexdigest()
    # The studio holds its log for itself alone: what is read is a copy.
    with tempfile.TemporaryDirectory() as folder:
        for path in (server.workspace / ".inkcap").glob(f"{DATABASE}*"):
            shutil.copy(path, folder)
        with closing(sqlite3.connect(Path(folder) / DATABASE)) as log:
            found[DATABASE] = hashlib.sha256("\n".join(log.iterdump()).encode()).hexdigest()
    with server.client() as client:
        for path in SHOWN:
            found[path] = hashlib.sha256(client.get(path).content).hexdigest()
    return found


def settled_state(server: Server, patience: float = 120) -> dict[str, str]:
    """Give the state once it stays the same: a drawing's file and what the log says of it follow within a second."""
    end = time.monotonic() + patience
    state = state_of(server)
    while time.monotonic() < end:
        time.sleep(1.5)
        again = state_of(server)
        if again == state:
            return state
        state = again
    raise AssertionError(f"the workspace does not come to rest: {state}")
