"""S3: connections that are held for nothing, by requests that never come whole and answers that nobody reads."""

from __future__ import annotations

import json
import resource
import select
import socket
import time
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest
from serving import Server, Tab, place

from inkcap.studio import connections

PATIENCE, UNREAD, SLOWEST = 1.5, 2.0, 1_000
BEFORE = """
import resource
from inkcap.studio import connections
connections.PATIENCE, connections.UNREAD, connections.SLOWEST = {}, {}, {}
resource.setrlimit(resource.RLIMIT_NOFILE, (1024, 1024))
"""
LATE = 15.0
"""Seconds later than its time that a connection may end, on a machine that does other things beside."""
HEAD = "{method} {path} HTTP/1.1\r\nHost: 127.0.0.1:{port}\r\nAuthorization: Bearer {token}\r\n"


def hurried(folder: Path, patience: float) -> Server:
    workspace = folder / "workspace"
    workspace.mkdir()
    return Server(workspace, before=BEFORE.format(patience, UNREAD, SLOWEST))


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Server]:
    with hurried(tmp_path, PATIENCE) as server:
        yield server


def opened(server: Server, content: bytes = b"") -> socket.socket:
    made = socket.create_connection(("127.0.0.1", server.port), timeout=LATE)
    made.sendall(content)
    return made


def head(server: Server, method: str, path: str, *more: str) -> bytes:
    first = HEAD.format(method=method, path=path, port=server.port, token=server.token)
    return "".join([first, *(f"{line}\r\n" for line in more), "\r\n"]).encode()


def posted(server: Server, length: int) -> bytes:
    return head(server, "POST", "/api/drawings", "Content-Type: application/json", f"Content-Length: {length}")


def seconds_until_closed(made: socket.socket, trickle: bytes = b"") -> float:
    """Wait until the other side ends a connection, and send it a byte now and then meanwhile."""
    begun = time.monotonic()
    while time.monotonic() - begun < PATIENCE + LATE:
        try:
            if select.select([made], [], [], 0.1)[0] and not made.recv(65536):
                break
            if trickle:
                made.sendall(trickle)
        except OSError:
            break
    else:
        pytest.fail("the connection is held for ever")
    return time.monotonic() - begun


def test_a_request_that_does_not_come_is_not_waited_for(studio: Server, tally) -> None:
    asked = head(studio, "GET", "/api/recipes/fields")
    holding = {
        "nothing": (b"", b""),
        "half a head": (asked[:40], b""),
        "a head byte by byte": (b"GET / HTTP/1.1\r\nX: ", b"x"),
        "half a head behind a request": (asked + asked[:40], b""),
        "half a body": (posted(studio, 100) + b'{"name"', b""),
        "a body byte by byte": (posted(studio, 10_000) + b'{"name"', b" "),
        "endless pieces": (
            head(studio, "POST", "/api/drawings", "Content-Type: application/json", "Transfer-Encoding: chunked"),
            b"1\r\n \r\n",
        ),
    }
    for name, (content, trickle) in holding.items():
        with opened(studio, content) as made:
            spent = seconds_until_closed(made, trickle)
        assert spent > PATIENCE / 2, name
        with studio.client() as client:
            assert client.get("/api/workspace").json()["drawings"] == [], name
    tally("S3", what="held connections", kinds=len(holding))


def test_a_body_that_comes_at_its_pace_is_taken(tmp_path: Path) -> None:
    patience = 3 * PATIENCE
    body = json.dumps({"name": "slow"}).encode().ljust(14 * SLOWEST)
    with hurried(tmp_path, patience) as studio, opened(studio, posted(studio, len(body))) as made:
        begun = time.monotonic()
        for start in range(0, len(body), SLOWEST):
            made.sendall(body[start : start + SLOWEST])
            time.sleep(0.5)
        assert time.monotonic() - begun > patience
        assert made.recv(65536).startswith(b"HTTP/1.1 200")


def test_an_answer_that_nobody_reads_is_given_up(studio: Server) -> None:
    """Many large answers on one connection, with a small window for them."""
    asked = head(studio, "GET", "/api/catalogue")
    with socket.socket() as made:
        made.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
        made.connect(("127.0.0.1", studio.port))
        made.settimeout(0.2)
        until, closed = time.monotonic() + UNREAD + LATE, False
        while not closed and time.monotonic() < until:
            try:
                made.sendall(asked)
            except TimeoutError:
                continue
            except OSError:
                closed = True
    assert closed, "it is held for ever"
    with studio.client() as client:
        assert client.get("/api/workspace").status_code == 200


def test_a_crowd_does_not_take_the_files_of_those_who_draw(studio: Server, tally) -> None:
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(4096, hard), hard))
    crowd: list[socket.socket] = []
    try:
        with studio.client() as client:
            id = client.post("/api/drawings", json={"name": "net", "zoo": "mlp"}).json()["id"]
        with Tab(studio, id) as tab:
            for number in range(2 * connections.MOST):
                crowd.append(opened(studio))
                if number % 100 == 0:
                    assert tab.edit(place("x", number, 1))["type"] == "applied"
            held = len(list(Path(f"/proc/{studio.process.pid}/fd").iterdir()))
            assert held < connections.MOST + 200
        # Room comes back by itself.
        time.sleep(PATIENCE)
        until = time.monotonic() + LATE
        while True:
            try:
                with studio.client() as client:
                    assert client.post("/api/drawings", json={"name": "later"}).status_code == 200
                    break
            except httpx.TransportError:
                assert time.monotonic() < until, "nobody comes in any more"
                time.sleep(0.2)
    finally:
        for one in crowd:
            one.close()
        resource.setrlimit(resource.RLIMIT_NOFILE, (soft, hard))
    tally("S3", what="a crowd", connections=2 * connections.MOST, held=held)
