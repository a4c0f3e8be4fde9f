"""Real processes, really killed: whatever the moment, the run goes on and comes to the same bits."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

ROOT = Path(__file__).resolve().parents[2]

pytestmark = pytest.mark.skipif(not hasattr(os, "fork"), reason="the fork server needs fork")


def campaign(folder: Path, kills: int, seed: int, timeout: float) -> dict[str, Any]:
    """Kill so often, and give what came of it."""
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_WAIT_POLICY": "passive", "OMP_NUM_THREADS": "1"}
    command = [sys.executable, str(ROOT / "tests" / "support" / "killing.py"), str(folder), str(kills), str(seed)]
    done = subprocess.run(command, capture_output=True, env=environment, timeout=timeout)
    assert done.returncode == 0, done.stderr.decode()[-4000:]
    return dict(json.loads(done.stdout))


def test_a_run_that_is_killed_again_and_again_comes_to_the_same_bits(tmp_path: Path) -> None:
    found = campaign(tmp_path, 60, 1, 600)
    assert found["kills"] >= 60
    assert found["differing"] == []


@pytest.mark.soak
def test_a_thousand_kills(tmp_path: Path) -> None:
    found = campaign(tmp_path, 1000, 2, 3600)
    assert found["kills"] >= 1000
    assert found["stops"] >= 20
    assert found["differing"] == []
