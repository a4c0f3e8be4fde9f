"""Turns at a run: whoever trains it holds the last one, and only that one publishes.

A run's first turn is its name. A disk makes a file for one machine only. On any other store a machine says that it
takes a turn, by an object under a name of its own, and looks afterwards: who sees another's steps back. Of two that
come at once at least the second to write sees the first, so no turn is ever held twice.
"""

import re
import secrets
import time
from dataclasses import dataclass

from inkcap.recipes.layout import RUNS
from inkcap.remote.store import Store

_NAME = re.compile(r"([1-9][0-9]{0,8})(?:-([0-9a-f]{16}))?")
_TRIES = 10
_PAUSE = 0.2


@dataclass(frozen=True)
class Turn:
    """A turn at a run and the mark of who holds it."""

    number: int
    mark: str


def run_names(store: Store) -> list[str]:
    """Give the ids of the runs in a store."""
    return store.folders(RUNS)


def last_turn(store: Store, run: str) -> int:
    """Give the number of the last turn that was taken at a run; 0 where there is none."""
    return max((number for number, _ in _taken(store, run)), default=0)


def take_turn(store: Store, run: str, after: int) -> Turn | None:
    """Take the turn after a known one, or give nothing where another machine was faster."""
    turn = Turn(after + 1, secrets.token_hex(8))
    if store.exclusive:
        return turn if store.create(_place(run, str(turn.number)), turn.mark.encode()) else None
    for _ in range(_TRIES):
        if last_turn(store, run) > after:
            return None
        own = _place(run, f"{turn.number}-{turn.mark}")
        store.write(own, turn.mark.encode())
        if [mark for number, mark in _taken(store, run) if number > after] == [turn.mark]:
            return turn
        store.remove(own)
        # Two that came at once have both stepped back: they do not come at once again.
        time.sleep(_PAUSE * (1 + secrets.randbelow(100)) / 100)
    return None


def holds(store: Store, run: str, turn: Turn) -> bool:
    """Tell whether a turn is the last one still, and this mark's."""
    taken = _taken(store, run)
    if not taken or max(number for number, _ in taken) != turn.number:
        return False
    if store.exclusive:
        return store.read(_place(run, str(turn.number)), 64) == turn.mark.encode()
    return (turn.number, turn.mark) in taken


def give_back(store: Store, run: str, turn: Turn) -> None:
    """Leave a turn that came to nothing."""
    store.remove(_place(run, str(turn.number) if store.exclusive else f"{turn.number}-{turn.mark}"))


def _taken(store: Store, run: str) -> list[tuple[int, str]]:
    prefix = _place(run, "")
    matches = [_NAME.fullmatch(name.removeprefix(prefix)) for name in store.names(prefix.rstrip("/"))]
    return [(int(match[1]), match[2] or "") for match in matches if match]


def _place(run: str, name: str) -> str:
    return f"{RUNS}/{run}/turns/{name}"
