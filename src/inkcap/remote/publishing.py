"""Publishing a run: its pieces first, its manifest when they are all there, and older ones away only after that."""

import hashlib
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from inkcap.recipes import layout
from inkcap.recipes.checkpoints import KEPT
from inkcap.recipes.runfolder import sha256_of
from inkcap.remote.errors import RemoteError, TakenOver
from inkcap.remote.staging import Staged
from inkcap.remote.store import Store
from inkcap.remote.turns import Turn, holds
from inkcap.remote.versions import (
    Part,
    Version,
    VersionName,
    files_of,
    list_versions,
    object_name,
    read_version,
    versions_of,
    write_version,
)

BLOCK = 1 << 20
"""Bytes of a log in one object: whole blocks are sent once, the last one as often as it grows."""

_Mark = tuple[str, int, int, int]
"""A file as it lies on the disk: another one has another mark, so that none is read twice for its check sum."""


@dataclass
class Publication:
    """One turn's publishing of a run."""

    store: Store
    run: str
    turn: Turn
    _there: dict[str, int] | None = None
    _known: dict[VersionName, Version] = field(default_factory=dict[VersionName, Version])
    _sums: dict[_Mark, str] = field(default_factory=dict[_Mark, str])
    _seen: dict[_Mark, str] = field(default_factory=dict[_Mark, str])
    _blocks: dict[tuple[str, int], Part] = field(default_factory=dict[tuple[str, int], Part])

    def publish(self, staged: Staged) -> Version:
        """Send what the store has not got yet, then the manifest; take away what no kept version needs."""
        if not holds(self.store, self.run, self.turn):
            raise TakenOver(
                f"{self.run}: another machine has gone on with this run, so {self.store.shown} has its copy now."
            )
        names = list_versions(self.store, self.run)
        if self._there is None:
            self._there = self.store.names(files_of(self.run))
        before, self._seen = self._read(names[:1]), self._sums
        self._sums = {}
        earlier = {path: parts[0] for one in before for path, parts in one.files.items() if len(parts) == 1}
        files = {path: (self._file(path, held, earlier),) for path, held in sorted(staged.files.items())}
        files |= {path: self._log(path, *log) for path, log in staged.logs.items()}
        count = max((name.count for name in names if name.turn == self.turn.number), default=0) + 1
        version = Version(self.run, self.turn.number, count, layout.now(), files)
        self._check(version)
        write_version(self.store, version)
        self._known[version.name] = version
        self._tidy()
        return version

    def _file(self, path: str, held: Path, earlier: dict[str, Part]) -> Part:
        state = held.stat()
        mark = (path, state.st_ino, state.st_mtime_ns, state.st_size)
        digest = self._sums[mark] = self._seen.get(mark) or sha256_of(held)
        same = earlier.get(path)
        if same is not None and (same.bytes, same.sha256) == (state.st_size, digest) and self._has(path, same):
            return same
        part = Part(state.st_size, digest, self.turn.number)
        if not self._has(path, part):
            self.store.send(object_name(self.run, path, part), held)
        return part

    def _log(self, path: str, log: Path, size: int) -> tuple[Part, ...]:
        parts: list[Part] = []
        with open(log, "rb") as file:
            for start in range(0, size, BLOCK):
                part = self._blocks.get((path, start))
                if part is None or not self._has(path, part):
                    file.seek(start)
                    content = file.read(min(BLOCK, size - start))
                    part = Part(len(content), hashlib.sha256(content).hexdigest(), self.turn.number)
                    if not self._has(path, part):
                        self.store.write(object_name(self.run, path, part), content)
                    if len(content) == BLOCK:
                        self._blocks[path, start] = part
                parts.append(part)
        return tuple(parts)

    def _has(self, path: str, part: Part) -> bool:
        return (self._there or {}).get(object_name(self.run, path, part)) == part.bytes

    def _check(self, version: Version) -> None:
        """See that all pieces are in the store, and whole as far as their sizes tell."""
        self._there = self.store.names(files_of(self.run))
        for name, size in version.objects().items():
            if self._there.get(name) != size:
                raise RemoteError(
                    f"{self.store.shown}/{name}: after writing it has {self._there.get(name, 0)} of {size} bytes."
                )

    def _tidy(self) -> None:
        """Take away all but the newest versions, the manifests first; what fails is left to the next time."""
        with suppress(RemoteError):
            names = list_versions(self.store, self.run)
            kept = self._read(names[:KEPT], strictly=True)
            self._known = {version.name: version for version in kept}
            for name in names[KEPT:]:
                self.store.remove(f"{versions_of(self.run)}/{name}")
            needed = {name for version in kept for name in version.objects()}
            for name in [name for name in self._there or {} if name not in needed and self._may_go(name)]:
                self.store.remove(name)
                if self._there is not None:
                    del self._there[name]

    def _may_go(self, name: str) -> bool:
        """Leave pieces of later turns alone: who has taken over may be about to name them."""
        turn = name.rpartition("/")[2].partition("-")[0]
        return turn.isdigit() and int(turn) <= self.turn.number

    def _read(self, names: list[VersionName], *, strictly: bool = False) -> list[Version]:
        found: list[Version] = []
        for name in names:
            try:
                self._known[name] = self._known.get(name) or read_version(self.store, self.run, name)
                found.append(self._known[name])
            except RemoteError:
                # What an unreadable manifest names is not known, so nothing may be taken away.
                if strictly:
                    raise
        return found
