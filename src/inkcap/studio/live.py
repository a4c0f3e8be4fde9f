"""A drawing that tabs have open: its one state, what they are told of it, its report and its file that follow."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import Callable
from pathlib import Path
from typing import Any

from inkcap.drawing import Drawing, Edit, Patch, Remove, difference
from inkcap.drawing.files import SECTIONS
from inkcap.drawing.migrations import FORMAT
from inkcap.network import Memory, Report, check
from inkcap.structures.errors import InkcapError
from inkcap.studio.following import Follower, Outside, begin
from inkcap.studio.layouts import layout_of
from inkcap.studio.ledger import Command, Ledger
from inkcap.studio.neurons import capsule_places, summary_of, told_edit
from inkcap.studio.refusals import Refusals
from inkcap.studio.reports import Items, Telling, outline_of, told_change, told_whole
from inkcap.studio.shortage import why
from inkcap.studio.store import Entry, Store

SAVE_AFTER = 0.25
"""Seconds between an edit and the file that follows; edits in between go into one writing."""
QUEUE = 2_000
"""How many messages a tab may be behind; one that is further behind is let go, and comes back for the whole state."""
QUICK_LAYOUT = 300
"""Up to so many vertices a report comes with the layout of what has no place."""
LARGE = 3_000
"""Above so many capsules and connections a drawing is shown before it is checked; its report follows."""
FROM_FILE = "file"
"""The client whose edits are changes of the file while nobody had the drawing open."""

Message = dict[str, Any]
log = logging.getLogger(__name__)


class Tab:
    """One tab of one client: the messages that wait for it."""

    def __init__(self, client: str) -> None:
        """Start with nothing to tell."""
        self.client = client
        self.outbox: asyncio.Queue[Message | None] = asyncio.Queue(QUEUE)

    def tell(self, message: Message) -> None:
        """Put a message into its box; a tab that does not empty its box is closed."""
        try:
            self.outbox.put_nowait(message)
        except asyncio.QueueFull:
            self.close()

    def close(self) -> None:
        """End the tab: whatever waits is dropped, and the end is told."""
        while not self.outbox.empty():
            self.outbox.get_nowait()
        self.outbox.put_nowait(None)


class Live:
    """A drawing and everyone who looks at it; all changes go through its lock, one after another."""

    def __init__(self, store: Store, id: str, path: Path) -> None:
        """Open the drawing; a file that changed while it was closed is taken over as an edit."""
        begun = begin(store, id, path)
        self.id, self.store = id, store
        self.ledger = Ledger(store, id, begun)
        self.follower = Follower(store, id, path)
        self.lock = asyncio.Lock()
        self.tabs: set[Tab] = set()
        self.refusals = Refusals()
        self.outside: Outside | None = None
        self._reported: tuple[int, Message, Items] | None = None
        self._report_wanted, self._save_wanted = asyncio.Event(), asyncio.Event()
        self._tasks: list[asyncio.Task[None]] = []
        self._checked: tuple[int, Report] | None = None
        self._checking, self._memory, self._telling = asyncio.Lock(), Memory(), Telling()
        self._meaning = self.ledger.seq
        """The last edit that changed more than places on the canvas."""
        self._take_over()

    def _take_over(self) -> None:
        row, found = self.store.row(self.id), self.follower.look()
        assert row is not None
        whole = row.saved_seq >= self.ledger.seq
        if found is not None and found.drawing is not None and whole:
            edit = difference(self.ledger.drawing, found.drawing, "changed outside of the studio")
            if edit.patches:
                self.ledger.apply(FROM_FILE, None, edit)
            self.follower.settle(self.ledger.seq)
        elif found is not None and found.change != "gone":
            self.outside = found
        if not whole or (found is not None and found.change == "gone"):
            if found is not None and found.change == "gone":
                self.follower.settle(-1)
            self._save_wanted.set()

    # Its life ------------------------------------------------------------------------------------------------

    def start(self) -> None:
        """Begin to follow with report and file."""
        if not self._tasks:
            self._tasks = [asyncio.create_task(work()) for work in (self._keep_reporting, self._keep_saving)]

    async def stop(self) -> None:
        """Write the file and end; tabs are told to go."""
        for task in self._tasks:
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)
        self._tasks = []
        for tab in list(self.tabs):
            tab.close()
        with contextlib.suppress(InkcapError):
            await self.save()

    @property
    def idle(self) -> bool:
        """Tell whether nobody looks and the file has everything."""
        return not self.tabs and not self._save_wanted.is_set()

    async def copy(self) -> tuple[Drawing, int]:
        """Give the state to work with, and its number."""
        async with self.lock:
            return self.ledger.drawing.copy(), self.ledger.seq

    async def report(self) -> Report:
        """Check the state, unless that has been done since it last changed its meaning."""
        async with self.lock:
            drawing, seq = self.ledger.drawing.copy(), self._meaning
        if self._checked is None or self._checked[0] != seq:
            async with self._checking:
                self._checked = (seq, await asyncio.to_thread(check, drawing, self._memory))
        return self._checked[1]

    # Tabs ----------------------------------------------------------------------------------------------------

    async def join(self, client: str) -> Tab:
        """Let a tab in: the whole state is its first message, everything after that follows."""
        early = self._reported is None and self.ledger.drawing.plain is None and self._size() > LARGE
        # A large drawing is shown before it is checked.
        reported = None if early else await self._latest_report()
        tab = Tab(client)
        async with self.lock:
            drawing, seq = self.ledger.drawing, self.ledger.seq
            document, layout = await asyncio.to_thread(lambda: (document_of(drawing), self._laid_out(drawing)))
            undo, redo = self.ledger.can(client)
            self._reported = self._reported or reported
            number, outline, items = self._reported or (0, {}, {})
            tab.tell(
                {
                    "type": "state",
                    "seq": seq,
                    "document": document,
                    "report": told_whole(outline, items) if self._reported else None,
                    "report_seq": number,
                    "layout": layout,
                    "clients": len({other.client for other in self.tabs} | {client}),
                    "acknowledged": self.ledger.acknowledged(client),
                    "can_undo": undo,
                    "can_redo": redo,
                }
            )
            self.tabs.add(tab)
            if self._reported is None:
                self._report_wanted.set()
            if self.outside is not None:
                tab.tell(self._offer())
        self._tell_clients()
        return tab

    def _size(self) -> int:
        return len(self.ledger.drawing.capsules) + len(self.ledger.drawing.connections)

    def leave(self, tab: Tab) -> None:
        """Let a tab go."""
        self.tabs.discard(tab)
        self._tell_clients()

    def _tell_clients(self) -> None:
        count = len({tab.client for tab in self.tabs})
        self.tell({"type": "clients", "clients": count})

    def tell(self, message: Message) -> None:
        """Tell all tabs."""
        for tab in list(self.tabs):
            tab.tell(message)

    # Edits ---------------------------------------------------------------------------------------------------

    async def edit(self, client: str, number: int | None, edit: Edit, base: int | None = None) -> Entry:
        """Accept an edit and tell all tabs, in that order."""
        return await self._change(client, number, lambda: self.ledger.apply(client, number, edit, base))

    async def command(self, client: str, number: int | None, command: Command) -> Entry:
        """Accept what a command makes of the state."""
        return await self._change(client, number, lambda: self.ledger.run(client, number, command))

    async def undo(self, client: str, number: int | None) -> Entry:
        """Take back the client's last edit."""
        return await self._change(client, number, lambda: self.ledger.undo(client, number))

    async def redo(self, client: str, number: int | None) -> Entry:
        """Do again what the client took back last."""
        return await self._change(client, number, lambda: self.ledger.redo(client, number))

    async def _change(self, client: str, number: int | None, change: Callable[[], Entry]) -> Entry:
        # A task of its own: whoever asked may be gone before it is done, and the others must hear of it all the same.
        return await asyncio.shield(asyncio.create_task(self._change_now(client, number, change)))

    async def _change_now(self, client: str, number: int | None, change: Callable[[], Entry]) -> Entry:
        async with self.lock:
            repeated = await asyncio.to_thread(self.ledger.repeated, client, number)
            if repeated is not None:
                message = self._applied(repeated)
                for tab in self.tabs:
                    if tab.client == client:
                        tab.tell(message)
                return repeated
            self.refusals.check(client, number, self.ledger.acknowledged(client))
            # On the disk before anyone hears of it.
            try:
                entry = await asyncio.to_thread(change)
            except Exception as error:
                self.refusals.note(client, number, why(error))
                raise
            if any(kind_of(patch) not in PLACES for patch in entry.edit.patches):
                self._meaning = entry.seq
                self._report_wanted.set()
            elif entry.label == "arrange":
                # What was laid out has new bends; they come with a report.
                self._report_wanted.set()
            self._save_wanted.set()
            message = self._applied(entry)
            # One message for all who can undo the same, so that it is put into text once.
            told: dict[tuple[str | None, str | None], Message] = {}
            for tab in list(self.tabs):
                undo, redo = self.ledger.can(tab.client)
                tab.tell(told.setdefault((undo, redo), {**message, "can_undo": undo, "can_redo": redo}))
        return entry

    @staticmethod
    def _applied(entry: Entry) -> Message:
        return {
            "type": "applied",
            "seq": entry.seq,
            "client": entry.client,
            "number": entry.number,
            "edit": told_edit(entry.edit),
            "label": entry.label,
            "kind": entry.kind,
            "made": list(entry.made),
        }

    # Its report ----------------------------------------------------------------------------------------------

    async def _latest_report(self) -> tuple[int, Message, Items]:
        report = await self.report()
        seq = self._checked[0] if self._checked else 0
        async with self._checking:
            return seq, *await asyncio.to_thread(lambda: (outline_of(report), self._telling.items(report)))

    async def _keep_reporting(self) -> None:
        while True:
            await self._report_wanted.wait()
            self._report_wanted.clear()
            try:
                seq, outline, items = await self._latest_report()
                old = self._reported[2] if self._reported else None
                told = await asyncio.to_thread(told_change, self._telling, outline, items, old)
            except Exception:
                log.exception("The report of %s failed", self.id)
                continue
            self._reported = (seq, outline, items)
            self.tell({"type": "report", "seq": seq, "report": told, "layout": await self._layout()})

    async def _layout(self) -> Message | None:
        """Lay out what has no place yet, where that is quick enough to go with a report."""
        drawing, _ = await self.copy()
        if len(drawing.capsules) + len(drawing.uses) > QUICK_LAYOUT:
            return None
        return await asyncio.to_thread(self._laid_out, drawing)

    def _laid_out(self, drawing: Drawing) -> Message:
        """Lay out what has no place; capsules around neurons in columns find theirs among them."""
        facts = self._checked[1].plain if self._checked else None
        if drawing.plain is None or facts is None:
            return layout_of(drawing)
        return {"positions": capsule_places(drawing, facts), "bends": {}}

    # Its file ------------------------------------------------------------------------------------------------

    async def _keep_saving(self) -> None:
        while True:
            await self._save_wanted.wait()
            await asyncio.sleep(SAVE_AFTER)
            try:
                await self.save()
            except InkcapError as error:
                self.tell({"type": "unsaved", "message": str(error)})
                await asyncio.sleep(2)
            except Exception:
                log.exception("The file of %s could not be written", self.id)
                await asyncio.sleep(2)

    async def save(self) -> None:
        """Let the file have the state, unless it was changed outside and nobody has said what to do."""
        drawing, seq = await self.copy()
        if self.outside is not None:
            self._save_wanted.clear()
            return
        self._save_wanted.clear()
        try:
            found = await asyncio.to_thread(self.follower.save, drawing, seq)
        except BaseException:
            self._save_wanted.set()
            raise
        if found is not None:
            self._found_outside(found)
        else:
            self.tell({"type": "saved", "seq": seq})

    async def watch(self) -> None:
        """Look whether someone else has changed the file, and offer it if so."""
        async with self.lock:
            found = await asyncio.to_thread(self.follower.look)
            if found is not None:
                self._found_outside(found)
            elif self.outside is not None:
                # It is back to what we know.
                self.outside = None
                self._save_wanted.set()

    def _found_outside(self, found: Outside) -> None:
        if found.drawing is not None and found.drawing == self.ledger.drawing:
            self.follower.settle(self.ledger.seq)
            return
        if self.outside != found:
            self.outside = found
            self.tell(self._offer())

    def _offer(self) -> Message:
        assert self.outside is not None
        message: Message = {"type": "file", "change": self.outside.change, "message": self.outside.message}
        if self.outside.drawing is not None:
            edit = difference(self.ledger.drawing, self.outside.drawing, "changed outside of the studio")
            message["edit"] = told_edit(edit)
        return message

    async def accept_file(self, client: str) -> None:
        """Take what the file has now, as an edit of the client who said so."""
        found = self.outside
        if found is None:
            return
        if found.drawing is None:
            raise InkcapError("the file cannot be read, so it cannot be taken; keep yours instead, or mend the file")
        outside = found.drawing
        async with self.lock:
            edit = difference(self.ledger.drawing, outside, "changed outside of the studio")
        entry = await self.edit(client, None, edit) if edit.patches else None
        self.follower.settle(entry.seq if entry else self.ledger.seq)
        self.outside = None

    async def keep_ours(self) -> None:
        """Let the file have our state again; what was in it is kept beside the log."""
        if self.outside is None:
            return
        await asyncio.to_thread(self.follower.keep_copy)
        self.follower.settle(-1)
        self.outside = None
        drawing, seq = await self.copy()
        await asyncio.to_thread(self.follower.write, drawing, seq)
        self.tell({"type": "saved", "seq": seq})


PLACES = frozenset({"position"})
"""Kinds of records that mean nothing to the network."""


def kind_of(patch: Patch) -> str:
    """Tell of which kind the record is that a patch puts or removes."""
    return patch.kind if isinstance(patch, Remove) else patch.record.kind


def document_of(drawing: Drawing) -> dict[str, Any]:
    """Give a drawing as the JSON of its file, but for neurons in columns, of which it has only the numbers."""
    document: dict[str, Any] = {"format": FORMAT, "name": drawing.name, "dtype": drawing.dtype}
    for section, kind, _ in SECTIONS:
        document[section] = [record.to_json() for record in drawing.records(kind)]
    if drawing.plain is not None:
        document["plain"] = summary_of(drawing.plain)
    return {**document, "positions": {id: position.to_json() for id, position in drawing.positions.items()}}
