"""R7: where memory runs out, the studio stays, keeps what was drawn, and says what happened within seconds.

That foreign models are read within limits of their own is shown in test_bombs.py.
"""

import contextlib
import json
import os
import random
import sys
import time
from concurrent.futures import ThreadPoolExecutor

import httpx
import pytest
from nursery import Nursery
from serving import Tab, place
from steered import add, drawn, post, wide
from websockets.exceptions import ConnectionClosed, InvalidHandshake

from inkcap.drawing import Drawing, to_text
from inkcap.recipes.liveness import has_ended
from inkcap.recipes.runfolder import RunFolder
from inkcap.studio.shortage import NO_MEMORY

resource = pytest.importorskip("resource")
pytestmark = pytest.mark.skipif(not sys.platform.startswith("linux"), reason="limits of another process are Linux's")
PATIENCE, BUSY = 3.0, 5
ASKERS = 3


def used_by(pid):
    """Give the address space of a process in bytes."""
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[0]) * os.sysconf("SC_PAGE_SIZE")


def limit(pid, more):
    """Let a process have so much memory more than it has, and nothing beyond."""
    resource.prlimit(pid, resource.RLIMIT_AS, (used_by(pid) + more, resource.RLIM_INFINITY))


def large(megabytes):
    """A drawing whose notes are long."""
    document = json.loads(to_text(Drawing("large")))
    document["notes"] = [{"id": f"n{i}", "text": "w" * 15_000} for i in range(int(megabytes * 2**20 / 15_030))]
    return json.dumps(document)


def ask_too_much(server, text):
    """Send a large drawing, and give the status of the answer: 0 where there was no memory even for an answer."""
    with server.client() as client:
        client.timeout = 20
        try:
            answer = client.post("/api/drawings", json={"name": "large", "text": text})
        except httpx.HTTPError:
            return 0
    assert answer.status_code in (200, 400, 409, 422, 500, 503), answer.text
    if answer.status_code == 503:
        assert "not enough memory" in answer.json()["detail"]
    return answer.status_code


def answered(client, path):
    """Ask until there is memory for an answer again; it is there as soon as what was too large is gone."""
    until = time.monotonic() + PATIENCE * BUSY
    while True:
        with contextlib.suppress(httpx.HTTPError):
            answer = client.get(path)
            if answer.status_code == 200:
                return
        assert time.monotonic() < until, "the studio does not come back"
        time.sleep(0.05)


def drawn_again(server, drawing, x):
    """Edit, and give the seconds until that was done: a tab whose line is cut for want of memory comes back.

    What is refused meanwhile is refused in so many words.
    """
    begun = time.monotonic()
    while True:
        with contextlib.suppress(ConnectionClosed, InvalidHandshake), Tab(server, drawing) as tab:
            answer = tab.edit(place("x", x, 1))
            if answer["type"] == "applied":
                return time.monotonic() - begun
            assert answer["message"] == NO_MEMORY, answer
        assert time.monotonic() - begun < PATIENCE * BUSY, "no tab comes in any more"
        time.sleep(0.1)


@pytest.mark.parametrize("cases", [3, pytest.param(50, marks=pytest.mark.soak)], ids=["few", "many"])
def test_a_studio_without_memory_refuses_what_is_too_large_and_stays(tmp_path, tally, cases):
    workspace, chance = tmp_path / "work", random.Random(cases)  # noqa: S311
    workspace.mkdir()
    text, refused, slowest = large(14), 0, 0.0
    with Nursery(workspace) as nursery:
        for case in range(cases):
            server = nursery.start()
            with server.client() as client:
                drawing = add(client, drawn(f"small {case}"))
                limit(server.pid, chance.choice([120, 180, 250]) * 2**20)
                with ThreadPoolExecutor(ASKERS) as askers:
                    found = list(askers.map(ask_too_much, [server] * ASKERS, [text] * ASKERS))
                refused += sum(status != 200 for status in found)
                begun = time.monotonic()
                answered(client, f"/api/drawings/{drawing}/history")
                slowest = max(slowest, time.monotonic() - begun)
                slowest = max(slowest, drawn_again(server, drawing, case))
            os.kill(server.pid, 0)
            server.kill()
        server = nursery.start()
        with server.client() as client:
            rows = {one["name"]: one["id"] for one in client.get("/api/workspace").json()["drawings"]}
            for case in range(cases):
                found = client.get(f"/api/drawings/{rows[f'small {case}']}/file").json()
                assert found["positions"]["x"] == [case, 1]
        server.kill()
    assert refused, "there was memory enough for everything: the limits are too wide"
    assert slowest <= PATIENCE * BUSY
    tally("R7", kind="studio", cases=cases, refused=refused, slowest_s=round(slowest, 2))


# Trainings --------------------------------------------------------------------------------------------------------

ALLOWED = 3 * 2**30
"""What a studio and each of its trainings may have; Python and torch take about half of it."""
WANTS = {
    # Ten gigabytes of weights cannot even be built, so there is no run; large batches fail in the first step.
    "weights": (35_000, {"batch": 32}, {"n": 200}),
    "a batch": (2_000, {"batch": 40_000}, {"n": 50_000}),
}


def told_of_shortage(server, client, drawing, recipe, data):
    """Start a training that gets too little; give what is told of it, and the seconds from its end until then."""
    data = {"name": "moons", "options": data}
    recipe = {"epochs": 2, "threads": 1, "engine": "eager", **recipe}
    status, told = post(client, f"/api/drawings/{drawing}/train", data=data, recipe=recipe)
    if status != 200:
        return told, 0.0
    row = next(row for row in client.get("/api/runs").json() if row["id"] == told["run"])
    record = RunFolder.open(server.workspace / "runs" / row["name"]).record
    ended, until = 0.0, time.monotonic() + 300
    while row["state"] != "failed":
        if not ended and has_ended(record.pid, record.process):
            ended = time.monotonic()
        assert row["state"] == "running", row
        assert time.monotonic() < until, row
        time.sleep(0.02)
        row = next(row for row in client.get("/api/runs").json() if row["id"] == told["run"])
    return row["reason"], time.monotonic() - ended if ended else 0.0


@pytest.mark.parametrize("cases", [2, pytest.param(50, marks=pytest.mark.soak)], ids=["few", "many"])
def test_a_training_without_memory_fails_with_its_sizes_and_the_studio_stays(tmp_path, tally, cases):
    workspace, slowest = tmp_path / "work", 0.0
    workspace.mkdir()
    with Nursery(workspace) as nursery:
        server = nursery.start()
        # A training inherits the limits of its studio.
        resource.prlimit(server.pid, resource.RLIMIT_AS, (ALLOWED, resource.RLIM_INFINITY))
        with server.client() as client:
            client.timeout = 200
            drawings = {what: add(client, wide(neurons)) for what, (neurons, _, _) in WANTS.items()}
            for case in range(cases):
                what = list(WANTS)[case % len(WANTS)]
                told, seconds = told_of_shortage(server, client, drawings[what], *WANTS[what][1:])
                assert "out of memory; the training needs about" in told, (what, told)
                assert "give a smaller batch" in told
                slowest = max(slowest, seconds, drawn_again(server, drawings[what], case))
            os.kill(server.pid, 0)
        server.kill()
    assert slowest <= PATIENCE * BUSY
    tally("R7", kind="training", cases=cases, slowest_s=round(slowest, 2))
