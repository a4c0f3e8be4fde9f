"""Turns at a run: of all who come at once, at most one has it."""

from __future__ import annotations

import itertools
import threading
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import pytest
from stored import Ordered, Turnstile, fresh, store_of

from inkcap.recipes import RunFolder
from inkcap.remote import Publisher, RemoteError, Store, turns
from inkcap.remote.turns import Turn, give_back, holds, last_turn, take_turn


def stores(tmp_path: Path) -> list[Store]:
    return [store_of(fresh()), Store.open(f"file://{tmp_path}/store")]


def test_a_turn_is_had_once_and_the_last_one_holds(tmp_path):
    for store in stores(tmp_path):
        first = take_turn(store, "net-toy-0001", 0)
        assert first is not None
        assert take_turn(store, "net-toy-0001", 0) is None
        assert holds(store, "net-toy-0001", first)
        assert not holds(store, "net-toy-0001", Turn(1, "0" * 16))
        second = take_turn(store, "net-toy-0001", 1)
        assert second is not None
        assert (holds(store, "net-toy-0001", first), holds(store, "net-toy-0001", second)) == (False, True)
        give_back(store, "net-toy-0001", second)
        assert last_turn(store, "net-toy-0001") == 1


def test_in_every_order_of_questions_two_machines_never_both_have_a_turn(monkeypatch):
    """Each asks (who has it), says (I take it), looks, and steps back where it sees the other."""
    monkeypatch.setattr(turns, "_TRIES", 1)
    monkeypatch.setattr(turns, "_PAUSE", 0.0)
    won = 0
    for places in itertools.combinations(range(8), 4):
        turnstile, files = Turnstile([0 if i in places else 1 for i in range(8)]), fresh()
        found: list[Turn | None] = [None, None]

        def act(actor: int, turnstile=turnstile, files=files, found=found) -> None:
            found[actor] = take_turn(store_of(Ordered(files, turnstile, actor)), "net-toy-0001", 0)
            turnstile.leave(actor)

        threads = [threading.Thread(target=act, args=(actor,)) for actor in (0, 1)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join(30)
        assert None in found, f"both have it in the order {places}"
        won += any(found)
        left = last_turn(store_of(files), "net-toy-0001")
        assert left == (1 if any(found) else 0)
    assert won >= 2


@pytest.mark.parametrize("kind", ["memory", "file"])
def test_runs_that_begin_at_once_on_many_machines_get_many_numbers(tmp_path, kind):
    files = fresh()

    def begin(machine: int) -> str:
        store = store_of(files) if kind == "memory" else Store.open(f"file://{tmp_path}/store")
        return RunFolder.create(tmp_path / f"machine-{machine}", "net", "toy", elsewhere=Publisher(store)).id

    with ThreadPoolExecutor(8) as pool:
        names = list(pool.map(begin, range(8)))
    assert len(set(names)) == 8
    assert all(len(list((tmp_path / f"machine-{i}" / "runs").iterdir())) == 1 for i in range(8))


def test_two_who_go_on_with_one_run_at_once_are_told_apart(tmp_path):
    files = fresh()
    run = RunFolder.create(tmp_path, "net", "toy", elsewhere=Publisher(store_of(files)))
    Publisher(store_of(files)).go_on(run.path)
    (tmp_path / "other").mkdir()
    other = tmp_path / "other" / run.id
    other.mkdir()
    from inkcap.remote.marks import Mark

    Mark("memory://shared", 1).keep(other)
    with pytest.raises(RemoteError, match="another machine has just gone on"):
        Publisher(store_of(files)).go_on(other)


def test_a_name_that_could_not_be_taken_leaves_no_folder(tmp_path):
    class Down:
        def names(self):
            return []

        def take(self, folder):
            raise RemoteError("the store is down.")

    with pytest.raises(RemoteError, match="down"):
        RunFolder.create(tmp_path, "net", "toy", elsewhere=Down())  # pyright: ignore[reportArgumentType]
    assert list((tmp_path / "runs").iterdir()) == []
