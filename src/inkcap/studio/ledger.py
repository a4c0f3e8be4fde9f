"""A drawing with its log: edits of several clients in one order, each of them once, and undo for each client."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from contextlib import suppress
from dataclasses import dataclass, field, replace

from inkcap.drawing import Drawing, DrawingError, Edit, difference, from_text
from inkcap.drawing.limits import NAME_LENGTH
from inkcap.recipes.layout import now
from inkcap.structures.errors import InkcapError
from inkcap.studio.merging import rebase
from inkcap.studio.store import Entry, Store

SNAPSHOT_EVERY = 256
"""After so many edits the whole state is written too, so that no drawing takes long to open."""

Command = Callable[[Drawing], tuple[str, Iterable[str]]]
"""What works on a copy of a drawing; it gives the edit's label and the ids of what it made."""


class Refused(InkcapError):
    """An edit that was not accepted; nothing has changed."""


@dataclass
class Stacks:
    """What one client can undo and redo, as numbers of the log, the last one on top."""

    done: list[int] = field(default_factory=list[int])
    undone: list[int] = field(default_factory=list[int])

    def take(self, seq: int, kind: str) -> None:
        """Note a line of the log of this client."""
        if kind == "undo":
            self.done.pop()
            self.undone.append(seq)
        elif kind == "redo":
            self.undone.pop()
            self.done.append(seq)
        else:
            self.done.append(seq)
            self.undone.clear()


class Ledger:
    """The one state of a drawing, and the only way to change it; not for several threads at once."""

    def __init__(self, store: Store, id: str, begun: Drawing | None = None) -> None:
        """Open a drawing whose log has a beginning; ``begun`` is that beginning where it was made just now."""
        self.store, self.id = store, id
        self.drawing, self.seq = (begun, 0) if begun is not None else self._replayed(2**62)
        self._stacks: dict[str, Stacks] = {}
        self._labels: dict[int, str] = {}
        self._highest: dict[str, int] = {}
        for seq, client, number, _, kind, _, label in store.heads(id):
            self._note(seq, client, number, kind, label)

    def _replayed(self, to: int) -> tuple[Drawing, int]:
        found = self.store.snapshot(self.id, to)
        if found is None:
            raise Refused("this drawing has no log yet; open it first")
        seq, text = found
        drawing = from_text(text)
        for entry in self.store.entries(self.id, seq, to):
            drawing.perform(entry.edit)
            seq = entry.seq
        return drawing, seq

    def _note(self, seq: int, client: str, number: int | None, kind: str, label: str) -> None:
        self._stacks.setdefault(client, Stacks()).take(seq, kind)
        self._labels[seq] = label
        if number is not None:
            self._highest[client] = max(number, self._highest.get(client, 0))

    # Reading -------------------------------------------------------------------------------------------------

    def at(self, seq: int) -> Drawing:
        """Give the state after an edit of the log; 0 is the state before all of them."""
        if not 0 <= seq <= self.seq:
            raise Refused(f"the history has the states 0 to {self.seq}, not {seq}")
        return self.drawing.copy() if seq == self.seq else self._replayed(seq)[0]

    def acknowledged(self, client: str) -> int:
        """Give the highest number of a client's edits that is in the log."""
        return self._highest.get(client, 0)

    def can(self, client: str) -> tuple[str | None, str | None]:
        """Give the labels of what a client would undo and redo now."""
        stacks = self._stacks.get(client, Stacks())
        undo = self._labels[stacks.done[-1]] if stacks.done else None
        return undo, self._labels[stacks.undone[-1]] if stacks.undone else None

    # Changing ------------------------------------------------------------------------------------------------

    def repeated(self, client: str, number: int | None) -> Entry | None:
        """Find what a client's number became, when it came before."""
        if number is None or number > self.acknowledged(client):
            return None
        return self.store.numbered(self.id, client, number)

    def apply(self, client: str, number: int | None, edit: Edit, base: int | None = None) -> Entry:
        """Accept an edit, merged with what others did since the state ``base`` that its client knew."""
        if base is not None and base < self.seq:
            edit = rebase(edit, (e for e in self.store.entries(self.id, max(base, 0)) if e.client != client))
        return self._accept(Entry(0, client, number, "", "edit", 0, edit.label, edit, edit))

    def run(self, client: str, number: int | None, command: Command) -> Entry:
        """Accept what a command makes of the drawing, as one edit."""
        work = self.drawing.copy()
        label, made = command(work)
        # Read like what a tab sends: nothing comes into the log that could not be read from it again.
        edit = Edit.from_json(difference(self.drawing, work, label[:NAME_LENGTH]).to_json())
        return self._accept(Entry(0, client, number, "", "edit", 0, edit.label, edit, edit, tuple(made)))

    def undo(self, client: str, number: int | None) -> Entry:
        """Take back a client's last edit, and nothing that others did since."""
        return self._counter(client, number, "undo", self._stacks.get(client, Stacks()).done)

    def redo(self, client: str, number: int | None) -> Entry:
        """Do again what a client took back last."""
        return self._counter(client, number, "redo", self._stacks.get(client, Stacks()).undone)

    def _counter(self, client: str, number: int | None, kind: str, stack: list[int]) -> Entry:
        if not stack:
            raise Refused(f"there is nothing to {kind}")
        target = self.store.entry(self.id, stack[-1])
        assert target is not None
        since = (e for e in self.store.entries(self.id, target.seq) if e.client != client)
        edit = rebase(target.inverse, since, yields=True)
        return self._accept(Entry(0, client, number, "", kind, target.seq, target.label, edit, edit))

    def _accept(self, entry: Entry) -> Entry:
        before = self.drawing.copy()
        try:
            inverse = self.drawing.perform(entry.edit)
            entry = replace(entry, seq=self.seq + 1, time=now(), inverse=inverse)
            snapshot = self.drawing.to_text() if entry.seq % SNAPSHOT_EVERY == 0 else None
            self.store.append(self.id, entry, snapshot)
        except DrawingError:
            # A drawing takes back itself what it refuses.
            raise
        except BaseException:
            # What is not on the disk has not happened, and what is there has. Nothing is taken back step by step: the
            # next step may want the memory that the last one lacked.
            if not self._is_kept(self.seq + 1):
                self.drawing = before
                raise
        self.seq = entry.seq
        self._note(entry.seq, entry.client, entry.number, entry.kind, entry.label)
        return entry

    def _is_kept(self, seq: int) -> bool:
        with suppress(Exception):
            return self.store.entry(self.id, seq) is not None
        return False
