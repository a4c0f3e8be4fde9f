"""The commands on workspaces in storage: train here, go on there, to the same bits; nothing is lost without a word."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem

from inkcap.recipes import RunFolder
from inkcap.recipes.checkpoints import newest_checkpoint
from inkcap.remote import RemoteError, Store, publisher
from inkcap.remote.turns import last_turn
from inkcap.remote.versions import list_versions, read_version
from inkcap.zoo import mlp

ROOT = Path(__file__).resolve().parents[2]
BITS = ("--engine", "eager", "--threads", "1", "--seed", "3", "--batch", "16", "--optimiser", "adam", "--rate", "0.01")
RUN = "two-moons-0001"


@pytest.fixture
def shared() -> MemoryFileSystem:
    """A workspace in storage with a drawing and a table."""
    files = MemoryFileSystem()
    files.pipe_file("/box/two.inkcap.json", mlp((2, 8, 2), "two", last="softmax").to_text().encode())
    rows = [f"{i % 7},{i % 5},{'even' if i % 2 else 'odd'}" for i in range(60)]
    files.pipe_file("/box/tables/some.csv", "\n".join(["a,b,kind", *rows]).encode())
    return files


def folder_of(copies: Path) -> Path:
    (folder,) = (copies / "workspaces").iterdir()
    return folder


def all_state(folder: Path) -> dict[str, Any]:
    """Give what a run has learnt and told, and everything in its last checkpoint but the time."""
    (path,) = (folder / "runs").glob("*-0001")
    newest, problems = newest_checkpoint(path / "checkpoints")
    assert newest is not None
    assert not problems
    progress = json.loads(newest.files["progress.json"])
    del progress["seconds"]
    found: dict[str, Any] = {
        name: (path / name).read_bytes() for name in ("weights.safetensors", "best.safetensors", "metrics.jsonl")
    }
    found |= {f"checkpoint {name}": newest.files[name] for name in ("state.safetensors", "best.safetensors")}
    return found | {"progress": progress, "step": newest.step}


def test_a_run_is_trained_listed_used_and_gone_on_with_elsewhere_to_the_same_bits(
    run, shared, tmp_path, copies, monkeypatch
):
    made = ("memory://box/two.inkcap.json", "--data", "moons", "--option", "n=100", *BITS, "--epochs", "6", "--quiet")
    whole = tmp_path / "whole"
    whole.mkdir()
    assert run("train", *made, "--workspace", whole).code == 0
    first = run("train", *made, "--workspace", "memory://box", "--until", "3")
    assert first.code == 0, first.err
    assert f"next: inkcap resume {RUN} --workspace memory://box" in first.out
    monkeypatch.setenv("INKCAP_COPIES", str(tmp_path / "elsewhere"))
    listed = json.loads(run("runs", "--workspace", "memory://box", "--json").out)
    assert [(one["id"], one["state"]) for one in listed["runs"]] == [(RUN, "interrupted")]
    gone_on = run("resume", RUN, "--workspace", "memory://box", "--quiet")
    assert gone_on.code == 0, gone_on.err
    assert "to the same bits" in gone_on.out
    assert all_state(folder_of(tmp_path / "elsewhere")) == all_state(whole)
    # The first machine sees what has become of it, and can use it.
    monkeypatch.setenv("INKCAP_COPIES", str(copies))
    measured = json.loads(run("evaluate", RUN, "--workspace", "memory://box", "--json").out)
    local = json.loads(run("evaluate", RUN, "--workspace", whole, "--json").out)
    assert measured["values"] == local["values"]
    assert run("predict", RUN, "0.5,0.2", "--workspace", "memory://box").code == 0
    shown = run("inspect", RUN, "--confusion", "--workspace", "memory://box", "--part", "training")
    assert shown.code == 0, shown.err
    options = ("--to", "safetensors", "--run", RUN, "--workspace", "memory://box")
    exported = run("export", "memory://box/two.inkcap.json", *options)
    assert exported.code == 0, exported.err
    assert (tmp_path / "two.safetensors").is_file()


def test_data_of_the_workspace_and_data_by_their_url_are_trained_on(run, shared, tmp_path, copies):
    made = ("memory://box/two.inkcap.json", *BITS, "--epochs", "2", "--quiet")
    inside = run("train", *made, "--data", "tables/some.csv", "--workspace", "memory://box")
    assert inside.code == 0, inside.err
    by_url = run("train", *made, "--data", "memory://box/tables/some.csv", "--workspace", tmp_path)
    assert by_url.code == 0, by_url.err
    assert (tmp_path / "runs" / "two-some-0001").is_dir()
    states = [all_state(folder) for folder in (folder_of(copies), tmp_path)]
    for state in states:
        # The recipes name the data in two ways, and all else is the same.
        state["progress"].pop("fingerprint")
    assert states[0] == states[1]
    assert run("resume", "two-some-0001", "--epochs", "3", "--quiet").code == 0
    assert run("evaluate", "two-some-0001", "--workspace", "memory://box").code == 0
    looked = run("data", "tables/some.csv", "--workspace", "memory://box")
    assert "60 samples" in looked.out
    assert run("train", *made, "--data", "tables/some.csv", "--workspace", "memory://box", "--init-from",
               "two-some-0001").code == 0  # fmt: skip


def test_a_run_of_a_machine_that_is_gone_is_taken_over_only_when_told_so(run, shared, tmp_path, copies, monkeypatch):
    made = ("memory://box/two.inkcap.json", "--data", "moons", *BITS, "--epochs", "4", "--until", "2", "--quiet")
    assert run("train", *made, "--workspace", "memory://box").code == 0
    first = folder_of(copies) / "runs" / RUN
    # As another machine would have left it: its mark is not this one's, and it does not say that it has ended.
    RunFolder.open(first).update(state="running", pid=1, process="0123456789ab:0123456789ab:1")
    assert run("publish", first, "memory://box").code == 0
    monkeypatch.setenv("INKCAP_COPIES", str(tmp_path / "elsewhere"))
    refused = run("resume", RUN, "--workspace", "memory://box")
    assert refused.code == 2
    assert f"inkcap resume {RUN} --take-over --workspace memory://box" in refused.err
    taken = run("resume", RUN, "--take-over", "--workspace", "memory://box", "--quiet")
    assert taken.code == 0, taken.err
    assert "to the same bits" in taken.out
    late = run("publish", first, "memory://box")
    assert late.code == 2
    assert "another machine has gone on with" in late.err


def test_what_a_store_refuses_is_kept_here_told_and_published_later(run, shared, tmp_path, copies, monkeypatch):
    monkeypatch.setattr(publisher, "FIRST_PAUSE", 0.01)
    made = ("memory://box/two.inkcap.json", "--data", "moons", *BITS, "--epochs", "2", "--checkpoint", "0.01")

    def refuse(*given: object, **options: object) -> None:
        raise ConnectionError("the network is down")

    with monkeypatch.context() as down:
        down.setattr(MemoryFileSystem, "put_file", refuse)
        answer = run("train", *made, "--workspace", "memory://box")
    assert answer.code == 1
    assert "2 epochs: loss" in answer.out
    assert "its last state is not published" in answer.err
    assert "the network is down" in answer.err
    folder = folder_of(copies) / "runs" / RUN
    assert f"inkcap publish {folder} memory://box" in answer.err
    assert list_versions(Store.open("memory://box"), RUN) == []
    later = run("publish", folder, "memory://box")
    assert later.code == 0, later.err
    monkeypatch.setenv("INKCAP_COPIES", str(tmp_path / "elsewhere"))
    assert run("evaluate", RUN, "--workspace", "memory://box").code == 0


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("--data", "http://169.254.169.254/x.csv"), "http is no storage"),
        (("--data", "sftp://me:secretword@host/x.csv"), "must hold no password"),
        (("--data", "moons", "--workspace", "https://example.org/box"), "https is no storage"),
        (("--data", "moons", "--workspace", "memory://box/../other"), "not safe"),
        (("--data", "memory://box/none.csv"), "there is no such file"),
    ],
)
def test_a_url_that_cannot_be_used_is_refused_before_anything_is_made(run, shared, tmp_path, words, told):
    answer = run("train", "memory://box/two.inkcap.json", *words)
    assert answer.code == 2
    assert told in answer.err
    assert "secretword" not in answer.err
    assert not (tmp_path / "runs").exists()


def test_python_opens_a_workspace_in_storage_first(tmp_path, monkeypatch):
    from inkcap import Recipe, train
    from inkcap.recipes import DataSpec
    from inkcap.training.errors import TrainingError

    monkeypatch.chdir(tmp_path)
    with pytest.raises(TrainingError, match=r"sftp://host/x: .*remote\.at") as refused:
        train(mlp((2, 8, 2), "two", last="softmax"), Recipe(DataSpec("moons")), "sftp://me:secretword@host/x")
    assert "secretword" not in str(refused.value)
    assert list(tmp_path.iterdir()) == []


def test_the_studio_fetches_nothing_from_urls(tmp_path):
    from inkcap.studio.uploads import UploadError, check_here, check_inside

    for check in (check_here, lambda spec: check_inside(spec, tmp_path)):
        for name in ("s3://bucket/x.csv", "file:///etc/passwd", "a.idx, memory://x"):
            with pytest.raises(UploadError, match="fetches nothing from URLs"):
                check(name)
        check("tables/some.csv")


STANDING = """
import time
from inkcap.cli import main
from inkcap.remote import publisher

