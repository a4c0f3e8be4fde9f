"""Running commands in this process, as a person types them, in a folder of their own."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable
from dataclasses import dataclass

import pytest
from hypothesis import settings
from ordering import arranged

from inkcap.cli import main

# How long one case takes says nothing on a machine that does other things beside; times have tests of their own.
settings.register_profile("shared", deadline=None)
settings.load_profile("shared")

# A shell that starts tests in the background lets them ignore Ctrl-C, and so every process that they start.
signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.hookimpl(trylast=True)
def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Let what takes long begin first; last of all, when it is known which tests are run."""
    workers = int(os.environ.get("PYTEST_XDIST_WORKER_COUNT", "1"))
    items[:] = [items[i] for i in arranged([item.nodeid for item in items], workers)]


@dataclass(frozen=True)
class Answer:
    code: int
    out: str
    err: str


@pytest.fixture
def run(tmp_path, monkeypatch, capsys) -> Callable[..., Answer]:
    monkeypatch.chdir(tmp_path)

    def call(*words: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["inkcap", *map(str, words)])
        code = 0
        try:
            main()
        except SystemExit as stop:
            code = stop.code if isinstance(stop.code, int) else 0 if stop.code is None else 1
        captured = capsys.readouterr()
        return Answer(code, captured.out, captured.err)

    return call
