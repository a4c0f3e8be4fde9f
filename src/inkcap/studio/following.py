"""The drawing's file follows its log: written whole or not at all, and never over what someone else wrote."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Literal

from inkcap.drawing import Drawing, DrawingError, from_text, load_drawing
from inkcap.structures.atomic import write_atomic
from inkcap.studio.store import Store, StoreError

Signature = tuple[int, int, int] | None


@dataclass(frozen=True)
class Outside:
    """A change of the file that the studio did not make: another drawing, a file that cannot be read, or none."""

    change: Literal["outside", "broken", "gone"]
    digest: str = ""
    drawing: Drawing | None = None
    message: str = ""


def digest_of(text: str | bytes) -> str:
    """Give the check sum by which a text is known again."""
    return hashlib.sha256(text.encode() if isinstance(text, str) else text).hexdigest()


class Follower:
    """The file of one drawing, and what the studio knows to be in it."""

    def __init__(self, store: Store, id: str, path: Path) -> None:
        """Know nothing yet; ``look`` finds out."""
        self.store, self.id, self.path = store, id, path
        self._seen: Signature = (-1, -1, -1)
        self._found: Outside | None = None

    def look(self) -> Outside | None:
        """Tell what someone else did to the file, if anything; quick while nothing changes."""
        signature = self._signature()
        if signature == self._seen:
            return self._found
        found = self._examine()
        # A file that changed while it was read is looked at again next time.
        self._seen = signature if signature == self._signature() else (-1, -1, -1)
        self._found = found
        return found

    def _signature(self) -> Signature:
        try:
            state = self.path.stat()
        except OSError:
            return None
        return (state.st_mtime_ns, state.st_size, state.st_ino)

    def _examine(self) -> Outside | None:
        row = self.store.row(self.id)
        if self.path.is_symlink():
            return Outside("broken", message=f"{self.path.name} is a link now, which the studio does not follow.")
        try:
            data = self.path.read_bytes()
        except FileNotFoundError:
            return Outside("gone") if row is not None and row.saved else None
        except OSError as error:
            return Outside("broken", message=f"{self.path.name} cannot be read: {error.strerror}.")
        digest = digest_of(data)
        if row is not None and digest == row.saved:
            return None
        if row is not None and digest == row.pending:
            # Written, and cut off before that was noted: noted now, since the next writing forgets what was pending.
            self.store.wrote(self.id, digest, row.saved_seq)
            return None
        try:
            return Outside("outside", digest, load_drawing(self.path))
        except DrawingError as error:
            return Outside("broken", digest, message=str(error).replace(str(self.path), self.path.name))

    def save(self, drawing: Drawing, seq: int) -> Outside | None:
        """Let the file have a state, unless someone else has changed it: then that is told, and nothing written."""
        found = self.look()
        if found is not None:
            return found
        self.write(drawing, seq)
        return None

    def write(self, drawing: Drawing, seq: int) -> None:
        """Let the file have a state, whatever is in it."""
        text = drawing.to_text()
        digest = digest_of(text)
        self.store.will_write(self.id, digest)
        try:
            self.path.parent.mkdir(parents=True, exist_ok=True)
            write_atomic(self.path, text)
        except OSError as error:
            raise StoreError(
                f"{self.path.name} cannot be written ({error.strerror}); your edits are safe in the studio's log"
            ) from None
        self._seen, self._found = self._signature(), None
        self.store.wrote(self.id, digest, seq)

    def settle(self, seq: int) -> None:
        """Take the file as it is for a state of the log: what was found in it was accepted, or will be replaced."""
        found = self._found
        self.store.wrote(self.id, found.digest if found else "", seq)
        self._seen, self._found = (-1, -1, -1), None

    def keep_copy(self) -> Path | None:
        """Keep what is about to be replaced beside the log, so that nothing is ever lost."""
        folder = self.store.folder / "replaced"
        try:
            data = self.path.read_bytes()
        except OSError:
            return None
        folder.mkdir(exist_ok=True)
        kept = folder / f"{digest_of(data)[:12]}-{self.path.name}"
        write_atomic(kept, data)
        return kept


def begin(store: Store, id: str, path: Path) -> Drawing | None:
    """Begin the log of a drawing with what is in its file, and give that, unless it has begun already."""
    if store.snapshot(id, 2**62) is not None:
        return None
    data = path.read_bytes() if path.is_file() and not os.path.islink(path) else b""
    drawing = load_drawing(path)
    text = drawing.to_text()
    # The text may be of another form than ours; as long as it means the same, it stays as it is.
    same = text.encode() == data or from_text(text) == drawing
    store.start(id, text, digest_of(data) if same else "")
    return drawing
