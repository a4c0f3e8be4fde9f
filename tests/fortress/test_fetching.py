"""S11: whatever an address, a redirect or a resolver says, a fetch speaks to the open internet or to nobody.

A listener waits on loopback, and an audit hook sees every connection that the process tries: what would leave the
machine is noted and refused there, so that no test sends a byte to anyone.
"""

from __future__ import annotations

import asyncio
import http.client
import http.server
import ipaddress
import socket
import sys
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import httpx
import pytest
from hostile_urls import BY_NAME, hostile_redirects, hostile_urls

from inkcap.drawing import Drawing
from inkcap.studio import create_app
from inkcap.training.data import DataError, RemoteFile, RemoteSet, download, obtain
from inkcap.training.data.peers import is_open

SET = RemoteSet("small", (RemoteFile("x", 1000, "0" * 32),), ())
LONGEST = 0.4
_watching: list[list[tuple[str, int]]] = []


def _watch(event: str, arguments: tuple[Any, ...]) -> None:
    if event == "socket.connect" and _watching and isinstance(arguments[1], tuple):
        host, port = arguments[1][:2]
        _watching[-1].append((host, port))
        if not ipaddress.ip_address(str(host).partition("%")[0]).is_loopback:
            raise OSError("nothing leaves this machine")


sys.addaudithook(_watch)


@pytest.fixture
def tried() -> Iterator[list[tuple[str, int]]]:
    """Every address that was connected to, or would have been."""
    _watching.append([])
    yield _watching[-1]
    _watching.pop()


class Sentinel:
    """A listener that counts who comes; nobody should."""

    def __init__(self) -> None:
        self.socket = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port: int = self.socket.getsockname()[1]
        self.seen = 0
        self._thread = threading.Thread(target=self._wait, daemon=True)
        self._thread.start()

    def _wait(self) -> None:
        while True:
            try:
                visitor, _ = self.socket.accept()
            except OSError:
                return
            self.seen += 1
            visitor.close()

    def close(self) -> None:
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()
        self._thread.join()


@pytest.fixture
def sentinel() -> Iterator[Sentinel]:
    found = Sentinel()
    yield found
    found.close()


