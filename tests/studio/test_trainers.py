"""Processes that train: what is noted of their end, and what is not."""

import json
import os
import subprocess
import sys
import time

import pytest

from inkcap.recipes import RunFolder, layout
from inkcap.studio import trainers
from inkcap.studio.run_list import RunList
from inkcap.studio.store import Store


@pytest.mark.skipif(os.name != "posix", reason="a process is killed by a signal")
@pytest.mark.parametrize(("before", "after", "ended"), [(5, 5, 0), (5, 6, 1), (5, 8, 3), (None, 8, 0)])
def test_a_kill_while_memory_was_short_is_told_and_any_other_is_not(tmp_path, monkeypatch, before, after, ended):
    counter = tmp_path / "vmstat"
    monkeypatch.setattr(trainers, "VMSTAT", counter)
    counter.write_text(f"nr_free_pages 1\noom_kill {after}\n")
    run = RunFolder.create(tmp_path, "killed", "digits").path
    folder = tmp_path / "trainings" / "some"
    folder.mkdir(parents=True)
    (folder / "started.json").write_text(json.dumps({} if before is None else {"oom_kills": before}))
    process = subprocess.Popen([sys.executable, "-c", "import time; time.sleep(60)"])
    RunFolder.open(run).update(pid=process.pid, process=trainers.mark_of(process.pid))
    trainers.Trainer(folder, process).await_end(run)
    process.kill()
    until = time.monotonic() + 20
    while folder.exists():
        assert time.monotonic() < until
        time.sleep(0.02)
    assert (run / layout.SHORT).exists() == bool(ended)
    store = Store(tmp_path)
    try:
        (row,) = RunList(tmp_path, store).rows()
    finally:
        store.close()
    assert row.state == "interrupted"
    hints = {
        0: "",
        1: "ended a process for lack of memory; it may have been",
        3: "ended 3 processes for lack of memory",
    }
    assert hints[ended] in row.hint
    assert bool(row.hint) == bool(ended)


def test_without_the_kernels_count_nothing_is_told(tmp_path, monkeypatch):
    monkeypatch.setattr(trainers, "VMSTAT", tmp_path / "nothing")
    assert trainers.oom_kills() == 0
