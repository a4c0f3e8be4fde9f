"""Publishing beside a training, in a thread of its own: the training never waits for a store, nor breaks with it."""

import threading
import time
from contextlib import suppress
from pathlib import Path

from inkcap.remote.errors import NotPublished, RemoteError, TakenOver
from inkcap.remote.marks import Mark, read_mark
from inkcap.remote.publishing import Publication
from inkcap.remote.staging import Staged, stage, tidy_stages
from inkcap.remote.store import Store
from inkcap.remote.turns import Turn, give_back, holds, last_turn, run_names, take_turn
from inkcap.remote.versions import list_versions

FIRST_PAUSE, LONGEST_PAUSE = 1.0, 60.0
"""Seconds until a store that failed is tried again, doubled each time."""
SHARE = 0.1
"""The share of its time that a thread asks a store: checkpoints may come every second, and each question costs."""
LAST_TRIES = 5
"""How often a store is tried at the end, before the command gives up and says so."""


class Publisher:
    """Keeps a run in a store, too; an Elsewhere. At most one version waits, and a newer one takes its place."""

    def __init__(self, store: Store) -> None:
        """Begin with no run."""
        self.store = store
        self._folder: Path | None = None
        self._publication: Publication | None = None
        self._waiting: Staged | None = None
        self._news: list[str] = []
        self._problem: RemoteError | None = None
        self._closing = False
        self._turned = threading.Condition()
        self._thread: threading.Thread | None = None

    def names(self) -> list[str]:
        """Give the ids of the runs in the store."""
        return run_names(self.store)

    def take(self, folder: Path) -> bool:
        """Take the name of a new run's folder."""
        turn = take_turn(self.store, folder.name, 0)
        if turn is not None:
            self._hold(folder, turn)
        return turn is not None

    def go_on(self, folder: Path) -> None:
        """Take the next turn at a run that was fetched, or that has been here all the time."""
        seen = read_mark(folder, self.store.shown)
        after = seen.turn if seen is not None else last_turn(self.store, folder.name)
        turn = take_turn(self.store, folder.name, after)
        if turn is None:
            raise RemoteError(
                f"{folder.name}: another machine has just gone on with this run in {self.store.shown}; wait for it."
            )
        self._hold(folder, turn)

    def publish(self, folder: Path) -> None:
        """Publish a run as it is, here and now; a name that is another run's in the store is refused."""
        seen = read_mark(folder, self.store.shown)
        own = seen.own if seen is not None else None
        if own is not None and holds(self.store, folder.name, own):
            self._hold(folder, own)
        elif not self.take(folder):
            raise RemoteError(
                f"{folder.name}: {self.store.shown} has a run of this name that is not this one, or that another "
                "machine has gone on with; publish it to another URL."
            )
        self.close()

    def changed(self, folder: Path) -> None:
        """Hold the run's files and hand them to the thread."""
        if self._folder != folder or self._closing:
            return
        try:
            staged = stage(folder)
        except OSError as problem:
            self._tell(f"{folder.name}: its files could not be held for publishing ({problem.strerror or problem})")
            return
        with self._turned:
            late, self._waiting = self._waiting, staged
            if self._thread is None:
                self._thread = threading.Thread(target=self._work, name="publisher", daemon=True)
                self._thread.start()
            self._turned.notify_all()
        if late is not None:
            late.drop()

    def news(self) -> str:
        """Give what has happened since it was last asked."""
        with self._turned:
            told, self._news = "; ".join(self._news), []
        return told

    def close(self) -> None:
        """Publish how the run stands in the end, and raise where that cannot be done."""
        folder, publication = self._folder, self._publication
        if folder is None or publication is None:
            return
        try:
            with self._turned:
                self._closing = True
                self._turned.notify_all()
            if self._thread is not None:
                self._thread.join()
            if not folder.is_dir():
                # A run that could not even begin has taken its folder away.
                if not list_versions(self.store, publication.run):
                    give_back(self.store, publication.run, publication.turn)
                return
            self._last(folder, publication)
        except KeyboardInterrupt:
            raise self._unpublished(folder, "stopped by the keyboard") from None
        except (RemoteError, OSError) as problem:
            raise self._unpublished(folder, str(problem).rstrip(".")) from None
        finally:
            # Another run may be published next, by a thread of its own.
            self._folder = self._thread = None
            if folder.is_dir():
                tidy_stages(folder)

    def _last(self, folder: Path, publication: Publication) -> None:
        for left in reversed(range(LAST_TRIES)):
            staged = stage(folder)
            try:
                version = publication.publish(staged)
                turn = publication.turn
                Mark(self.store.shown, turn.number, turn.mark, str(version.name)).keep(folder)
                return
            except RemoteError as problem:
                if not left or isinstance(problem, TakenOver):
                    raise
                time.sleep(min(FIRST_PAUSE * 2 ** (LAST_TRIES - 1 - left), LONGEST_PAUSE))
            finally:
                staged.drop()

    def _unpublished(self, folder: Path, why: str) -> NotPublished:
        return NotPublished(
            f"{folder.name}: the run is whole in {folder}, but its last state is not published ({why}); "
            f"publish it later: inkcap publish {folder} {self.store.shown}"
        )

    def _hold(self, folder: Path, turn: Turn) -> None:
        tidy_stages(folder)
        Mark(self.store.shown, turn.number, turn.mark).keep(folder)
        self._folder, self._publication = folder, Publication(self.store, folder.name, turn)
        self._closing = False

    def _work(self) -> None:
        pause = FIRST_PAUSE
        while (staged := self._next()) is not None:
            begun = time.monotonic()
            problem: RemoteError | OSError | None = None
            try:
                assert self._publication is not None
                self._publication.publish(staged)
            except (RemoteError, OSError) as raised:
                problem = raised
            staged.drop()
            if problem is None:
                if self._problem is not None:
                    self._tell(f"publishing to {self.store.shown} works again")
                self._problem, pause = None, FIRST_PAUSE
                self._rest(min((time.monotonic() - begun) * (1 / SHARE - 1), LONGEST_PAUSE))
            elif self._fail(problem, pause):
                return
            else:
                pause = min(2 * pause, LONGEST_PAUSE)

    def _next(self) -> Staged | None:
        with self._turned:
            while self._waiting is None and not self._closing:
                self._turned.wait()
            # In the end all is published once more, so what waits is late already.
            staged, self._waiting = self._waiting, None
            if staged is not None and self._closing:
                staged.drop()
                return None
            return staged

    def _fail(self, problem: RemoteError | OSError, pause: float) -> bool:
        """Tell of it the first time, and wait; the run as it is then waits to be sent, unless something newer does."""
        known = problem if isinstance(problem, RemoteError) else RemoteError(str(problem))
        if isinstance(problem, TakenOver):
            self._tell(f"not published any more: {known}")
            return True
        if self._problem is None:
            self._tell(f"not published for now, the training goes on and it is tried again: {known}")
        self._problem = known
        self._rest(pause)
        with suppress(OSError):
            again = stage(self._folder) if self._folder is not None and not self._closing else None
            with self._turned:
                if again is not None and self._waiting is None and not self._closing:
                    self._waiting, again = again, None
            if again is not None:
                again.drop()
        return False

    def _rest(self, seconds: float) -> None:
        """Wait, unless the end comes."""
        with self._turned:
            self._turned.wait_for(lambda: self._closing, seconds)

    def _tell(self, words: str) -> None:
        with self._turned:
            self._news.append(words)
