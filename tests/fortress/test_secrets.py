"""S13. The token and the cookie stand where they must and nowhere else, whatever a studio is asked for."""

from __future__ import annotations

import sqlite3
import time
from collections.abc import Iterator
from contextlib import suppress
from pathlib import Path
from typing import Any

import httpx
import pytest
from dying import Chromium
from processes import descendants
from serving import Server, Tab, place
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect

from browser import find_chromium
from inkcap.drawing import Drawing

CRASHES = """
from inkcap.studio.hub import Hub
row = Hub.row
def crash(self, id, *more):
    if id == "crash":
        raise RuntimeError("a fault of ours")
    return row(self, id, *more)
Hub.row = crash
"""
"""A handler that fails as a fault of the studio would."""


def drawn() -> str:
    drawing = Drawing("Secrets")
    drawing.add("x", "1D-data", dimension=4)
    drawing.then("y", "1D-softmax", dimension=3)
    return drawing.to_text()


class Search:
    """Looks for the secrets of a studio in whatever comes out of it."""

    def __init__(self, server: Server) -> None:
        self.secrets = {"token": server.token.encode(), "code": server.code.encode()}
        self.places = 0
        self.bytes = 0
        self.found: list[str] = []

    def look(self, where: str, content: bytes | str) -> None:
        """Note whether a text holds one of them."""
        given = content.encode(errors="surrogateescape") if isinstance(content, str) else content
        self.places += 1
        self.bytes += len(given)
        self.found += [f"the {name} is in {where}" for name, secret in self.secrets.items() if secret in given]

    def answer(self, answer: httpx.Response) -> httpx.Response:
        """Look into an answer; only the one that signs in may set the cookie."""
        for key, value in answer.headers.multi_items():
            if not (key == "set-cookie" and answer.status_code == 303):
                self.look(f"the header {key} of {answer.url.path}", value)
        self.look(f"the answer to {answer.request.method} {answer.url.path}", answer.content)
        return answer

    def processes(self, root: int) -> int:
        """Look at the words and the environment of a process and of all that it has started."""
        seen = [root, *(pid for pid, _ in descendants(root))]
        for pid in seen:
            for part in ("cmdline", "environ"):
                with suppress(OSError):
                    self.look(f"{part} of process {pid}", Path(f"/proc/{pid}/{part}").read_bytes())
        return len(seen)

    def files(self, folder: Path) -> None:
        """Look into every file but the one that keeps the token, and at every name."""
        for path in folder.rglob("*"):
            self.look("the name of a file", str(path))
            if path.is_file() and path.suffix != ".token":
                with suppress(OSError):
                    self.look(f"the file {path.relative_to(folder)}", path.read_bytes())


def bad_requests(server: Server, browser: httpx.Client) -> Iterator[httpx.Response]:
    """Ask what is refused, with the secrets where people put them by mistake."""
    token, code = server.token, server.code
    yield browser.get("/", params={"code": code})
    yield browser.get("/api/workspace", headers={"authorization": f"Bearer {token}x"})
    yield browser.get("/api/workspace", headers={"authorization": token})
    yield browser.get("/api/nothing", params={"token": token}, headers={"referer": f"{server.address}?code={code}"})
    yield browser.post("/api/drawings", headers={"authorization": f"Bearer {token}"}, content=b"{")
    yield browser.post("/api/drawings", headers={"authorization": f"Bearer {token}"}, json={"name": 3})
    yield browser.get("/api/workspace", headers={"host": "evil.test", "authorization": f"Bearer {token}"})
    yield browser.get("/", headers={"cookie": "x" * 20_000 + token})
    yield browser.get("/api/drawings/crash/report", headers={"authorization": f"Bearer {token}"}, params={"t": token})


