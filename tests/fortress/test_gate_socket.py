"""Campaign S1 over a real socket: bytes that no client library would send, against a studio that runs."""

from __future__ import annotations

import re
import socket
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

import pytest
from gate_sensors import PRELUDE, passed
from serving import Server
from workspace_state import settled_state

CANARY = "a-drawing-that-only-its-owner-knows"
PATIENCE = 60.0
TARGETS = ("/api/workspace", "/api/drawings/{id}/file", "/api/runs", "/api/recipes/fields", "/api/sweeps")


def request(target: str, *headers: str, method: str = "GET", version: str = "HTTP/1.1", body: str = "") -> bytes:
    """The bytes of a request; to what is given only the wish is added that the connection ends with the answer."""
    return "\r\n".join((f"{method} {target} {version}", *headers, "Connection: close", "", body)).encode("latin-1")


def raw_attacks(host: str, token: str, path: str) -> Iterator[tuple[str, bytes]]:
    """Requests that must be refused even from someone who has the token, each by its name."""
    known = f"Authorization: Bearer {token}"
    ours, evil = f"Host: {host}", f"Host: evil.test:{host.rpartition(':')[2]}"
    plain = (ours, known)
    yield "two hosts", request(path, ours, evil, known)
    yield "two hosts, ours last", request(path, evil, ours, known)
    yield "our host twice", request(path, ours, ours, known)
    yield "a host on two lines", request(path, ours, " evil.test", known)
    yield "a host with a path", request(path, f"{ours}/x", known)
    yield "a host with a user", request(path, f"Host: a@{host}", known)
    yield "no host", request(path, known)
    yield "HTTP/1.0 without a host", request(path, known, version="HTTP/1.0")
    yield "HTTP/0.9", f"GET {path}\r\n".encode()
    yield "HTTP/2 without an upgrade", b"PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n"
    yield "an absolute target elsewhere", request(f"http://evil.test{path}", *plain)
    yield "an absolute target of ours", request(f"http://{host}{path}", *plain)
    yield "a target without a slash", request(path[1:], *plain)
    yield "a target of a user", request(f"@evil.test{path}", *plain)
    yield "a star", request("*", *plain, method="OPTIONS")
    yield "a tunnel", request(host, *plain, method="CONNECT")
    yield "two slashes", request(f"/{path}", *plain)
    yield "a slash that is encoded, no token", request(f"/api%2F{path[5:]}", ours)
    yield "a step back", request(f"/static/..{path}", *plain)
    yield "a step back that is encoded", request(f"/static/%2e%2e{path}", *plain)
    yield "a zero that is encoded", request(f"{path}%00", *plain)
    yield "a line end that is encoded", request(f"{path}%0d%0aHost:%20x", *plain)
    yield "a zero in a header", request(path, *plain, "X-A: a\0b")
    yield "a space before the colon", request(path, f"Host : {host}", known)
    yield "a header without a name", request(path, *plain, ": x")
    yield "a second origin", request(path, *plain, f"Origin: http://{host}", "Origin: http://evil.test")
    yield "the null origin", request(path, *plain, "oRiGiN: null")
    yield "another site", request(path, *plain, "SEC-FETCH-SITE: cross-site")
    yield "the token twice", request(path, ours, known, known)
    yield "the token as a form has it", request(f"{path}?token={token}&code={token}", ours)
    yield "another method by a header", request(path, *plain, "X-HTTP-Method-Override: GET", method="DELETE")
    yield "an upgrade where there is none", request(path, *plain, "Upgrade: websocket", "Connection: Upgrade")
    yield "headers without end", request(path, *plain, *(f"X-{i}: {'x' * 1000}" for i in range(80)))
    # Two servers that read one message differently would see another second request in it.
    inner = request(path, ours).decode()
    post = (*plain, "Content-Type: application/json")
    yield "two lengths", request(path, *post, "Content-Length: 0", f"Content-Length: {len(inner)}", method="POST",
                                 body=inner)  # fmt: skip
    yield "a length and chunks", request(path, *post, "Content-Length: 5", "Transfer-Encoding: chunked", method="POST",
                                         body=f"0\r\n\r\n{inner}")  # fmt: skip
    yield "a length with a sign", request(path, *post, "Content-Length: +5", method="POST", body="hello")
    yield "a length of many digits", request(path, *post, f"Content-Length: {'9' * 5000}", method="POST")
    yield "an unknown coding", request(path, *post, "Transfer-Encoding: xchunked", method="POST", body="5\r\nhello")
    yield "a chunk that lies", request(path, *post, "Transfer-Encoding: chunked", method="POST",
                                       body=f"-5\r\nhello\r\n0\r\n\r\n{inner}")  # fmt: skip
    yield "a request behind a refused one", f"GET {path} HTTP/1.1\r\n{ours}\r\n\r\n{inner}".encode()
    yield "a request as the body of a refused one", request(path, ours, f"Content-Length: {len(inner)}", body=inner)


def talk(port: int, content: bytes) -> bytes:
    """Send bytes on a connection of their own and give all that comes back until the studio closes it."""
    with socket.create_connection(("127.0.0.1", port), timeout=PATIENCE) as connection:
        connection.sendall(content)
        if b"\r\n\r\n" not in content:
            # The end of a request that has none is the end of the connection.
            connection.shutdown(socket.SHUT_WR)
        pieces = []
        with suppress(TimeoutError, ConnectionResetError):
            while piece := connection.recv(2**16):
                pieces.append(piece)
    return b"".join(pieces)


@pytest.fixture(scope="module")
def notes(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("notes") / "passed.jsonl"


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory, notes: Path) -> Iterator[Server]:
    workspace = tmp_path_factory.mktemp("studio") / "workspace"
    workspace.mkdir()
    with Server(workspace, before=PRELUDE.format(notes=str(notes))) as server:
        yield server


def statuses(answer: bytes) -> list[int]:
    return [int(code) for code in re.findall(rb"HTTP/1\.1 (\d{3})", answer)]


def test_no_bytes_on_the_socket_reach_a_handler(studio: Server, notes: Path, tally: Callable[..., None]) -> None:
    host = f"127.0.0.1:{studio.port}"
    with studio.client() as client:
        id = client.post("/api/drawings", json={"name": CANARY}).json()["id"]
    paths = [target.format(id=id) for target in TARGETS]
    for path in paths:
        sound = talk(studio.port, request(path, f"Host: {host}", f"Authorization: Bearer {studio.token}"))
        assert statuses(sound) == [200], (path, sound)
    before, lines, count = settled_state(studio), len(passed(notes)), 0
    for path in paths:
        for name, content in raw_attacks(host, studio.token, path):
            answer = talk(studio.port, content)
            codes = statuses(answer)
            # A message that has no meaning may be answered by closing.
            assert all(400 <= code < 500 for code in codes), (name, path, answer[:400])
            assert CANARY.encode() not in answer, (name, path)
            assert studio.token.encode() not in answer, (name, path)
            count += 1
    entries = [one for one in passed(notes, lines) if one.behind]
    assert entries == []
    assert settled_state(studio) == before
    assert count >= 200
    tally("S1", socket_checks=count, handler_entries=0)
