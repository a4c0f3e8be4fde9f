"""Checkpoints on disk: whatever fails while one is written or happens to its bytes, none is lost or wrong."""

from __future__ import annotations

import errno
import os
import random
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
        except (Killed, OSError):
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


def _damaged(content: bytes, luck: random.Random) -> bytes:
    """Flip a bit, change a byte, cut, lengthen, zero or double a part."""
    place = luck.randrange(len(content)) if content else 0
    way = luck.randrange(6) if content else 3
    changed = bytearray(content)
    if way == 0:
        changed[place] ^= 1 << luck.randrange(8)
    elif way == 1:
        changed[place] = (changed[place] + luck.randrange(1, 256)) % 256
    elif way == 2:
        del changed[place:]
    elif way == 3:
        changed += bytes(luck.randrange(1, 20))
    elif way == 4:
        changed[place : place + 16] = bytes(len(changed[place : place + 16]))
    else:
        changed[place:place] = changed[max(0, place - 9) : place + 1]
    return bytes(changed)


def corrupt(folder: Path, times: int, seed: int) -> int:
    """Damage the newest of two checkpoints again and again; give how often it was really changed."""
    luck = random.Random(seed)  # noqa: S311
    for step in (10, 20):
        write_checkpoint(folder, step, files_of(step))
    path, count = folder / "20", 0
    for _ in range(times):
        name = luck.choice(sorted(os.listdir(path)))
        whole = (path / name).read_bytes()
        changed = _damaged(whole, luck)
        if changed == whole:
            continue
        count += 1
        (path / name).write_bytes(changed)
        newest, problems = newest_checkpoint(folder)
        assert len(problems) == 1, (name, changed)
        assert newest is not None
        assert newest.files == content_of(10)
        (path / name).write_bytes(whole)
    return count


def test_no_damage_is_accepted(tmp_path: Path) -> None:
    assert corrupt(tmp_path / "checkpoints", 500, 1) > 400


@pytest.mark.soak
def test_no_damage_is_accepted_at_volume(tmp_path: Path) -> None:
    assert corrupt(tmp_path / "checkpoints", 20_000, 2) > 16_000


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
