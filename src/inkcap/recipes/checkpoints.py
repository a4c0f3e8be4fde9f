"""Checkpoints on disk: each is a folder that is there as a whole or not at all.

A new folder is filled under a temporary name, each file made to last before the manifest that holds their check sums,
the manifest before the folder gets its name. The one before is kept until then, so that no crash, full disk or power
cut leaves a run without a whole checkpoint. What is read is compared with the check sums first.
"""

import errno
import hashlib
import os
import re
import secrets
import shutil
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any, cast

from inkcap.recipes.errors import RunFolderError
from inkcap.recipes.fields import show
from inkcap.recipes.strict import dump, expect_object, parse

FORMAT = "inkcap-checkpoint"
VERSION = 1
MANIFEST = "manifest.json"
KEPT = 2
"""As many checkpoints stay: the newest, and the one before it for the case that the newest is damaged."""

NO_ROOM = (errno.ENOSPC, errno.EDQUOT)
"""What goes away by itself when someone makes room."""

Piece = bytes | memoryview
Pieces = Callable[[], Iterable[Piece]]
"""Gives the content of a file piece by piece, so that it need not be in memory twice."""

_NAME = re.compile(r"(0|[1-9][0-9]{0,14})(?:-([1-9][0-9]{0,5}))?")
_TEMPORARY = ".new-"
_DAMAGED = "damaged-"


@dataclass(frozen=True)
class StoredCheckpoint:
    """A checkpoint that was read and found whole: its files by name."""

    path: Path
    step: int
    files: Mapping[str, bytes]


def write_checkpoint(folder: Path, step: int, files: Mapping[str, Pieces]) -> Path:
    """Write a checkpoint into the folder of a run's checkpoints, then take older ones away; give its path."""
    _make_folder(folder)
    temporary = folder / f"{_TEMPORARY}{secrets.token_hex(6)}"
    try:
        os.mkdir(temporary)
        sealed = {name: _write(temporary / name, pieces()) for name, pieces in files.items()}
        _write(temporary / MANIFEST, [_manifest(step, sealed).encode()])
        _sync(temporary)
        final = _free_name(folder, step)
        os.rename(temporary, final)
    except BaseException:
        shutil.rmtree(temporary, ignore_errors=True)
        raise
    _sync(folder)
    tidy(folder)
    return final


def tidy(folder: Path) -> None:
    """Take away all but the newest checkpoints, and what an earlier process has left half written."""
    names = [path for path in folder.iterdir() if path.name.startswith((_TEMPORARY, _DAMAGED))]
    for path in (*list_checkpoints(folder)[KEPT:], *names):
        # First out of sight, since a folder is emptied file by file.
        hidden = folder / f"{_TEMPORARY}{secrets.token_hex(6)}"
        with suppress(OSError):
            os.rename(path, hidden)
            shutil.rmtree(hidden, ignore_errors=True)


def list_checkpoints(folder: Path) -> list[Path]:
    """Give the checkpoints of a run, the newest first, as their names tell; whether they are whole is not looked at."""
    found: list[tuple[int, int, Path]] = []
    with suppress(OSError):
        for path in folder.iterdir():
            match = _NAME.fullmatch(path.name)
            if match and path.is_dir():
                found.append((int(match[1]), int(match[2] or 0), path))
    return [path for _, _, path in sorted(found, reverse=True)]


def read_checkpoint(path: Path) -> StoredCheckpoint:
    """Read a checkpoint; one that is not exactly what was written gets an error that says where."""
    place = f"{path.parent.parent.name}/{path.parent.name}/{path.name}"
    step, sealed = _read_manifest(path, place)
    match = _NAME.fullmatch(path.name)
    if match is None or int(match[1]) != step:
        raise RunFolderError(f"{place}: its manifest is that of step {step}; the folder was renamed or mixed up.")
    present = sorted(os.listdir(path))
    if present != sorted([*sealed, MANIFEST]):
        raise RunFolderError(f"{place}: it holds {', '.join(present)}, not {', '.join([*sealed, MANIFEST])}.")
    files: dict[str, bytes] = {}
    for name, (count, digest) in sealed.items():
        content = _read(path / name, place)
        if len(content) != count or hashlib.sha256(content).hexdigest() != digest:
            raise RunFolderError(f"{place}/{name}: the check sum differs; the file is damaged.")
        files[name] = content
    return StoredCheckpoint(path, step, files)


