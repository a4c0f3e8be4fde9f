"""A browser that does not read, and even a studio that stands still, hold nobody: neither drawing nor training."""

import base64
import contextlib
import json
import os
import signal
import socket
import struct
import time

import pytest
from serving import Server, Tab
from steered import DATA, add, await_run, drawn, post

from inkcap.recipes import RunFolder, read_log

pytestmark = pytest.mark.skipif(os.name != "posix", reason="a process is stopped by a signal")
EDITS, LETTERS = 300, 19_000
MOST_GROWTH = 200e6


def raw(server, request):
    """A connection with a small buffer that is written to once and never read."""
    made = socket.socket()
    made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    made.connect(("127.0.0.1", server.port))
    made.sendall(request)
    return made


def unread_tab(server, drawing):
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
    hello = json.dumps({"type": "hello", "client": "never-reads", "seen": None}).encode()
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
