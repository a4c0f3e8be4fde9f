"""A browser that dies as a power cut would have it: Chromium as a process of its own, with a profile that stays."""

from __future__ import annotations

import os
import signal
import subprocess
import time
from pathlib import Path
from typing import Any

from browser import SWITCHES, find_chromium

PATIENCE = 60.0
"""Seconds until a browser that has not started never will."""


class Chromium:
    """A browser without a screen; ``page`` is its only tab."""

    def __init__(self, playwright: Any, profile: Path) -> None:
        chromium = find_chromium()
        assert chromium is not None
        port = profile / "DevToolsActivePort"
        port.unlink(missing_ok=True)
        for lock in profile.glob("Singleton*"):
            lock.unlink()
        switches = [
            *SWITCHES,
            "--headless=new",
            "--force-prefers-reduced-motion",
            f"--user-data-dir={profile}",
            "--remote-debugging-port=0",
        ]
        self.process = subprocess.Popen(
            [chromium, *switches, "--lang=en-GB", "--window-size=1440,900", "about:blank"],
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
            start_new_session=True,
        )
        end = time.monotonic() + PATIENCE
        while not (port.exists() and len(port.read_text().splitlines()) == 2):
            assert self.process.poll() is None, "the browser has ended by itself"
            assert time.monotonic() < end, "the browser does not start"
            time.sleep(0.05)
        number, path = port.read_text().splitlines()
        self.browser = playwright.chromium.connect_over_cdp(f"ws://127.0.0.1:{number}{path}")
        self.context = self.browser.contexts[0]
        self.page = self.context.new_page()
        self.page.set_default_timeout(PATIENCE * 1000)

    def kill(self) -> float:
        """End all of its processes at once, and give the time of that."""
        moment = time.monotonic()
        os.killpg(self.process.pid, signal.SIGKILL)
        self.process.wait()
        return moment
