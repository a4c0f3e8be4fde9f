"""The drawing files of a workspace, and names for new ones."""

import os
from collections.abc import Iterator
from pathlib import Path

from inkcap.drawing import SUFFIX
from inkcap.exchange.importing.limits import WEIGHTS

MOST_DRAWINGS = 500
PASSED_BY = frozenset({"runs", "node_modules"})

DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{name}{i}" for name in ("com", "lpt") for i in range(10))})
"""Names that some systems keep for devices, whatever their ending."""


def find_drawings(workspace: Path) -> Iterator[Path]:
    """Yield the drawing files below the workspace, hardly more than are shown; hidden ones and links are passed by."""
    found = 0
    for folder, folders, files in os.walk(workspace):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in PASSED_BY)
        for name in sorted(files):
            path = Path(folder, name)
            if name.endswith(SUFFIX) and not name.startswith(".") and path.is_file() and not path.is_symlink():
                found += 1
                if found > MOST_DRAWINGS + 1:
                    return
                yield path


def text(value: str) -> str:
    """Return the text with whatever cannot be written as UTF-8 replaced: file names may hold any bytes."""
    return value.encode("utf-8", "replace").decode()


def safe_stem(name: str) -> str:
    """Make a file's stem of a drawing's name: letters and digits of any script stay, all else becomes a hyphen."""
    kept = "".join(letter if letter.isalnum() or letter in "_-. " else "-" for letter in name)
    stem = " ".join(kept.split()).strip(" .-")[:80].rstrip(" .-")
    if stem.split(".")[0].lower() in DEVICES:
        stem = f"{stem} drawing"
    return stem or "drawing"


def free_path(workspace: Path, stem: str) -> str:
    """Give a file name in the workspace that nothing has yet, whatever the case of its letters.

    No weights lie beside it either: they would be taken for its own.
    """
    taken = {name.lower() for name in os.listdir(workspace)}
    free, number = stem, 2
    while not taken.isdisjoint((f"{free}{SUFFIX}".lower(), f"{free}{WEIGHTS}".lower())):
        free, number = f"{stem}-{number}", number + 1
    return f"{free}{SUFFIX}"


def beside(path: Path) -> Path:
    """Give the place of the weights that belong to a drawing file, whether they are there or not."""
    return path.with_name(path.name.removesuffix(SUFFIX) + WEIGHTS)


def weights_of(workspace: Path, drawing: str) -> str | None:
    """Name the file of weights that lies beside a drawing of the workspace; a link is none."""
    path = beside(workspace / drawing)
    return path.relative_to(workspace).as_posix() if path.is_file() and not path.is_symlink() else None
