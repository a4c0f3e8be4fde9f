"""Campaign S9: in a real browser that is signed in to the studio, pages of others can change and read nothing."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from browsing import chromium
from gate_sensors import PRELUDE, passed
from serving import Server
from workspace_state import settled_state, state_of

ATTACKS = Path(__file__).with_name("attacks.js")
PAGE = "<!doctype html><title>prizes</title><body><script src='/attacks.js'></script>"
NULL = (
    f"<!doctype html><body><iframe name=null sandbox='allow-scripts allow-forms allow-popups' src='/'></iframe>{PAGE}"
)
CANARY = "a-drawing-that-only-its-owner-knows"
REFUSAL = "This is not the studio's address: open the one that it printed when it started."
PATIENCE = 120_000

SWITCHES = (
    "--host-resolver-rules=MAP evil.test 127.0.0.1, MAP *.evil.test 127.0.0.1",
    # The browser's own walls are taken down where it has such switches: what stands then is the studio's.
    "--disable-features=LocalNetworkAccessChecks,LocalNetworkAccessChecksWebSockets,LocalNetworkAccessChecksWebRTC,"
    "BlockInsecurePrivateNetworkRequests,PrivateNetworkAccessSendPreflights,HttpsUpgrades,PaintHolding",
    "--disable-popup-blocking",
    "--autoplay-policy=no-user-gesture-required",
)
NEVER_SENT = {"worker", "service-worker", "fetch-same-origin"}
"""Refused by the browser for another origin; the re-pointed name is of the same origin and sends them."""


class Attacker(BaseHTTPRequestHandler):
    """The server of someone else: the page of the attacks, redirections, and a page that reports to the studio."""

    protocol_version = "HTTP/1.1"

    def answer(self) -> None:
        """Serve any path by any method."""
        self.rfile.read(int(self.headers.get("content-length") or 0))
        asked = urlsplit(self.path)
        to = parse_qs(asked.query).get("to", [""])[0]
        pages = {"/attacks.js": ATTACKS.read_text(), "/null": NULL}
        body = pages.get(asked.path, PAGE).encode()
        if asked.path == "/reporting":
            body = b"<!doctype html><body><img src='/forbidden'>"
        self.send_response({"/redirect": 302, "/again": 307}.get(asked.path, 200))
        if asked.path in ("/redirect", "/again"):
            self.send_header("Location", to)
            self.send_header("Access-Control-Allow-Origin", self.headers.get("origin") or "*")
            self.send_header("Access-Control-Allow-Credentials", "true")
        elif asked.path == "/reporting":
            self.send_header("Content-Security-Policy", f"img-src 'none'; report-uri {to}")
        self.send_header("Content-Type", "text/javascript" if asked.path.endswith(".js") else "text/html")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = do_OPTIONS = answer  # noqa: N815

    def log_message(self, *_: Any) -> None:
        """Say nothing."""


@contextmanager
def attacker() -> Iterator[int]:
    """Serve the attacker's site under every name of this machine; give its port."""
    with ThreadingHTTPServer(("127.0.0.1", 0), Attacker) as server:
        server.daemon_threads = True
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield server.server_port
        finally:
            server.shutdown()
            thread.join()


def places(studio: Server, port: int) -> dict[str, str]:
    """Where the attacks come from, by a tag: a page, or a frame of it that has no origin."""
    return {
        "same-site": f"http://127.0.0.1:{port}/",
        "cross-site": f"http://evil.test:{port}/",
        "local": f"http://localhost:{port}/",
        "null": f"http://evil.test:{port}/null",
        "rebinding": f"http://evil.test:{studio.port}/",
    }


def serving(body: str, kind: str) -> Callable[[Any], None]:
    """Answer a request in the place of the network."""
    return lambda route: route.fulfill(body=body, content_type=kind)


def attack_from(context: Any, tag: str, address: str, here: dict[str, str]) -> dict[str, str]:
    """Open the attacker's page and run every attack from it; give what each could read."""
    page = context.new_page()
    page.set_default_timeout(PATIENCE)
    if tag == "rebinding":
        # The name led to the attacker when the page came, and leads to the studio for all that follows.
        context.route(address, serving(PAGE, "text/html"))
        context.route(f"{address}attacks.js", serving(ATTACKS.read_text(), "text/javascript"))
    page.goto(address)
    frame = page.frame("null") if tag == "null" else page.main_frame
    frame.wait_for_function("typeof attackAll === 'function'")
    origin = frame.evaluate("self.origin")
    assert origin == ("null" if tag == "null" else address.rstrip("/"))
    read = frame.evaluate("attackAll", {**here, "tag": tag})
    context.unroute_all()
    page.close()
    return read


OWN = """async ({id}) => {
  const kind = {"Content-Type": "application/json"};
  const fetched = await (await fetch("/api/workspace")).text();
  const asked = new XMLHttpRequest();
  asked.open("GET", `/api/drawings/${id}/file`, false);
  asked.send();
  const post = {method: "POST", headers: kind, body: JSON.stringify({name: "by-fetch"})};
  const made = (await fetch("/api/drawings", post)).status;
  const blob = new Blob(['{"name": "by-beacon"}'], {type: "application/json"});
  const beacon = navigator.sendBeacon("/api/drawings", blob);
  const image = new Image();
  image.src = `/api/drawings/${id}/picture.svg`;
  const seen = await new Promise((done) => {
    image.onload = () => done("seen");
    image.onerror = () => done("refused");
  });
  const live = new WebSocket(`ws://${location.host}/api/drawings/${id}/live`);
  const client = "0".repeat(32);
  live.onopen = () => live.send(JSON.stringify({type: "hello", client, seen: null}));
  const state = await new Promise((done) => {
    live.onmessage = (message) => done(message.data);
    live.onerror = live.onclose = () => done("refused");
  });
  live.close();
  return {fetched, asked: asked.responseText, made, beacon, seen, state};
}"""


