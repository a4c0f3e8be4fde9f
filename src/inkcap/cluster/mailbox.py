"""What passes between a command and the workers that train for it: events one way, the wish to stop the other."""

from __future__ import annotations

import asyncio
import pickle
from collections.abc import Callable
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from inkcap.training.events import (
    EndEvent,
    EpochEvent,
    Listener,
    PauseEvent,
    PretrainingEvent,
    StartEvent,
    StepEvent,
)

if TYPE_CHECKING:
    from inkcap.training import RunResult

MOST_RESTARTS = 3
"""How often workers are started again without a checkpoint in between."""


@dataclass(frozen=True)
class Fetching:
    """A file is being fetched by the first worker."""

    name: str
    done: int
    total: int


@dataclass(frozen=True)
class Mistake:
    """Something that ends the run for good; `failed` says that it was no mistake of the user's."""

    words: str
    failed: bool
    trace: str = ""
    """Where in Inkcap itself the fault is, if it is one of Inkcap's."""


@dataclass(frozen=True)
class Done:
    """The run has ended, and this came of it, packed: whoever only passes it on need not load what it is made of."""

    packed: bytes

    @classmethod
    def of(cls, result: RunResult) -> Done:
        """Pack what came of a run."""
        return cls(pickle.dumps(result))

    @property
    def result(self) -> RunResult:
        """What came of it; the worker that packed it has the command's own rights."""
        return pickle.loads(self.packed)  # noqa: S301


class Mailbox:
    """Lies between them, in a process of its own that outlives the workers; the command takes it away in the end."""

    def __init__(self) -> None:
        self._news: list[Any] = []
        self._arrived = asyncio.Event()
        self._reason = ""
        self._wanted = asyncio.Event()
        self._starts = 0
        self._step = -1
        self._idle = self._unborn = 0
        self._last_words = ""
        self._run = ""
        self._over = False
        self._closed = asyncio.Event()

    async def begin(self, step: int) -> int:
        """Begin, or begin again from a step that is kept; give which time it is, or 0 when that is too often."""
        self._starts += 1
        if self._over:
            return 0
        if self._starts == 1 or step > self._step:
            self._idle = 0
        else:
            self._idle += 1
        self._step = step
        self._unborn = 0
        if self._idle > MOST_RESTARTS:
            await self._give_up(f"the workers ended {self._idle} times before the next checkpoint")
            return 0
        if self._starts > 1:
            where = f"at step {step}" if step >= 0 else "from the start"
            await self.tell([PauseEvent(f"a worker was lost: the workers were started again and go on {where}", False)])
        self._last_words = ""
        return self._starts

    async def lost(self, words: str) -> None:
        """Hear why a worker ended."""
        self._last_words = words

    async def ended(self, words: str) -> None:
        """Hear that the workers ended and are started again; those that never begin are given up, too."""
        self._last_words = self._last_words or words
        self._unborn += 1
        if self._unborn > MOST_RESTARTS and not self._over:
            await self._give_up(f"the workers ended {self._unborn} times before they could begin")

    async def _give_up(self, what: str) -> None:
        run = f"{self._run}: " if self._run else ""
        why = f" ({self._last_words.rstrip('.')})" if self._last_words else ""
        then = f"; what was learnt until the last one is kept: inkcap resume {self._run}." if self._run else "."
        await self.close(Mistake(f"{run}{what}{why}{then}", failed=True))

    async def tell(self, news: list[Any]) -> None:
        """Take what happened."""
        if not self._over:
            self._run = next((event.run for event in news if isinstance(event, StartEvent)), self._run)
            self._news += news
            self._arrived.set()

    async def close(self, last: Done | Mistake) -> None:
        """Take what came of it; nothing that comes later counts."""
        await self.tell([last])
        self._over = True
        self._closed.set()

    async def closed(self, patience: float) -> bool:
        """Wait a while for the end, and tell whether it has come."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._closed.wait(), patience)
        return self._over

    async def take(self, patience: float) -> list[Any]:
        """Give what happened since the last time; wait a while for it."""
        with suppress(TimeoutError):
            await asyncio.wait_for(self._arrived.wait(), patience)
        self._arrived.clear()
        news, self._news = self._news, []
        return news

    async def run(self) -> str:
        """Give the name of the run, as soon as it has begun."""
        return self._run

    async def want(self, reason: str) -> None:
        """Take the wish to stop."""
        self._reason = reason
        self._wanted.set()

    async def wish(self) -> str:
        """Wait for the wish to stop, and give its reason."""
        await self._wanted.wait()
        return self._reason

    async def wished(self) -> bool:
        """Tell whether there is a wish to stop."""
        return self._wanted.is_set()


class Sending(Listener):
    """Sends what the first worker hears; of its end the command tells itself, since others may take it up again."""

    def __init__(self, send: Callable[[list[Any]], None]) -> None:
        """Send by this."""
        self._send = send

    def on_start(self, event: StartEvent) -> None:
        """Send it."""
        self._send([event])

    def on_pretraining(self, event: PretrainingEvent) -> None:
        """Send it."""
        self._send([event])

    def on_step(self, event: StepEvent) -> None:
        """Send it."""
        self._send([event])

    def on_epoch(self, event: EpochEvent) -> None:
        """Send it."""
        self._send([event])

    def on_pause(self, event: PauseEvent) -> None:
        """Send it."""
        self._send([event])


def deliver(event: Any, listener: Listener, *, again: bool) -> None:
    """Tell a listener of an event that was sent; a run that begins `again` has begun for it already."""
    if isinstance(event, StartEvent):
        if not again:
            listener.on_start(event)
    elif isinstance(event, StepEvent):
        listener.on_step(event)
    elif isinstance(event, EpochEvent):
        listener.on_epoch(event)
    elif isinstance(event, PretrainingEvent):
        listener.on_pretraining(event)
    elif isinstance(event, PauseEvent):
        listener.on_pause(event)
    elif isinstance(event, EndEvent):
        listener.on_end(event)
