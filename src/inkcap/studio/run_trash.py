"""Runs that were deleted: moved into the studio's folder, from where they come back."""

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

DELETED = "deleted-runs"


class TrashError(InkcapError):
    """A run that cannot be put away or brought back."""


def put_away(hub: Hub, folder: Path) -> str:
    """Move a run out of the workspace's runs, and give what brings it back."""
    token = secrets.token_hex(16)
    kept = hub.store.folder / DELETED / token
    try:
        kept.mkdir(parents=True)
        os.replace(folder, kept / folder.name)
    except OSError as error:
        raise TrashError(f"{folder.name}: could not be deleted ({error.strerror}).") from None
    sync_folder(folder.parent)
    return token


def bring_back(hub: Hub, token: str) -> str:
    """Bring a deleted run back, under the next free number where its own was given to another; give its name."""
    kept = hub.store.folder / DELETED / token
    found = list(kept.iterdir()) if re.fullmatch("[0-9a-f]{32}", token) and kept.is_dir() else []
    if not found:
        raise NotThere("This deletion is not known: it may have been taken back already.")
    runs = hub.workspace / RUNS
    try:
        runs.mkdir(exist_ok=True)
        target = _free(runs, found[0].name)
        os.replace(found[0], target)
        kept.rmdir()
    except OSError as error:
        raise TrashError(f"{found[0].name}: could not be brought back ({error.strerror}).") from None
    sync_folder(runs)
    if target.name != found[0].name:
        RunFolder.open(target).update(id=target.name)
        hub.store.note_run(target.name, hub.store.runs().get(found[0].name, ""))
    return target.name


def _free(runs: Path, name: str) -> Path:
    stem, _, number = name.rpartition("-")
    target, next_number = runs / name, int(number) if number.isdigit() else 1
    while target.exists():
        next_number += 1
        target = runs / f"{stem}-{next_number:04d}"
    return target
