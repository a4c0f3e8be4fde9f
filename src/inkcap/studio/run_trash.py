"""Runs and sweeps that were deleted: moved into the studio's folder, from where they come back."""

from __future__ import annotations

import os
import re
import secrets
from pathlib import Path

from inkcap.recipes import RunFolder
from inkcap.recipes.layout import RUNS
from inkcap.structures.atomic import sync_folder
from inkcap.structures.errors import InkcapError
from inkcap.studio.hub import Hub, NotThere
from inkcap.sweeps.record import SWEEPS

DELETED = "deleted-runs"
DELETED_SWEEPS = "deleted-sweeps"


class TrashError(InkcapError):
    """A run or a sweep that cannot be put away or brought back."""


def put_away(hub: Hub, folder: Path, home: str = DELETED) -> str:
    """Move a run or a sweep out of the workspace, and give what brings it back."""
    token = secrets.token_hex(16)
    kept = hub.store.folder / home / token
    try:
        kept.mkdir(parents=True)
        os.replace(folder, kept / folder.name)
    except OSError as error:
        raise TrashError(f"{folder.name}: could not be deleted ({error.strerror}).") from None
    sync_folder(folder.parent)
    return token


def put_run_away(hub: Hub, folder: Path) -> str:
    """Move a run out of the workspace; the drawing that it was started from is no new one's of its name."""
    token = put_away(hub, folder)
    hub.store.rename_run(folder.name, token)
    return token


def bring_back(hub: Hub, token: str) -> str:
    """Bring a deleted run back, under the next free number where its own was given to another; give its name."""
    found, runs = _kept(hub, DELETED, token), hub.workspace / RUNS
    target = _free(runs, found.name)
    _move_back(found, target)
    if target.name != found.name:
        RunFolder.open(target).update(id=target.name)
    hub.store.rename_run(token, target.name)
    return target.name


def bring_back_sweep(hub: Hub, token: str) -> str:
    """Bring a deleted sweep back; its runs carry its name, so it has no other."""
    found = _kept(hub, DELETED_SWEEPS, token)
    target = hub.workspace / SWEEPS / found.name
    if target.exists():
        raise TrashError(f"{found.name}: there is another sweep of that name now; delete that one first.")
    _move_back(found, target)
    return target.name


def _kept(hub: Hub, home: str, token: str) -> Path:
    kept = hub.store.folder / home / token
    found = list(kept.iterdir()) if re.fullmatch("[0-9a-f]{32}", token) and kept.is_dir() else []
    if not found:
        raise NotThere("This deletion is not known: it may have been taken back already.")
    return found[0]


def _move_back(found: Path, target: Path) -> None:
    try:
        target.parent.mkdir(exist_ok=True)
        os.replace(found, target)
        found.parent.rmdir()
    except OSError as error:
        raise TrashError(f"{found.name}: could not be brought back ({error.strerror}).") from None
    sync_folder(target.parent)


def _free(runs: Path, name: str) -> Path:
    stem, _, number = name.rpartition("-")
    target, next_number = runs / name, int(number) if number.isdigit() else 1
    while target.exists():
        next_number += 1
        target = runs / f"{stem}-{next_number:04d}"
    return target
