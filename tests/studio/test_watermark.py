"""What the studio's file has lost is told, also where it looks whole: cut off right behind a change, or put back."""

import shutil
from pathlib import Path

import kept_actions as kept
import pytest

from inkcap.structures.errors import InkcapError
from inkcap.studio.store import FILE, FOLDER, Store, StoreError
from inkcap.studio.watermark import FILE as LAST
from inkcap.studio.watermark import Watermark

PAGE, FRAME, HEADER = 4096, 24, 32
LOG = f"{FILE}-wal"


@pytest.fixture
def killed(tmp_path: Path) -> Path:
    """A workspace as a killed studio leaves it, with edits in the log that are not in the file yet."""
    folder = tmp_path / "work"
    folder.mkdir()
    kept.save_drawing(kept.drawn(1), folder / kept.FILE)
    store, ledger, _ = kept._opened(folder)
    for number in range(1, 6):
        kept._edit(ledger, number)
    shutil.copytree(folder, tmp_path / "killed")
    store.close()
    return tmp_path / "killed" / FOLDER


def note_of(folder: Path) -> str:
    store = Store(folder.parent)
    store.close()
    return store.note


def test_a_log_that_is_as_it_was_left_misses_nothing(killed: Path) -> None:
    assert Watermark(killed).read() is not None
    assert note_of(killed) == ""
    # Nor does the file, into which it was taken now.
    assert not (killed / LOG).exists()
    assert note_of(killed) == ""


def test_a_log_that_ends_earlier_is_told_wherever_it_ends(killed: Path, tmp_path: Path) -> None:
    content = (killed / LOG).read_bytes()
    last = (len(content) - HEADER) // (PAGE + FRAME)
    for size in (0, 1, HEADER - 1, *(HEADER + frame * (PAGE + FRAME) for frame in range(last))):
        shutil.copytree(killed.parent, tmp_path / str(size))
        (tmp_path / str(size) / FOLDER / LOG).write_bytes(content[:size])
        try:
            words = note_of(tmp_path / str(size) / FOLDER)
        except StoreError as problem:
            words = str(problem)
        assert FILE in words, f"{size} of {len(content)} bytes"


def test_a_file_without_its_log_is_told(killed: Path) -> None:
    assert note_of(killed) == ""
    earlier = (killed / FILE).read_bytes()
    store, ledger, _ = kept._opened(killed.parent)
    kept._edit(ledger, 6)
    store.close()
    (killed / FILE).write_bytes(earlier)
    assert "studio.db: edit 6 of a drawing was written and is not there any more" in note_of(killed)
    # From the next edit on that is told no more.
    store, ledger, _ = kept._opened(killed.parent)
    kept._edit(ledger, 7)
    store.close()
    assert note_of(killed) == ""


def test_a_mark_that_is_damaged_or_cannot_be_written_stands_in_no_ones_way(killed: Path) -> None:
    for content in (b"", b"\xff" * 64, b"x 1 2", b"x 9999 00000000", (killed / LAST).read_bytes()[:20]):
        (killed / LAST).write_bytes(content)
        assert note_of(killed) == ""
    (killed / LAST).unlink()
    (killed / LAST).mkdir()
    store, ledger, _ = kept._opened(killed.parent)
    kept._edit(ledger, 6)
    store.close()
    assert note_of(killed) == ""


def test_a_file_that_was_moved_away_begins_anew_without_a_word(killed: Path) -> None:
    (killed / FILE).unlink()
    (killed / LOG).unlink()
    assert note_of(killed) == ""
    assert note_of(killed) == ""


def test_damage_that_makes_no_text_is_told_and_the_folder_is_free_again(killed: Path) -> None:
    note_of(killed)
    content = (killed / FILE).read_bytes()
    (killed / FILE).write_bytes(content.replace(b"CREATE UNIQUE INDEX living", b"CREATE UNIQUE IND\xed\xa0 living"))
    for _ in range(2):
        with pytest.raises(InkcapError, match=r"studio\.db: damaged") as told:
            Store(killed.parent)
        assert "Move it away" in str(told.value)
    (killed / FILE).write_bytes(content)
    assert note_of(killed) == ""
