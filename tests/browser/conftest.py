"""A real browser in front of a real studio: the machine's Chromium, a server of its own, an empty workspace."""

from __future__ import annotations

import os
import re
import shutil
import socket
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

ROOT = Path(__file__).resolve().parents[2]
NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
SWITCHES = (
    *("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)


def find_chromium() -> str | None:
    named = os.environ.get("INKCAP_CHROMIUM")
    return named or next(filter(None, map(shutil.which, NAMES)), None)


@dataclass(frozen=True)
class Served:
    """A running studio: where it is, how to enter, its folder and its process."""

    port: int
    link: str
    workspace: Path
    process: subprocess.Popen[str]


def serve(workspace: Path, port: int) -> Served:
    """Start a studio as a person does, and read the link that it prints."""
    environment = {**os.environ, "OMP_WAIT_POLICY": "passive", "PYTHONUNBUFFERED": "1", "BROWSER": "true"}
    environment.setdefault("PYTHONPATH", str(ROOT / "src"))
    command = [sys.executable, "-m", "inkcap", "studio", str(workspace), "--port", str(port)]
    process = subprocess.Popen(
        command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, env=environment, cwd=workspace
    )
    assert process.stdout is not None
    said = ""
    until = time.monotonic() + 30
    while time.monotonic() < until and process.poll() is None:
        said += process.stdout.readline()
        if found := re.search(r"http://\S+", said):
            return Served(port, found.group(0), workspace, process)
    process.kill()
    raise AssertionError(f"the studio did not start: {said}")


def stop(served: Served) -> None:
    served.process.terminate()
    try:
        served.process.wait(10)
    except subprocess.TimeoutExpired:
        served.process.kill()
        served.process.wait(10)
    if served.process.stdout:
        served.process.stdout.close()


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


@pytest.fixture(scope="session")
def browser() -> Iterator[object]:
    chromium = find_chromium()
    if chromium is None:
        why = "no Chromium is here: install it (Debian: apt-get install chromium) or name it by INKCAP_CHROMIUM"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=chromium, args=list(SWITCHES))
        yield opened
        opened.close()


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Served]:
    served = serve(tmp_path_factory.mktemp("workspace"), free_port())
    yield served
    stop(served)


@pytest.fixture(scope="session")
def context(browser, studio) -> Iterator[object]:
    """One visitor for all tests: the link that signs in works once."""
    opened = browser.new_context(
        viewport={"width": 1440, "height": 900}, permissions=["clipboard-read", "clipboard-write"], locale="en-GB"
    )
    first = opened.new_page()
    first.goto(studio.link)
    first.wait_for_selector(".hero-card")
    first.close()
    yield opened
    opened.close()


@pytest.fixture
def page(context, studio) -> Iterator[object]:
    """A page on the start screen; what the browser complains of fails the test."""
    opened = context.new_page()
    opened.set_default_timeout(8000)
    complaints: list[str] = []
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    opened.goto(f"http://127.0.0.1:{studio.port}/")
    opened.evaluate("localStorage.clear()")
    opened.reload()
    opened.wait_for_selector(".hero-card.new")
    yield opened
    opened.close()
    assert not complaints, complaints
