"""The doors through which bombs go into a real studio, and what its process took meanwhile."""

from __future__ import annotations

import base64
import os
import socket
import struct
import time
from collections.abc import Iterator
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

import httpx
from bombs import MEGA, Bomb, as_request
from serving import Server

JSON = {"content-type": "application/json"}
BYTES = {"content-type": "application/octet-stream"}
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Taken:
    """What the server's process took for one bomb."""

    memory: int
    """Bytes beyond what it had before."""
    computing: float
    """Seconds of the processor."""
    waited: float


class Meter:
    """Reads the memory and the time of a process from the system."""

    def __init__(self, pid: int) -> None:
        self._folder = Path(f"/proc/{pid}")

    def begin(self) -> None:
        """Forget the highest memory so far."""
        (self._folder / "clear_refs").write_text("5")
        self._before, self._computed, self._at = self._memory("VmRSS"), self._computing(), time.monotonic()

    def end(self) -> Taken:
        """Tell what came on top since."""
        grown = self._memory("VmHWM") - self._before
        return Taken(grown, self._computing() - self._computed, time.monotonic() - self._at)

    def _memory(self, name: str) -> int:
        line = next(line for line in (self._folder / "status").read_text().splitlines() if line.startswith(name))
        return int(line.split()[1]) * 1024

    def _computing(self) -> float:
        words = (self._folder / "stat").read_text().rpartition(")")[2].split()
        return (int(words[11]) + int(words[12])) / TICKS


def send(client: httpx.Client, bomb: Bomb, number: int) -> tuple[int, str]:
    """Send a bomb through its door; give the status and the sentence."""
    if bomb.door in ("drawing", "body", "picture"):
        answer = client.post("/api/drawings", content=as_request(bomb), headers=JSON)
        if answer.status_code == 200:
            # What is taken must still be told of, and shown, within the limits.
            of = f"/api/drawings/{answer.json()['id']}"
            for path in ("report", "picture.svg"):
                answer = client.get(f"{of}/{path}")
                assert answer.status_code < 500, answer.text
            return 200, ""
        return answer.status_code, answer.json()["detail"]
    if bomb.door == "model":
        answer = client.post("/api/imports", params={"name": "Mine"}, content=bomb.content, headers=BYTES)
        return answer.status_code, answer.json().get("detail", "")
    return _data(client, bomb, number)


def _data(client: httpx.Client, bomb: Bomb, number: int) -> tuple[int, str]:
    """Upload a file and look into it, as the page does."""
    folder = f"bomb{number}"
    place = f"{folder}/zero" if bomb.door == "data pictures" else folder
    sent = {"name": bomb.file, "folder": place}
    answer = client.post("/api/data/upload", params=sent, content=bomb.content, headers=BYTES)
    if answer.status_code != 200:
        return answer.status_code, answer.json()["detail"]
    if bomb.door == "data pictures":
        # A folder of pictures has two classes at least.
        again = {"name": bomb.file, "folder": f"{folder}/one"}
        client.post("/api/data/upload", params=again, content=bomb.content, headers=BYTES)
    name = f"data/{folder}" if bomb.door == "data pictures" else answer.json()["name"]
    if "images" in bomb.file:
        labels = {"name": bomb.file.replace("images", "labels").replace("idx3", "idx1"), "folder": folder}
        client.post("/api/data/upload", params=labels, content=b"\x00\x00\x08\x01\x00\x00\x00\x00", headers=BYTES)
        name = f"{name},data/{folder}/{labels['name']}"
    answer = client.post("/api/data/preview", json={"name": name})
    told = answer.json()
    # A look into data tells what is wrong with them in words.
    return (409, told["problem"]) if told.get("problem") else (answer.status_code, told.get("detail", ""))


# Raw requests ----------------------------------------------------------------------------------------------------


