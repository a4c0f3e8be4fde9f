"""See that there is a Chromium for the tests that draw in a real browser; install Debian's where that is possible."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys

NAMES = ("chromium", "chromium-browser", "google-chrome", "google-chrome-stable")
COMMANDS = (
    ("apt-get", "update", "-qq"),
    ("apt-get", "install", "-y", "-qq", "--no-install-recommends", "chromium"),
)
LONGEST = 600
SWITCHES = (
    *("--no-sandbox", "--disable-dev-shm-usage", "--disable-gpu", "--disable-quic", "--no-first-run"),
    *("--disable-background-networking", "--disable-component-update", "--disable-sync"),
)
"""For a browser without a screen that is to speak to the studio and to nobody else."""


def find_chromium() -> str | None:
    """Give the browser that INKCAP_CHROMIUM names, else the machine's."""
    return os.environ.get("INKCAP_CHROMIUM") or next(filter(None, map(shutil.which, NAMES)), None)


def main() -> int:
    """Install a browser if there is none; whatever comes of it, the tests themselves say what they miss."""
    if find_chromium():
        return 0
    administrator = hasattr(os, "geteuid") and os.geteuid() == 0
    if shutil.which("apt-get") is None or not administrator:
        print("browser: there is no Chromium, so nothing is tested in one; install it, e.g. apt-get install chromium")
        return 0
    print("browser: installing Debian's Chromium for the tests in a real browser", flush=True)
    quiet = {**os.environ, "DEBIAN_FRONTEND": "noninteractive"}
    for command in COMMANDS:
        try:
            done = subprocess.run(command, check=False, env=quiet, stdout=subprocess.DEVNULL, timeout=LONGEST)
        except (OSError, subprocess.TimeoutExpired) as error:
            print(f"browser: {' '.join(command)}: {error}")
            return 0
        if done.returncode:
            print(f"browser: {' '.join(command)} ended with {done.returncode}")
            return 0
    return 0


if __name__ == "__main__":
    sys.exit(main())
