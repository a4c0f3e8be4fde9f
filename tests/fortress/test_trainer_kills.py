"""R1: trainers are really killed, at whatever moment, and every run comes to the same bits in all that it keeps.

That each single step is one to go on from, for each optimiser, schedule, precision and engine, is proved in
tests/training/test_resume_bits.py, together with the proof that nothing of a state could be forgotten unseen.
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

ROOT = Path(__file__).resolve().parents[2]
MEMORY = Path("/dev/shm")  # noqa: S108
"""A kill takes nothing from a file system, so one in memory is as good as a disk, and quicker."""

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the fork server needs fork")

QUICK = (
    ("perceptron", "stochastic", "frozen", "narrow", "many steps in a call"),
    ("switched", "convolution", "recurrent", "stopped early", "embedding"),
)


def campaign(kills: int, seed: int, kinds: tuple[str, ...], timeout: float) -> dict[str, Any]:
    """Kill so often, and give what came of it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"}
    base = MEMORY if MEMORY.is_dir() and os.access(MEMORY, os.W_OK) else None
    with tempfile.TemporaryDirectory(prefix="inkcap-kills-", dir=base) as folder:
        command = [sys.executable, str(ROOT / "tests" / "support" / "killing.py"), folder, str(kills), str(seed)]
        done = subprocess.run([*command, *kinds], capture_output=True, env=environment, timeout=timeout)
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    return dict(json.loads(done.stdout))


def judge(found: dict[str, Any], kills: int, tally: Callable[..., None]) -> None:
    differing, planted = found.pop("differing"), found.pop("planted")
    tally("R1", **found, differing=len(differing))
    assert differing == []
    assert found["kills"] >= kills
    # Both where nothing has happened yet and while something is being written.
    assert min(found["early"], found["saving"]) >= kills / 20
    # One that forgets its random numbers is found out.
    assert "weights.safetensors" in planted


@pytest.mark.parametrize("part", [0, 1])
def test_five_hundred_kills_change_no_bit(part: int, tally: Callable[..., None]) -> None:
    judge(campaign(500, 1 + part, QUICK[part], 1800), 500, tally)


@pytest.mark.soak
@pytest.mark.parametrize("part", range(10))
def test_twenty_thousand_kills_of_every_kind_change_no_bit(part: int, tally: Callable[..., None]) -> None:
    found = campaign(2_000, 3 + part, (), 6 * 3600)
    assert found["kinds"] >= 12
    judge(found, 2_000, tally)
