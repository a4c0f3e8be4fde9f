"""Where the members of a group meet: a store that torchrun keeps, and that may still hold what a group before has left.

A launcher that starts its workers again may give them the same store, in which stand the addresses of those that are
gone. So the first member chooses a name that nobody has had, the others answer it with names of their own, and only
those that have seen each other's meet under it.
"""

from __future__ import annotations

import json
import secrets
import time
from dataclasses import dataclass
from datetime import timedelta
from importlib import import_module
from typing import Any

from torch._C._distributed_c10d import PrefixStore, Store  # pyright: ignore[reportPrivateUsage]

_POLL = 0.05
_LEADER, _MEMBER, _SEEN, _LAUNCH = "inkcap/leader", "inkcap/member/", "inkcap/seen/", "inkcap/launch/"


@dataclass(frozen=True)
class Met:
    """What members have after they met: a store of the group's own, their rank and number, and the launch's mark.

    The mark is the same however often a launcher starts its workers again, and another one when it is called again
    with the same id; only the first member has it, and nobody where the store has not outlived the workers before.
    """

    store: Store
    rank: int
    world: int
    launch: str


def meet(patience: timedelta, launcher: str = "", restarted: bool = False) -> Met:
    """Meet the others at the address of the environment; `launcher` is the id of what started them, if it has one."""
    meeting: Any = import_module("torch.distributed.rendezvous")
    store, rank, world = next(meeting.rendezvous("env://", timeout=patience))
    until = time.monotonic() + patience.total_seconds()
    name = secrets.token_hex(8)
    launch = _mark(store, f"{_LAUNCH}{launcher}", restarted) if rank == 0 else ""
    name = _lead(store, name, world, until) if rank == 0 else _follow(store, name, rank, until)
    return Met(PrefixStore(f"inkcap/{name}", store), rank, world, launch)


def _mark(store: Store, key: str, restarted: bool) -> str:
    if not restarted:
        store.set(key, secrets.token_hex(8))
    return _read(store, key)


def _lead(store: Store, name: str, world: int, until: float) -> str:
    store.set(_LEADER, name)
    seen: dict[str, str] = {}
    while True:
        found = {str(rank): _read(store, f"{_MEMBER}{rank}") for rank in range(1, world)}
        if found != seen:
            seen = found
            store.set(_SEEN + name, json.dumps(seen))
        if all(seen.values()) and all(_read(store, f"{_SEEN}{name}/{rank}") == seen[rank] for rank in seen):
            return name
        _wait(until)


def _follow(store: Store, own: str, rank: int, until: float) -> str:
    store.set(f"{_MEMBER}{rank}", own)
    while True:
        leader = _read(store, _LEADER)
        seen: Any = json.loads(_read(store, _SEEN + leader) or "{}") if leader else {}
        if seen.get(str(rank)) == own:
            store.set(f"{_SEEN}{leader}/{rank}", own)
            return leader
        _wait(until)


def _read(store: Store, key: str) -> str:
    return store.get(key).decode() if store.check([key]) else ""


def _wait(until: float) -> None:
    if time.monotonic() > until:
        raise TimeoutError("the other workers did not come")
    time.sleep(_POLL)
