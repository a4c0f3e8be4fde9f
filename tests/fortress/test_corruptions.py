"""R11: bytes of every file are damaged: what is read is what was written, or an error or a note names the file.

Drawings and recipes are for people to change as well: there another drawing that is well formed is an edit by hand,
which the studio offers as one, since it knows the check sum of what it wrote. A log that is cut right after a line
looks as it did earlier: a run's summary knows how many lines there were, a sweep does again what it had done since.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest
from corrupting import corrupt, leave_a_log, make_workspace, plain_targets, studio_targets
from kept_actions import FILE, _opened, drawn

from inkcap.drawing import save_drawing

QUICK, FULL = 2_400, 24_000


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    make_workspace(tmp_path / "work")
    return tmp_path / "work"


def run_campaign(targets: list, workspace: Path, times: int, tally: Callable[..., None]) -> dict[str, int]:
    count: dict[str, int] = {}
    bad = corrupt(targets, workspace, times, times, count)
    tally("R11", cases=sum(count.values()), files=len(targets), **count)
    assert bad == [], "\n".join(bad[:8])
    assert count["told"] > 0.5 * sum(count.values())
    return count


SIZES = [pytest.param(QUICK, id="quick"), pytest.param(FULL, id="full", marks=pytest.mark.soak)]


@pytest.mark.parametrize("times", SIZES)
def test_no_damage_of_a_file_is_believed(workspace: Path, times: int, tally: Callable[..., None]) -> None:
    run_campaign(plain_targets(workspace), workspace, times * 3 // 4, tally)


@pytest.mark.parametrize("times", SIZES)
def test_no_damage_of_the_studios_file_is_believed(workspace: Path, times: int, tally: Callable[..., None]) -> None:
    targets = studio_targets(workspace, ("studio.db",))
    count: dict[str, int] = {}
    bad = corrupt(targets, workspace, times // 8, times, count)
    tally("R11", cases=sum(count.values()), files=1, **count)
    assert bad == [], "\n".join(bad[:8])
    assert count["told"]


@pytest.mark.skipif(not hasattr(__import__("os"), "fork"), reason="a process that ends without a word is a fork")
@pytest.mark.parametrize("times", SIZES)
def test_no_damage_of_the_studios_log_is_believed(workspace: Path, times: int, tally: Callable[..., None]) -> None:
    leave_a_log(workspace)
    targets = studio_targets(workspace, ("studio.db-wal", "studio.db"))
    count: dict[str, int] = {}
    bad = corrupt(targets, workspace, times // 8, times, count)
    tally("R11", cases=sum(count.values()), files=2, **count)
    assert bad == [], "\n".join(bad[:8])
    assert count["told"]


def test_another_drawing_in_the_file_is_offered_as_an_edit_by_hand(workspace: Path) -> None:
    save_drawing(drawn(2), workspace / FILE)
    store, _, follower = _opened(workspace)
    found = follower.look()
    store.close()
    assert found is not None
    assert found.change == "outside"
