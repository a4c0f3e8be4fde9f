"""The drawings of a workspace, each with what its check says; a file that cannot be read says why instead."""

import logging
import os
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path
from typing import Any, cast

from pydantic import BaseModel, ConfigDict

from inkcap.drawing import SUFFIX, load_drawing
from inkcap.network import check
from inkcap.structures.errors import InkcapError

MOST_DRAWINGS = 500
PASSED_BY = frozenset({"runs"})

log = logging.getLogger(__name__)


class Diagnostic(BaseModel):
    """One finding of a check: in words, with its numbers and, where one is known, the edit that mends it."""

    model_config = ConfigDict(frozen=True)

    rule: str
    severity: str
    message: str
    where: tuple[str, ...]
    numbers: dict[str, Any]
    fix: dict[str, Any] | None


class Summary(BaseModel):
    """What the check says of a drawing that could be read; the counts of a faulty one cover what is known."""

    model_config = ConfigDict(frozen=True)

    well_formed: bool
    kind: str | None
    capsules: int
    connections: int
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    depth: int
    parameters: int
    frozen_parameters: int
    multiply_adds: int
    diagnostics: tuple[Diagnostic, ...]


class DrawingEntry(BaseModel):
    """One drawing file of the workspace: its check, or the error that stands in its place."""

    model_config = ConfigDict(frozen=True)

    path: str
    summary: Summary | None
    error: str | None


class Listing(BaseModel):
    """The drawings of a workspace, and whether there are more than were looked at."""

    model_config = ConfigDict(frozen=True)

    workspace: str
    drawings: tuple[DrawingEntry, ...]
    more: bool


def list_drawings(workspace: Path) -> Listing:
    """Check every drawing of the workspace, in the order of their paths, at most MOST_DRAWINGS of them."""
    drawings: list[DrawingEntry] = []
    more = False
    for path in find_drawings(workspace):
        if len(drawings) == MOST_DRAWINGS:
            more = True
            break
        drawings.append(_entry(path, path.relative_to(workspace).as_posix()))
    return Listing(workspace=_text(str(workspace)), drawings=tuple(drawings), more=more)


def find_drawings(workspace: Path) -> Iterator[Path]:
    """Yield the drawing files below the workspace; hidden folders, runs and links are passed by."""
    for folder, folders, files in os.walk(workspace):
        folders[:] = sorted(name for name in folders if not name.startswith(".") and name not in PASSED_BY)
        for name in sorted(files):
            path = Path(folder, name)
            if name.endswith(SUFFIX) and path.is_file() and not path.is_symlink():
                yield path


def _entry(path: Path, name: str) -> DrawingEntry:
    """Check one file; the answer is kept until the file changes."""
    try:
        state = path.stat()
        summary = _summary(path, state.st_mtime_ns, state.st_size, state.st_ino)
    except InkcapError as error:
        # The page names the file already; the rest of the path would only hide what is wrong.
        return DrawingEntry(path=_text(name), summary=None, error=_text(str(error).replace(str(path), name)))
    except OSError as error:
        reason = f"{name} cannot be read: {error.strerror or error}. Check its permissions, then load this page again."
        return DrawingEntry(path=_text(name), summary=None, error=_text(reason))
    except Exception as error:
        # One odd file must not hide the others: it is named on the page, and the log has the whole story.
        log.exception("The check of %s failed", path)
        reason = f"The check of {name} failed ({type(error).__name__}: {error}). `inkcap check {name}` tells more."
        return DrawingEntry(path=_text(name), summary=None, error=_text(reason))
    return DrawingEntry(path=_text(name), summary=summary, error=None)


@lru_cache(maxsize=2 * MOST_DRAWINGS)
def _summary(path: Path, _changed: int, _size: int, _file: int) -> Summary:
    return Summary.model_validate(_clean(check(load_drawing(path)).to_json()))


def _clean(value: object) -> object:
    """Return a JSON value whose every text can be written as UTF-8."""
    if isinstance(value, str):
        return _text(value)
    if isinstance(value, dict):
        record = cast("dict[str, object]", value)
        return {_text(key): _clean(inner) for key, inner in record.items()}
    if isinstance(value, list):
        return [_clean(inner) for inner in cast("list[object]", value)]
    return value


def _text(text: str) -> str:
    """Return the text with whatever cannot be written as UTF-8 replaced: file names may hold any bytes."""
    return text.encode("utf-8", "replace").decode()
