"""Fetching: the newest whole version, into a folder that is whole; what others wrote is not trusted."""

from __future__ import annotations

import hashlib
import json
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
from stored import begin_run, content_of, fresh, go_to, store_of

from inkcap.recipes import RunFolder, layout
from inkcap.recipes.checkpoints import newest_checkpoint
from inkcap.remote import Publisher, RemoteError, Store, fetching
from inkcap.remote.fetching import fetch_run
from inkcap.remote.versions import files_of, list_versions, versions_of

RUN = "net-toy-0001"


def published(tmp_path: Path, files: object, steps: tuple[int, ...] = (10, 20)) -> tuple[RunFolder, Publisher]:
    publisher = Publisher(store_of(files))
    run = begin_run(tmp_path / "mine", publisher)
    for step in steps:
        go_to(run, step)
    run = run.update(state="interrupted", reason="stopped by SIGTERM")
    publisher.close()
    return run, publisher


def fetch(files: object, workspace: Path, whole: bool = True) -> Path:
    return fetch_run(store_of(files), RUN, workspace, whole=whole)


def test_a_run_is_fetched_with_its_checkpoint_or_without(tmp_path):
    files = fresh()
    run, _ = published(tmp_path, files)
    light = fetch(files, tmp_path / "other", whole=False)
    assert not (light / layout.CHECKPOINTS).exists()
    assert (light / layout.BEST).is_file()
    whole = fetch(files, tmp_path / "other")
    assert content_of(whole) == content_of(run.path)
    found, problems = newest_checkpoint(whole / layout.CHECKPOINTS)
    assert found is not None
    assert (found.step, problems) == (20, [])


def test_a_copy_that_is_up_to_date_is_not_fetched_again(tmp_path):
    files = fresh()
    published(tmp_path, files)
    first = fetch(files, tmp_path / "other").stat().st_ino
    assert fetch(files, tmp_path / "other", whole=False).stat().st_ino == first
    assert fetch(files, tmp_path / "other").stat().st_ino == first


def test_the_folder_of_the_last_turn_is_newer_than_what_it_has_published(tmp_path):
    files = fresh()
    run, _ = published(tmp_path, files)
    go_to(run, 30)
    before = content_of(run.path)
    assert fetch(files, tmp_path / "mine") == run.path
    assert content_of(run.path) == before


def test_a_folder_that_another_machine_went_on_with_makes_way_and_what_was_never_published_stays_aside(tmp_path):
    files = fresh()
    run, _ = published(tmp_path, files)
    other, publisher = fetch(files, tmp_path / "other"), Publisher(store_of(files))
    publisher.go_on(other)
    go_to(RunFolder.open(other), 40)
    publisher.close()
    Publisher(store_of(files))
    unpublished = run.path / "elsewhere.json"
    said = json.loads(unpublished.read_text())
    said["elsewhere"]["version"] = ""
    unpublished.write_text(json.dumps(said))
    assert content_of(fetch(files, tmp_path / "mine")) == content_of(other)
    aside = [path.name for path in (tmp_path / "mine" / "runs").iterdir() if path.name.startswith(".aside-")]
    assert len(aside) == 1


def test_a_copy_that_was_wholly_published_makes_way_for_good(tmp_path):
    files = fresh()
    published(tmp_path, files)
    other, publisher = fetch(files, tmp_path / "other"), Publisher(store_of(files))
    publisher.go_on(other)
    publisher.close()
    fetch(files, tmp_path / "mine")
    assert [path.name for path in (tmp_path / "mine" / "runs").iterdir()] == [RUN]


def test_commands_that_fetch_at_once_share_one_copy(tmp_path):
    files = fresh()
    run, _ = published(tmp_path, files)
    with ThreadPoolExecutor(6) as pool:
        found = list(pool.map(lambda _: fetch(files, tmp_path / "other"), range(6)))
    assert len(set(found)) == 1
    assert content_of(found[0]) == content_of(run.path)
    assert [path.name for path in (tmp_path / "other" / "runs").iterdir()] == [RUN]


def test_a_copy_that_another_command_has_put_there_meanwhile_is_not_taken_away(tmp_path, monkeypatch):
    files = fresh()
    run, _ = published(tmp_path, files)
    copy = fetch(files, tmp_path / "other")
    go_to(run, 30)
    Publisher(store_of(files)).publish(run.path)
    read, looks, others = fetching.read_mark, [], []

    def look(folder: Path, store: str) -> Any:
        found = read(folder, store)
        looks.append(folder)
        if len(looks) == 2:
            # Between the last look at the older copy and its way out, another command does all of its work, if it can.
            another.start()
            another.join(0.5)
        return found

    def fetch_too() -> None:
        others.append(fetch(files, tmp_path / "other").stat().st_ino)

    another = threading.Thread(target=fetch_too)
    monkeypatch.setattr(fetching, "read_mark", look)
    fetch(files, tmp_path / "other")
    another.join()
    assert others == [copy.stat().st_ino]
    assert content_of(copy) == content_of(run.path)
    assert [path.name for path in (tmp_path / "other" / "runs").iterdir()] == [RUN]