def newest_checkpoint(folder: Path) -> tuple[StoredCheckpoint | None, list[str]]:
    """Give the newest whole checkpoint of a run, if there is one, and what is wrong with newer ones."""
    problems: list[str] = []
    for path in list_checkpoints(folder):
        try:
            return read_checkpoint(path), problems
        except (RunFolderError, OSError) as problem:
            problems.append(str(problem))
    return None, problems


def set_aside(folder: Path, newest: Path | None) -> None:
    """Take damaged checkpoints, newer than the one that is used, out of the order; the next writing removes them."""
    for path in list_checkpoints(folder):
        if path == newest:
            return
        with suppress(OSError):
            os.rename(path, folder / f"{_DAMAGED}{path.name}-{secrets.token_hex(3)}")


def _make_folder(folder: Path) -> None:
    if not folder.is_dir():
        with suppress(FileExistsError):
            os.mkdir(folder)
        _sync(folder.parent)


def _free_name(folder: Path, step: int) -> Path:
    """Give a name that is not taken: two checkpoints of one step differ in whether its epoch was measured."""
    names = {path.name for path in folder.iterdir()}
    taken = [int(match[2] or 0) for match in map(_NAME.fullmatch, names) if match and int(match[1]) == step]
    return folder / (f"{step}-{max(taken) + 1}" if taken else str(step))


def _write(path: Path, pieces: Iterable[Piece]) -> tuple[int, str]:
    """Write a new file and make it last; give its size and check sum."""
    digest, size = hashlib.sha256(), 0
    handle = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0), 0o644)
    try:
        for piece in pieces:
            left = memoryview(piece).cast("B")
            digest.update(left)
            size += len(left)
            while len(left):
                left = left[os.write(handle, left) :]
        os.fsync(handle)
    finally:
        os.close(handle)
    return size, digest.hexdigest()


def _sync(folder: Path) -> None:
    """Make the names in a folder last; where folders cannot be opened, the platform has its own way."""
    if os.name == "nt":
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        os.fsync(handle)
    finally:
        os.close(handle)


def _manifest(step: int, sealed: Mapping[str, tuple[int, str]]) -> str:
    files = {name: {"bytes": size, "sha256": digest} for name, (size, digest) in sealed.items()}
    plain: dict[str, Any] = {"format": FORMAT, "version": VERSION, "step": step, "files": files}
    return dump({**plain, "sha256": hashlib.sha256(dump(plain).encode()).hexdigest()})


def _read_manifest(path: Path, place: str) -> tuple[int, dict[str, tuple[int, str]]]:
    place = f"{place}/{MANIFEST}"
    content = _read(path / MANIFEST, place)
    given = expect_object(parse(content, place, RunFolderError), place, RunFolderError)
    if given.get("format") == FORMAT and given.get("version") != VERSION:
        raise RunFolderError(
            f"{place}: version {show(given.get('version'))} cannot be read; this Inkcap reads {VERSION}."
        )
    damaged = RunFolderError(f"{place}: the check sum differs; the file is damaged.")
    try:
        files = cast("dict[str, dict[str, Any]]", given["files"])
        sealed = {name: (int(file["bytes"]), str(file["sha256"])) for name, file in files.items()}
        step = cast("int", given["step"])
        # Written anew, it must be the same bytes: so nothing in it can have changed unseen.
        whole = content == _manifest(step, sealed).encode()
    except (KeyError, TypeError, ValueError, AttributeError):
        raise damaged from None
    if not whole:
        raise damaged
    return step, sealed


def _read(path: Path, place: str) -> bytes:
    try:
        return path.read_bytes()
    except OSError as problem:
        raise RunFolderError(f"{place}: {path.name} cannot be read ({problem.strerror}).") from None
