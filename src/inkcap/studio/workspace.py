"""The drawing files of a workspace, and names for new ones."""

import os
import unicodedata
from collections.abc import Iterator
from pathlib import Path

from inkcap.drawing import SUFFIX
from inkcap.exchange.importing.limits import WEIGHTS
from inkcap.recipes.layout import RUNS
from inkcap.sweeps.record import SWEEPS

MOST_DRAWINGS = 500
PASSED_BY = frozenset({RUNS, SWEEPS, "node_modules"})
"""Folders whose drawings are copies of others: those that runs and trials were started with."""

LONGEST_STEM = 200
"""Bytes: a file's name may have 255, and a number and an ending come behind."""
DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{name}{i}" for name in ("com", "lpt") for i in range(10))})
"""Names that some systems keep for devices, whatever their ending."""


def find_drawings(workspace: Path) -> Iterator[Path]:
    """Yield the drawing files below the workspace, hardly more than are shown; hidden ones and links are passed by."""
    found = 0
    for folder, folders, files in os.walk(workspace):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in PASSED_BY)
        for name in sorted(files):
            path = Path(folder, name)
            hidden = name.startswith(".") or not is_text(str(path))
            if name.endswith(SUFFIX) and not hidden and path.is_file() and not path.is_symlink():
                found += 1
                if found > MOST_DRAWINGS + 1:
                    return
                yield path


def text(value: str) -> str:
    """Return the text with whatever cannot be written as UTF-8 replaced: file names may hold any bytes."""
    return value.encode("utf-8", "replace").decode()


def is_text(name: str) -> bool:
    """Tell whether a file's name is text: it may be any bytes, and such a one has no name that could be told."""
    try:
        name.encode()
    except UnicodeEncodeError:
        return False
    return True


def lies_in(path: Path, workspace: Path) -> bool:
    """Tell whether a path leads to a place in the workspace once every link on its way is followed."""
    try:
        whole, real = os.path.realpath(workspace), os.path.realpath(path)
    except (OSError, ValueError):
        return False
    return os.path.commonpath((whole, real)) == whole


def is_device(name: str) -> bool:
    """Tell whether some systems keep a name for a device, whatever its ending."""
    # Figures above the line count as figures there.
    return unicodedata.normalize("NFKC", name).split(".")[0].strip().lower() in DEVICES


def safe_stem(name: str) -> str:
    """Make a file's stem of a drawing's name: letters and digits of any script stay, all else becomes a hyphen."""
    kept = "".join(letter if letter.isalnum() or letter in "_-. " else "-" for letter in name)
    stem = " ".join(kept.split()).strip(" .-")[:80].encode()[:LONGEST_STEM].decode(errors="ignore").rstrip(" .-")
    if is_device(stem):
        head, dot, tail = stem.partition(".")
        stem = f"{head.rstrip()} drawing{dot}{tail}"
    return stem or "drawing"


def free_path(workspace: Path, stem: str) -> str:
    """Give a file name in the workspace that nothing has yet, whatever the case of its letters.

    No weights lie beside it either: they would be taken for its own.
    """
    taken = {_folded(name) for name in os.listdir(workspace)}
    free, number = stem, 2
    while not taken.isdisjoint((_folded(f"{free}{SUFFIX}"), _folded(f"{free}{WEIGHTS}"))):
        free, number = f"{stem}-{number}", number + 1
    return f"{free}{SUFFIX}"


def _folded(name: str) -> str:
    """Give what two names have in common that some systems take for one: the case, and how marks are composed."""
    return unicodedata.normalize("NFC", unicodedata.normalize("NFC", name).casefold())


def beside(path: Path) -> Path:
    """Give the place of the weights that belong to a drawing file, whether they are there or not."""
    return path.with_name(path.name.removesuffix(SUFFIX) + WEIGHTS)


def weights_of(workspace: Path, drawing: str) -> str | None:
    """Name the file of weights that lies beside a drawing of the workspace; a link is none."""
    path = beside(workspace / drawing)
    return path.relative_to(workspace).as_posix() if path.is_file() and not path.is_symlink() else None