def test_a_version_that_goes_while_it_is_fetched_gives_way_to_a_newer_one(tmp_path, monkeypatch):
    files = fresh()
    run, _ = published(tmp_path, files)
    copy, left = Store.copy, [2]

    def slow(self: Store, name: str, target: Any, size: int) -> str:
        if left[0]:
            left[0] -= 1
            # As many newer versions as stay: the one that is being fetched is taken away.
            for step in range(100 - 10 * left[0], 103 - 10 * left[0]):
                go_to(run, step)
                Publisher(store_of(files)).publish(run.path)
        return copy(self, name, target, size)

    monkeypatch.setattr(Store, "copy", slow)
    assert content_of(fetch(files, tmp_path / "other")) == content_of(run.path)
    assert left == [0]


def test_a_run_that_is_not_there_is_told_with_those_that_are(tmp_path):
    files = fresh()
    published(tmp_path, files)
    with pytest.raises(RemoteError, match=r"has no such run.*it has: net-toy-0001"):
        fetch_run(store_of(files), "net-toy-0009", tmp_path, whole=True)


def forge(store: Store, **changes: object) -> None:
    """Write a manifest that is newer than all, with the right check sum and something wrong in it."""
    name = list_versions(store, RUN)[0]
    given = json.loads(store.read(f"{versions_of(RUN)}/{name}", 1 << 20))
    given |= {"count": name.count + 1, **changes}
    text = json.dumps(given).encode()
    digest = hashlib.sha256(text).hexdigest()
    store.write(f"{versions_of(RUN)}/{name.turn}-{name.count + 1}-{digest}.json", text)


PIECE = {"bytes": 3, "sha256": hashlib.sha256(b"abc").hexdigest(), "turn": 1}


@pytest.mark.parametrize(
    "changes",
    [
        {"files": {"../../outside.json": [PIECE]}},
        {"files": {"/etc/outside": [PIECE]}},
        {"files": {"checkpoints/../../outside": [PIECE]}},
        {"files": {"checkpoints/1/..": [PIECE]}},
        {"files": {"run.json\x00": [PIECE]}},
        {"files": {"elsewhere.json": [PIECE]}},
        {"files": {"frames\\..\\..\\outside": [PIECE]}},
        {"files": {"run.json": [{**PIECE, "bytes": -1}]}},
        {"files": {"run.json": [{**PIECE, "bytes": 2**60}]}},
        {"files": {"run.json": [{**PIECE, "bytes": 2**45}]}},
        {"files": {"run.json": [{**PIECE, "sha256": "../../x"}]}},
        {"files": {"run.json": [{**PIECE, "turn": "1/../.."}]}},
        {"files": {"run.json": PIECE}},
        {"files": {f"frames/{i:06d}-{'0' * 16}.safetensors": [PIECE] for i in range(2000)}},
        {"files": []},
        {"run": "net-toy-0002"},
        {"turn": 7},
        {"version": 2},
        {"more": 1},
    ],
)
def test_a_manifest_of_a_stranger_writes_nothing_and_the_one_before_is_taken(tmp_path, changes):
    files = fresh()
    run, _ = published(tmp_path, files)
    store = store_of(files)
    store.write(f"{files_of(RUN)}/run.json/1-{PIECE['sha256']}", b"abc")
    forge(store, **changes)
    before = {path for path in tmp_path.rglob("*") if "other" not in path.parts}
    assert content_of(fetch(files, tmp_path / "other")) == content_of(run.path)
    assert {path for path in tmp_path.rglob("*") if "other" not in path.parts} == before
    assert [path.name for path in (tmp_path / "other" / "runs").iterdir()] == [RUN]


def test_a_fetched_run_json_is_read_as_strictly_as_any(tmp_path):
    from inkcap.recipes import RunFolderError

    files = fresh()
    published(tmp_path, files)
    store = store_of(files)
    store.write(f"{files_of(RUN)}/run.json/1-{PIECE['sha256']}", b"abc")
    name = list_versions(store, RUN)[0]
    pieces = json.loads(store.read(f"{versions_of(RUN)}/{name}", 1 << 20))["files"]
    forge(store, files={**pieces, "run.json": [PIECE]})
    with pytest.raises(RunFolderError, match=r"net-toy-0001/run.json"):
        RunFolder.open(fetch(files, tmp_path / "other"))


def test_what_does_not_fit_on_the_disk_is_told_before_it_is_fetched(tmp_path, monkeypatch):
    import shutil
    from collections import namedtuple

    files = fresh()
    published(tmp_path, files)
    usage = namedtuple("usage", "total used free")
    monkeypatch.setattr(shutil, "disk_usage", lambda _: usage(10, 9, 1))
    with pytest.raises(RemoteError, match=r"room for 0\.0 MB"):
        fetch(files, tmp_path / "other")
