"""The drawing files of a workspace, each with what its check says; a file that cannot be read says why instead."""

import datetime
import logging
import os
from collections.abc import Iterator
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path

from inkcap.drawing import SUFFIX, load_drawing
from inkcap.network import check
from inkcap.structures.errors import InkcapError
from inkcap.studio.models import Listed

MOST_DRAWINGS = 500
PASSED_BY = frozenset({"runs", "node_modules"})

DEVICES = frozenset({"con", "prn", "aux", "nul", *(f"{name}{i}" for name in ("com", "lpt") for i in range(10))})
"""Names that some systems keep for devices, whatever their ending."""

log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Summary:
    """What the list says of a drawing that could be read; the counts of a faulty one cover what is known."""

    name: str
    capsules: int
    connections: int
    parameters: int
    well_formed: bool


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


def list_drawing(path: Path, relative: str, id: str) -> Listed:
    """Check one file; the answer is kept until the file changes."""
    summary, error, modified = None, None, ""
    try:
        state = path.stat()
        modified = datetime.datetime.fromtimestamp(state.st_mtime, datetime.UTC).isoformat()
        summary = _summary(path, state.st_mtime_ns, state.st_size, state.st_ino)
    except InkcapError as problem:
        # The list names the file already; the rest of the path would only hide what is wrong.
        error = str(problem).replace(str(path), relative)
    except OSError as problem:
        error = f"{relative} cannot be read: {problem.strerror or problem}. Check its permissions."
    except Exception as problem:
        # One odd file must not hide the others: it is named in the list, and the log has the whole story.
        log.exception("The check of %s failed", path)
        error = f"The check of {relative} failed ({type(problem).__name__}). `inkcap check` tells more."
    name = summary.name if summary else Path(relative).name.removesuffix(SUFFIX)
    return Listed(
        id=id,
        name=text(name),
        path=text(relative),
        modified=modified,
        capsules=summary.capsules if summary else 0,
        connections=summary.connections if summary else 0,
        parameters=summary.parameters if summary else None,
        well_formed=summary is not None and summary.well_formed,
        error=None if error is None else text(error),
    )


@lru_cache(maxsize=2 * MOST_DRAWINGS)
def _summary(path: Path, _changed: int, _size: int, _file: int) -> Summary:
    report = check(load_drawing(path))
    return Summary(
        report.drawing.name, report.capsule_count, report.connection_count, report.parameters, report.well_formed
    )


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
    """Give a file name in the workspace that nothing has yet, whatever the case of its letters."""
    taken = {name.lower() for name in os.listdir(workspace)}
    name, number = f"{stem}{SUFFIX}", 2
    while name.lower() in taken:
        name, number = f"{stem}-{number}{SUFFIX}", number + 1
    return name
