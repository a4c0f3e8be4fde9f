"""Fetching a published run: the newest version that is whole, into a folder that is there as a whole or not at all."""

import os
import secrets
import shutil
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path

from inkcap.recipes import RunFolder, RunFolderError, layout
from inkcap.recipes.liveness import held
from inkcap.recipes.steering import GOING
from inkcap.remote.cached import NEW, remove_stale
from inkcap.remote.errors import RemoteError
from inkcap.remote.marks import Mark, read_mark
from inkcap.remote.store import Store
from inkcap.remote.turns import holds, last_turn, run_names
from inkcap.remote.versions import RECORDS, Version, list_versions, object_name, read_version

Wanted = Callable[[str], bool]
"""Tells whether a file of a run is to be fetched, by its path."""

_ASIDE = ".aside-"
_TRIES = 5


def without_checkpoints(path: str) -> bool:
    """Choose what a run is used by, and leave what it goes on from."""
    return not path.startswith(f"{layout.CHECKPOINTS}/")


def records(path: str) -> bool:
    """Choose what a list of runs tells."""
    return path in RECORDS


def fetch_run(store: Store, run: str, workspace: Path, *, whole: bool) -> Path:
    """Give the folder of a run in a local workspace, as new as the store's.

    A folder whose training had the last turn is newer than what it has published, and stays. One that another machine
    has gone on with since is set aside under a hidden name, for nobody knows what is in it alone.
    """
    target = workspace / layout.RUNS / run
    mark = read_mark(target, store.shown) if target.is_dir() else None
    if mark is not None and mark.own is not None and holds(store, run, mark.own):
        return target
    turn, names = last_turn(store, run), list_versions(store, run)
    if not names:
        if target.is_dir():
            return target
        known = ", ".join(run_names(store)[-10:]) or "none"
        raise RemoteError(f"{run}: {store.shown} has no such run, or nothing of it yet; it has: {known}.")
    if mark is not None and _is_copy_of(mark, str(names[0]), whole):
        Mark(store.shown, turn, "", mark.version, mark.whole).keep(target)
        return target
    new, version = fetch_newest(store, run, workspace / layout.RUNS, None if whole else without_checkpoints)
    try:
        Mark(store.shown, turn, "", str(version.name), whole).keep(new)
        # One at a time: what was looked at is what makes way, and not what another command has put there since.
        with held(target.parent):
            for _ in range(_TRIES):
                with suppress(OSError):
                    os.rename(new, target)
                    return target
                mark = read_mark(target, store.shown)
                # Another command may have fetched the same meanwhile, and be at work in it.
                if _is_copy_of(mark, str(version.name), whole):
                    return target
                with suppress(OSError):
                    _make_way(target, published=mark is not None and mark.published)
    finally:
        shutil.rmtree(new, ignore_errors=True)
    raise RemoteError(f"{target}: the run could not be put there; check the folder, or what else is at work in it.")


def _is_copy_of(mark: Mark | None, version: str, whole: bool) -> bool:
    return mark is not None and mark.own is None and mark.version == version and (mark.whole or not whole)


def fetch_newest(store: Store, run: str, folder: Path, wanted: Wanted | None = None) -> tuple[Path, Version]:
    """Fetch the newest whole version into a new folder beside the runs."""
    problems: list[str] = []
    for _ in range(_TRIES):
        names = list_versions(store, run)
        for name in names:
            try:
                version = read_version(store, run, name)
                return _download(store, version, folder, wanted), version
            except RemoteError as problem:
                problems.append(str(problem))
        if list_versions(store, run) == names:
            break
        # While they were fetched, newer ones have taken their place.
        problems.clear()
    if not problems:
        raise RemoteError(f"{run}: {store.shown} has nothing of this run yet.")
    raise RemoteError(f"{run}: no version of it at {store.shown} is whole; the newest: {problems[0]}")


def _download(store: Store, version: Version, folder: Path, wanted: Wanted | None) -> Path:
    files = {path: parts for path, parts in version.files.items() if wanted is None or wanted(path)}
    needed = sum(part.bytes for parts in files.values() for part in parts)
    folder.mkdir(parents=True, exist_ok=True)
    remove_stale(folder)
    free = shutil.disk_usage(folder).free
    if needed > free:
        raise RemoteError(
            f"{version.run}: {needed / 1e6:.1f} MB are to be fetched, and {folder} has room for {free / 1e6:.1f} MB."
        )
    new = folder / f"{NEW}{secrets.token_hex(6)}"
    try:
        for path, parts in files.items():
            target = new / path
            target.parent.mkdir(parents=True, exist_ok=True)
            with open(target, "xb") as file:
                for part in parts:
                    name = object_name(version.run, path, part)
                    if store.copy(name, file, part.bytes) != part.sha256:
                        raise RemoteError(f"{store.shown}/{name}: the check sum differs; the object is damaged.")
                file.flush()
                os.fsync(file.fileno())
    except OSError as problem:
        shutil.rmtree(new, ignore_errors=True)
        raise RemoteError(f"{version.run}: could not be fetched into {folder} ({problem.strerror}).") from None
    except BaseException:
        shutil.rmtree(new, ignore_errors=True)
        raise
    return new


def _make_way(target: Path, *, published: bool) -> None:
    """Take an older copy away, or, where it may hold what was never published, out of sight."""
    if not target.is_dir():
        return
    with suppress(RunFolderError):
        if RunFolder.open(target).record.state in GOING and not published:
            raise RemoteError(
                f"{target.name}: a process of this machine still trains {target}, though another machine has gone on "
                f"with the run; stop it first: inkcap stop {target}"
            )
    aside = target.with_name(f"{NEW if published else _ASIDE}{target.name}-{secrets.token_hex(3)}")
    os.rename(target, aside)
    if published:
        shutil.rmtree(aside, ignore_errors=True)
