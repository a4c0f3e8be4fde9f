"""Checkpoints of a training: copied between two steps, written by a thread of their own, read without trust."""

import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, cast

import safetensors.torch
from safetensors import SafetensorError
from torch import Tensor

from inkcap.recipes import RunFolder, RunFolderError, layout
from inkcap.recipes.checkpoints import NO_ROOM, Pieces, StoredCheckpoint, write_checkpoint
from inkcap.recipes.elsewhere import Elsewhere
from inkcap.recipes.strict import dump, expect_object, parse
from inkcap.training.events import PauseEvent
from inkcap.training.keeping import FolderKeeper
from inkcap.training.session import Saver, Session
from inkcap.training.snapshots import Snapshot, capture, is_finite
from inkcap.training.waiting import wait_for_room
from inkcap.training.weights import tensor_pieces

TENSORS, BEST, PROGRESS = "state.safetensors", "best.safetensors", "progress.json"

LEAST_PAUSE = 1.0
"""Seconds between two checkpoints at least, however short the epochs are: they must not be what a run does most."""
SHARE = 0.02
"""The share of a run's time that copying for checkpoints may take."""


def snapshot_files(snapshot: Snapshot, extra: Mapping[str, Any]) -> dict[str, Pieces]:
    """Give the files of a checkpoint; `extra` goes beside the progress."""
    text = dump({**snapshot.progress, **extra}).encode()
    return {
        TENSORS: tensor_pieces(snapshot.tensors),
        BEST: tensor_pieces(snapshot.best),
        PROGRESS: lambda: [text],
    }


def read_snapshot(stored: StoredCheckpoint) -> Snapshot:
    """Read the files of a checkpoint that was found whole."""
    place = f"{stored.path.name}/{PROGRESS}"
    try:
        progress = cast(
            "Mapping[str, Any]",
            expect_object(parse(stored.files[PROGRESS], place, RunFolderError), place, RunFolderError),
        )
        tensors, best = (safetensors.torch.load(stored.files[name]) for name in (TENSORS, BEST))
        if progress["step"] != stored.step:
            raise RunFolderError(f"{place}: its step is {progress['step']}, the manifest's is {stored.step}.")
    except (KeyError, SafetensorError) as problem:
        raise RunFolderError(f"{stored.path.name}: the checkpoint cannot be read ({problem}).") from None
    return Snapshot(tensors, best, progress)


@dataclass
class FolderSaver(Saver):
    """Saves a session into the folder of its run: at most one is being written, and none waits for it."""

    folder: RunFolder
    keeper: FolderKeeper
    frozen: Mapping[str, Tensor]
    extra: Callable[[], Mapping[str, Any]]
    """What stands beside the progress: what the bits depend on, and the time that was spent."""
    every: float
    elsewhere: Elsewhere | None = None
    """Where the run is kept, too."""
    due: float = field(default=0.0, init=False)
    written: int = field(default=0, init=False)
    missed: str = field(default="", init=False)
    """Why the last checkpoint is not there, when the run was stopped while it waited for room."""
    _thread: threading.Thread | None = field(default=None, init=False)
    _problem: OSError | None = field(default=None, init=False)
    _taken: float = field(default=0.0, init=False)
    _cost: float = field(default=0.0, init=False)
    _ended: bool = field(default=False, init=False)

    def __post_init__(self) -> None:
        self._set_due(time.monotonic())

    @property
    def path(self) -> Path:
        """The folder of the checkpoints."""
        return self.folder.path / layout.CHECKPOINTS

    def after_step(self, session: Session) -> None:
        """Save when the time has come, or wait for room where the last time found none."""
        self._settle(session)
        if self.every:
            self._save(session)

    def after_epoch(self, session: Session) -> None:
        """Save after each epoch, but for epochs that are over in a moment."""
        least = max(LEAST_PAUSE, self._cost / SHARE)
        if self.every and time.monotonic() - self._taken >= min(least, self.every):
            self._settle(session)
            self._save(session)

    def at_end(self, session: Session) -> None:
        """Save here and now; the first time counts, since what comes after it belongs to the end alone."""
        if self._ended:
            return
        self._ended = True
        self.join()
        self._problem = None
        if is_finite(session):
            self._insist(self._files(session), session)

    def save_now(self, session: Session) -> None:
        """Save here and now, and go on."""
        self._insist(self._files(session), session)

    def join(self) -> None:
        """Wait for what is being written."""
        if self._thread is not None:
            self._thread.join()
            self._thread = None

    def _save(self, session: Session) -> None:
        if self._thread is not None and self._thread.is_alive():
            self.due = time.monotonic() + LEAST_PAUSE / 10
            return
        self.join()
        begun = time.monotonic()
        if not is_finite(session):
            # The next loss will tell; what was kept before stays the last to go on from.
            self._set_due(begun)
            return
        step, files = self._files(session)
        self._thread = threading.Thread(target=self._write, args=(step, files), name="checkpoint")
        self._thread.start()
        self._cost = time.monotonic() - begun
        self._set_due(begun)

    def _set_due(self, now: float) -> None:
        self._taken = now
        self.due = now + max(self.every, self._cost / SHARE) if self.every else float("inf")

    def _files(self, session: Session) -> tuple[int, dict[str, Pieces]]:
        snapshot = capture(session, self.keeper.best, self.frozen)
        return snapshot.step, snapshot_files(snapshot, {**self.extra(), "logs": self.keeper.marks()})

    def _write(self, step: int, files: Mapping[str, Pieces]) -> None:
        try:
            # The lines that the checkpoint counts must not be lost when it is not.
            self.keeper.sync()
            write_checkpoint(self.path, step, files)
            self.written += 1
            if self.elsewhere is not None:
                self.elsewhere.changed(self.folder.path)
        except OSError as problem:
            self._problem = problem
            self.due = 0.0

    def _settle(self, session: Session) -> None:
        """Look at what became of the last writing: without room the training waits, anything else ends it."""
        if self._thread is not None and not self._thread.is_alive():
            self.join()
        if self.elsewhere is not None and (news := self.elsewhere.news()):
            session.course.listener.on_pause(PauseEvent(news, False))
        if self._problem is not None:
            self._problem = None
            self._insist(self._files(session), session)
            self._set_due(time.monotonic())

    def _insist(self, made: tuple[int, Mapping[str, Pieces]], session: Session) -> None:
        self.join()
        step, files = made

        def write() -> None:
            self._write(step, files)
            problem, self._problem = self._problem, None
            if problem is None:
                return
            if problem.errno in NO_ROOM:
                raise problem
            raise RunFolderError(f"{self.folder.id}/{layout.CHECKPOINTS}: could not be written ({problem.strerror}).")

        course, name = session.course, f"{self.folder.id}/{layout.CHECKPOINTS}"
        try:
            wait_for_room(write, name, self.folder.path, course.listener, course.stop)
        except RunFolderError as problem:
            if not course.stop.pressed:
                raise
            # Whoever stops a run whose disk is full goes on from the checkpoint before.
            self.missed = str(problem)
