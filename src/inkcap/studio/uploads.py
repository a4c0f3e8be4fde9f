"""Data that a person brings: streamed into the workspace's folder ``data``, whole or not at all."""

from __future__ import annotations

import os
import re
import secrets
from collections.abc import AsyncIterator
from pathlib import Path, PurePath

from inkcap.structures.errors import InkcapError
from inkcap.studio.workspace import is_device, is_text, lies_in

FOLDER = "data"
MOST = 4 * 2**30
ENDINGS = (".csv", ".npz", ".idx", ".gz", ".png", ".jpg", ".jpeg", ".bmp", "-ubyte")
NAME = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_ .-]{0,99}")
DEEPEST = 3
"""How many folders deep data may lie in theirs."""
LEFT_FREE = 256 * 2**20
"""So many bytes of the disk are left to everything else."""


class UploadError(InkcapError):
    """Data that cannot be taken."""


def checked_name(name: str, what: str = "name") -> str:
    """Refuse a name that could be anything but a file's in its folder."""
    if not NAME.fullmatch(name) or name.endswith((".", " ")) or is_device(name):
        raise UploadError(f"{what}: {name[:60]!r} is no name for a file: use letters, digits, _ - . and at most 100")
    return name


def check_here(spec: str) -> None:
    """Refuse a URL: a page must not make this machine ask another one, with its user's rights."""
    from inkcap.remote import is_url

    if any(map(is_url, spec.split(","))):
        raise UploadError(
            f"{spec[:100]}: the studio fetches nothing from URLs; use 'inkcap train --data URL', or upload the data"
        )


def check_inside(spec: str, workspace: Path) -> None:
    """Refuse a URL, or a path, or one of several, that leads out of the workspace, by a link too."""
    check_here(spec)
    for part in spec.split(","):
        path = PurePath(part.strip())
        out = path.is_absolute() or ".." in path.parts or part.strip().startswith("~") or "\0" in part
        if out or not lies_in(workspace / path, workspace):
            raise UploadError(f"{part.strip()[:100]}: leads out of the workspace; put the data into it, or upload them")


async def receive(workspace: Path, name: str, folder: str, body: AsyncIterator[bytes]) -> tuple[str, int]:
    """Write a stream into the workspace; give the name to train on, and its size."""
    checked_name(name)
    if not name.lower().endswith(ENDINGS):
        raise UploadError(f"{name}: data are files that end in {', '.join(ENDINGS)}")
    target = workspace / FOLDER
    if folder:
        parts = folder.split("/")
        if len(parts) > DEEPEST:
            raise UploadError(f"folder: {folder[:60]!r} is {len(parts)} folders deep, {DEEPEST} are allowed")
        target = target.joinpath(*(checked_name(part, "folder") for part in parts))
    if not lies_in(target, workspace):
        raise UploadError(f"{FOLDER}: leads out of the workspace; replace that link by a folder")
    try:
        target.mkdir(parents=True, exist_ok=True)
    except FileExistsError:
        raise UploadError(f"{target.relative_to(workspace)}: is no folder; choose another") from None
    path = target / name
    if path.exists():
        raise UploadError(f"{path.relative_to(workspace)}: there is a file already; choose another name")
    temporary = target / f".{secrets.token_hex(6)}.part"
    try:
        size = await write_stream(temporary, body)
        os.replace(temporary, path)
    finally:
        temporary.unlink(missing_ok=True)
    return path.relative_to(workspace).as_posix(), size


async def write_stream(path: Path, body: AsyncIterator[bytes]) -> int:
    """Write a new file as it streams in, as long as the disk has room; give its size."""
    size = 0
    with open(path, "xb") as file:
        async for piece in body:
            size += len(piece)
            room = os.statvfs(path.parent) if hasattr(os, "statvfs") else None
            if room is not None and room.f_bavail * room.f_frsize < LEFT_FREE:
                raise UploadError("the disk is almost full; free some room, then upload again")
            file.write(piece)
        file.flush()
        os.fsync(file.fileno())
    if size == 0:
        raise UploadError("the file is empty")
    return size


def own_data(workspace: Path) -> list[str]:
    """List what the workspace's folder of data holds, as names to train on."""
    folder = workspace / FOLDER
    if not folder.is_dir():
        return []
    found = sorted(entry for entry in folder.iterdir() if not entry.name.startswith(".") and is_text(entry.name))
    names = [
        entry.relative_to(workspace).as_posix()
        for entry in found
        if entry.is_dir() or entry.name.lower().endswith((".csv", ".npz"))
    ]
    there = {entry.name for entry in found if entry.is_file()}
    pairs = [(name, name.replace("images", "labels").replace("idx3", "idx1")) for name in sorted(there)]
    return names + [f"{FOLDER}/{images},{FOLDER}/{labels}" for images, labels in pairs if labels in there - {images}]
