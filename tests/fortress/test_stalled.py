"""R13: browsers that do not read, and even a studio that stands still, hold nobody: neither drawing nor training."""

import asyncio
import base64
import contextlib
import json
import os
import signal
import socket
import struct
import time

import pytest
from figures import percentile, processor_time
from serving import Server, Tab
from steered import DATA, add, await_run, begin_training, drawn, post
from wires import PORT, TOKEN, Reader, client_of

from inkcap.recipes import RunFolder, read_log
from inkcap.studio import create_app, tabs

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a process is stopped by a signal")
EDITS, LETTERS = 300, 19_000
MOST_GROWTH = 200e6
STALLED = 50
AIMS = {"growth_mb": 50.0, "lag_ms": 300.0, "share": 0.02, "closed_s": 35.0}
"""How much the studio may grow, how late a good tab may hear, how much of a processor that the training could have
they may cost, and after how many seconds they are let go."""
PAUSE = 0.08
"""Seconds between two edits of a person who is fast."""
BUSY = 5
"""How much more a machine may take that does other things beside."""


def raw(server, request):
    """A connection with a small buffer that is written to once and never read."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect(("127.0.0.1", server.port))
    made.sendall(request)
    return made


def unread_tab(server, drawing, number=0):
    lines = [
        f"GET /api/drawings/{drawing}/live HTTP/1.1",
        f"Host: 127.0.0.1:{server.port}",
        "Connection: Upgrade",
        "Upgrade: websocket",
        "Sec-WebSocket-Version: 13",
        f"Sec-WebSocket-Key: {base64.b64encode(os.urandom(16)).decode()}",
        f"Authorization: Bearer {server.token}",
    ]
    made = raw(server, "\r\n".join([*lines, "", ""]).encode())
    assert made.recv(12) == b"HTTP/1.1 101"
    hello = json.dumps({"type": "hello", "client": f"never-reads-{number}", "seen": None}).encode()
    mask = b"\0\0\0\0"
    made.sendall(struct.pack("!BB", 0x81, 0x80 | len(hello)) + mask + hello)
    return made


def unread_page(server, path):
    lines = [f"GET {path} HTTP/1.1", f"Host: 127.0.0.1:{server.port}", f"Authorization: Bearer {server.token}"]
    return raw(server, "\r\n".join([*lines, "", ""]).encode())


def memory_of(pid):
    with open(f"/proc/{pid}/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def test_a_browser_that_does_not_read_holds_neither_the_others_nor_a_training(tmp_path):
    workspace = tmp_path / "work"
    workspace.mkdir()
    with Server(workspace) as server, server.client() as client, contextlib.ExitStack() as stack:
        drawing = add(client, drawn())
        recipe = {"batch": 4, "epochs": 150, "threads": 1, "seed": 3}
        status, told = post(client, f"/api/drawings/{drawing}/train", data=DATA, recipe=recipe)
        assert status == 200, told
        row = await_run(client, told["run"], "running", "finished", epoch=1)
        log = workspace / "runs" / row["name"] / "metrics.jsonl"
        tab = stack.enter_context(Tab(server, drawing))
        before, lines = memory_of(server.process.pid), len(read_log(log).records)
        for _ in range(3):
            stack.callback(unread_tab(server, drawing).close)
            stack.callback(unread_page(server, f"/api/drawings/{drawing}/file").close)
            stack.callback(unread_page(server, "/api/catalogue").close)
        slowest = 0.0
        for number in range(EDITS):
            begun = time.monotonic()
            note = {"id": "n", "text": f"{number} " + "x" * LETTERS}
            answer = tab.edit({"put": "note", "id": "n", "record": note})
            assert answer["type"] == "applied", answer
            slowest = max(slowest, time.monotonic() - begun)
        assert slowest < 5, f"an edit took {slowest:.1f} s"
        assert client.get("/api/workspace").status_code == 200
        # Six megabytes were told to each of three who read nothing: they were let go, not stored up.
        assert memory_of(server.process.pid) - before < MOST_GROWTH
        grown = len(read_log(log).records) - lines
        assert grown > 0 or RunFolder.open(log.parent).record.state == "finished"
        # Even a studio that stands still does not hold the training, which needs nobody.
        server.process.send_signal(signal.SIGSTOP)
        try:
            until = time.monotonic() + 120
            while RunFolder.open(log.parent).record.state != "finished":
                assert time.monotonic() < until
                time.sleep(0.1)
        finally:
            server.process.send_signal(signal.SIGCONT)
        assert await_run(client, told["run"], "finished")["epoch"] == 150


def draw_for(tab, watcher, count, begun=0):
    """Draw like a person who is fast, and give how late another tab heard of each edit."""
    lags = []
    for number in range(begun, begun + count):
        sent = time.monotonic()
        assert tab.edit({"put": "position", "id": "x", "record": [number, 1]})["type"] == "applied"
        watcher.hear("applied", client=tab.client, number=tab.number)
        lags.append(time.monotonic() - sent)
        time.sleep(PAUSE)
    return lags


@pytest.mark.parametrize("edits", [60, pytest.param(1_500, marks=pytest.mark.soak)], ids=["short", "long"])
def test_fifty_tabs_that_do_not_read_cost_next_to_nothing(tmp_path, tally, request, edits):
    workspace = tmp_path / "work"
    workspace.mkdir()
    with Server(workspace) as server, server.client() as client, contextlib.ExitStack() as stack:
        drawing = add(client, drawn())
        recipe = {"batch": 4, "epochs": 100_000, "engine": "eager", "threads": 1, "seed": 3}
        row = begin_training(client, drawing, recipe)
        stack.callback(lambda: post(client, f"/api/runs/{row['id']}/stop"))
        log, pid = workspace / "runs" / row["name"] / "metrics.jsonl", server.process.pid
        tab, watcher = (stack.enter_context(Tab(server, drawing)) for _ in range(2))
        spent, rates, lags, before = {}, {}, [], 0
        for crowd in (0, STALLED):
            for number in range(crowd):
                stack.callback(unread_tab(server, drawing, number).close)
            # The whole state for each of them is told, and their coming to all the others.
            draw_for(tab, watcher, 20)
            before = before or memory_of(pid)
            used, begun, steps = processor_time(pid), time.monotonic(), last_step(log)
            found = draw_for(tab, watcher, edits, 20)
            passed = time.monotonic() - begun
            spent[crowd] = (processor_time(pid) - used) / passed
            rates[crowd] = (last_step(log) - steps) / passed
            lags = found
        figures = {
            "growth_mb": (memory_of(pid) - before) / 1e6,
            "lag_ms": percentile(lags) * 1e3,
            "share": spent[STALLED] - spent[0],
        }
        if request.node.get_closest_marker("soak"):
            begun = time.monotonic()
            stalled = unread_tab(server, drawing, STALLED)
            stack.callback(stalled.close)
            watcher.hear("clients", clients=2, timeout=AIMS["closed_s"] * BUSY)
            figures["closed_s"] = time.monotonic() - begun
        assert figures["growth_mb"] <= AIMS["growth_mb"], figures
        assert all(value <= AIMS[name] * BUSY for name, value in figures.items()), figures
        assert rates[STALLED] > 0, "the training stands still"
        slower = 1 - rates[STALLED] / rates[0] if rates[0] else 0.0
        tally(
            "R13", stalled=STALLED, edits=edits, slower=round(slower, 4), **{n: round(v, 4) for n, v in figures.items()}
        )


def test_a_tab_that_takes_nothing_is_let_go(tmp_path, monkeypatch):
    monkeypatch.setattr(tabs, "PATIENCE", 0.3)

    async def stall():
        app = create_app(tmp_path, PORT, TOKEN)
        async with client_of(app) as client:
            id = (await client.post("/api/drawings", json={"name": "d"})).json()["id"]
        good, bad = Reader(app, id, "client-good"), Reader(app, id, "client-bad")
        bad.wire.blocked = True
        assert await good.join() is not None
        await bad.join()
        async with asyncio.timeout(20):
            await asyncio.wait([bad.wire.task])
        live = await app.state.hub.live(id)
        assert {tab.client for tab in live.tabs} == {"client-good"}
        assert (await good.edit({"put": "note", "id": "n", "record": {"id": "n", "text": "t"}}))["type"] == "applied"
        await good.leave()
        await app.state.hub.stop()

    asyncio.run(stall())


def last_step(log):
    return read_log(log).records[-1].step
