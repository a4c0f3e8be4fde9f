"""S3: bombs through their real doors into a real studio: one sentence each, little memory, and it goes on serving."""

from __future__ import annotations

import os
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import httpx
import pytest
from bomb_doors import Meter, Taken, ask_raw, frames, open_live, requests, send
from bombs import Bomb, bombs, models
from serving import Server

SECONDS = 5.0
"""Of the server's own processor for one bomb."""
PATIENCE = 180.0
"""Of the clock: the machine may do other things."""
MEMORY = 64 * 2**20


@pytest.fixture(scope="module")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Server, httpx.Client, str]]:
    workspace = tmp_path_factory.mktemp("bombs") / "workspace"
    workspace.mkdir()
    with Server(workspace) as server, server.client() as client:
        client.timeout = PATIENCE
        id = client.post("/api/drawings", json={"name": "small", "zoo": "mlp"}).json()["id"]
        # What is loaded once for all is loaded before anything is counted.
        for path in ("report", "picture.svg"):
            client.get(f"/api/drawings/{id}/{path}")
        client.post("/api/data/preview", json={"name": "iris"})
        yield server, client, id
        code, _, errors = server.stop()
        assert code == 0
        # uvicorn itself notes text that is none; a fault of the studio's own would be told otherwise.
        assert "Exception in ASGI application" not in errors
        assert " failed" not in errors


class Count:
    """Counts what bombs took."""

    def __init__(self) -> None:
        self.number, self.memory, self.computing, self.waited = 0, 0, 0.0, 0.0
        self.wrong: list[str] = []

    def note(self, name: str, taken: Taken, wrong: str = "") -> None:
        """Count one bomb; what is wrong about it is told with all others."""
        self.number += 1
        self.memory = max(self.memory, taken.memory)
        self.computing, self.waited = max(self.computing, taken.computing), max(self.waited, taken.waited)
        if wrong:
            self.wrong.append(f"{name}: {wrong}")
        if taken.memory > MEMORY:
            self.wrong.append(f"{name}: the server took {taken.memory / 2**20:.0f} MB more")
        if taken.computing > SECONDS or taken.waited > PATIENCE:
            self.wrong.append(f"{name}: {taken.computing:.1f} s of computing, {taken.waited:.1f} s of waiting")

    def tell(self, tally: Callable[..., None], door: str) -> None:
        tally(
            "S3",
            door=door,
            bombs=self.number,
            broken=len(self.wrong),
            memory_mb=self.memory // 2**20,
            longest_s=round(self.computing, 2),
            waited_s=round(self.waited, 1),
        )
        assert not self.wrong, "\n".join(self.wrong)


def _wrong(bomb: Bomb, status: int, words: str) -> str:
    if bomb.harmless and status == 200:
        return ""
    if not 400 <= status < 500:
        return f"answered {status} {words[:200]}"
    if not words or "\n" in words.strip() or len(words) > 1500 or "Traceback" in words:
        return f"no clear sentence: {words[:300]!r}"
    return ""


def _explode(studio: tuple[Server, httpx.Client, str], chosen: tuple[Bomb, ...]) -> Count:
    server, client, _ = studio
    meter, count = Meter(server.process.pid), Count()
    for number, bomb in enumerate(chosen):
        meter.begin()
        status, words = send(client, bomb, number)
        count.note(f"{bomb.name} as {bomb.door}", meter.end(), _wrong(bomb, status, words))
        assert client.get("/api/recipes/fields").status_code == 200
    return count


def test_some_drawings_bodies_pictures_and_data_are_refused(studio, tally) -> None:
    _explode(studio, bombs()[::3]).tell(tally, "requests")


@pytest.mark.soak
def test_all_drawings_bodies_pictures_and_data_are_refused(studio, tally) -> None:
    _explode(studio, bombs()).tell(tally, "requests")


@pytest.mark.soak
def test_models_are_refused(studio, tally) -> None:
    """Each starts two processes of its own, which takes seconds; every day the campaigns S5 and S10 read models."""
    _explode(studio, tuple(models())).tell(tally, "imports")


def test_requests_that_lie_are_refused(studio, tally) -> None:
    server, client, _ = studio
    meter, count = Meter(server.process.pid), Count()
    for name, content in requests(server):
        meter.begin()
        status = ask_raw(server.port, content)
        # Without a word the connection is closed where nothing that came was HTTP.
        count.note(name, meter.end(), "" if status == 0 or 400 <= status < 500 else f"answered {status}")
    assert client.get("/api/recipes/fields").status_code == 200
    count.tell(tally, "raw requests")


def test_frames_are_refused(studio, tally) -> None:
    server, client, id = studio
    meter, count = Meter(server.process.pid), Count()
    for name, content in frames():
        meter.begin()
        heard = open_live(server, id, content, packed=name.startswith("packed"))
        # An answer to another means that it is through with this.
        assert client.get("/api/recipes/fields").status_code == 200, name
        taken = meter.end()
        count.note(name, taken, "" if heard.startswith(b"HTTP/1.1 101") else f"no handshake: {heard[:100]!r}")
        assert b"permessage-deflate" not in heard.lower(), "what is packed could unpack to a thousand times as much"
    count.tell(tally, "live connection")


def test_whoever_is_cut_off_is_told_why(studio) -> None:
    _, client, _ = studio
    bodies = {
        "lists and objects": b"[" + b"{}," * 400_000,
        "keys": b"{" + b'"a":0,' * 700_000,
        "bytes": b" " * 17 * 2**20,
    }
    for word, body in bodies.items():
        answer = client.post(
            "/api/drawings", content=iter([body[:1000], body[1000:]]), headers={"content-type": "application/json"}
        )
        assert (answer.status_code, word in answer.json()["detail"]) == (413, True), answer.text


def test_there_are_enough_of_them(studio) -> None:
    assert len(bombs()) + len(list(requests(studio[0]))) + len(list(frames())) >= 120


@pytest.mark.parametrize("command", ["check", *(pytest.param(one, marks=pytest.mark.soak) for one in ("show", "code"))])
def test_commands_refuse_them_in_one_line(run, tmp_path, command) -> None:
    refused = 0
    for bomb in bombs():
        if bomb.door != "drawing" or bomb.harmless:
            continue
        path = Path(tmp_path, f"{bomb.name}.inkcap.json")
        path.write_bytes(bomb.content)
        started = time.process_time()
        answer = run(command, path)
        assert answer.code != 0, bomb.name
        assert answer.err.strip(), bomb.name
        assert "Traceback" not in answer.err, bomb.name
        assert time.process_time() - started < SECONDS, bomb.name
        refused += 1
        os.unlink(path)
    assert refused > 20


def test_the_meter_sees_memory_and_time() -> None:
    meter = Meter(os.getpid())
    meter.begin()
    held = bytearray(os.urandom(1) * (100 * 2**20))
    while time.process_time() < 0.2:
        pass
    taken = meter.end()
    assert len(held) < taken.memory < 2 * len(held)
    count = Count()
    count.note("planted", taken)
    count.note("silent", Taken(0, 0, 0), _wrong(Bomb("x", "body", b""), 500, ""))
    count.note("slow", Taken(0, SECONDS + 1, 0))
    assert len(count.wrong) == 3
