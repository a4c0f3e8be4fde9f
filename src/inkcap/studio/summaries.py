"""What the list of drawings says of each file: checked once, kept while the file stays the same, never waited for long.

A file that is new or changed is checked in the background; until then the list has it by its name alone.
"""

from __future__ import annotations

import datetime
import json
import logging
import threading
import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from inkcap.drawing import SUFFIX, load_drawing
from inkcap.network import Memory, check
from inkcap.structures.errors import InkcapError
from inkcap.studio.models import Listed
from inkcap.studio.store import Store
from inkcap.studio.workspace import text

PATIENCE = 0.25
"""Seconds that a list waits for files that were not checked yet."""
TOGETHER = 20
"""So many findings go to the disk at once."""
VERSION = "1"
"""Goes up when a summary says something else, so that old ones are made again."""

Summary = dict[str, Any]
"""name, capsules, connections, parameters and well_formed of a drawing that could be read; else its error."""
log = logging.getLogger(__name__)


class Summaries:
    """The summaries of a workspace's files; one thread makes those that are missing, the smallest files first."""

    def __init__(self, workspace: Path, store: Store) -> None:
        """Read those that were made before."""
        self._workspace, self._store = workspace, store
        self._known = _read(store.summaries())
        self._lock = threading.Lock()
        self._wanted: dict[str, tuple[int, str]] = {}
        self._worker: threading.Thread | None = None
        self._idle = threading.Event()
        self._stopped = False

    def stop(self) -> None:
        """Let the file in hand be the last one."""
        self._stopped = True
        if self._worker is not None:
            self._worker.join()

    def tell(self, ids: Mapping[str, str], patience: float = PATIENCE) -> list[Listed]:
        """List files by path and id; what is not known yet gets a moment, and is counted later otherwise."""
        states = {path: self._state(path) for path in ids}
        missing = {path: (size, state) for path, (state, size, _) in states.items() if not self._has(path, state)}
        if missing:
            self._want(missing)
            self._idle.wait(patience)
        return [self._listed(path, id, *states[path]) for path, id in ids.items()]

    def _state(self, path: str) -> tuple[str, int, str]:
        """Give what tells whether a file has changed, its size, and when it was changed last."""
        try:
            found = (self._workspace / path).stat()
        except OSError:
            return ("", 0, "")
        modified = datetime.datetime.fromtimestamp(found.st_mtime, datetime.UTC).isoformat()
        return (f"{VERSION} {found.st_mtime_ns} {found.st_size} {found.st_ino}", found.st_size, modified)

    def _has(self, path: str, state: str) -> bool:
        return path in self._known and self._known[path][0] == state

    def _listed(self, path: str, id: str, state: str, _: int, modified: str) -> Listed:
        counted = self._has(path, state)
        # While it is counted anew, an old count is nearer the truth than none.
        summary = self._known[path][1] if path in self._known else {}
        return Listed(
            id=id,
            name=text(summary.get("name") or Path(path).name.removesuffix(SUFFIX)),
            path=text(path),
            modified=modified,
            capsules=summary.get("capsules", 0),
            connections=summary.get("connections", 0),
            parameters=summary.get("parameters"),
            well_formed=summary.get("well_formed", not counted),
            error=summary.get("error") if counted else None,
            counted=counted,
        )

    # The work in the background ------------------------------------------------------------------------------

    def _want(self, missing: Mapping[str, tuple[int, str]]) -> None:
        with self._lock:
            self._wanted.update(missing)
            self._idle.clear()
            if self._worker is None and not self._stopped:
                self._worker = threading.Thread(target=self._work, daemon=True)
                self._worker.start()

    def _next(self) -> tuple[str, str] | None:
        with self._lock:
            if not self._wanted or self._stopped:
                self._worker = None
                self._idle.set()
                return None
            path = min(self._wanted, key=lambda one: self._wanted[one][0])
            return path, self._wanted.pop(path)[1]

    def _work(self) -> None:
        made: list[tuple[str, str, str]] = []
        while (job := self._next()) is not None:
            path, state = job
            summary = summarise(self._workspace / path, path)
            self._known[path] = (state, summary)
            made.append((path, state, json.dumps(summary)))
            if len(made) == TOGETHER:
                self._keep(made)
            # Whoever edits meanwhile comes first.
            time.sleep(0.001)
        self._keep(made)

    def _keep(self, made: list[tuple[str, str, str]]) -> None:
        if made:
            try:
                self._store.keep_summaries(made)
            except Exception:
                # Making them again next time is all that is lost.
                log.debug("The summaries could not be kept", exc_info=True)
            made.clear()


def _read(kept: Mapping[str, tuple[str, str]]) -> dict[str, tuple[str, Summary]]:
    return {path: (state, json.loads(value)) for path, (state, value) in kept.items()}


def summarise(path: Path, relative: str) -> Summary:
    """Check one file and say in short what it is, or what is wrong with it."""
    try:
        report = check(load_drawing(path), Memory())
        return {
            "name": report.drawing.name,
            "capsules": report.capsule_count,
            "connections": report.connection_count,
            "parameters": report.parameters,
            "well_formed": report.well_formed,
        }
    except InkcapError as problem:
        # The list names the file already; the rest of the path would only hide what is wrong.
        error = str(problem).replace(str(path), relative)
    except OSError as problem:
        error = f"{relative} cannot be read: {problem.strerror or problem}. Check its permissions."
    except Exception as problem:
        # One odd file must not hide the others: it is named in the list, and the log has the whole story.
        log.exception("The check of %s failed", path)
        error = f"The check of {relative} failed ({type(problem).__name__}). `inkcap check` tells more."
    return {"error": text(error), "well_formed": False}
