"""What the studio keeps of a workspace, in one SQLite file: its drawings by id, and every edit that was accepted.

The log of edits only grows. An edit is on the disk before anyone hears of it (WAL with synchronous=FULL), so that a
killed process or a lost power line takes away nothing that was acknowledged. Each line and each whole state has a
check sum, so that what is read is what was written.
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
from inkcap.structures.atomic import make_folder
from inkcap.structures.errors import InkcapError
from inkcap.studio.seals import lines_behind, seal_of, seal_of_line
from inkcap.studio.watermark import Watermark

FOLDER = ".inkcap"
FILE = "studio.db"
VERSION = 2

SCHEMA = """
CREATE TABLE drawing (
    id TEXT PRIMARY KEY, path TEXT NOT NULL, opened TEXT NOT NULL DEFAULT '', deleted TEXT NOT NULL DEFAULT '',
    saved_seq INTEGER NOT NULL DEFAULT 0, saved TEXT NOT NULL DEFAULT '', pending TEXT NOT NULL DEFAULT ''
);
CREATE UNIQUE INDEX living ON drawing(path) WHERE deleted = '';
CREATE TABLE edit (
    drawing TEXT NOT NULL, seq INTEGER NOT NULL, client TEXT NOT NULL, number INTEGER, time TEXT NOT NULL,
    kind TEXT NOT NULL, target INTEGER NOT NULL, label TEXT NOT NULL, edit TEXT NOT NULL, inverse TEXT NOT NULL,
    made TEXT NOT NULL, sum TEXT NOT NULL DEFAULT '', PRIMARY KEY (drawing, seq)
) WITHOUT ROWID;
CREATE UNIQUE INDEX numbered ON edit(drawing, client, number) WHERE number IS NOT NULL;
CREATE TABLE run (folder TEXT PRIMARY KEY, drawing TEXT NOT NULL);
CREATE INDEX noted ON run(folder, drawing);
CREATE TABLE snapshot (
    drawing TEXT NOT NULL, seq INTEGER NOT NULL, text TEXT NOT NULL, sum TEXT NOT NULL DEFAULT '',
    PRIMARY KEY (drawing, seq)
);
"""

SEALED = """
ALTER TABLE edit ADD COLUMN sum TEXT NOT NULL DEFAULT '';
ALTER TABLE snapshot ADD COLUMN sum TEXT NOT NULL DEFAULT '';
CREATE INDEX noted ON run(folder, drawing);
UPDATE edit SET sum=seal(8, drawing, seq, client, number, time, kind, target, label, edit, inverse, made);
UPDATE snapshot SET sum=seal(3, drawing, seq, text);
"""
"""What version 2 has over version 1: check sums, and each run twice, so that the two are compared."""

EXAMINED = 64 << 20
"""Bytes up to which the file is examined at each start; a larger one is so only after an end without a word."""

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
            make_folder(folder)
            ignore = folder / ".gitignore"
            if not ignore.exists():
                ignore.write_text("*\n", encoding="utf-8")
            self._last = Watermark(folder, fresh=not (folder / FILE).exists())
            self._db = sqlite3.connect(folder / FILE, timeout=0.5, check_same_thread=False, isolation_level=None)
        except (OSError, sqlite3.Error) as error:
            raise StoreError(f"{folder}: the studio cannot keep its log there ({error}). Check permissions.") from None
        self.folder = folder
        self._lock = threading.RLock()
        self.note = ""
        """What could not be read of the last changes, if anything."""
        try:
            self._prepare()
        except sqlite3.OperationalError as error:
            self._db.close()
            if "locked" in str(error):
                raise StoreError(
                    f"{workspace}: a studio has this folder open already. Use that one, or stop it first."
                ) from None
            raise StoreError(f"{folder / FILE}: cannot be used ({error}).") from None
        except (sqlite3.DatabaseError, UnicodeDecodeError) as error:
            # What SQLite says of damage may hold the damaged bytes themselves, which are no text then.
            self._db.close()
            raise self._damaged(error) from None
        except BaseException:
            self._db.close()
            raise

    def _damaged(self, what: object) -> StoreError:
        return StoreError(
            f"{self.folder / FILE}: damaged ({what}). Move it away: the drawings are whole, only their history is lost."
        )

    def _prepare(self) -> None:
        # One process at a time, so that the numbers of edits have one giver; the lock ends with the process.
        self._db.execute("PRAGMA locking_mode=EXCLUSIVE")
        self._db.execute("PRAGMA journal_mode=WAL")
        self._db.execute("PRAGMA synchronous=FULL")
        self._examine()
        self._db.create_function("seal", -1, _sealed, deterministic=True)
        with self._changing():
            (version,) = self._db.execute("PRAGMA user_version").fetchone()
            if version > VERSION:
                raise StoreError(f"{self.folder / FILE}: made by a newer Inkcap (version {version}); use that one.")
            for statement in ({0: SCHEMA, 1: SEALED}.get(version, "")).split(";"):
                self._db.execute(statement)
            if version != VERSION:
                self._db.execute(f"PRAGMA user_version={VERSION}")
            self._db.execute(SUMMARIES)
        self._compare_last()

    def _examine(self) -> None:
        """See that the file hangs together, and that nothing was left out of what was written last."""
        path, log = self.folder / FILE, self.folder / f"{FILE}-wal"
        unfinished = log.stat().st_size if log.is_file() else 0
        if unfinished or path.stat().st_size <= EXAMINED:
            problems = self._db.execute("PRAGMA integrity_check(1)").fetchall()
            if problems != [("ok",)]:
                raise self._damaged(str(problems[0][0]).splitlines()[-1])
        if unfinished:
            (_, read, _) = self._db.execute("PRAGMA wal_checkpoint").fetchone()
            if words := lines_behind(log, max(read, 0)):
                self.note = (
                    f"{self.folder.name}/{words}: the last edits may be lost; their files are as they were left."
                )

    def _compare_last(self) -> None:
        """See that the edit is there that was noted as the last."""
        last = self._last.read()
        if last and not self.note and not self._all("SELECT 1 FROM edit WHERE drawing=? AND seq=?", last):
            self.note = (
                f"{self.folder.name}/{FILE}: edit {last[1]} of a drawing was written and is not there any more: the "
                "last edits may be lost; their files are as they were left."
            )

    def close(self) -> None:
        """Close the file; what was accepted is in it already."""
        with self._lock:
            self._db.close()

    @contextmanager
    def _changing(self) -> Generator[None]:
        with self._lock:
            self._db.execute("BEGIN IMMEDIATE")
            try:
                yield
                self._db.execute("COMMIT")
            except BaseException:
                # Where the end of it fails, as on a full disk, it must not stay open either.
                with suppress(sqlite3.Error):
                    self._db.execute("ROLLBACK")
                raise

    @contextmanager
    def _writing(self, what: str) -> Generator[None]:
        """Write as a whole or not at all; what stands in the way, such as a full disk, is told in words."""
        try:
            with self._changing():
                yield
        except sqlite3.Error as error:
            raise StoreError(
                f"{what} could not be written to the disk ({error}); nothing was changed: make room in "
                f"{self.folder.name}, or look after the disk"
            ) from None

    def _all(self, sql: str, values: Sequence[Any] = ()) -> list[tuple[Any, ...]]:
        with self._lock:
            try:
                return self._db.execute(sql, values).fetchall()
            except (sqlite3.Error, UnicodeDecodeError) as error:
                raise self._damaged(error) from None

    # Drawings ------------------------------------------------------------------------------------------------

    def id_of(self, path: str) -> str:
        """Give the id of a file of the workspace, a new one where it has none yet."""
        found = self._all("SELECT id FROM drawing WHERE path=? AND deleted=''", (path,))
        if found:
            return found[0][0]
        id = secrets.token_hex(8)
        with self._writing("the drawing's place in the studio's list"):
            self._db.execute("INSERT INTO drawing (id, path) VALUES (?, ?)", (id, path))
        return id

    def ids_of(self, paths: Sequence[str]) -> dict[str, str]:
        """Give the ids of many files at once; new ones are left out while there is no room to note theirs."""
        known = {path: id for path, id in self._all("SELECT path, id FROM drawing WHERE deleted=''")}  # noqa: C416
        fresh = [(secrets.token_hex(8), path) for path in paths if path not in known]
        if fresh:
            with suppress(StoreError), self._writing("the ids of new drawings"):
                self._db.executemany("INSERT INTO drawing (id, path) VALUES (?, ?)", fresh)
                known |= {path: id for id, path in fresh}
        return {path: known[path] for path in paths if path in known}

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
        with self._writing("the drawing's place in the studio's list"):
            self._give_way(id, path)
            self._db.execute("UPDATE drawing SET path=? WHERE id=?", (path, id))

    def _give_way(self, id: str, path: str) -> None:
        """Let a drawing whose file someone took away leave its name to another; its log is kept."""
        sql = "UPDATE drawing SET deleted=? WHERE path=? AND deleted='' AND id<>?"
        self._db.execute(sql, (secrets.token_hex(16), path, id))

    def mark_deleted(self, id: str, token: str) -> None:
        """Note that a drawing was deleted; the token takes it back."""
        self._set(id, deleted=token)

    def undelete(self, token: str, path: str) -> None:
        """Note that a deleted drawing is back, in this file."""
        with self._writing("the drawing's return"):
            self._give_way("", path)
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
        with self._writing("what the studio knows of the drawing"):
            self._put(id, **values)

    def _put(self, id: str, **values: Any) -> None:
        names = ", ".join(f"{name}=?" for name in values)
        self._db.execute(f"UPDATE drawing SET {names} WHERE id=?", (*values.values(), id))  # noqa: S608

    def note_run(self, folder: str, drawing: str) -> None:
        """Note which drawing a run was started from."""
        with self._writing("the run's drawing"):
            self._db.execute("INSERT OR REPLACE INTO run VALUES (?, ?)", (folder, drawing))

    def rename_run(self, folder: str, name: str) -> None:
        """Let what is noted of a run be found by another name; its own may be given to a new one."""
        with self._writing("the run's drawing"):
            self._db.execute("UPDATE OR REPLACE run SET folder = ? WHERE folder = ?", (name, folder))

    def runs(self) -> dict[str, str]:
        """Give the drawings of the runs that the studio started, by the runs' folders."""
        return {folder: drawing for folder, drawing in self._all("SELECT folder, drawing FROM run")}  # noqa: C416

    def summaries(self) -> dict[str, tuple[str, str]]:
        """Give what was found of files before: by path the file's state then, and what the list says of it."""
        return {path: (state, value) for path, state, value in self._all("SELECT path, state, value FROM summary")}

    def keep_summaries(self, found: Sequence[tuple[str, str, str]]) -> None:
        """Keep what the list says of files in some state."""
        with self._writing("what the list says of drawings"):
            self._db.executemany("INSERT OR REPLACE INTO summary VALUES (?, ?, ?)", found)

    # The log -------------------------------------------------------------------------------------------------

    def append(self, drawing: str, entry: Entry, snapshot: str | None = None) -> None:
        """Write one line of the log, and the whole state after it where one is due; it is on the disk on return."""
        head = (
            drawing, entry.seq, entry.client, entry.number, entry.time, entry.kind, entry.target, entry.label
        )  # fmt: skip
        body = (_write(entry.edit), _write(entry.inverse), json.dumps(entry.made))
        values = (*head, *body, seal_of_line(head, body))
        with self._lock:
            with self._writing("the edit"):
                self._db.execute(f"INSERT INTO edit VALUES ({', '.join('?' * len(values))})", values)  # noqa: S608
                if snapshot is not None:
                    self._keep(drawing, entry.seq, snapshot)
            self._last.write(drawing, entry.seq)

    def start(self, drawing: str, text: str, saved: str) -> None:
        """Write the state with which a drawing's log begins, and the check sum of the file that has it, at once."""
        with self._writing("the beginning of the drawing's log"):
            self._keep(drawing, 0, text)
            self._put(drawing, saved=saved, saved_seq=0, pending="")

    def _keep(self, drawing: str, seq: int, text: str) -> None:
        sql = "INSERT OR IGNORE INTO snapshot VALUES (?, ?, ?, ?)"
        self._db.execute(sql, (drawing, seq, text, seal_of(drawing, seq, text)))

    def snapshot(self, drawing: str, seq: int) -> tuple[int, str] | None:
        """Find the last whole state at or before an edit."""
        sql = "SELECT seq, text, sum FROM snapshot WHERE drawing=? AND seq<=? ORDER BY seq DESC LIMIT 1"
        for found, text, sum in self._all(sql, (drawing, seq)):
            if sum != seal_of(drawing, found, text):
                raise self._damaged(f"the state after edit {found} of a drawing has another check sum")
            return found, text
        return None

    def entries(self, drawing: str, after: int = 0, to: int | None = None) -> list[Entry]:
        """Give lines of the log in order."""
        sql = f"SELECT {COLUMNS} FROM edit WHERE drawing=? AND seq>? AND seq<=? ORDER BY seq"  # noqa: S608
        return [self._entry(drawing, row) for row in self._all(sql, (drawing, after, 2**62 if to is None else to))]

    def heads(self, drawing: str) -> list[tuple[int, str, int | None, str, str, int, str]]:
        """Give seq, client, number, time, kind, target and label of every line, without the edits themselves."""
        sql = "SELECT seq, client, number, time, kind, target, label, sum FROM edit WHERE drawing=? ORDER BY seq"
        rows = self._all(sql, (drawing,))
        for place, (*head, sum) in enumerate(rows, 1):
            if head[0] != place or sum[:8] != seal_of(drawing, *head):
                raise self._damaged(f"edit {place} of a drawing has another check sum, or is not there")
        return [(*row[:-1],) for row in rows]  # pyright: ignore[reportReturnType]

    def entry(self, drawing: str, seq: int) -> Entry | None:
        """Find a line by its number."""
        return next(iter(self.entries(drawing, seq - 1, seq)), None)

    def numbered(self, drawing: str, client: str, number: int) -> Entry | None:
        """Find the line that a client's numbered edit became."""
        sql = f"SELECT {COLUMNS} FROM edit WHERE drawing=? AND client=? AND number=?"  # noqa: S608
        return next((self._entry(drawing, row) for row in self._all(sql, (drawing, client, number))), None)

    def _entry(self, drawing: str, row: tuple[Any, ...]) -> Entry:
        seq, client, number, time, kind, target, label, edit, inverse, made, sum = row
        if sum != seal_of_line((drawing, *row[:7]), row[7:10]):
            raise self._damaged(f"edit {seq} of a drawing has another check sum")
        done, undone = Edit.from_json(json.loads(edit)), Edit.from_json(json.loads(inverse))
        return Entry(seq, client, number, time, kind, target, label, done, undone, tuple(json.loads(made)))


COLUMNS = "seq, client, number, time, kind, target, label, edit, inverse, made, sum"


def _sealed(count: int, *values: Any) -> str:
    """Give the check sum of a row for SQLite: of a line of a log, or, where there is no body, of anything else."""
    return seal_of_line(values[:count], values[count:]) if len(values) > count else seal_of(*values)


def _write(edit: Edit) -> str:
    return json.dumps(edit.to_json(), ensure_ascii=False, allow_nan=False, separators=(",", ":"))
