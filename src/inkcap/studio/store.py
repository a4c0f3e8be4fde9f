"""What the studio keeps of a workspace, in one SQLite file: its drawings by id, and every edit that was accepted.

The log of edits only grows. An edit is on the disk before anyone hears of it (WAL with synchronous=FULL), so that a
killed process or a lost power line takes away nothing that was acknowledged.
"""

from __future__ import annotations

import json
import secrets
import sqlite3
import threading
from collections.abc import Generator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from inkcap.drawing import Edit
from inkcap.recipes.layout import now
from inkcap.structures.errors import InkcapError

FOLDER = ".inkcap"
FILE = "studio.db"
VERSION = 1

SCHEMA = """
CREATE TABLE drawing (
    id TEXT PRIMARY KEY, path TEXT NOT NULL, opened TEXT NOT NULL DEFAULT '', deleted TEXT NOT NULL DEFAULT '',
    saved_seq INTEGER NOT NULL DEFAULT 0, saved TEXT NOT NULL DEFAULT '', pending TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX living ON drawing(path) WHERE deleted = '';
CREATE TABLE edit (
    drawing TEXT NOT NULL, seq INTEGER NOT NULL, client TEXT NOT NULL, number INTEGER, time TEXT NOT NULL,
    kind TEXT NOT NULL, target INTEGER NOT NULL, label TEXT NOT NULL, edit TEXT NOT NULL, inverse TEXT NOT NULL,
    made TEXT NOT NULL, PRIMARY KEY (drawing, seq)
) WITHOUT ROWID;
CREATE UNIQUE INDEX numbered ON edit(drawing, client, number) WHERE number IS NOT NULL;
CREATE TABLE run (folder TEXT PRIMARY KEY, drawing TEXT NOT NULL);
CREATE TABLE snapshot (drawing TEXT NOT NULL, seq INTEGER NOT NULL, text TEXT NOT NULL, PRIMARY KEY (drawing, seq));
"""

SUMMARIES = "CREATE TABLE IF NOT EXISTS summary (path TEXT PRIMARY KEY, state TEXT NOT NULL, value TEXT NOT NULL)"
"""What the list of drawings says of each, by the state of its file; losing it costs nothing but time."""


class StoreError(InkcapError):
    """The studio's own file cannot be opened, read or written."""


@dataclass(frozen=True)
class Entry:
    """One line of a drawing's log: an edit, or what takes one back or does it again."""

    seq: int
    client: str
    number: int | None
    time: str
    kind: str
    target: int
    """Of an undo the edit that it takes back, of a redo the undo; else 0."""
    label: str
    edit: Edit
    inverse: Edit
    made: tuple[str, ...] = ()
    """The ids of what a command made."""


@dataclass(frozen=True)
class Row:
    """A drawing of the workspace: its id, its file, and which text of it was written last."""

    id: str
    path: str
    opened: str
    saved_seq: int
    saved: str
    pending: str


