"""Campaigns Q1 and Q2: the tests of the guarded modules take every branch of them and notice every small change."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from mutants import GUARDED, ROOT, path_of

TALLY = "INKCAP_TALLY"

pytestmark = pytest.mark.soak

WHOLE = {name: guarded for name, guarded in GUARDED.items() if not guarded.lines}
"""Those that are guarded as a whole; of the others only the lines that hold a limit are."""


def uncounted() -> dict[str, str]:
    """Give the environment without the tally: what campaigns count over mutants is no figure of theirs."""
    return {name: value for name, value in os.environ.items() if name != TALLY}


def test_every_branch_is_taken_by_their_tests(tmp_path: Path, tally) -> None:
    files = ",".join(str(path_of(name)) for name in WHOLE)
    tests = sorted({test for guarded in WHOLE.values() for test in guarded.tests})
    coverage, data = [sys.executable, "-m", "coverage"], {**uncounted(), "COVERAGE_FILE": str(tmp_path / "data")}
    run = [*coverage, "run", "--branch", f"--include={files}", "-m", "pytest", "-q", "-p", "no:cacheprovider", *tests]
    done = subprocess.run(run, cwd=ROOT, env=data, capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-4000:]
    subprocess.run([*coverage, "json", "-q", "-o", tmp_path / "report.json"], cwd=ROOT, env=data, check=True)
    found = json.loads((tmp_path / "report.json").read_text())["files"]
    assert len(found) == len(WHOLE)
    left = {name: (file["missing_lines"], file["missing_branches"]) for name, file in found.items()}
    assert {name: missing for name, missing in left.items() if missing != ([], [])} == {}
    branches = sum(file["summary"]["num_branches"] for file in found.values())
    tally("Q1", modules=len(found), branches=branches, missing=0)


@pytest.mark.parametrize("module", GUARDED)
def test_every_small_change_is_noticed(module: str, tally) -> None:
    words = [sys.executable, "tools/mutants.py", module]
    done = subprocess.run(words, cwd=ROOT, env=uncounted(), capture_output=True, text=True)
    assert done.returncode == 0, done.stdout[-8000:] + done.stderr[-2000:]
    # mutants: inkcap.studio.gate: 380 of 386 noticed, 6 accepted: 100.0%
    _, _, counts, _ = done.stdout.splitlines()[-1].split(": ")
    noticed, _, count, _, accepted, _ = counts.split()
    tally("Q2", modules=1, mutants=int(count), noticed=int(noticed), accepted=int(accepted))