def use(server: Server, search: Search, computing: bool) -> None:
    """Do what people do with a studio in a day, and some of what they should not."""
    with httpx.Client(base_url=server.address, trust_env=False, timeout=300) as browser:
        signed = search.answer(browser.get("/", params={"code": server.code}))
        assert signed.status_code == 303
        assert server.token in signed.headers["set-cookie"], "the oracle knows the secret that is looked for"
        browser.headers["sec-fetch-site"] = "same-origin"
        for path in ("/", "/api/workspace", "/api/openapi.json", "/api/catalogue", "/api/runs", "/api/sweeps"):
            assert search.answer(browser.get(path)).status_code == 200
        id = search.answer(browser.post("/api/drawings", json={"name": "s", "text": drawn()})).json()["id"]
        with Tab(server, id) as tab:
            search.look("a message", str([tab.state, tab.edit(place("x", 10, 20)), tab.edit({"put": "no"})]))
        with suppress(InvalidStatus), connect(f"ws://127.0.0.1:{server.port}/api/drawings/{id}/live", proxy=None):
            raise AssertionError("a socket without a token was opened")
        for part in ("file", "picture.svg", "picture.png", "figure.svg", "report", "history", "layout"):
            assert search.answer(browser.get(f"/api/drawings/{id}/{part}")).status_code == 200
        if computing:
            made = search.answer(browser.post(f"/api/drawings/{id}/export", json={"to": "torch"})).json()
            for file in made["files"]:
                search.answer(browser.get(f"/api/exports/{made['token']}/{file['name']}"))
            search.answer(browser.get(f"/api/drawings/{id}/code"))
        recipe = {"data": {"name": "iris"}, "recipe": {"epochs": 1}}
        run = search.answer(browser.post(f"/api/drawings/{id}/train", json=recipe)).json()["run"]
        assert search.processes(server.process.pid) > 1, "the process that trains was looked at"
        end = time.monotonic() + 300
        state = ""
        while state not in ("finished", "failed") and time.monotonic() < end:
            time.sleep(0.3)
            state = search.answer(browser.get(f"/api/runs/{run}")).json()["state"]
        assert state == "finished"
    with httpx.Client(base_url=server.address, trust_env=False, timeout=300) as stranger:
        statuses = [search.answer(answer).status_code for answer in bad_requests(server, stranger)]
    assert all(400 <= status < 500 for status in statuses[:-1]), statuses
    assert statuses[-1] == 500, "the handler crashed"


def look_around(server: Server, search: Search, folder: Path) -> None:
    """Stop the studio, and look at what it printed and at every file that it left."""
    _, printed, errors = server.stop()
    assert "a fault of ours" in errors, "the crash was logged"
    search.look("what it printed after its link", printed)
    search.look("its log", errors)
    for line in server.lines[:-1]:
        search.look("what it printed before its link", line)
    search.files(folder)


@pytest.mark.parametrize(
    "computing", [pytest.param(False, id="quick"), pytest.param(True, id="full", marks=pytest.mark.soak)]
)
def test_a_day_at_the_studio_gives_no_secret_away(tmp_path: Path, tally, computing: bool) -> None:
    workspace = tmp_path / "workspace"
    workspace.mkdir()
    with Server(workspace, before=CRASHES) as server:
        search = Search(server)
        use(server, search, computing)
        look_around(server, search, tmp_path)
    tally("S13", places=search.places, bytes=search.bytes, occurrences=len(search.found))
    assert not search.found, search.found


def test_the_search_finds_what_is_there(tmp_path: Path) -> None:
    class Known:
        token, code = "t" * 43, "c" * 32

    server: Any = Known()
    search = Search(server)
    (tmp_path / "log").write_bytes(b"GET /?code=" + server.code.encode())
    (tmp_path / "right.token").write_text(server.token)
    search.files(tmp_path)
    search.look("a line", f"Bearer {server.token}")
    assert search.found == ["the code is in the file log", "the token is in a line"]


STORES = """async () => {
  const found = [document.cookie, JSON.stringify(localStorage), JSON.stringify(sessionStorage), location.href];
  for (const {name} of await indexedDB.databases()) {
    const base = await new Promise(done => { const r = indexedDB.open(name); r.onsuccess = () => done(r.result); });
    for (const store of base.objectStoreNames)
      found.push(JSON.stringify(await new Promise(done => {
        const all = base.transaction(store).objectStore(store).getAll(); all.onsuccess = () => done(all.result);
      })));
  }
  return found;
}"""
"""What a page can read of its own browser."""


@pytest.mark.soak
@pytest.mark.skipif(find_chromium() is None, reason="no Chromium is here")
def test_a_browser_keeps_the_secrets_in_its_cookies_alone(tmp_path: Path, tally) -> None:
    from playwright.sync_api import sync_playwright

    workspace, profile = tmp_path / "workspace", tmp_path / "profile"
    workspace.mkdir()
    profile.mkdir()
    with Server(workspace) as server, sync_playwright() as playwright:
        search = Search(server)
        chromium = Chromium(playwright, profile)
        try:
            chromium.page.goto(f"{server.address}?code={server.code}")
            chromium.page.click(".hero-card.new")
            chromium.page.wait_for_selector(".empty-canvas")
            for number, text in enumerate(chromium.page.evaluate(STORES)):
                search.look(f"store {number} of the page", text)
            chromium.browser.close()
            time.sleep(2)
        finally:
            if chromium.process.poll() is None:
                chromium.kill()
    history = sqlite3.connect(profile / "Default" / "History")
    addresses = [row[0] for row in history.execute("SELECT url FROM urls WHERE hidden = 0")]
    for address in addresses:
        search.look("an address of the history that is shown", address)
    search.secrets.pop("code")  # One that was used is worth nothing, and a browser remembers where it was led.
    search.files(profile)
    tally("S13", places=search.places, bytes=search.bytes, occurrences=len(search.found))
    assert not search.found, search.found
