"""What is left unread of SQLite's log is told, and what was never finished or is of an earlier round is not."""

import sqlite3
from pathlib import Path

import pytest

from inkcap.studio.seals import lines_behind

PAGE, FRAME, HEADER = 4096, 24, 32


@pytest.fixture
def log(tmp_path: Path) -> Path:
    """A log of some committed changes, as a killed process leaves it."""
    db = sqlite3.connect(tmp_path / "a.db", isolation_level=None)
    db.execute(f"PRAGMA page_size={PAGE}")
    db.execute("PRAGMA journal_mode=WAL")
    db.execute("CREATE TABLE t (x)")
    for number in range(5):
        db.execute("INSERT INTO t VALUES (?)", (number,))
    content = (tmp_path / "a.db-wal").read_bytes()
    db.close()
    path = tmp_path / "left-wal"
    path.write_bytes(content)
    return path


def frames(path: Path) -> int:
    return (path.stat().st_size - HEADER) // (PAGE + FRAME)


def test_a_log_that_was_read_whole_misses_nothing(log: Path) -> None:
    assert lines_behind(log, frames(log)) == ""


def test_a_log_of_which_nothing_could_be_read_hangs_together(log: Path) -> None:
    # Frames that are as they were written were left out for want of a commit.
    assert lines_behind(log, 0) == ""


@pytest.mark.parametrize("place", [0, 4, 8, 12, 16, 20, 24, 4000])
def test_a_last_frame_that_was_changed_anywhere_is_told(log: Path, place: int) -> None:
    content = bytearray(log.read_bytes())
    last = HEADER + (frames(log) - 1) * (PAGE + FRAME)
    before = bytes(content[last + place : last + place + 16])
    content[last + place : last + place + 16] = bytes(16) if any(before) else b"\x01" * 16
    log.write_bytes(content)
    assert f"the change at byte {last}" in lines_behind(log, frames(log) - 1)


def test_frames_of_an_earlier_round_are_not_missed(log: Path) -> None:
    content = bytearray(log.read_bytes())
    last = HEADER + (frames(log) - 1) * (PAGE + FRAME)
    mark = int.from_bytes(content[16:20], "big")
    content[last + 8 : last + 12] = ((mark - 1) % 2**32).to_bytes(4, "big")
    content[last + 12 : last + 16] = b"odd!"
    log.write_bytes(content)
    assert lines_behind(log, frames(log) - 1) == ""


def test_a_damaged_head_and_a_cut_end_are_told(log: Path) -> None:
    content = log.read_bytes()
    log.write_bytes(content[:-1])
    assert "does not end with a whole frame" in lines_behind(log, 3)
    log.write_bytes(bytes([content[0] ^ 1]) + content[1:])
    assert "its first bytes are damaged" in lines_behind(log, 3)
