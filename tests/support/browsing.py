"""The machine's own Chromium, without a screen."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import pytest

from browser import SWITCHES, find_chromium


@contextmanager
def chromium(*switches: str) -> Iterator[Any]:
    """Open a browser; where there is none, the test is skipped, and fails if a service runs it."""
    path = find_chromium()
    if path is None:
        why = "no Chromium is here: install it (Debian: apt-get install chromium) or name it by INKCAP_CHROMIUM"
        if os.environ.get("CI"):
            pytest.fail(why)
        pytest.skip(why)
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        opened = playwright.chromium.launch(executable_path=path, args=[*SWITCHES, *switches])
        yield opened
        opened.close()
