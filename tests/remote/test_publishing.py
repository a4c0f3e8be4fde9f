"""Publishing: whatever is cut off, and wherever, the newest whole version is there to be read."""

from __future__ import annotations

import json
import shutil
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from stored import Watched, begin_run, content_of, fresh, go_to, store_of, torn_after

from inkcap.recipes import RunFolder, layout
from inkcap.recipes.checkpoints import KEPT
from inkcap.remote import Publisher, RemoteError
from inkcap.remote import publishing as module
from inkcap.remote.fetching import fetch_newest
from inkcap.remote.marks import read_mark
from inkcap.remote.publishing import Publication
from inkcap.remote.staging import stage
from inkcap.remote.versions import files_of, list_versions, read_version, versions_of

RUN = "net-toy-0001"


def publish(run: RunFolder, files: object) -> None:
    """Publish a run as it is, by a process that knows nothing of the ones before."""
    mark = read_mark(run.path, "memory://shared")
    assert mark is not None
    assert mark.own is not None
    staged = stage(run.path)
    try:
        Publication(store_of(files), run.id, mark.own).publish(staged)
    finally:
        staged.drop()


def newest(files: object, folder: Path) -> dict[str, bytes]:
    fetched, _ = fetch_newest(store_of(files), RUN, folder / "read")
    try:
        return content_of(fetched)
    finally:
        shutil.rmtree(fetched)


def begun(tmp_path: Path, files: object) -> RunFolder:
    return begin_run(tmp_path, Publisher(store_of(files)))


def test_what_is_published_is_fetched_to_the_byte(tmp_path):
    files = fresh()
    run = begun(tmp_path, files)
    for step in (10, 20, 30):
        go_to(run, step)
        publish(run, files)
        assert newest(files, tmp_path) == content_of(run.path)


def test_the_store_keeps_as_many_versions_as_a_disk_keeps_checkpoints_and_nothing_else(tmp_path):
    files = fresh()
    run = begun(tmp_path, files)
    store = store_of(files)
    for step in range(1, 7):
        go_to(run, step)
        publish(run, files)
    names = list_versions(store, RUN)
    assert len(names) == KEPT
    needed = {name for one in names for name in read_version(store, RUN, one).objects()}
    assert set(store.names(files_of(RUN))) == needed


def test_what_has_not_changed_is_sent_once(tmp_path):
    puts: list[str] = []
    files = Watched(fresh(), lambda kind, path: puts.append(f"{kind} {path}"))
    run = begun(tmp_path, files)
    go_to(run, 1)
    publish(run, files)
    first = len(puts)
    publish(run, files)
    assert len([put for put in puts[first:] if put.startswith("put")]) == 1, "the manifest alone"


def test_a_long_log_is_sent_block_by_block(tmp_path, monkeypatch):
    monkeypatch.setattr(module, "BLOCK", 100)
    puts: list[str] = []
    files = Watched(fresh(), lambda kind, path: puts.append(path) if kind == "put" else None)
    run = begun(tmp_path, files)
    for step in range(1, 12):
        go_to(run, step)
        publish(run, files)
        assert newest(files, tmp_path) == content_of(run.path)
    size = (run.path / layout.METRICS).stat().st_size
    sent = [path for path in puts if layout.METRICS in path]
    assert size > 800
    assert len(sent) <= 11 + size // 100 + 1


def test_a_line_that_is_half_written_is_not_published(tmp_path):
    files = fresh()
    run = begun(tmp_path, files)
    go_to(run, 1)
    whole = (run.path / layout.METRICS).read_bytes()
    with open(run.path / layout.METRICS, "ab") as log:
        log.write(b'{"seq":2,"kind"')
    publish(run, files)
    assert newest(files, tmp_path)[layout.METRICS] == whole


def test_every_prefix_of_the_changes_leaves_a_whole_newest_version(tmp_path):
    """Three versions are published; the connection is cut, and the change torn, after each number of changes."""
    changes: list[str] = []
    counting = Watched(fresh(), lambda kind, path: changes.append(kind))
    steps = (10, 20, 30)
    run = begun(tmp_path / "count", counting)
    for step in steps:
        go_to(run, step)
        publish(run, counting)
    total = len(changes)
    assert total > 30
    assert changes.count("remove") >= 5
    torn = 0
    for cut in range(1, total):
        place, files = tmp_path / str(cut), fresh()
        cutting = torn_after(files, cut)
        run = begun(place, cutting)
        published: dict[str, bytes] | None = None
        for step in steps:
            go_to(run, step)
            try:
                publish(run, cutting)
                published = content_of(run.path)
            except RemoteError:
                torn += 1
                break
        if published is None:
            with pytest.raises(RemoteError, match=r"nothing of this run yet|no version of it"):
                newest(files, place)
        else:
            # A manifest that is whole counts, though its writer was cut off before it knew.
            assert newest(files, place) in (published, content_of(run.path))
        publish(run, files)
        assert newest(files, place) == content_of(run.path), "the next try is whole again"
        shutil.rmtree(place)
    assert torn > total // 2


LIVES = st.lists(st.tuples(st.integers(1, 3), st.integers(0, 25)), min_size=1, max_size=4)