def own_page_can(page: Any, studio: Server, id: str) -> None:
    """The same kinds of requests, from the studio's own page: they succeed, so that the attacks are not dead ones."""
    got = page.evaluate(OWN, {"id": id})
    assert CANARY in got["fetched"]
    assert CANARY in got["asked"]
    assert '"state"' in got["state"]
    assert (got["made"], got["seen"], got["beacon"]) == (200, "seen", True)
    with studio.client() as client:
        end = time.monotonic() + 60
        while "by-beacon" not in (names := client.get("/api/workspace").text) and time.monotonic() < end:
            time.sleep(0.1)
    assert "by-fetch" in names
    assert "by-beacon" in names


@pytest.fixture
def studio(tmp_path: Path) -> Iterator[Server]:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    with Server(workspace, before=PRELUDE.format(notes=str(tmp_path / "passed.jsonl"))) as server:
        yield server


def run_campaign(studio: Server, notes: Path, tags: tuple[str, ...]) -> dict[str, int]:
    # Service workers and caches are for secure origins alone, which the re-pointed name is declared to be.
    secure = f"--unsafely-treat-insecure-origin-as-secure=http://evil.test:{studio.port}"
    with chromium(*SWITCHES, secure) as browser, attacker() as port:
        with studio.client() as client:
            id = client.post("/api/drawings", json={"name": CANARY}).json()["id"]
        context = browser.new_context()
        own = context.new_page()
        own.set_default_timeout(PATIENCE)
        own.goto(f"{studio.address}?code={studio.code}", wait_until="domcontentloaded")
        assert own.evaluate("fetch('/api/workspace').then((answer) => answer.status)") == 200
        before, here = settled_state(studio), {"studio": studio.address.rstrip("/"), "id": id}
        read: dict[str, str] = {}
        for tag, address in places(studio, port).items():
            if tag in tags:
                target = {"studio": address.rstrip("/")} if tag == "rebinding" else {}
                told = attack_from(context, tag, address, {**here, "own": f"http://127.0.0.1:{port}", **target})
                read |= {f"{tag}.{name}": text for name, text in told.items()}
        assert settled_state(studio) == before
        own_page_can(own, studio, id)
        assert state_of(studio) != before  # what is compared does see a change
        context.close()
    judge(read, notes)
    return {"scenarios": len(read), "kinds": len({name.partition(".")[2] for name in read}), "origins": len(tags)}


def judge(read: dict[str, str], notes: Path) -> None:
    """Nothing was read, nothing got behind the gate, and every kind of attack did come to the gate."""
    leaks = {name: text[:200] for name, text in read.items() if text and not harmless(name, text)}
    assert leaks == {}
    tagged = [(parse_qs(one.query).get("attack", [""])[0], one) for one in passed(notes)]
    assert [one for name, one in tagged if name and one.behind] == []
    came = {name for name, _ in tagged if name}
    assert came <= read.keys()
    kinds = {name.partition(".")[2] for name in read}
    arrived = {name.partition(".")[2] for name in came}
    assert kinds - arrived - NEVER_SENT == set()
    rebound = {name.partition(".")[2] for name in came if name.startswith("rebinding.")}
    assert not rebound or rebound >= NEVER_SENT


def harmless(name: str, text: str) -> bool:
    """A re-pointed name may read the sentence that refuses it, which is all it gets."""
    return name.startswith("rebinding.") and text in (f'{{"detail": "{REFUSAL}"}}', f"{REFUSAL}\n", REFUSAL)


def test_a_leak_and_a_breach_are_noticed(tmp_path: Path) -> None:
    notes, read = tmp_path / "passed.jsonl", {"same-site.image": "", "null.request": ""}
    lines = [[False, "http", "GET", "/api/runs", f"attack={name}", {}] for name in read]
    notes.write_text("".join(f"{json.dumps(line)}\n" for line in lines))
    judge(read, notes)
    with pytest.raises(AssertionError, match="it loaded"):
        judge({**read, "same-site.image": "it loaded"}, notes)
    with pytest.raises(AssertionError, match=r"null\.request"):
        judge({**read, "null.request": REFUSAL}, notes)
    assert harmless("rebinding.request", f'{{"detail": "{REFUSAL}"}}')
    with pytest.raises(AssertionError, match="frame"):
        judge({**read, "null.frame": ""}, notes)  # it never came to the gate
    notes.write_text(json.dumps([True, *lines[0][1:]]))
    with pytest.raises(AssertionError, match="behind=True"):
        judge({"same-site.image": ""}, notes)


def test_other_pages_change_and_read_nothing(studio: Server, tmp_path: Path, tally: Callable[..., None]) -> None:
    figures = run_campaign(studio, tmp_path / "passed.jsonl", ("same-site", "rebinding"))
    assert figures["kinds"] >= 40
    tally("S9", **figures, state_changes=0, bytes_read=0)


@pytest.mark.soak
def test_other_pages_of_every_origin_change_and_read_nothing(
    studio: Server, tmp_path: Path, tally: Callable[..., None]
) -> None:
    every = ("same-site", "cross-site", "local", "null", "rebinding")
    tally("S9", **run_campaign(studio, tmp_path / "passed.jsonl", every), state_changes=0, bytes_read=0)
