"""R2: every system call that writes is made to fail once, in every way: nothing is lost, torn or stuck.

The kernel's own tracing stops a child at each call: it is killed there, the call is refused (no room, a broken disk),
interrupted, or does half of its work; or there is no room from there on. What was announced must be there, the rest
whole as before or as after, and the next action must work. Migrations are among the actions where there are any: of
the studio's file and of a run's record. Drawings and recipes of older forms are read as new ones and written by the
same saving. An import is saved by the same writing as an export, file by file, the drawing last.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import tempfile
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from kept_actions import ACTIONS, CARELESS
from tracing import can_trace

ROOT = Path(__file__).resolve().parents[2]
MEMORY = Path("/dev/shm")  # noqa: S108

pytestmark = pytest.mark.skipif(
    not can_trace(), reason="no tracing of children here: the failpoints of test_checkpoint_files stand in"
)


def failing(every: int, first: int, *actions: str, timeout: float = 3600) -> list[dict[str, Any]]:
    """Fail every so-many-th case; give what was found for each action."""
    paths = os.pathsep.join(str(ROOT / part) for part in ("src", "tests/support"))
    base = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="inkcap-failing-", dir=base) as folder:
        command = [sys.executable, "-B", str(ROOT / "tests/support/failing.py"), folder, str(every), str(first)]
        environment = {**os.environ, "PYTHONPATH": paths}
        done = subprocess.run([*command, *actions], capture_output=True, env=environment, timeout=timeout)
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


def judge(found: list[dict[str, Any]], tally: Callable[..., None]) -> None:
    bad = [f"{one['action']}: {words}" for one in found for words in one["bad"]]
    tally(
        "R2",
        actions=len(found),
        calls=sum(one["calls"] for one in found),
        cases=sum(o["cases"] for o in found),
        bad=len(bad),
    )
    assert bad == [], "\n".join(bad[:5])
    assert [one["action"] for one in found] == list(ACTIONS)
    assert all(one["calls"] >= 5 for one in found)


def test_a_thinned_part_of_all_calls_that_write_may_fail(tally: Callable[..., None]) -> None:
    judge(failing(8, 3), tally)


@pytest.mark.soak
def test_every_call_that_writes_may_fail_in_every_way(tally: Callable[..., None]) -> None:
    judge(failing(1, 0), tally)


def test_a_careless_writer_is_found_out() -> None:
    (found,) = failing(1, 0, CARELESS)
    assert any(words.startswith("KILL") for words in found["bad"])
    assert any(words.startswith("full") for words in found["bad"])