class Store:
    """The studio's file in a workspace; one studio has it open at a time."""

    def __init__(self, workspace: Path) -> None:
        """Open it, or make it; the folder keeps itself out of git."""
        folder = workspace / FOLDER
        try:
            folder.mkdir(exist_ok=True)
            ignore = folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
            self._db = sqlite3.connect(folder / FILE, timeout=0.5, check_same_thread=False, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{folder}: the studio cannot keep its log there ({error}). Check permissions.") from None
        self.folder = folder
        self._lock = threading.RLock()
        try:
            self._prepare()
        except sqlite3.OperationalError as error:
            self._db.close()
            if "locked" in str(error):
                raise StoreError(
                    f"{workspace}: a studio has this folder open already. Use that one, or stop it first."
                ) from None
            raise StoreError(f"{folder / FILE}: cannot be used ({error}).") from None
        except sqlite3.DatabaseError as error:
            self._db.close()
            raise StoreError(
                f"{folder / FILE}: damaged ({error}). Move it away: the drawings are whole, only their history is lost."
            ) from None

    def _prepare(self) -> None:
        # One process at a time, so that the numbers of edits have one giver; the lock ends with the process.
        self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        with self._transaction():
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version == 0:
                for statement in SCHEMA.split(";"):
                    self._db.execute(statement)
                self._db.execute(f"PRAGMA user_version={VERSION}")
            elif version != VERSION:
                raise StoreError(f"{self.folder / FILE}: made by a newer Inkcap (version {version}); use that one.")

            self._db.execute(SUMMARIES)

    def close(self) -> None:
        """Close the file; what was accepted is in it already."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _transaction(self) -> Generator[None]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
            except BaseException:
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise
            self._db.execute("COMMIT")

    def _all(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            return self._db.execute(sql, values).fetchall()

    # Drawings ------------------------------------------------------------------------------------------------

    def id_of(self, path: str) -> str:
        """Give the id of a file of the workspace, a new one where it has none yet."""
        found = self._all("SELECT id FROM drawing WHERE path=? AND deleted=''", (path,))
        if found:
            return found[0][0]
        id = secrets.token_hex(8)
        with self._transaction():
            self._db.execute("INSERT INTO drawing (id, path) VALUES (?, ?)", (id, path))
        return id

    def ids_of(self, paths: Sequence[str]) -> dict[str, str]:
        """Give the ids of many files at once."""
        known = {path: id for path, id in self._all("SELECT path, id FROM drawing WHERE deleted=''")}  # noqa: C416
        fresh = [(secrets.token_hex(8), path) for path in paths if path not in known]
        if fresh:
            with self._transaction():
                self._db.executemany("INSERT INTO drawing (id, path) VALUES (?, ?)", fresh)
        known |= {path: id for id, path in fresh}
        return {path: known[path] for path in paths}

    def row(self, id: str) -> Row | None:
        """Find a drawing that is not deleted by its id."""
        sql = "SELECT id, path, opened, saved_seq, saved, pending FROM drawing WHERE id=? AND deleted=''"
        found = self._all(sql, (id,))
        return Row(*found[0]) if found else None

    def recent(self, most: int) -> list[str]:
        """Give the ids of those that were opened last."""
        sql = "SELECT id FROM drawing WHERE deleted='' AND opened<>'' ORDER BY opened DESC LIMIT ?"
        return [id for (id,) in self._all(sql, (most,))]

    def touch(self, id: str) -> None:
        """Note that a drawing was opened now."""
        self._set(id, opened=now())

    def move(self, id: str, path: str) -> None:
        """Note that a drawing has another file now."""
        self._set(id, path=path)

    def mark_deleted(self, id: str, token: str) -> None:
        """Note that a drawing was deleted; the token takes it back."""
        self._set(id, deleted=token)

    def undelete(self, token: str, path: str) -> None:
        """Note that a deleted drawing is back, in this file."""
        with self._transaction():
            self._db.execute("UPDATE drawing SET deleted='', path=? WHERE deleted=?", (path, token))

    def deleted(self, token: str) -> tuple[str, str] | None:
        """Find a deleted drawing by its token: its id and the file that it had."""
        found = self._all("SELECT id, path FROM drawing WHERE deleted=? AND deleted<>''", (token,))
        return (found[0][0], found[0][1]) if found else None

    def will_write(self, id: str, digest: str) -> None:
        """Note which text is about to become the file, so that it is known as ours after a crash in between."""
        self._set(id, pending=digest)

    def wrote(self, id: str, digest: str, seq: int) -> None:
        """Note which text the file has, and which state it is."""
        self._set(id, saved=digest, saved_seq=seq, pending="")

    def _set(self, id: str, **values: Any) -> None:
        names = ", ".join(f"{name}=?" for name in values)
        with self._transaction():
            self._db.execute(f"UPDATE drawing SET {names} WHERE id=?", (*values.values(), id))  # noqa: S608

    def note_run(self, folder: str, drawing: str) -> None:
        """Note which drawing a run was started from."""
        with self._transaction():
            self._db.execute("INSERT OR REPLACE INTO run VALUES (?, ?)", (folder, drawing))

    def runs(self) -> dict[str, str]:
        """Give the drawings of the runs that the studio started, by the runs' folders."""
        return {folder: drawing for folder, drawing in self._all("SELECT folder, drawing FROM run")}  # noqa: C416

    def summaries(self) -> dict[str, tuple[str, str]]:
        """Give what was found of files before: by path the file's state then, and what the list says of it."""
        return {path: (state, value) for path, state, value in self._all("SELECT path, state, value FROM summary")}

    def keep_summaries(self, found: Sequence[tuple[str, str, str]]) -> None:
        """Keep what the list says of files in some state."""
        with self._transaction():
            self._db.executemany("INSERT OR REPLACE INTO summary VALUES (?, ?, ?)", found)

    # The log -------------------------------------------------------------------------------------------------

    def append(self, drawing: str, entry: Entry, snapshot: str | None = None) -> None:
        """Write one line of the log, and the whole state after it where one is due; it is on the disk on return."""
        values = (
            drawing, entry.seq, entry.client, entry.number, entry.time, entry.kind, entry.target, entry.label,
            _write(entry.edit), _write(entry.inverse), json.dumps(entry.made),
        )  # fmt: skip
        try:
            with self._transaction():
                self._db.execute("INSERT INTO edit VALUES (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)", values)
                if snapshot is not None:
                    self._db.execute("INSERT INTO snapshot VALUES (?, ?, ?)", (drawing, entry.seq, snapshot))
        except sqlite3.Error as error:
            raise StoreError(f"the edit could not be written to the disk ({error}); nothing was changed") from None

    def start(self, drawing: str, text: str) -> None:
        """Write the state with which a drawing's log begins."""
        with self._transaction():
            self._db.execute("INSERT OR IGNORE INTO snapshot VALUES (?, 0, ?)", (drawing, text))

    def snapshot(self, drawing: str, seq: int) -> tuple[int, str] | None:
        """Find the last whole state at or before an edit."""
        sql = "SELECT seq, text FROM snapshot WHERE drawing=? AND seq<=? ORDER BY seq DESC LIMIT 1"
        found = self._all(sql, (drawing, seq))
        return (found[0][0], found[0][1]) if found else None

    def entries(self, drawing: str, after: int = 0, to: int | None = None) -> list[Entry]:
        """Give lines of the log in order."""
        sql = f"SELECT {COLUMNS} FROM edit WHERE drawing=? AND seq>? AND seq<=? ORDER BY seq"  # noqa: S608
        return [_entry(row) for row in self._all(sql, (drawing, after, 2**62 if to is None else to))]

    def heads(self, drawing: str) -> list[tuple[int, str, int | None, str, str, int, str]]:
        """Give seq, client, number, time, kind, target and label of every line, without the edits themselves."""
        sql = "SELECT seq, client, number, time, kind, target, label FROM edit WHERE drawing=? ORDER BY seq"
        return [(*row,) for row in self._all(sql, (drawing,))]  # pyright: ignore[reportReturnType]

    def entry(self, drawing: str, seq: int) -> Entry | None:
        """Find a line by its number."""
        return next(iter(self.entries(drawing, seq - 1, seq)), None)

    def numbered(self, drawing: str, client: str, number: int) -> Entry | None:
        """Find the line that a client's numbered edit became."""
        sql = f"SELECT {COLUMNS} FROM edit WHERE drawing=? AND client=? AND number=?"  # noqa: S608
        return next((_entry(row) for row in self._all(sql, (drawing, client, number))), None)


COLUMNS = "seq, client, number, time, kind, target, label, edit, inverse, made"


def _write(edit: Edit) -> str:
    return json.dumps(edit.to_json(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _entry(row: tuple[Any, ...]) -> Entry:
    seq, client, number, time, kind, target, label, edit, inverse, made = row
    done, undone = Edit.from_json(json.loads(edit)), Edit.from_json(json.loads(inverse))
    return Entry(seq, client, number, time, kind, target, label, done, undone, tuple(json.loads(made)))
