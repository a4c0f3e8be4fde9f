"""R9: three tabs draw at once over a bad line, and all of them end with the drawing that the studio has."""

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from pathlib import Path

import pytest
from many_hands import Game, Hands, Tally

from front_end import SOURCE
from inkcap.studio.refusals import Refusals
from inkcap.studio.store import StoreError

pytestmark = pytest.mark.skipif(
    not (SOURCE / "node_modules").is_dir(), reason="the page's packages are not here: run tools/front_end.py"
)
CLIENTS = 3


@pytest.fixture(scope="module")
def folder() -> Iterator[Path]:
    """A folder in memory where there is one: what a disk forgets is another campaign."""
    memory = Path("/dev/shm")  # noqa: S108
    made = Path(tempfile.mkdtemp(dir=memory if os.access(memory, os.W_OK) else None))
    yield made
    shutil.rmtree(made)


@pytest.fixture(scope="module")
def hands(folder: Path) -> Iterator[Hands]:
    made = Hands(folder)
    yield made
    made.close()


def played(hands: Hands, folder: Path, seed: int, operations: int) -> Tally:
    workspace = folder / f"seed-{seed}"
    workspace.mkdir()
    try:
        return asyncio.run(Game(hands, workspace, seed, CLIENTS, operations).play())
    finally:
        shutil.rmtree(workspace)


@pytest.mark.parametrize(
    ("seeds", "operations"),
    [(range(8), 50), *(pytest.param(range(n, n + 50), 200, marks=pytest.mark.soak) for n in range(0, 500, 50))],
    ids=["some", *(f"many-{n}" for n in range(0, 500, 50))],
)
def test_tabs_on_a_bad_line_agree_and_every_edit_is_answered_once(hands, folder, tally, seeds, operations):
    total = Tally()
    for seed in seeds:
        one = played(hands, folder, seed, operations)
        assert not one.problems, f"seed {seed} with {operations} operations: {one.problems}"
        for name in ("operations", "applied", "refused", "cuts", "doubled", "late", "restarts", "reloads"):
            setattr(total, name, getattr(total, name) + getattr(one, name))
    # Nothing of what a person did is left without a word.
    assert total.applied + total.refused == total.operations - idle(total)
    assert min(total.cuts, total.doubled, total.late, total.restarts, total.reloads) > 0
    figures = {name: value for name, value in vars(total).items() if name != "problems"}
    tally("R9", seeds=len(seeds), clients=CLIENTS, **figures)


def idle(total: Tally) -> int:
    """A few gestures find nothing to work on, such as a connection where there is none."""
    found = total.operations - total.applied - total.refused
    assert 0 <= found <= total.operations * 0.05
    return found


def test_the_judge_sees_edits_that_come_back_after_they_were_refused(hands, folder, monkeypatch):
    monkeypatch.setattr(Refusals, "check", lambda *_: None)
    found = (problem for seed in range(20) for problem in played(hands, folder, seed, 60).problems)
    assert any("refusal" in problem or "without a word" in problem for problem in found)


def test_the_judge_sees_an_acknowledged_edit_that_is_lost(hands, folder, monkeypatch):
    async def forgetful(self: Game) -> None:
        store = self.app.state.hub.store
        store._db.execute("DELETE FROM edit WHERE seq = 5")
        await judge(self)

    judge = Game.judge
    monkeypatch.setattr(Game, "judge", forgetful)
    # The log itself notices, by its check sums, before the replicas are compared.
    with pytest.raises(StoreError, match="another check sum, or is not there"):
        played(hands, folder, 1, 20)