heard = []


def stand(self):
    # From its third checkpoint on the training stands still, until it is killed.
    heard.append(1)
    time.sleep(600 if len(heard) > 3 else 0)
    return ""


publisher.SHARE, publisher.Publisher.news = 1.0, stand
main()
"""


def started(words: tuple[object, ...], folder: Path, copies: Path, code: str = "") -> subprocess.Popen[bytes]:
    environment = {**os.environ, "PYTHONPATH": str(ROOT / "src"), "OMP_NUM_THREADS": "1", "INKCAP_COPIES": str(copies)}
    command = [sys.executable, *(["-c", code] if code else ["-m", "inkcap"]), *map(str, words)]
    return subprocess.Popen(command, cwd=folder, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def wait_for(process: subprocess.Popen[bytes], true: Callable[[], object]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert process.poll() is None, process.communicate()[0].decode()
        assert time.monotonic() < end
        time.sleep(0.01)


def test_a_machine_that_is_killed_is_gone_on_for_by_another_to_the_same_bits(run, tmp_path, monkeypatch):
    mlp((2, 8, 2), "two", last="softmax").save(tmp_path / "two.inkcap.json")
    url = f"file://{tmp_path}/store"
    made = ("train", "two.inkcap.json", "--data", "moons", "--option", "n=400", *BITS, "--epochs", "30", "--quiet")
    whole = tmp_path / "whole"
    whole.mkdir()
    assert run(*made, "--workspace", whole).code == 0
    first = started((*made, "--checkpoint", "0.01", "--workspace", url), tmp_path, tmp_path / "one", STANDING)
    store = Store.open(url)

    def checkpoints() -> int:
        names = list_versions(store, RUN)
        # One that is just being written is torn: readers leave it aside.
        with suppress(RemoteError):
            return sum("checkpoints/" in path for path in read_version(store, RUN, names[0]).files) if names else 0
        return 0

    wait_for(first, checkpoints)
    first.send_signal(signal.SIGKILL)
    first.communicate()
    monkeypatch.setenv("INKCAP_COPIES", str(tmp_path / "two"))
    second = run("resume", RUN, "--workspace", url, "--json")
    assert second.code == 0, second.err
    said = json.loads(second.out)["notes"][-1]
    assert said.startswith("resumed at step ")
    assert said.endswith("to the same bits as if it had never stopped.")
    expected = all_state(whole)
    assert all_state(folder_of(tmp_path / "two")) == expected
    assert last_turn(store, RUN) == 2
    # And the first machine comes back, with a copy that is older.
    monkeypatch.setenv("INKCAP_COPIES", str(tmp_path / "one"))
    third = run("resume", RUN, "--workspace", url, "--epochs", "31", "--quiet")
    assert third.code == 0, third.err
    assert all_state(folder_of(tmp_path / "one"))["step"] > expected["step"]
    assert last_turn(store, RUN) == 3