def requests(server: Server) -> Iterator[tuple[str, bytes]]:
    """Requests as no client writes them: lengths that lie, bodies that never end, ranges, many headers."""
    host = f"Host: 127.0.0.1:{server.port}\r\nAuthorization: Bearer {server.token}\r\n".encode()
    post = b"POST /api/drawings HTTP/1.1\r\n" + host + b"Content-Type: application/json\r\n"
    get = b"GET /api/zoo HTTP/1.1\r\n" + host
    chunked = post + b"Transfer-Encoding: chunked\r\n\r\n"
    form = post.replace(b"application/json", b"multipart/form-data; boundary=x")
    body = b'{"name":"x"}'
    yield "length-beyond", post + b"Content-Length: 99999999999999999999\r\n\r\n" + body
    yield "length-of-4-gib", post + b"Content-Length: 4294967296\r\n\r\n" + body
    yield "length-negative", post + b"Content-Length: -1\r\n\r\n" + body
    yield "length-in-words", post + b"Content-Length: many\r\n\r\n" + body
    yield "two-lengths", post + b"Content-Length: 12\r\nContent-Length: 13\r\n\r\n" + body
    yield "length-and-chunks", post + b"Content-Length: 3\r\nTransfer-Encoding: chunked\r\n\r\nzz\r\n"
    yield "chunk-of-4-gib", chunked + b"fffffffff\r\n" + b"x" * 1000
    yield "chunk-beyond", chunked + b"f" * 400 + b"\r\n"
    yield "chunk-extension", chunked + b"1;" + b"a" * 200_000 + b"\r\nx\r\n0\r\n\r\n"
    yield "endless-chunks", chunked + (b"10000\r\n" + b" " * 65536 + b"\r\n") * 300
    yield "tiny-chunks", chunked + b"1\r\n \r\n" * 15_000 + b"0\r\n\r\n"
    yield "trailer", chunked + b"0\r\n" + b"a: b\r\n" * 20_000 + b"\r\n"
    yield "unknown-encoding", post + b"Transfer-Encoding: gzip, chunked\r\n\r\n0\r\n\r\n"
    yield "gzip", post + b"Content-Encoding: gzip\r\nContent-Length: 12\r\n\r\n" + body[:11] + b"\xff"
    yield "many-parts", form + b"Content-Length: 60000\r\n\r\n" + b"--x\r\n\r\n\r\n" * 6_000
    yield "form", post.replace(b"json", b"x-www-form-urlencoded") + b"Content-Length: 40000\r\n\r\n" + b"a&" * 20_000
    yield "long-header", get + b"Cookie: " + b"a" * 60_000 + b"\r\n\r\n"
    yield "many-headers", get + b"".join(b"X-%d: y\r\n" % n for n in range(4_000)) + b"\r\n"
    yield "header-without-end", get + b"X: " + b"a" * 400_000
    yield "long-path", b"GET /api/" + b"a/" * 100_000 + b" HTTP/1.1\r\n" + host + b"\r\n"
    yield "long-query", b"GET /api/zoo?search=" + b"a" * 60_000 + b" HTTP/1.1\r\n" + host + b"\r\n"
    yield "many-parameters", b"GET /api/nothing?" + b"a=b&" * 14_000 + b" HTTP/1.1\r\n" + host + b"\r\n"
    ranges = b"Range: bytes=" + b",".join(b"%d-%d" % (n, n + 1) for n in range(1_500)) + b"\r\n\r\n"
    yield "many-ranges", get.replace(b"zoo", b"exports/00000000000000000000000000000000/x") + ranges
    yield "upgrade", get + b"Connection: Upgrade\r\nUpgrade: websocket\r\nSec-WebSocket-Version: 13\r\n\r\n"
    yield "old-version", b"GET /api/zoo HTTP/0.9\r\n\r\n"
    yield "no-http", b"\x16\x03\x01" + b"\xff" * 60_000
    yield "null-bytes", b"GET /api/zoo HTTP/1.1\r\nHost: \x00\r\n\r\n"
    yield "bare-lines", b"\n" * 200_000


def ask_raw(port: int, content: bytes, patience: float = 30) -> int:
    """Send bytes and read the status of the answer; 0 where the server hangs up without one."""
    with socket.create_connection(("127.0.0.1", port), timeout=patience) as link:
        with suppress(OSError):
            # It may have hung up already, perhaps with an answer.
            link.sendall(content)
        try:
            link.shutdown(socket.SHUT_WR)
            found = link.recv(4096)
        except OSError:
            return 0
    words = found.split(b" ", 2)
    return int(words[1]) if len(words) > 2 and words[1].isdigit() else 0


