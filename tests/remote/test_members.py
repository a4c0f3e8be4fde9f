"""Members of a group on a workspace in storage: all of them fetch the data, one of them publishes the run."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from inkcap.recipes import RunFolder
from inkcap.remote import Store
from inkcap.remote.fetching import fetch_newest
from inkcap.remote.turns import last_turn, run_names
from inkcap.zoo import mlp

ROOT = Path(__file__).resolve().parents[2]


def test_two_members_train_here_and_two_go_on_there(tmp_path):
    mlp((2, 8, 2), "two", last="softmax").save(tmp_path / "two.inkcap.json")
    (tmp_path / "store" / "tables").mkdir(parents=True)
    rows = [f"{i % 7},{i % 5},{'even' if i % 2 else 'odd'}" for i in range(60)]
    (tmp_path / "store" / "tables" / "some.csv").write_text("\n".join(["a,b,kind", *rows]))
    url = f"file://{tmp_path}/store"

    def together(copies: str, *words: str) -> str:
        environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1"}
        environment |= {"INKCAP_COPIES": str(tmp_path / copies)}
        starting = ["-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2", "-m", "inkcap"]
        command = [sys.executable, *starting, *words, "--workspace", url, "--quiet"]
        done = subprocess.run(command, cwd=tmp_path, env=environment, capture_output=True, text=True, timeout=120)
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    made = ("two.inkcap.json", "--data", "tables/some.csv", "--epochs", "4", "--batch", "16", "--seed", "3")
    assert together("one", "train", *made, "--until", "2").count("run two-some-0001 in") == 1
    assert "to the same bits" in together("two", "resume", "two-some-0001")
    assert run_names(Store.open(url)) == ["two-some-0001"]
    assert last_turn(Store.open(url), "two-some-0001") == 2
    fetched, _ = fetch_newest(Store.open(url), "two-some-0001", tmp_path / "read")
    record = RunFolder.open(fetched.rename(tmp_path / "two-some-0001")).record
    assert record.state == "finished"
