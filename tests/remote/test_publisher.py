"""Publishing beside a training: it never waits for a store, and at the end it is known what is not published."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from stored import Watched, begin_run, content_of, fresh, go_to, store_of

from inkcap.recipes import RunFolder
from inkcap.remote import NotPublished, Publisher, RemoteError, at, publisher
from inkcap.remote.fetching import fetch_newest
from inkcap.remote.marks import read_mark
from inkcap.remote.places import publish
from inkcap.remote.turns import run_names, take_turn
from inkcap.remote.versions import list_versions

RUN = "net-toy-0001"


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(publisher, "FIRST_PAUSE", 0.01)
    monkeypatch.setattr(publisher, "LONGEST_PAUSE", 0.05)


def until(true: Callable[[], object]) -> None:
    end = time.monotonic() + 20
    while not true():
        assert time.monotonic() < end, "it did not come to it"
        time.sleep(0.005)


class Switch:
    """A store that can be unplugged, from some change on."""

    def __init__(self, inner: object) -> None:
        self.on = True
        self.files = Watched(inner, self._before)

    def _before(self, kind: str, path: str) -> None:
        if not self.on:
            raise ConnectionError("unplugged")


def newest(files: object, folder: Path) -> dict[str, bytes]:
    return content_of(fetch_newest(store_of(files), RUN, folder / "read")[0])


def test_a_checkpoint_is_published_by_a_thread_of_its_own(tmp_path):
    files = fresh()
    own = Publisher(store_of(files))
    run = begin_run(tmp_path, own)
    for step in (10, 20):
        go_to(run, step)
        own.changed(run.path)
        until(
            lambda s=step: (
                len(list_versions(store_of(files), RUN)) and newest(files, tmp_path / str(s)) == content_of(run.path)
            )
        )
    own.close()
    assert own.news() == ""
    assert list(run.path.glob(".publishing-*")) == []


def test_a_publisher_that_was_closed_takes_up_the_next_training(tmp_path):
    files = fresh()
    own = Publisher(store_of(files))
    run = begin_run(tmp_path, own)
    for step in (10, 20):
        before = list_versions(store_of(files), RUN)[:1]
        go_to(run, step)
        own.changed(run.path)
        # By its thread: the end, which publishes by itself, has not come yet.
        until(lambda before=before: list_versions(store_of(files), RUN)[:1] != before)
        own.close()
        own.go_on(run.path)


def test_a_training_does_not_wait_for_a_slow_store_and_what_is_late_is_left_out(tmp_path):
    gate, changes = threading.Event(), 0

    def before(kind: str, path: str) -> None:
        nonlocal changes
        changes += 1
        if "/turns/" not in path:
            gate.wait(20)

    files = fresh()
    own = Publisher(store_of(Watched(files, before)))
    run = begin_run(tmp_path, own)
    begun = time.monotonic()
    for step in range(1, 30):
        go_to(run, step)
        own.changed(run.path)
    assert time.monotonic() - begun < 15
    assert len(list(run.path.glob(".publishing-*"))) <= 2
    gate.set()
    own.close()
    assert newest(files, tmp_path) == content_of(run.path)
    assert changes < 29 * 8


def test_a_store_that_fails_is_told_of_once_tried_again_and_told_to_work(tmp_path):
    files = fresh()
    switch = Switch(files)
    own = Publisher(store_of(switch.files))
    run = begin_run(tmp_path, own)
    switch.on = False
    go_to(run, 10)
    own.changed(run.path)
    told: list[str] = []
    until(lambda: told.extend(filter(None, [own.news()])) or told)
    time.sleep(0.3)
    assert own.news() == ""
    assert len(told) == 1
    assert "not published for now" in told[0]
    assert "ConnectionError: unplugged" in told[0]
    switch.on = True
    until(lambda: told.extend(filter(None, [own.news()])) or len(told) == 2)
    assert told[1] == "publishing to memory://shared works again"
    assert newest(files, tmp_path) == content_of(run.path)
    own.close()


def test_what_is_not_published_in_the_end_is_said_with_how_to_do_it_later(tmp_path, monkeypatch):
    files = fresh()
    switch = Switch(files)
    own = Publisher(store_of(switch.files))
    run = begin_run(tmp_path, own)
    go_to(run, 10)
    switch.on = False
    with pytest.raises(NotPublished, match="unplugged") as refused:
        own.close()
    assert f"inkcap publish {run.path} memory://shared" in str(refused.value)
    assert list_versions(store_of(files), RUN) == []
    switch.on = True
    later = Publisher(store_of(files))
    later.publish(run.path)
    assert newest(files, tmp_path) == content_of(run.path)


def test_a_machine_whose_run_was_taken_over_publishes_it_no_more(tmp_path):
    files = fresh()
    own = Publisher(store_of(files))
    run = begin_run(tmp_path, own)
    go_to(run, 10)
    own.changed(run.path)
    until(lambda: list_versions(store_of(files), RUN))
    before = list_versions(store_of(files), RUN)
    assert take_turn(store_of(files), RUN, 1) is not None
    go_to(run, 20)
    own.changed(run.path)
    until(lambda: "another machine has gone on" in own.news())
    with pytest.raises(NotPublished, match="another machine has gone on"):
        own.close()
    assert list_versions(store_of(files), RUN) == before
    with pytest.raises(RemoteError, match="publish it to another URL"):
        Publisher(store_of(files)).publish(run.path)


def test_a_run_that_could_not_begin_gives_its_name_back(tmp_path):
    files = fresh()
    own = Publisher(store_of(files))
    begin_run(tmp_path, own).remove()
    own.close()
    assert RunFolder.create(tmp_path / "other", "net", "toy", elsewhere=Publisher(store_of(files))).id == RUN


def test_a_run_of_this_machine_is_published_and_published_again(tmp_path):
    run = begin_run(tmp_path)
    go_to(run, 10)
    for step in (20, 30):
        assert publish(run, "memory://shared/deep/folder") == "memory://shared/deep/folder"
        go_to(run, step)
    other = begin_run(tmp_path / "other")
    assert other.id == run.id
    with pytest.raises(RemoteError, match="has a run of this name that is not this one"):
        publish(other, "memory://shared/deep/folder")


def test_a_failure_and_what_is_not_published_are_both_told(tmp_path, monkeypatch):
    def close(self: Publisher) -> None:
        raise NotPublished("it is not published.")

    monkeypatch.setattr(Publisher, "close", close)
    with pytest.raises(NotPublished, match=r"the loss became nan\.\nit is not published"), at("memory://shared"):
        raise RemoteError("the loss became nan.")


def test_a_machine_that_seems_to_train_a_run_is_asked_after_before_it_is_taken_over(tmp_path):
    with at("memory://shared") as place:
        assert place.elsewhere is not None
        run = begin_run(place.folder, place.elsewhere)
        go_to(run, 10)
        # The mark of a process of another machine.
        run.update(process="0123456789ab:0123456789ab:1", pid=1)
    (tmp_path / "copies").rename(tmp_path / "first machine")
    with at("memory://shared") as place:
        with pytest.raises(RemoteError, match="--take-over"):
            place.run_to_resume(RUN)
        taken = place.run_to_resume(RUN, take_over=True)
        assert taken.record.state == "interrupted"
        assert place.elsewhere is not None
        place.elsewhere.go_on(taken.path)
    mark = read_mark(taken.path, "memory://shared")
    assert mark is not None
    assert mark.turn == 2
    from inkcap.remote import Store

    assert run_names(Store.open("memory://shared")) == [RUN]


def test_take_over_serves_a_mounted_folder_too(tmp_path):
    run = begin_run(tmp_path)
    run.update(process="0123456789ab:0123456789ab:1", pid=1)
    with at(tmp_path) as place:
        with pytest.raises(RemoteError, match="--take-over"):
            place.run_to_resume(run.id)
        assert place.run_to_resume(run.id, take_over=True).record.state == "interrupted"
