"""A real browser in front of a real studio: the machine's Chromium, a server of its own, an empty workspace."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import pytest
from browsing import chromium
from serving import Server

OWN = ("http://127.0.0.1:", "ws://127.0.0.1:", "data:", "blob:")
PATIENCE = 20_000
"""Milliseconds until something that should happen did not: machines that test are busy."""


@pytest.fixture(scope="module")
def browser() -> Iterator[object]:
    """A browser for the tests of a file: while it is open its event loop runs, and other tests need their own."""
    with chromium() as opened:
        yield opened


@pytest.fixture(scope="session")
def studio(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Server]:
    """One studio for a worker; what tests lay into its workspace is laid there once, so that is of the session too."""
    workspace = tmp_path_factory.mktemp("studio") / "workspace"
    workspace.mkdir()
    with Server(workspace) as server:
        yield server


@pytest.fixture(scope="session")
def signed_in() -> dict[str, Any]:
    """What a visitor keeps: the link that signs in works once."""
    return {}


@pytest.fixture(scope="module")
def context(browser, studio, signed_in) -> Iterator[object]:
    """One visitor for all tests."""
    opened = browser.new_context(
        viewport={"width": 1440, "height": 900},
        permissions=["clipboard-read", "clipboard-write"],
        locale="en-GB",
        storage_state=signed_in.get("state"),
    )
    if not signed_in:
        first = opened.new_page()
        first.goto(f"{studio.address}?code={studio.code}")
        first.wait_for_selector(".hero-card")
        first.close()
        signed_in["state"] = opened.storage_state()
    yield opened
    opened.close()


@pytest.fixture
def page(context, studio) -> Iterator[object]:
    """A page on the start screen; what the browser complains of fails the test."""
    yield from _watched(context, studio)


@pytest.fixture(scope="module")
def open_page(context, studio) -> Iterator[object]:
    """A page that many short tests share, each with a drawing of its own."""
    yield from _watched(context, studio)


def _watched(context, studio) -> Iterator[object]:
    opened = context.new_page()
    opened.set_default_timeout(PATIENCE)
    complaints: list[str] = []
    # A test that provokes a refusal clears what the browser itself notes of it.
    opened.complaints = complaints
    opened.on("pageerror", lambda error: complaints.append(str(error)))
    opened.on("console", lambda message: complaints.append(message.text) if message.type == "error" else None)
    # The console says that something was refused, but not what.
    opened.on("response", lambda a: complaints.append(f"{a.status} {a.url}") if a.status >= 400 else None)
    # Nothing is loaded from elsewhere: it works with no network at all.
    opened.on("request", lambda r: None if r.url.startswith(OWN) else complaints.append(f"asked for {r.url}"))
    opened.goto(studio.address)
    opened.evaluate("localStorage.clear()")
    opened.reload()
    opened.wait_for_selector(".hero-card.new")
    yield opened
    opened.close()
    assert not complaints, complaints
