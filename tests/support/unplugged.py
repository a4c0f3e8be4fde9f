"""A day in the studio, from an empty folder to an answer, as a script: python unplugged.py WORKSPACE.

It is run where there is no network, and prints one line when all of it went well.
"""

from __future__ import annotations

import sys
import time
from pathlib import Path

from serving import Server

from inkcap.drawing import Drawing


def drawn() -> str:
    """A small classifier of the iris flowers."""
    drawing = Drawing("flowers")
    drawing.add("x", "1D-data", dimension=4)
    drawing.then("h", "1D-tanh", "full", dimension=4)
    drawing.then("y", "1D-softmax", "full", dimension=3)
    return drawing.to_text()


def main(workspace: Path) -> None:
    """Draw, train, export and ask."""
    workspace.mkdir()
    with Server(workspace) as server, server.client() as client:
        made = client.post("/api/drawings", json={"name": "flowers", "text": drawn()}).raise_for_status().json()
        at = f"/api/drawings/{made['id']}"
        asked = {"data": "iris", "recipe": {"epochs": 2, "threads": 1}}
        run = client.post(f"{at}/train", json=asked).raise_for_status().json()["run"]
        until = time.monotonic() + 300
        row = {"state": "created"}
        while row["state"] in ("created", "running") and time.monotonic() < until:
            time.sleep(0.3)
            (row,) = client.get("/api/runs").json()
        assert row["state"] == "finished", row
        exported = client.post(f"{at}/export", json={"to": "torch", "run": run}).raise_for_status().json()
        answer = client.post(f"/api/runs/{run}/answer", json={"values": [5.1, 3.5, 1.4, 0.2]}).raise_for_status().json()
        print("exported", exported["files"][0]["name"], "answered", sorted(answer)[0])


if __name__ == "__main__":
    main(Path(sys.argv[1]))