# The live connection ---------------------------------------------------------------------------------------------


def _frame(content: bytes, kind: int = 1, last: bool = True, length: int | None = None) -> bytes:
    count = len(content) if length is None else length
    head = bytes([(128 if last else 0) | kind])
    if count < 126:
        head += bytes([128 | count])
    elif count < 65536:
        head += bytes([128 | 126]) + struct.pack(">H", count)
    else:
        head += bytes([128 | 127]) + struct.pack(">Q", count)
    # A mask of zeros changes nothing.
    return head + b"\0\0\0\0" + content


HELLO = b'{"type":"hello","client":"bombardier","seen":null}'


def frames() -> Iterator[tuple[str, bytes]]:
    """What a tab could send: lengths that lie, fragments without end, floods, messages that are deep or long."""
    hello = _frame(HELLO)
    edit = b'{"type":"edit","number":1,"edit":{"label":"x","patches":'
    yield "length-beyond", _frame(b"", length=2**62)
    yield "length-of-a-gib", _frame(b"x" * 1000, length=2**30)
    yield "just-too-long", _frame(b" " * 1000, length=64 * MEGA + 1)
    yield "long-first", _frame(b'"' + b"x" * 15 * MEGA + b'"')
    yield "fragments", _frame(b"[", last=False) + _frame(b"[", 0, last=False) * 50_000
    yield "large-fragments", _frame(b"x" * MEGA, last=False) + _frame(b"x" * MEGA, 0, last=False) * 20
    yield "pings", hello + _frame(b"x" * 125, 9) * 5_000
    yield "long-ping", _frame(b"x" * 5000, 9)
    yield "unmasked", bytes([129, 5]) + b"hello"
    yield "reserved", bytes([0xF1, 128, 0, 0, 0, 0])
    yield "unknown-kind", _frame(b"x", 11)
    yield "packed-without-asking", bytes([0xC1]) + _frame(b"\x00" * 100)[1:]
    yield "not-text", _frame(b"\xff\xfe")
    yield "deep-hello", _frame(b"[" * MEGA)
    yield "deep", hello + _frame(b"[" * MEGA)
    yield "deep-edit", hello + _frame(edit + b"[" * 500_000 + b"]" * 500_000 + b"}}")
    yield "objects", hello + _frame(edit + b"[" + b"{}," * MEGA + b"{}]}}")
    yield "numbers", hello + _frame(edit + b"[" + b"0," * (2 * MEGA) + b"0]}}")
    yield "same-key", hello + _frame(b"{" + b'"a":0,' * 300_000 + b'"a":0}')
    yield "binary", hello + _frame(b"\x00" * 10 * MEGA, 2)
    yield "many-messages", hello + _frame(b'{"type":"ping"}') * 1_000
    yield "many-wrong", hello + _frame(b"{}") * 1_000


def open_live(server: Server, drawing: str, content: bytes, packed: bool = False, patience: float = 30) -> bytes:
    """Open the live connection of a drawing, send frames, and read what comes back until it falls silent."""
    key = base64.b64encode(os.urandom(16)).decode()
    more = "Sec-WebSocket-Extensions: permessage-deflate\r\n" if packed else ""
    head = (
        f"GET /api/drawings/{drawing}/live HTTP/1.1\r\nHost: 127.0.0.1:{server.port}\r\n"
        f"Authorization: Bearer {server.token}\r\nConnection: Upgrade\r\nUpgrade: websocket\r\n"
        f"Sec-WebSocket-Version: 13\r\nSec-WebSocket-Key: {key}\r\n{more}\r\n"
    )
    heard = b""
    with socket.create_connection(("127.0.0.1", server.port), timeout=patience) as link:
        link.sendall(head.encode())
        while b"\r\n\r\n" not in heard:
            heard += link.recv(4096)
        try:
            link.settimeout(patience)
            link.sendall(content)
            link.settimeout(0.5)
            while piece := link.recv(65536):
                heard = heard[:2000] + piece
        except OSError:
            pass
    return heard
