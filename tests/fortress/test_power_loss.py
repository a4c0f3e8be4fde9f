"""R3: the power goes at every moment of what Inkcap writes: what was announced is there, and nothing torn is believed.

What a disk may hold then is enumerated from a recorded process, SQLite's own writes among it: unsynced writes are kept,
gone, torn or zeros, each for itself, and names last only with their folder (tests/support/power.py). Every state is
laid down, read by the product itself, and worked on.
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

pytestmark = pytest.mark.skipif(not can_trace(), reason="no tracing of children here, so nothing can be recorded")


def cut(states: int, seed: int, *actions: str, timeout: float = 3600) -> list[dict[str, Any]]:
    """Cut the power so often; give what was found for each action."""
    paths = os.pathsep.join(str(ROOT / part) for part in ("src", "tests/support"))
    base = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="inkcap-power-", dir=base) as folder:
        command = [sys.executable, "-B", str(ROOT / "tests/support/power.py"), folder, str(states), str(seed)]
        environment = {**os.environ, "PYTHONPATH": paths}
        done = subprocess.run([*command, *actions], capture_output=True, env=environment, timeout=timeout)
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    return [json.loads(line) for line in done.stdout.splitlines()]


# Most of the actions have some hundreds of states that differ; three, with SQLite's own writes, have tens of thousands.
@pytest.mark.parametrize(
    ("states", "seed"), [(2_000, 1), pytest.param(70_000, 2, marks=pytest.mark.soak)], ids=["quick", "full"]
)
def test_whenever_the_power_goes_what_was_announced_is_there(
    states: int, seed: int, tally: Callable[..., None]
) -> None:
    found = cut(states, seed, timeout=12 * 3600)
    bad = [f"{one['action']}: {words}" for one in found for words in one["bad"]]
    reached = sum(one["states"] for one in found)
    tally("R3", actions=len(found), states=reached, bad=sum(one["bad_states"] for one in found))
    assert bad == [], "\n".join(bad[:5])
    assert {one["action"] for one in found} == set(ACTIONS)
    assert reached >= 0.95 * states


def test_a_careless_writer_is_found_out() -> None:
    (found,) = cut(60, 1, CARELESS)
    assert found["bad_states"] > 0
