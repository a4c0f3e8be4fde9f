"""All drawings of a workspace: found by their ids, opened once, and followed until nobody needs them."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator
from pathlib import Path
from typing import Annotated, Any

from fastapi import Depends
from starlette.requests import HTTPConnection

from inkcap.structures.atomic import remove_temporaries
from inkcap.structures.errors import InkcapError
from inkcap.studio.carrying import Changes
from inkcap.studio.exports import Exports
from inkcap.studio.helper import Helper
from inkcap.studio.imports import Imports
from inkcap.studio.known import Zoo
from inkcap.studio.live import Live
from inkcap.studio.run_list import RunList
from inkcap.studio.sketches import Sketches
from inkcap.studio.store import Row, Store
from inkcap.studio.summaries import Summaries
from inkcap.studio.trainers import Earlier
from inkcap.studio.workspace import find_drawings, lies_in

WATCH_EVERY = 0.5
"""Seconds between two looks at the files of drawings that are open."""
MOST_OPEN = 64
HALF_WRITTEN = 60
"""Seconds after which a file that was begun and not finished is one that a killed process left behind."""

log = logging.getLogger(__name__)


class NotThere(InkcapError):
    """A drawing, run or network that there is none of."""


class Hub:
    """The drawings of a workspace that are open, by id."""

    def __init__(self, workspace: Path) -> None:
        """Open the workspace's log."""
        self.workspace = workspace
        self.store = Store(workspace)
        # Nobody else writes there: the store is locked.
        remove_temporaries(self.store.folder)
        self.zoo = Zoo(self.store.folder)
        self.summaries = Summaries(workspace, self.store)
        self.sketches = Sketches()
        self.runs = RunList(workspace, self.store)
        self.changes = Changes()
        self.earlier = Earlier(self.store.folder, self.runs.folder, self.store)
        self.earlier.look()
        self.helper = Helper()
        self.exports = Exports(self.store.folder)
        self.imports = Imports(self.store.folder)
        self.inspector = Helper()
        """Looks into runs, so that code and previews never wait for it."""
        self.data_sets: list[dict[str, Any]] | None = None
        """The sets that can be trained on, once the helper has listed them."""
        self._live: dict[str, Live] = {}
        self._opening = asyncio.Lock()
        self._watcher: asyncio.Task[None] | None = None

    def close(self) -> None:
        """Close the log."""
        self.zoo.stop()
        self.summaries.stop()
        self.store.close()

    async def stop(self) -> None:
        """Write what is not written yet, and let everyone go."""
        if self._watcher is not None:
            self._watcher.cancel()
            with contextlib.suppress(asyncio.CancelledError):
                await self._watcher
        for live in list(self._live.values()):
            await live.stop()
        self._live.clear()
        await self.helper.stop()
        await self.inspector.stop()
        self.close()

    def row(self, id: str) -> Row:
        """Find a drawing by its id."""
        row = self.store.row(id)
        if row is None:
            raise NotThere(
                "There is no such drawing: it may have been deleted. The start screen lists those there are."
            )
        return row

    def path(self, row: Row) -> Path:
        """Give the file of a drawing; the row was written by the studio itself, never by a request."""
        path = self.workspace / row.path
        if path.is_symlink() or not lies_in(path.parent, self.workspace):
            raise NotThere(f"{row.path} leads out of the workspace by a link, which the studio does not follow.")
        return path

    def opened(self, id: str) -> Live | None:
        """Give a drawing that is open already."""
        return self._live.get(id)

    async def live(self, id: str) -> Live:
        """Open a drawing, unless it is open."""
        async with self._opening:
            live = self._live.get(id)
            if live is None:
                row = self.row(id)
                live = await asyncio.to_thread(self._open, id, self.path(row))
                live.start()
                await self._make_room()
                self._live[id] = live
            if self._watcher is None:
                self._watcher = asyncio.create_task(self._watch())
            return live

    def _open(self, id: str, path: Path) -> Live:
        remove_temporaries(path.parent, path.name, HALF_WRITTEN)
        return Live(self.store, id, path)

    @contextlib.asynccontextmanager
    async def closed(self, id: str) -> AsyncGenerator[None]:
        """Keep a drawing closed while its file moves or goes; the file is written before, and tabs come back after."""
        async with self._opening:
            live = self._live.pop(id, None)
            if live is not None:
                await live.stop()
            yield

    async def _make_room(self) -> None:
        for id, live in list(self._live.items()):
            if len(self._live) < MOST_OPEN:
                return
            if live.idle:
                del self._live[id]
                await live.stop()

    async def _watch(self) -> None:
        while True:
            await asyncio.sleep(WATCH_EVERY)
            for live in list(self._live.values()):
                try:
                    await live.watch()
                except Exception:
                    log.exception("The file of %s could not be looked at", live.id)

    def ids(self) -> dict[str, str]:
        """Give the ids of the workspace's drawings by their paths."""
        paths = [path.relative_to(self.workspace).as_posix() for path in find_drawings(self.workspace)]
        return self.store.ids_of(paths)


def hub_of(connection: HTTPConnection) -> Hub:
    """Give the hub of the application that a request has come to."""
    return connection.app.state.hub


HubOf = Annotated[Hub, Depends(hub_of)]
