"""How soon a large drawing is on the screen, and how many frames a second it pans and zooms with, in a real browser."""

from __future__ import annotations

import itertools
import os
import random
import shutil
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1] / "tests" / "support"))

from serving import Server

from inkcap.drawing import Capsule, Connection, Drawing, Edit, Plain, Position, Put, save_drawing

NEURONS, COLUMNS, FAN = 5_000, 50, 3
AIM = 30
"""Frames a second, with 5,000 vertices in view."""
CHROMIUM = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = ("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-quic", "--no-first-run")

COUNT_FRAMES = """() => {
  const times = [];
  window.frames_seen = times;
  const tick = (time) => { times.push(time); window.frames_seen === times && requestAnimationFrame(tick); };
  requestAnimationFrame(tick);
}"""
FRAMES_SEEN = "() => { const seen = window.frames_seen; window.frames_seen = null; return seen; }"


@dataclass(frozen=True)
class Frames:
    """Frames a second on the whole, and at the slowest twentieth of the frames."""

    mean: float
    slow: float


def neurons(count: int = NEURONS, columns: int = COLUMNS, fan: int = FAN, *, placed: bool = False) -> Drawing:
    """Draw neurons one by one in columns, each entered by some of the column before."""
    chance = random.Random(1)  # noqa: S311
    rows = count // columns
    puts: list[Put] = []
    for column in range(columns):
        for row in range(rows):
            id = f"n{column}-{row}"
            puts.append(Put(Capsule(id, "sigmoid" if column else "data", 0)))
            if placed:
                puts.append(Put(Position(id, column * 130.0, row * 60.0)))
            for back in chance.sample(range(rows), fan) if column else ():
                puts.append(Put(Connection(f"n{column - 1}-{back}-{id}", "amplifying", f"n{column - 1}-{back}", id)))
    drawing = Drawing(f"{count} neurons")
    drawing.apply(Edit("draw", tuple(puts)))
    return drawing


def block(layers: tuple[int, ...] = (784, 128, 10)) -> Drawing:
    """Draw fully connected neurons as columns of numbers."""
    chance = random.Random(2)  # noqa: S311
    back: list[int] = []
    front: list[int] = []
    first = 0
    for size, following in itertools.pairwise(layers):
        for i in range(first + size, first + size + following):
            back.extend(range(first, first + size))
            front.extend([i] * size)
        first += size
    symbols = ["data"] * layers[0] + ["relu"] * sum(layers[1:-1]) + ["sigmoid"] * layers[-1]
    weights = tuple(chance.uniform(-1, 1) for _ in back)
    plain = Plain(tuple(symbols), (0.0,) * len(symbols), tuple(back), tuple(front), weights)
    drawing = Drawing("a block of neurons")
    drawing.apply(Edit("draw", (Put(plain),)))
    return drawing


def open_drawing(page: Any, server: Server, id: str) -> float:
    """Open a drawing and give the seconds until its vertices are painted."""
    start = time.perf_counter()
    page.goto(f"{server.address}#/drawing/{id}")
    page.wait_for_selector(".painted[data-painted]", state="attached", timeout=120_000)
    page.wait_for_function("() => Number(document.querySelector('.painted')?.dataset.painted) > 100", timeout=120_000)
    seconds = time.perf_counter() - start
    page.wait_for_timeout(800)
    return seconds


def _frames(page: Any, act: Any) -> Frames:
    page.evaluate(COUNT_FRAMES)
    act()
    seen: list[float] = page.evaluate(FRAMES_SEEN)
    gaps = sorted(b - a for a, b in itertools.pairwise(seen))
    return Frames(1000 / statistics.mean(gaps), 1000 / gaps[min(len(gaps) - 1, round(0.95 * len(gaps)))])


def pan(page: Any, seconds: float = 2.0) -> Frames:
    """Drag the paper to and fro."""

    def act() -> None:
        page.mouse.move(700, 830)
        page.mouse.down(button="left")
        end, turn = time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            turn += 1
            page.mouse.move(700 + 4 * abs(turn % 80 - 40) - 160, 830 - turn % 30)
        page.mouse.up()

    page.mouse.move(5, 5)
    return _frames(page, act)


def zoom(page: Any, seconds: float = 2.0) -> Frames:
    """Turn the wheel to and fro."""

    def act() -> None:
        page.mouse.move(640, 450)
        end, turn = time.perf_counter() + seconds, 0
        while time.perf_counter() < end:
            turn += 1
            page.mouse.wheel(0, -20 if turn % 20 < 10 else 20)

    return _frames(page, act)


def measure(drawing: Drawing) -> tuple[float, Frames, Frames]:
    """Open a drawing in a browser: seconds until it is visible, frames while panning, frames while zooming."""
    from playwright.sync_api import sync_playwright

    chromium = os.environ.get("INKCAP_CHROMIUM") or next(filter(None, map(shutil.which, CHROMIUM)), None)
    with tempfile.TemporaryDirectory() as folder, sync_playwright() as playwright:
        workspace = Path(folder) / "work"
        workspace.mkdir()
        save_drawing(drawing, workspace / "large.inkcap.json")
        browser = playwright.chromium.launch(executable_path=chromium, args=list(SWITCHES))
        with Server(workspace) as server, server.client() as client:
            page = browser.new_page(viewport={"width": 1440, "height": 900})
            page.goto(f"{server.address}?code={server.code}")
            page.wait_for_selector(".hero-card.new")
            while not (listed := client.get("/api/workspace").json()["drawings"][0])["counted"]:
                time.sleep(0.5)  # the list checks it in the background: that is not what is measured here
            id = listed["id"]
            opened = open_drawing(page, server, id)
            panned, zoomed = pan(page), zoom(page)
        browser.close()
    return opened, panned, zoomed


def main() -> None:
    """Print a line for each kind of large drawing."""
    cases = {f"{NEURONS:,} neurons drawn one by one": neurons(), "101,632 lines in columns": block()}
    print(f"{'large drawing':<34}{'visible':>9}{'pan':>14}{'zoom':>14}   frames a second, mean (slowest 5 %)")
    for case, drawing in cases.items():
        opened, panned, zoomed = measure(drawing)
        told = "".join(f"{f'{one.mean:.0f} ({one.slow:.0f})':>14}" for one in (panned, zoomed))
        print(f"{case:<34}{opened:>7.1f} s{told}   aim {AIM}")


if __name__ == "__main__":
    main()
