"""Workspaces by path or URL: one in storage is worked on in a folder of this machine, and published as it goes."""

import hashlib
import os
import secrets
import shutil
import tempfile
from collections.abc import Generator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from inkcap.recipes import RunFolder, find_run, layout
from inkcap.recipes.liveness import is_elsewhere
from inkcap.recipes.runfolder import KILLED
from inkcap.recipes.steering import GOING
from inkcap.remote.cached import Progress, copies_folder, copy_of, local_copy
from inkcap.remote.errors import NotPublished, RemoteError
from inkcap.remote.fetching import fetch_newest, fetch_run, records
from inkcap.remote.publisher import Publisher
from inkcap.remote.store import Store
from inkcap.remote.turns import run_names
from inkcap.remote.urls import is_url
from inkcap.structures.errors import InkcapError

_AT_ONCE = 16


@dataclass(frozen=True)
class Place:
    """A workspace: its folder on this machine, how it is called, and for one in storage what keeps runs there."""

    folder: Path
    shown: str
    elsewhere: Publisher | None = None

    def run(self, name: str, *, whole: bool = False) -> RunFolder:
        """Give a run; one in storage is fetched, with the checkpoint that it goes on from where it is to be whole."""
        if self.elsewhere is not None and Path(name).name == name:
            return RunFolder.open(fetch_run(self.elsewhere.store, name, self.folder, whole=whole))
        return find_run(self.folder, name)

    def run_to_resume(self, name: str, *, take_over: bool = False) -> RunFolder:
        """Give a run to go on with; one that another machine seems to train is only given to who takes it over."""
        run = self.run(name, whole=True)
        record = run.record
        if record.state not in GOING or not is_elsewhere(record.process):
            return run
        if not take_over:
            raise RemoteError(
                f"{run.id}: another machine says that it trains this run, and whether it still does cannot be seen "
                f"from here; wait for its end, or, if it is gone, go on with: inkcap resume {run.id} --take-over "
                f"--workspace {self.shown}"
            )
        return run.update(state="interrupted", reason=KILLED, finished=layout.now())

    def data(self, name: str, progress: Progress | None = None) -> None:
        """Lay data of a workspace in storage where its folder is looked into: a link to a copy that is fetched once."""
        if self.elsewhere is None or not name.strip() or is_url(name):
            return
        store, whole = self.elsewhere.store, name.strip()
        parts = [whole] if "," not in whole or store.look(whole) is not None else whole.split(",")
        for part in (part.strip() for part in parts):
            path = Path(part)
            if path.is_absolute() or ".." in path.parts or part.startswith("~"):
                continue
            copy = copy_of(store, path.as_posix(), progress)
            if copy is not None:
                _lay(copy, self.folder / path)


@contextmanager
def at(location: str | Path) -> Generator[Place]:
    """Give the workspace of a path or URL; at the end, what was trained in it is published, or the reason raised."""
    if not isinstance(location, str) or not is_url(location):
        yield Place(Path(location), str(location))
        return
    store = Store.open(location)
    folder = copies_folder("workspaces") / hashlib.sha256(store.shown.encode()).hexdigest()[:16]
    try:
        folder.mkdir(parents=True, exist_ok=True, mode=0o700)
    except OSError as problem:
        raise RemoteError(f"{store.shown}: {folder} cannot be made for its runs ({problem.strerror}).") from None
    publisher = Publisher(store)
    try:
        yield Place(folder, store.shown, publisher)
    except Exception as problem:
        try:
            publisher.close()
        except NotPublished as more:
            # Both are to be known: why the run broke off, and that nobody else sees it.
            if isinstance(problem, InkcapError):
                raise NotPublished(f"{problem}\n{more}") from None
        raise
    publisher.close()


@contextmanager
def overview(location: str | Path) -> Generator[Path]:
    """Give a folder in which the runs of a workspace can be listed; those in storage without weights and logs."""
    if not isinstance(location, str) or not is_url(location):
        yield Path(location)
        return
    store = Store.open(location)
    with tempfile.TemporaryDirectory(prefix="inkcap-") as made:
        runs = Path(made) / layout.RUNS
        runs.mkdir()

        def fetch(name: str) -> None:
            try:
                new, _ = fetch_newest(store, name, runs, records)
                os.rename(new, runs / name)
            except InkcapError:
                # A folder without a record is listed as what it is: no whole run.
                (runs / name).mkdir(exist_ok=True)

        with ThreadPoolExecutor(_AT_ONCE) as pool:
            list(pool.map(fetch, run_names(store)))
        yield Path(made)


def local_file(location: str, most: int) -> Path:
    """Give a file of a path or URL."""
    return local_copy(location, most=most) if is_url(location) else Path(location)


def publish(run: RunFolder, url: str) -> str:
    """Publish a run of this machine to a workspace in storage, and give how that is called."""
    publisher = Publisher(Store.open(url))
    publisher.publish(run.path)
    return publisher.store.shown


def _lay(copy: Path, target: Path) -> None:
    """Put a link to a copy in a place, or another copy where links are not allowed; what was there before goes."""
    if target.is_symlink() and os.readlink(target) == str(copy):
        return
    new = target.with_name(f".new-{secrets.token_hex(6)}")
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        try:
            os.symlink(copy, new, target_is_directory=copy.is_dir())
        except (OSError, NotImplementedError):
            _ = shutil.copytree(copy, new) if copy.is_dir() else shutil.copyfile(copy, new)
        if target.is_dir() and not target.is_symlink():
            shutil.rmtree(target)
        os.replace(new, target)
    except OSError as problem:
        if new.is_symlink() or new.is_file():
            new.unlink()
        else:
            shutil.rmtree(new, ignore_errors=True)
        raise RemoteError(f"{target}: the data could not be laid there ({problem.strerror}).") from None