@given(lives=LIVES)
@settings(max_examples=20, suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow])
def test_in_any_order_of_lives_and_cuts_manifests_come_last_and_nothing_needed_goes(tmp_path_factory, lives):
    """Each life publishes some versions and is cut off after so many changes; every change keeps what was whole."""
    place, files = tmp_path_factory.mktemp("lives"), fresh()
    store = store_of(files)
    run, step = begun(place, files), 0
    left = [10**9]

    def before(kind: str, path: str) -> None:
        name = path.removeprefix("/shared/")
        names = list_versions(store, RUN)
        assert all(is_whole(one) for one in names), "a manifest is there only while all of its pieces are"
        if kind == "put" and name.startswith(versions_of(RUN)):
            return
        if kind == "remove":
            kept = {f"{versions_of(RUN)}/{names[0]}", *read_version(store, RUN, names[0]).objects()}
            assert name not in kept, "the newest version stays"
        left[0] -= 1
        if left[0] < 0:
            raise ConnectionError("cut off")

    def is_whole(one: object) -> bool:
        objects = read_version(store, RUN, one).objects()  # pyright: ignore[reportArgumentType]
        there = store.names(files_of(RUN))
        return all(there.get(name) == size for name, size in objects.items())

    for versions, cut in lives:
        left[0] = cut
        for _ in range(versions):
            step += 1
            go_to(run, step, 20)
            try:
                publish(run, Watched(files, before))
            except RemoteError:
                break
            assert newest(files, place) == content_of(run.path)
    left[0] = 10**9
    publish(run, Watched(files, before))
    assert newest(files, place) == content_of(run.path)
    shutil.rmtree(place)


def test_a_checkpoint_that_goes_away_while_it_is_sent_is_sent_whole(tmp_path):
    run_files = fresh()
    run = begun(tmp_path, run_files)
    go_to(run, 1)
    expected = content_of(run.path)

    def before(kind: str, path: str) -> None:
        if "checkpoints" in path and kind == "put":
            for step in range(2, 6):
                if not (run.path / layout.CHECKPOINTS / str(step)).exists():
                    go_to(run, step)

    publish(run, Watched(run_files, before))
    found = newest(run_files, tmp_path)
    expected[layout.METRICS] = found[layout.METRICS]
    assert not (run.path / layout.CHECKPOINTS / "1").exists()
    assert found == expected


def test_a_version_whose_piece_is_damaged_is_passed_over(tmp_path):
    files = fresh()
    run = begun(tmp_path, files)
    contents = []
    for step in (10, 20):
        go_to(run, step)
        publish(run, files)
        contents.append(content_of(run.path))
    store = store_of(files)
    name = next(n for n in read_version(store, RUN, list_versions(store, RUN)[0]).objects() if "/20/state" in n)
    for damage in (b"", b"x" * store.names(files_of(RUN))[name]):
        store.write(name, damage)
        assert newest(files, tmp_path) == contents[0]
    store.remove(name)
    assert newest(files, tmp_path) == contents[0]


def test_no_credentials_and_no_path_of_this_machine_are_in_a_manifest(tmp_path):
    files = fresh()
    run = begun(tmp_path, files)
    go_to(run, 1)
    publish(run, files)
    store = store_of(files)
    text = store.read(f"{versions_of(RUN)}/{list_versions(store, RUN)[0]}", 1 << 20).decode()
    assert str(tmp_path) not in text
    assert set(json.loads(text)) == {"format", "version", "run", "turn", "count", "when", "files"}


def test_a_store_that_loses_a_part_of_a_piece_without_a_word_gets_no_manifest(tmp_path):
    class Losing(Watched):
        def _put(self, path: str, value: bytes) -> None:
            super()._put(path, value[:-1] if "/state.safetensors/" in path else value)

    files = fresh()
    run = begun(tmp_path, files)
    go_to(run, 1)
    with pytest.raises(RemoteError, match=r"state\.safetensors.*after writing it has \d+ of \d+ bytes"):
        publish(run, Losing(files, lambda kind, path: None))
    assert list_versions(store_of(files), RUN) == []


def test_a_manifest_that_was_changed_is_passed_over_however_well_it_reads(tmp_path):
    files = fresh()
    run = begun(tmp_path, files)
    contents = []
    for step in (10, 20):
        go_to(run, step)
        publish(run, files)
        contents.append(content_of(run.path))
    store = store_of(files)
    place = f"{versions_of(RUN)}/{list_versions(store, RUN)[0]}"
    given = json.loads(store.read(place, 1 << 20))
    del given["files"][layout.BEST]
    store.write(place, json.dumps(given).encode())
    assert newest(files, tmp_path) == contents[0]


def test_who_is_being_taken_over_takes_no_piece_of_the_next_turn_away(tmp_path):
    files = fresh()
    run = begun(tmp_path, files)
    store = store_of(files)
    later, older = (f"{files_of(RUN)}/{layout.BEST}/{turn}-{'0' * 64}" for turn in (2, 1))
    for name in (later, older):
        store.write(name, b"x")
    go_to(run, 1)
    publish(run, files)
    assert later in store.names(files_of(RUN))
    assert older not in store.names(files_of(RUN))
