"""Checkpoints on disk: whatever fails while one is written or happens to its bytes, none is lost or wrong."""

from __future__ import annotations

import errno
import hashlib
import os
import shutil
from pathlib import Path
from typing import Any

import pytest
from checkpointing import content_of, files_of

from inkcap.recipes import RunFolderError, checkpoints
from inkcap.recipes.checkpoints import (
    KEPT,
    list_checkpoints,
    newest_checkpoint,
    read_checkpoint,
    set_aside,
    write_checkpoint,
)
from inkcap.recipes.strict import dump
from inkcap.training import Listener, StopRequest, waiting
from inkcap.training.waiting import wait_for_room

WATCHED = ("open", "write", "fsync", "rename", "mkdir")


class Killed(BaseException):
    """The process is gone at this very call."""


class FailingOs:
    """The os module, but the call of a number fails in its way; after a kill no call does anything any more."""

    def __init__(self, place: int, kind: str) -> None:
        self.place, self.kind, self.calls, self.dead = place, kind, 0, False

    def __getattr__(self, name: str) -> Any:
        found = getattr(os, name)
        if name not in WATCHED:
            return found

        def call(*given: Any, **named: Any) -> Any:
            if self.dead:
                raise Killed
            self.calls += 1
            if self.calls != self.place:
                return found(*given, **named)
            if self.kind == "kill":
                self.dead = True
                raise Killed
            if self.kind == "torn" and name == "write":
                found(given[0], bytes(given[1])[: max(1, len(given[1]) // 2)])
                self.dead = True
                raise Killed
            if self.kind == "short" and name == "write":
                return found(given[0], bytes(given[1])[:1])
            if self.kind in ("torn", "short"):
                return found(*given, **named)
            raise OSError(getattr(errno, self.kind), os.strerror(getattr(errno, self.kind)))

        return call


class FailingShutil:
    """Takes nothing away once the process is gone."""

    def __init__(self, system: FailingOs) -> None:
        self.system = system

    def rmtree(self, *given: Any, **named: Any) -> None:
        if self.system.dead:
            raise Killed
        shutil.rmtree(*given, **named)


def _write_with(monkeypatch: pytest.MonkeyPatch, folder: Path, step: int, place: int, kind: str) -> tuple[int, bool]:
    """Write a checkpoint while one call fails; give how many calls there were and whether it was written."""
    system = FailingOs(place, kind)
    with monkeypatch.context() as patched:
        patched.setattr(checkpoints, "os", system)
        patched.setattr(checkpoints, "shutil", FailingShutil(system))
        try:
            write_checkpoint(folder, step, files_of(step))
        except Killed:
            return system.calls, False
        except OSError as problem:
            if problem.errno != getattr(errno, kind):
                raise  # what was wrong must be told, not what came of it
            return system.calls, False
    return system.calls, True


@pytest.mark.parametrize("kind", ["kill", "torn", "short", "ENOSPC", "EIO"])
@pytest.mark.parametrize("before", [0, 1, 2, 3])
def test_no_call_that_fails_costs_a_checkpoint(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, before: int
) -> None:
    place, calls = 0, 0
    # Every call in turn, until there is none left that could fail.
    while place <= calls:
        place += 1
        run = tmp_path / f"{place}"
        run.mkdir()
        (run / "metrics.jsonl").write_bytes(b"as it was")
        folder = run / "checkpoints"
        for step in range(1, before + 1):
            write_checkpoint(folder, 10 * step, files_of(10 * step))
        calls, written = _write_with(monkeypatch, folder, 99, place, kind)
        if kind in ("ENOSPC", "EIO") and folder.is_dir():
            # Who lives on takes away at once what it could not finish: on a full disk nobody else makes room.
            assert [name for name in os.listdir(folder) if name.startswith(".new-")] == [], (kind, place)
        newest, problems = newest_checkpoint(folder)
        assert problems == [], (kind, place)
        known = [10 * before] * (before > 0) + [99]
        if newest is None:
            assert before == 0
            assert not written
        else:
            assert newest.step in known
            assert newest.files == content_of(newest.step)
            assert not written or newest.step == 99
        # The checkpoint before is kept beside the newest.
        assert len(list_checkpoints(folder)) >= min(before, KEPT - 1)
        assert (run / "metrics.jsonl").read_bytes() == b"as it was"
        # The next one is written as if nothing had been, and what was left half done is taken away.
        write_checkpoint(folder, 100, files_of(100))
        assert read_checkpoint(folder / "100").files == content_of(100)
        assert len(os.listdir(folder)) <= KEPT
    assert calls >= 15


def test_the_same_step_twice_and_the_order(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    names = [write_checkpoint(folder, step, files_of(step)).name for step in (7, 7, 7, 30, 100)]
    assert names == ["7", "7-1", "7-2", "30", "100"]
    assert [path.name for path in list_checkpoints(folder)] == ["100", "30"]


def test_a_checkpoint_that_is_mixed_up_is_not_read(tmp_path: Path) -> None:
    folder = tmp_path / "checkpoints"
    for step in (10, 20):
        write_checkpoint(folder, step, files_of(step))
    os.rename(folder / "20", folder / "30")
    with pytest.raises(RunFolderError, match="manifest is that of step 20"):
        read_checkpoint(folder / "30")
    (folder / "10" / "more").write_bytes(b"")
    with pytest.raises(RunFolderError, match="it holds"):
        read_checkpoint(folder / "10")
    (folder / "10" / "more").unlink()
    shutil.copy(folder / "30" / "state", folder / "10" / "state")
    with pytest.raises(RunFolderError, match="state: the check sum differs"):
        read_checkpoint(folder / "10")
    set_aside(folder, None)
    assert list_checkpoints(folder) == []


def _refusal(path: Path) -> str:
    with pytest.raises(RunFolderError) as error:
        read_checkpoint(path)
    assert error.value.__suppress_context__ or error.value.__context__ is None
    return str(error.value)


def test_what_is_wrong_is_told_with_its_place(tmp_path: Path) -> None:
    folder = tmp_path / "run" / "checkpoints"
    folder.parent.mkdir()
    path = write_checkpoint(folder, 10, files_of(10))
    place = "run/checkpoints/10"
    assert read_checkpoint(path) == checkpoints.StoredCheckpoint(path, 10, content_of(10))
    os.rename(path, folder / "11")
    mixed = "its manifest is that of step 10; the folder was renamed or mixed up."
    assert _refusal(folder / "11") == f"run/checkpoints/11: {mixed}"
    os.rename(folder / "11", folder / "x10")
    assert _refusal(folder / "x10") == f"run/checkpoints/x10: {mixed}"
    os.rename(folder / "x10", path)
    (path / "more").write_bytes(b"")
    listed = "best, manifest.json, more, progress.json, state, not state, best, progress.json, manifest.json."
    assert _refusal(path) == f"{place}: it holds {listed}"
    (path / "more").unlink()
    (path / "best").rename(tmp_path / "best")
    (path / "best").mkdir()
    assert _refusal(path) == f"{place}: best cannot be read (Is a directory)."
    (path / "best").rmdir()
    (tmp_path / "best").rename(path / "best")
    (path / "state").write_bytes(b"x")
    assert _refusal(path) == f"{place}/state: the check sum differs; the file is damaged."
    (path / "manifest.json").unlink()
    assert _refusal(path) == f"{place}/manifest.json: manifest.json cannot be read (No such file or directory)."


def _sealed(**changes: Any) -> str:
    """A manifest whose own check sum is right, whatever it holds."""
    plain = {"format": "inkcap-checkpoint", "version": 1, "step": 10, "files": {}, **changes}
    return dump({**plain, "sha256": hashlib.sha256(dump(plain).encode()).hexdigest()})


DAMAGED = "the check sum differs; the file is damaged."
EMPTY = hashlib.sha256(b"").hexdigest()


@pytest.mark.parametrize(
    ("manifest", "told"),
    [
        (_sealed(version=2), "version 2 cannot be read; this Inkcap reads 1."),
        (_sealed(version=None), "version None cannot be read; this Inkcap reads 1."),
        (_sealed(format="other", version=2), DAMAGED),
        (_sealed(files=[]), DAMAGED),
        (_sealed(files={"a": 1}), DAMAGED),
        (_sealed(files={"a": {}}), DAMAGED),
        (_sealed(files={"a": {"bytes": "x", "sha256": ""}}), DAMAGED),
        (_sealed(files={"a": {"bytes": "0", "sha256": EMPTY}}), DAMAGED),
        (dump({"format": "inkcap-checkpoint", "version": 1}), DAMAGED),
        (_sealed().replace("10", "11"), DAMAGED),
        (_sealed().rstrip(), DAMAGED),
        ("[]", "[] is not an object."),
    ],
)
def test_a_manifest_that_was_not_written_so_is_not_read(tmp_path: Path, manifest: str, told: str) -> None:
    path = tmp_path / "checkpoints" / "10"
    path.mkdir(parents=True)
    (path / "manifest.json").write_text(manifest)
    assert _refusal(path) == f"{tmp_path.name}/checkpoints/10/manifest.json: {told}"


def test_the_manifest_is_what_it_was(tmp_path: Path) -> None:
    """Older Inkcaps read it byte for byte."""
    path = write_checkpoint(tmp_path / "checkpoints", 10, {"a": lambda: [b""]})
    assert (path / "manifest.json").read_text() == _sealed(files={"a": {"bytes": 0, "sha256": EMPTY}})
    # The count alone being wrong is seen as well.
    (path / "manifest.json").write_text(_sealed(files={"a": {"bytes": 1, "sha256": EMPTY}}))
    assert _refusal(path) == f"{tmp_path.name}/checkpoints/10/a: the check sum differs; the file is damaged."


@pytest.mark.skipif(os.name != "posix", reason="elsewhere files have no such permissions")
def test_its_files_may_be_read_by_others(tmp_path: Path) -> None:
    before = os.umask(0)
    try:
        path = write_checkpoint(tmp_path / "checkpoints", 10, files_of(10))
    finally:
        os.umask(before)
    assert {(path / name).stat().st_mode & 0o777 for name in os.listdir(path)} == {0o644}


def test_only_folders_whose_names_are_steps_count(tmp_path: Path) -> None:
    good = ["0", "7", "7-1", "7-2", "7-10", "10", "999999999999999", "8-999999"]
    bad = ["00", "07", "7-0", "7-01", "7-", "-1", "1000000000000000", "8-1000000", "x7", "7x", "7-1-1", ".new-1"]
    for name in good + bad:
        (tmp_path / name).mkdir()
    (tmp_path / "12").write_bytes(b"")
    names = ["999999999999999", "10", "8-999999", "7-10", "7-2", "7-1", "7", "0"]
    assert [path.name for path in list_checkpoints(tmp_path)] == names
    assert list_checkpoints(tmp_path / "none") == []


def test_tidying_leaves_the_newest_and_what_is_not_its_own(tmp_path: Path) -> None:
    for name in ("1", "2", "3", "notes", ".new-abc", "damaged-3-ab"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "file").write_bytes(b"")
    checkpoints.tidy(tmp_path)
    assert sorted(os.listdir(tmp_path)) == ["2", "3", "notes"]


def test_damaged_ones_newer_than_the_one_in_use_are_set_aside(tmp_path: Path) -> None:
    for name in ("1", "2", "3", "4"):
        (tmp_path / name).mkdir()
    set_aside(tmp_path, tmp_path / "2")
    left = sorted(os.listdir(tmp_path))
    assert left[:2] == ["1", "2"]
    assert [name[:10] for name in left[2:]] == ["damaged-3-", "damaged-4-"]


class NotingOs(FailingOs):
    """Notes the calls, with the names of what they act on."""

    def __init__(self, name: str = "posix") -> None:
        super().__init__(0, "")
        self.name, self.notes, self.handles = name, list[str](), dict[int, str]()

    def open(self, path: Path, *given: Any) -> int:
        handle = os.open(path, *given)
        self.handles[handle] = self._shown(path)
        return handle

    def write(self, handle: int, content: Any) -> int:
        self.notes.append(f"write {self.handles[handle]}")
        return os.write(handle, content)

    def fsync(self, handle: int) -> None:
        self.notes.append(f"sync {self.handles[handle]}")
        os.fsync(handle)

    def close(self, handle: int) -> None:
        del self.handles[handle]
        os.close(handle)

    def rename(self, old: Path, new: Path) -> None:
        self.notes.append(f"rename {self._shown(new)}")
        os.rename(old, new)

    @staticmethod
    def _shown(path: Path) -> str:
        return "new" if path.name.startswith(".new-") else path.name


def test_everything_lasts_before_it_gets_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder, system = tmp_path / "checkpoints", NotingOs()
    monkeypatch.setattr(checkpoints, "os", system)
    given = {"a": lambda: [b"1", b"2"], "b": lambda: [b"3"]}
    body = ["write a", "write a", "sync a", "write b", "sync b", "write manifest.json", "sync manifest.json"]
    end = ["sync new", "rename 5", "sync checkpoints"]
    write_checkpoint(folder, 5, given)
    assert system.notes == [f"sync {tmp_path.name}", *body, *end]
    assert system.handles == {}  # all were closed
    # The second time the folder is there and need not be made to last.
    system.notes.clear()
    write_checkpoint(folder, 5, given)
    assert system.notes == [*body, "sync new", "rename 5-1", "sync checkpoints"]


def test_where_folders_cannot_be_opened_only_files_are_synced(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    system = NotingOs("nt")
    monkeypatch.setattr(checkpoints, "os", system)
    write_checkpoint(tmp_path / "checkpoints", 5, {"a": lambda: [b"1"]})
    assert [note for note in system.notes if note.startswith("sync")] == ["sync a", "sync manifest.json"]


def test_a_folder_that_another_makes_at_the_same_time_is_used(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    folder = tmp_path / "checkpoints"
    folder.mkdir()
    looks, found = [], Path.is_dir

    def look(path: Path) -> bool:
        looks.append(path)
        return len(looks) > 1 and found(path)

    monkeypatch.setattr(Path, "is_dir", look)
    assert write_checkpoint(folder, 5, files_of(5)) == folder / "5"
    assert looks[0] == folder


def test_one_that_cannot_be_looked_into_gives_way_to_the_one_before(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    for step in (10, 20):
        write_checkpoint(tmp_path, step, files_of(step))

    def listed(path: Path) -> list[str]:
        if path.name == "20":
            raise PermissionError(errno.EACCES, "Permission denied", "20")
        return os.listdir(path)

    system = FailingOs(0, "")
    system.listdir = listed  # type: ignore[attr-defined]
    monkeypatch.setattr(checkpoints, "os", system)
    newest, problems = newest_checkpoint(tmp_path)
    assert newest is not None
    assert newest.step == 10
    assert problems == ["[Errno 13] Permission denied: '20'"]
    assert newest_checkpoint(tmp_path / "none") == (None, [])


def test_one_that_is_damaged_gives_way_to_the_one_before(tmp_path: Path) -> None:
    for step in (10, 20):
        write_checkpoint(tmp_path, step, files_of(step))
    (tmp_path / "20" / "state").write_bytes(b"other")
    newest, problems = newest_checkpoint(tmp_path)
    assert newest is not None
    assert (newest.step, newest.files) == (10, content_of(10))
    assert len(problems) == 1
    assert problems[0].endswith("20/state: the check sum differs; the file is damaged.")


def test_what_stands_in_the_way_of_setting_aside_is_left(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("1", "2", "3"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(checkpoints, "os", FailingOs(1, "EIO"))
    set_aside(tmp_path, None)
    assert [path.name for path in list_checkpoints(tmp_path)] == ["3"]
    for name in ("4", "5", "6"):
        (tmp_path / name).mkdir()
    monkeypatch.setattr(checkpoints, "os", FailingOs(1, "EIO"))
    checkpoints.tidy(tmp_path)
    assert [path.name for path in list_checkpoints(tmp_path)] == ["6", "5", "4"]


@pytest.mark.parametrize("number", [errno.ENOSPC, errno.EDQUOT])
def test_a_full_disk_and_a_quota_that_is_used_up_are_waited_for(
    number: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(waiting, "POLL_SECONDS", 0.0)
    left = [number, number]

    def write() -> None:
        if left:
            raise OSError(left.pop(), "no room")

    wait_for_room(write, "x", tmp_path, Listener(), StopRequest())
    assert left == []


def test_a_fault_of_the_disk_is_not_waited_for(tmp_path: Path) -> None:
    def write() -> None:
        raise OSError(errno.EIO, "broken")

    with pytest.raises(OSError, match="broken"):
        wait_for_room(write, "x", tmp_path, Listener(), StopRequest())
