"""Copies of data and drawings from storage, fetched once: a copy has the name of what the store said of the content."""

import hashlib
import os
import secrets
import shutil
import time
from collections.abc import Callable, Sequence
from contextlib import suppress
from pathlib import Path

import platformdirs

from inkcap.remote.errors import RemoteError
from inkcap.remote.store import Missing, Object, Store
from inkcap.remote.urls import checked_name, parse_kept

COPIES_VARIABLE = "INKCAP_COPIES"
MOST_BYTES = 4 << 30
"""As many as local data may have."""
MOST_FILES = 200_000
NEW = ".new-"
"""How the name of what is being fetched begins."""
_STALE = 86400.0
"""Seconds after which what a killed process has begun to fetch is taken away."""

Progress = Callable[[str, int, int], None]
"""Told (file name, bytes so far, bytes in all) as a transfer goes on."""


def remove_stale(folder: Path) -> None:
    """Take away what processes have begun to fetch into a folder that were killed long ago."""
    for path in folder.glob(f"{NEW}*"):
        with suppress(OSError):
            if time.time() - path.stat().st_mtime > _STALE:
                shutil.rmtree(path, ignore_errors=True)


def copies_folder(kind: str) -> Path:
    """Give the folder of copies: data may be fetched again at any time, workspaces hold work that is kept."""
    chosen = os.environ.get(COPIES_VARIABLE, "").strip()
    if chosen:
        return Path(chosen).expanduser().absolute() / kind
    base = platformdirs.user_cache_dir("inkcap") if kind == "data" else platformdirs.user_data_dir("inkcap")
    return Path(base) / kind


def local_copy(url: str, progress: Progress | None = None, most: int = MOST_BYTES) -> Path:
    """Give a copy of the file or folder of a URL."""
    parent, name = parse_kept(url).parted()
    found = copy_of(Store(parent), name, progress, most)
    if found is None:
        raise Missing(f"{parent.shown.rstrip('/')}/{name}: there is no such file or folder; correct the URL.")
    return found


def copy_of(store: Store, name: str, progress: Progress | None = None, most: int = MOST_BYTES) -> Path | None:
    """Give a copy of a file or folder of a store, or nothing where there is none."""
    top = store.look(checked_name(name))
    if top is None:
        return None
    objects = sorted(store.objects(name), key=lambda one: one.name) if top.folder else [top]
    _check(store, name, objects, most)
    place = hashlib.sha256(f"{store.shown}/{name}".encode()).hexdigest()[:16]
    said = "\n".join(f"{one.name} {one.identity}" for one in objects)
    entry = copies_folder("data") / place / hashlib.sha256(said.encode()).hexdigest()[:32]
    last = name.rpartition("/")[2]
    if not entry.is_dir():
        try:
            _fetch(store, name, objects, entry, progress)
        except OSError as problem:
            raise RemoteError(f"{store.shown}/{name}: could not be copied to {entry} ({problem.strerror}).") from None
    return entry / last


def _check(store: Store, name: str, objects: Sequence[Object], most: int) -> None:
    odd = next((one for one in objects if not one.ordinary or one.size < 0), None)
    if odd is not None:
        raise RemoteError(f"{store.shown}/{odd.name}: this is no ordinary file; links and devices are not followed.")
    size = sum(one.size for one in objects)
    if not objects or len(objects) > MOST_FILES or size > most:
        raise RemoteError(
            f"{store.shown}/{name}: {len(objects)} files of {size} bytes; at least one file is fetched, and at most "
            f"{MOST_FILES} of {most} bytes."
        )


def _fetch(store: Store, name: str, objects: Sequence[Object], entry: Path, progress: Progress | None) -> None:
    """Fetch into a hidden folder, which gets its name when all is there: so a copy is whole or not there."""
    new = entry.with_name(f"{NEW}{secrets.token_hex(6)}")
    remove_stale(entry.parent)
    total, done, above = sum(one.size for one in objects), 0, name.rpartition("/")[0]
    try:
        for one in objects:
            target = new / one.name.removeprefix(f"{above}/" if above else "")
            target.parent.mkdir(parents=True, exist_ok=True)
            if progress is not None:
                progress(name, done, total)
            with open(target, "xb") as file:
                store.copy(one.name, file, one.size)
                file.flush()
                os.fsync(file.fileno())
            # Nobody changes a copy: other runs train on it, too.
            target.chmod(0o444)
            done += one.size
        try:
            os.rename(new, entry)
        except OSError:
            if not entry.is_dir():
                raise
    finally:
        shutil.rmtree(new, ignore_errors=True)
