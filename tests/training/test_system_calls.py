"""Every system call that writes a checkpoint is made to fail once, by the kernel's own tracing: none costs one."""

from __future__ import annotations

import errno
import os
import re
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest
from checkpointing import content_of, files_of

from inkcap.recipes.checkpoints import KEPT, newest_checkpoint, read_checkpoint, write_checkpoint

ROOT = Path(__file__).resolve().parents[2]
STRACE = shutil.which("strace")
WRITING = "write,pwrite64,fsync,fdatasync,ftruncate,mkdir,mkdirat,rename,renameat,renameat2,unlink,unlinkat,rmdir"
KINDS = {"KILL": "signal=KILL", "ENOSPC": "error=ENOSPC", "EIO": "error=EIO"}


def _can_trace() -> bool:
    if STRACE is None:
        return False
    return subprocess.run([STRACE, "-qq", "-o", os.devnull, "true"], capture_output=True).returncode == 0


pytestmark = pytest.mark.skipif(
    not _can_trace(), reason="strace is not here or may not trace: the failpoints of test_checkpoint_files stand in"
)


def traced(folder: Path, *switches: str, log: str = os.devnull) -> int:
    """Write a checkpoint of step 99 under strace; give how the process ended."""
    command = [STRACE or "", "-qq", "-o", log, *switches]
    command += [sys.executable, "-B", str(ROOT / "tests" / "support" / "checkpointing.py"), str(folder), "99"]
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src")}
    return subprocess.run(command, env=environment, timeout=60).returncode


def prepared(run: Path) -> Path:
    folder = run / "checkpoints"
    run.mkdir()
    for step in (10, 20):
        write_checkpoint(folder, step, files_of(step))
    return folder


def calls_of_a_checkpoint(run: Path) -> list[tuple[str, int]]:
    """Give the calls that write a checkpoint: each with its number among the calls of its name in the process."""
    log = run.with_suffix(".log")
    assert traced(prepared(run), "-e", f"trace=getppid,{WRITING}", log=str(log)) == 0
    found: list[tuple[str, int]] = []
    seen: Counter[str] = Counter()
    begun = False
    for line in log.read_text().splitlines():
        name = re.match(r"\w+", line)
        if name is None:
            continue
        seen[name[0]] += 1
        if begun:
            found.append((name[0], seen[name[0]]))
        begun = begun or name[0] == "getppid"
    return found


@pytest.mark.parametrize("kind", KINDS)
def test_no_system_call_that_fails_costs_a_checkpoint(tmp_path: Path, kind: str) -> None:
    calls = calls_of_a_checkpoint(tmp_path / "counted")
    assert {"write", "fsync"} <= {name for name, _ in calls}
    assert len(calls) >= 15
    refused = 0
    for name, number in calls:
        folder = prepared(tmp_path / f"{name}-{number}")
        code = traced(folder, "-e", f"trace={name}", "-e", f"inject={name}:{KINDS[kind]}:when={number}")
        place = f"{kind} at {name} {number}: {code}"
        # Killed, refused in the words of the call, or written all the same where only older ones were to go.
        assert code in (0, getattr(errno, kind, -9)) or (kind == "KILL" and code in (-9, 137)), place
        refused += code != 0
        newest, problems = newest_checkpoint(folder)
        assert problems == [], place
        assert newest is not None, place
        assert newest.step in ((99,) if code == 0 else (20, 99)), place
        assert newest.files == content_of(newest.step), place
        write_checkpoint(folder, 100, files_of(100))
        assert read_checkpoint(folder / "100").files == content_of(100), place
        assert len(os.listdir(folder)) <= KEPT, place
    assert refused >= 10
