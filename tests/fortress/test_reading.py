"""S9: what is asked by GET changes nothing, so that a page of someone else that gets one through has won nothing."""

from __future__ import annotations

import re
from pathlib import Path

from described import furnished
from knocking import PORT, TOKEN, routes_of
from serving import Server
from steered import drawn, recipe_of
from workspace_state import settled_state

from inkcap.studio import create_app
from inkcap.studio.run_list import run_id
from inkcap.training import train

QUERIES = {
    "proposal": {"back": "a", "front": "b"},
    "compare": {"a": 0, "b": 0},
    "enumeration": {"n": 2, "m": 2},
    "values": {"item": "y"},
}
ABSENT = {
    *("/api/exports/{token}/{name}", "/api/drawings/{id}/neurons", "/api/drawings/{id}/neurons/{number}"),
    "/api/runs/{id}/carried",
}
"""What nothing here has: an export that was made, neurons in columns, couplings."""


def paths_of(folder: Path) -> list[str]:
    """Give every path of the interface that answers to GET, told by the application itself."""
    folder.mkdir()
    app = create_app(folder, PORT, TOKEN)
    try:
        return [path for path, method in routes_of(app.routes) if method == "GET" and path.startswith("/api/")]
    finally:
        app.state.hub.close()


def test_what_is_only_asked_changes_nothing(tmp_path: Path, tally) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    furnished(workspace)
    runs = [
        run_id(train(drawn(), recipe_of({"epochs": 2, "seed": seed, "signals": True}), workspace).run.path.name)
        for seed in (1, 2)
    ]
    paths = paths_of(tmp_path / "other")
    with Server(workspace) as server, server.client() as client:
        id = client.post("/api/drawings", json={"name": "net", "zoo": "lenet"}).json()["id"]
        names = {"name": "lenet", "seq": "0", "number": "0", "item": "b", "token": "x"}
        client.get(f"/api/drawings/{id}/report")
        before, refused = settled_state(server), {}
        for path in paths:
            own = names | {"id": runs[0] if path.startswith("/api/runs") else id}
            own |= {"name": "tried"} if path.startswith("/api/sweeps") else {}
            query = QUERIES.get(path.rpartition("/")[2], {})
            query = {"other": runs[1]} if path == "/api/runs/{id}/compare" else query
            query = {"runs": ",".join(runs)} if path == "/api/curves" else query
            answer = client.get(re.sub(r"\{(\w+)\}", lambda found, own=own: own[found[1]], path), params=query)
            if answer.status_code != 200:
                refused[path] = answer.text
        assert settled_state(server) == before
    assert set(refused) <= ABSENT, refused
    tally("S9", what="reads", paths=len(paths), state_changes=0)
