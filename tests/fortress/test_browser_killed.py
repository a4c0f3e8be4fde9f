"""R10. A browser that is killed while a person edits loses a quarter of a second at most, and no undo."""

from __future__ import annotations

import json
import random
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from dying import Chromium
from hands import select_vertex
from serving import Server

from browser import find_chromium
from inkcap.drawing import Drawing

pytestmark = pytest.mark.skipif(find_chromium() is None, reason="no Chromium is here")
ALLOWED = 0.25
BUSY = 5
"""How many times as long everything may take on a machine that does other things beside."""
MODES = ("moving busily", "moving alone", "writing alone", "moving", "writing", "moving busily alone")
"""What the person does: alone is without a server, busily with a page that hears nothing after the last key."""
LAST = """
() => setTimeout(() => {
  const key = new KeyboardEvent("keydown", { key: "ArrowRight", altKey: true, bubbles: true, cancelable: true });
  document.activeElement.dispatchEvent(key);
  for (const end = Date.now() + 30_000; Date.now() < end; );
})
"""
"""Press the key once more, and be busy from then on."""


def drawn() -> str:
    """Give a drawing with a capsule to be moved and a note to be written."""
    drawing = Drawing("Killed")
    drawing.add("a", "1D-data", dimension=4)
    document = json.loads(drawing.to_text())
    document["positions"] = {"a": [0, 0], "n": [0, 160]}
    document["notes"] = [{"id": "n", "text": "x"}]
    return json.dumps(document)


@dataclass
class Desk:
    """A person at a browser in front of a studio, both of which may die."""

    playwright: Any
    profile: Path
    server: Server
    chance: random.Random
    chromium: Chromium | None = None

    def open(self, drawing: str) -> Chromium:
        """Open a drawing, in the browser that is there or in one that starts again and still has the cookie."""
        if self.chromium is None:
            self.chromium = Chromium(self.playwright, self.profile)
            cookie = {"name": f"inkcap-{self.server.port}", "value": self.server.token, "url": self.server.address}
            self.chromium.context.add_cookies([{**cookie, "httpOnly": True, "sameSite": "Strict"}])
        self.chromium.page.goto(f"{self.server.address}#/drawing/{drawing}")
        self.chromium.page.wait_for_selector(f"#canvas[data-drawing='{drawing}'][data-vertices='1']")
        return self.chromium

    def restart_server(self) -> None:
        """Kill the server and start it at the same address."""
        self.server.kill()
        self.server = Server(self.server.workspace, self.server.port)

    def kill_while(self, mode: str) -> tuple[float, int]:
        """Let the person edit, kill the browser, come back, and give the seconds that are lost and the edits there."""
        with self.server.client() as client:
            made = client.post("/api/drawings", json={"name": "Killed", "text": drawn()}).json()["id"]
        chromium = self.open(made)
        thing = "a" if mode.startswith("moving") else "n"
        select_vertex(chromium.page, f".react-flow__node[data-id={thing}]")
        if thing == "n":
            chromium.page.focus("textarea")
            chromium.page.keyboard.press("End")
        if "alone" in mode:
            self.server.kill()
            chromium.page.wait_for_selector(".notice.bad")
        done: list[float] = []
        for _ in range(self.chance.randint(4, 9)):
            # What a key does is done when the page has answered that it came.
            chromium.page.keyboard.press("Alt+ArrowRight" if thing == "a" else "y")
            done.append(time.monotonic())
            time.sleep(self.chance.choice([0, 0, 0.03, 0.1]))
        if "busily" in mode:
            chromium.page.evaluate(LAST)
            done.append(time.monotonic())
            # What such a page does not keep at once it never keeps, and that is more than is allowed on any machine.
            time.sleep(ALLOWED * (BUSY + 1))
        else:
            time.sleep(self.chance.uniform(0, 0.3))
        killed = chromium.kill()
        self.chromium = None
        if "alone" in mode:
            self.restart_server()
        kept = self.count_back(made, thing, len(done))
        assert kept <= len(done)
        return (0.0 if kept == len(done) else killed - done[kept]), kept

    def count_back(self, drawing: str, thing: str, expected: int) -> int:
        """Come back, count the edits that are there, and undo every one of them."""
        chromium = self.open(drawing)
        with self.server.client() as client:
            end = time.monotonic() + 15
            kept = -1
            # What the dead tab left is brought once the page is open.
            while time.monotonic() < end and kept < expected:
                document = client.get(f"/api/drawings/{drawing}/file").json()
                moved, written = document["positions"]["a"][0], document["notes"][0]["text"]
                kept = round(moved / 20) if thing == "a" else len(written) - 1
                chromium.page.wait_for_timeout(100)
            assert thing == "a" or written == "x" + "y" * kept
            history = client.get(f"/api/drawings/{drawing}/history").json()
            steps = kept if thing == "a" else min(kept, 1)
            assert [past["kind"] for past in history] == ["edit"] * steps, history
            chromium.page.focus("#canvas")
            for _ in range(steps):
                chromium.page.keyboard.press("Control+z")
            while time.monotonic() < end + 15:
                history = client.get(f"/api/drawings/{drawing}/history").json()
                if len(history) == 2 * steps:
                    break
                chromium.page.wait_for_timeout(100)
            assert [past["kind"] for past in history[steps:]] == ["undo"] * steps, history
            document = client.get(f"/api/drawings/{drawing}/file").json()
            assert (document["positions"]["a"][0], document["notes"][0]["text"]) == (0, "x")
        return kept


@pytest.fixture
def desk(tmp_path: Path, request: pytest.FixtureRequest) -> Iterator[Desk]:
    from playwright.sync_api import sync_playwright

    workspace = tmp_path / "workspace"
    workspace.mkdir()
    with sync_playwright() as playwright:
        made = Desk(playwright, tmp_path / "profile", Server(workspace), random.Random(request.node.name))  # noqa: S311
        made.profile.mkdir()
        yield made
        made.server.kill()
        if made.chromium is not None:
            made.chromium.kill()


@pytest.mark.parametrize(
    ("kills", "busy"), [pytest.param(3, BUSY, id="quick"), pytest.param(100, 1, id="full", marks=pytest.mark.soak)]
)
def test_a_killed_browser_loses_a_moment_and_no_undo(desk: Desk, tally, kills: int, busy: int) -> None:
    modes = [MODES[number % len(MODES)] for number in range(kills)]
    lost, kept = zip(*(desk.kill_while(mode) for mode in modes), strict=True)
    tally("R10", kills=kills, edits_there=sum(kept), longest_lost_ms=round(max(lost) * 1000), allowed_ms=250 * busy)
    assert max(lost) <= ALLOWED * busy, list(zip(modes, lost, strict=True))
