"""Stores that tear, fail or wait, and small runs made without torch to publish into them."""

from __future__ import annotations

import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

from fsspec.implementations.memory import MemoryFileSystem

from inkcap.recipes import MetricWriter, RunFolder, layout
from inkcap.recipes.checkpoints import write_checkpoint
from inkcap.remote.store import Store
from inkcap.remote.urls import parse_url


def fresh() -> MemoryFileSystem:
    """Give a store in memory that nobody else has."""
    return MemoryFileSystem(global_store=False, skip_instance_cache=True)


def store_of(files: Any, url: str = "memory://shared") -> Store:
    return Store(parse_url(url), files)


class Watched:
    """A file system that tells of each change before it is made; telling may raise, which tears the change."""

    def __init__(self, inner: Any, before: Callable[[str, str], None]) -> None:
        self.inner, self.before = inner, before

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def pipe_file(self, path: str, value: bytes, **options: Any) -> None:
        self._put(path, value)

    def put_file(self, lpath: str, rpath: str, **options: Any) -> None:
        self._put(rpath, Path(lpath).read_bytes())

    def rm_file(self, path: str) -> None:
        self.before("remove", path)
        self.inner.rm_file(path)

    def _put(self, path: str, value: bytes) -> None:
        try:
            self.before("put", path)
        except ConnectionError:
            # What a store is cut off in may lie there by half.
            self.inner.pipe_file(path, value[: len(value) // 2])
            raise
        self.inner.pipe_file(path, value)


def torn_after(inner: Any, changes: int) -> Watched:
    """Give a file system whose connection is cut in the middle of the change after so many."""
    left = [changes]

    def before(kind: str, path: str) -> None:
        left[0] -= 1
        if left[0] < 0:
            raise ConnectionError("cut off")

    return Watched(inner, before)


class Turnstile:
    """Lets actors do one thing each at a time, in a given order; whoever has ended is passed over."""

    def __init__(self, order: list[int]) -> None:
        self.order, self.ended = list(order), set[int]()
        self.turned = threading.Condition()

    def wait(self, actor: int) -> None:
        with self.turned:
            self.turned.wait_for(lambda: self._skip() or not self.order or self.order[0] == actor, timeout=20)
            if self.order and self.order[0] == actor:
                self.order.pop(0)
            self.turned.notify_all()

    def leave(self, actor: int) -> None:
        with self.turned:
            self.ended.add(actor)
            self._skip()
            self.turned.notify_all()

    def _skip(self) -> bool:
        while self.order and self.order[0] in self.ended:
            self.order.pop(0)
        return False


class Ordered:
    """A file system whose every question waits for its actor's place in the order."""

    def __init__(self, inner: Any, turnstile: Turnstile, actor: int) -> None:
        self.inner, self.turnstile, self.actor = inner, turnstile, actor

    def __getattr__(self, name: str) -> Any:
        found = getattr(self.inner, name)
        if name not in ("find", "pipe_file", "rm_file"):
            return found

        def waiting(*given: Any, **options: Any) -> Any:
            self.turnstile.wait(self.actor)
            return found(*given, **options)

        return waiting


def begin_run(workspace: Path, elsewhere: Any = None) -> RunFolder:
    """Make a run as a training does before its first step."""
    run = RunFolder.create(workspace, "net", "toy", elsewhere=elsewhere)
    for name in (layout.DRAWING, layout.RECIPE, layout.ENVIRONMENT, layout.DATA):
        run.write_text(name, f'{{"what": "{name}"}}\n')
    return run.update(state="running")


def go_to(run: RunFolder, step: int, size: int = 1000) -> None:
    """Leave what a training leaves at a checkpoint: lines of its log, the checkpoint, the best weights."""
    with MetricWriter(run.path / layout.METRICS) as log:
        log.write("step", 1, step, {"loss": 1 / step})
    content = step.to_bytes(4, "little") * size
    (run.path / layout.BEST).unlink(missing_ok=True)
    (run.path / layout.BEST).write_bytes(content[: size // 2])
    files = {"state.safetensors": content, "best.safetensors": content[:100], "progress.json": b"{}"}
    write_checkpoint(
        run.path / layout.CHECKPOINTS, step, {name: lambda c=content: [c] for name, content in files.items()}
    )


def content_of(folder: Path) -> dict[str, bytes]:
    """Give all files of a folder that are published, by their paths; of the checkpoints only the newest."""
    from inkcap.recipes.checkpoints import list_checkpoints
    from inkcap.remote.versions import is_known

    newest = next(iter(list_checkpoints(folder / layout.CHECKPOINTS)), None)
    found: dict[str, bytes] = {}
    for path in sorted(folder.rglob("*")):
        name = path.relative_to(folder).as_posix()
        if path.is_file() and is_known(name):
            if name.startswith(layout.CHECKPOINTS) and (newest is None or newest not in path.parents):
                continue
            found[name] = path.read_bytes()
    return found