@pytest.fixture(autouse=True)
def resolver(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> dict[str, int]:
    """An attacker's resolver; a host in figures is read by the system's own, and nothing else is asked."""
    asked: dict[str, int] = {}
    real = socket.getaddrinfo

    def look_up(host: Any, port: Any, *more: Any, **options: Any) -> list[Any]:
        name = host.decode() if isinstance(host, bytes) else str(host)
        asked[name] = asked.get(name, 0) + 1
        if name == "rebinding.test":
            answers = ("8.8.8.8",) if asked[name] == 1 else ("127.0.0.1",)
        else:
            answers = BY_NAME.get(name.lower(), (name,))
        flags = socket.AI_NUMERICHOST
        return [one for answer in answers for one in real(answer, port, type=socket.SOCK_STREAM, flags=flags)]

    monkeypatch.setattr(socket, "getaddrinfo", look_up)
    monkeypatch.delenv("INKCAP_DATA", raising=False)
    for name in ("http_proxy", "https_proxy", "all_proxy", "HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / name))
    return asked


class Server:
    """A server on this machine that says, byte by byte, whatever it is told to."""

    def __init__(self) -> None:
        self.say: Callable[[socket.socket], None] = lambda _: None
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=64)
        self.port = self.listener.getsockname()[1]
        self.address = f"http://127.0.0.1:{self.port}/"
        self._thread = threading.Thread(target=self._serve, daemon=True)
        self._thread.start()

    def _serve(self) -> None:
        while True:
            try:
                peer, _ = self.listener.accept()
            except OSError:
                return
            with peer:
                peer.settimeout(5)
                try:
                    peer.recv(65536)
                    self.say(peer)
                except OSError:
                    continue

    def close(self) -> None:
        self.listener.shutdown(socket.SHUT_RDWR)
        self.listener.close()
        self._thread.join(timeout=10)


@pytest.fixture
def server() -> Iterator[Server]:
    found = Server()
    yield found
    found.close()


def refused(base: str) -> str:
    """Fetch from an address, which must fail, soon, with one line and without a file."""
    started = time.monotonic()
    with pytest.raises(DataError) as caught:
        obtain(SET, bases=[base], timeout=LONGEST)
    assert time.monotonic() - started < 60, base
    assert "\n" not in str(caught.value), base
    folder, _ = download.data_folder(SET.name)
    assert not folder.exists() or list(folder.iterdir()) == [], base
    return str(caught.value)


def test_no_address_leads_home(sentinel: Sentinel, tried: list[tuple[str, int]], tally) -> None:
    urls = hostile_urls(sentinel.port)
    assert len(urls) >= 150
    for url in urls:
        refused(url)
        assert [place for place in tried if not is_open(ipaddress.ip_address(place[0].partition("%")[0]))] == [], url
    assert sentinel.seen == 0
    tally("S11", what="addresses", cases=len(urls), connections=sentinel.seen)


def test_no_redirect_leads_home(sentinel: Sentinel, server: Server, tried: list[tuple[str, int]], tally) -> None:
    targets = [url for url in hostile_redirects(sentinel.port) if "\x00" not in url]
    for target in targets:
        text = target.encode("utf-8")
        server.say = lambda peer, text=text: peer.sendall(
            b"HTTP/1.1 302 Found\r\nLocation: " + text + b"\r\nContent-Length: 0\r\nConnection: close\r\n\r\n"
        )
        refused(server.address)
        elsewhere = [place for place in tried if place != ("127.0.0.1", server.port)]
        assert [place for place in elsewhere if not is_open(ipaddress.ip_address(place[0]))] == [], target
    assert sentinel.seen == 0
    tally("S11", what="redirects", cases=len(targets), connections=sentinel.seen)


def test_a_name_is_looked_up_once_and_the_address_that_was_judged_is_taken(
    sentinel: Sentinel, tried: list[tuple[str, int]], resolver: dict[str, int]
) -> None:
    refused(f"https://rebinding.test:{sentinel.port}/")
    assert resolver["rebinding.test"] == 1
    assert tried == [("8.8.8.8", sentinel.port)]
    assert "127.0.0.1, a machine that is not of the open internet" in refused(
        f"https://rebinding.test:{sentinel.port}/"
    )
    assert sentinel.seen == 0


def drip(peer: socket.socket, head: bytes, piece: bytes, seconds: float = 3) -> None:
    peer.sendall(head)
    until = time.monotonic() + seconds
    while time.monotonic() < until:
        peer.sendall(piece)
        time.sleep(0.05)


def flood(peer: socket.socket, head: bytes, piece: bytes) -> None:
    peer.sendall(head)
    for _ in range(2000):
        peer.sendall(piece)


LENGTH = b"HTTP/1.1 200 OK\r\nContent-Length: "
CHUNKED = b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n"
MISBEHAVIOUR: dict[str, Callable[[socket.socket], None]] = {
    "nothing at all": lambda peer: time.sleep(1),
    "closed at once": lambda peer: None,
    "a status line by drops": lambda peer: drip(peer, b"HTTP/1.1 200 ", b"O"),
    "headers by drops": lambda peer: drip(peer, b"HTTP/1.1 200 OK\r\n", b"a: b\r\n"),
    "a body by drops": lambda peer: drip(peer, LENGTH + b"1000\r\n\r\n", b"x"),
    "chunks by drops": lambda peer: drip(peer, CHUNKED, b"1\r\nx\r\n"),
    "continue, for ever": lambda peer: drip(peer, b"", b"HTTP/1.1 100 Continue\r\n\r\n"),
    "an endless body": lambda peer: flood(peer, b"HTTP/1.1 200 OK\r\n\r\n", b"x" * 65536),
    "endless chunks": lambda peer: flood(peer, CHUNKED, b"1000\r\n" + b"x" * 4096 + b"\r\n"),
    "endless headers": lambda peer: flood(peer, b"HTTP/1.1 200 OK\r\n", b"a: " + b"b" * 4096 + b"\r\n"),
    "one endless header": lambda peer: flood(peer, b"HTTP/1.1 200 OK\r\na: ", b"b" * 65536),
    "a length too short": lambda peer: peer.sendall(LENGTH + b"10\r\n\r\n" + b"x" * 10),
    "a length too long": lambda peer: peer.sendall(LENGTH + b"99999999999\r\n\r\n" + b"x" * 10),
    "a body shorter than its length": lambda peer: peer.sendall(LENGTH + b"1000\r\n\r\n" + b"x" * 10),
    "a length that is none": lambda peer: peer.sendall(LENGTH + b"-1\r\n\r\n" + b"x" * 1000),
    "two lengths": lambda peer: peer.sendall(LENGTH + b"1000\r\nContent-Length: 5\r\n\r\n" + b"x" * 1000),
    "a chunk of a wrong size": lambda peer: peer.sendall(CHUNKED + b"zz\r\nx\r\n"),
    "another content": lambda peer: peer.sendall(LENGTH + b"1000\r\n\r\n" + b"x" * 1000),
    "no http": lambda peer: peer.sendall(b"\x16\x03\x01\x02\x00" * 100),
    "a status out of range": lambda peer: peer.sendall(b"HTTP/1.1 99999 X\r\n\r\n"),
    "a redirect to nowhere": lambda peer: peer.sendall(b"HTTP/1.1 302 F\r\nContent-Length: 0\r\n\r\n"),
    "a redirect to itself": lambda peer: peer.sendall(b"HTTP/1.1 302 F\r\nLocation: /x\r\nContent-Length: 0\r\n\r\n"),
}


def test_a_server_that_misbehaves_is_given_up_and_leaves_nothing_behind(
    server: Server, monkeypatch: pytest.MonkeyPatch, tally
) -> None:
    monkeypatch.setattr(download, "_LEAST_RATE", 10_000)
    for say in MISBEHAVIOUR.values():
        server.say = say
        refused(server.address)
    tally("S11", what="servers", cases=len(MISBEHAVIOUR), connections=0)


STORAGE = ("s3://bucket/x.csv", "sftp://127.0.0.1/x", "file:///etc/passwd", "memory://x", "hdfs://127.0.0.1/x")


def test_the_studio_fetches_from_no_address_that_a_request_names(
    sentinel: Sentinel, tried: list[tuple[str, int]], tmp_path: Path, tally
) -> None:
    urls = [*STORAGE, *(url for url in hostile_urls(sentinel.port) if "://" in url and url.strip())][::12]
    app = create_app(tmp_path, 8765, "t" * 43)
    headers = {"authorization": f"Bearer {'t' * 43}"}
    drawing = Drawing("a")
    drawing.add("x", "1D-data", dimension=4)
    drawing.then("y", "1D-softmax", "full", dimension=3)

    async def ask() -> int:
        asked = 0
        transport = httpx.ASGITransport(app)
        async with httpx.AsyncClient(transport=transport, base_url="http://127.0.0.1:8765", headers=headers) as client:
            made = await client.post("/api/drawings", json={"name": "a", "text": drawing.to_text()})
            at = f"/api/drawings/{made.json()['id']}"
            for url in urls:
                for data in (url, f"iris, {url}"):
                    varied = {"data": "iris", "space": {"recipe.data.name": ["iris", data]}}
                    for path, body in (
                        (f"{at}/train", {"data": data}),
                        (f"{at}/train", {"data": {"name": data}}),
                        (f"{at}/places", {"data": data}),
                        (f"{at}/sweep", {"data": data, "space": {"recipe.batch": [1, 2]}}),
                        (f"{at}/sweep", varied),
                        ("/api/data/preview", {"name": data}),
                    ):
                        answer = await client.post(path, json=body)
                        asked += 1
                        assert 400 <= answer.status_code < 500, (path, body, answer.status_code)
                        assert "fetches nothing from URLs" in answer.text, (path, body, answer.text)
        for id in list(app.state.hub._live):
            async with app.state.hub.closed(id):
                pass
        return asked

    asked = asyncio.run(ask())
    app.state.hub.close()
    assert sentinel.seen == 0
    assert tried == []
    assert list((tmp_path / ".inkcap").glob("trainings/*")) == []
    tally("S11", what="requests to the studio", cases=asked, connections=0)


def test_the_judge_sees_a_fetcher_that_trusts_names(sentinel: Sentinel, monkeypatch: pytest.MonkeyPatch) -> None:
    class Careless(http.client.HTTPSConnection):
        def __init__(self, host: str, *, deadline: float, **options: Any) -> None:
            super().__init__(host, **options)

    monkeypatch.setattr(download, "OpenConnection", Careless)
    refused(f"https://home.test:{sentinel.port}/")
    refused(f"https://127.0.0.1:{sentinel.port}/")
    for _ in range(100):
        if sentinel.seen == 2:
            break
        time.sleep(0.02)
    assert sentinel.seen == 2
