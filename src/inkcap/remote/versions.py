"""Versions of a published run: a manifest that names every piece of it, written when all of them are there.

Nothing is ever overwritten. A piece lies under its file's name and its own check sum, a manifest under its turn, its
count and the check sum of its text, so that a reader knows what is whole, however a store tears what it is given.
"""

import hashlib
import re
from dataclasses import dataclass
from typing import Any, cast

from inkcap.recipes import layout
from inkcap.recipes.checkpoints import MANIFEST
from inkcap.recipes.strict import MOST_BYTES, dump, expect_names, expect_object, parse
from inkcap.remote.errors import RemoteError
from inkcap.remote.store import Store

FORMAT = "inkcap-published"
VERSION = 1

LOGS = (layout.METRICS, layout.SIGNALS)
RECORDS = (layout.RUN, layout.DRAWING, layout.RECIPE, layout.ENVIRONMENT, layout.DATA, layout.SUMMARY, layout.RESUMES)
"""The small files, which tell what a run is and how it stands."""
WEIGHTS = (layout.WEIGHTS, layout.BEST)

_MOST_FILES, _MOST_PARTS, _MOST_SIZE = 1_000, 1_000_000, 1 << 50
_NAME = re.compile(r"([1-9][0-9]{0,8})-([1-9][0-9]{0,8})-([0-9a-f]{64})\.json")
_SHA = re.compile(r"[0-9a-f]{64}")
_IN_FOLDERS = re.compile(
    rf"{layout.CHECKPOINTS}/[0-9]{{1,15}}(-[0-9]{{1,6}})?/([a-z]+\.safetensors|progress\.json|{re.escape(MANIFEST)})"
    rf"|{layout.FRAMES}/[0-9]{{6,9}}-[0-9a-f]{{16}}\.safetensors"
)


def is_known(path: str) -> bool:
    """Tell whether a path is one of a run's that is published: no other is ever written into a run's folder."""
    return path in (*RECORDS, *LOGS, *WEIGHTS) or _IN_FOLDERS.fullmatch(path) is not None


@dataclass(frozen=True)
class Part:
    """A piece of a file: an object of its own, written in a turn."""

    bytes: int
    sha256: str
    turn: int


@dataclass(frozen=True)
class VersionName:
    """The name of a manifest: which turn's, the how manieth of it, and its check sum."""

    turn: int
    count: int
    digest: str

    def __str__(self) -> str:
        return f"{self.turn}-{self.count}-{self.digest}.json"


@dataclass(frozen=True)
class Version:
    """A run as it was published once: the pieces of every file, by its path in the run's folder."""

    run: str
    turn: int
    count: int
    when: str
    files: dict[str, tuple[Part, ...]]

    def text(self) -> bytes:
        """Give the manifest."""
        files = {
            path: [{"bytes": part.bytes, "sha256": part.sha256, "turn": part.turn} for part in parts]
            for path, parts in self.files.items()
        }
        facts = {"run": self.run, "turn": self.turn, "count": self.count, "when": self.when}
        return dump({"format": FORMAT, "version": VERSION, **facts, "files": files}).encode()

    @property
    def name(self) -> VersionName:
        """The name that goes with its text."""
        return VersionName(self.turn, self.count, hashlib.sha256(self.text()).hexdigest())

    def objects(self) -> dict[str, int]:
        """Give the sizes of all objects that it needs, by their names in the store."""
        return {object_name(self.run, path, part): part.bytes for path, parts in self.files.items() for part in parts}


def object_name(run: str, path: str, part: Part) -> str:
    """Give the name of a piece in the store."""
    return f"{files_of(run)}/{path}/{part.turn}-{part.sha256}"


def files_of(run: str) -> str:
    """Give the folder of a run's pieces."""
    return f"{layout.RUNS}/{run}/files"


def versions_of(run: str) -> str:
    """Give the folder of a run's manifests."""
    return f"{layout.RUNS}/{run}/versions"


def list_versions(store: Store, run: str) -> list[VersionName]:
    """Give the versions of a run, the newest first, as their names tell; whether they are whole is not looked at."""
    prefix = f"{versions_of(run)}/"
    matches = [_NAME.fullmatch(name.removeprefix(prefix)) for name in store.names(prefix.rstrip("/"))]
    found = [VersionName(int(match[1]), int(match[2]), match[3]) for match in matches if match]
    return sorted(found, key=lambda name: (name.turn, name.count, name.digest), reverse=True)


def write_version(store: Store, version: Version) -> None:
    """Write a manifest; whoever writes it has seen all of its pieces in the store."""
    store.write(f"{versions_of(version.run)}/{version.name}", version.text())


def read_version(store: Store, run: str, name: VersionName) -> Version:
    """Read a manifest; a torn or foreign one gets an error."""
    place = f"{store.shown}/{versions_of(run)}/{name}"
    content = store.read(f"{versions_of(run)}/{name}", MOST_BYTES)
    if hashlib.sha256(content).hexdigest() != name.digest:
        raise RemoteError(f"{place}: the check sum differs; it is torn or damaged.")
    version = _parse(content, place)
    if (version.run, version.turn, version.count) != (run, name.turn, name.count):
        raise RemoteError(f"{place}: it is that of {version.run[:100]}; objects were renamed or mixed up.")
    return version


def _parse(content: bytes, place: str) -> Version:
    given = expect_object(parse(content, place, RemoteError), place, RemoteError)
    if given.get("format") != FORMAT or given.get("version") != VERSION:
        raise RemoteError(f"{place}: no manifest that this Inkcap reads ({FORMAT} {VERSION}).")
    names = ("format", "version", "run", "turn", "count", "when", "files")
    expect_names(given, names, names, place, RemoteError)
    files = expect_object(given["files"], f"{place}: files", RemoteError)
    if len(files) > _MOST_FILES:
        raise RemoteError(f"{place}: {len(files)} files are too many; a run has at most {_MOST_FILES}.")
    try:
        read = {path: _parts(path, parts, place) for path, parts in files.items()}
        run, when = str(given["run"]), str(given["when"])
        return Version(run, _whole(given["turn"]), _whole(given["count"]), when, read)
    except (KeyError, TypeError, ValueError):
        raise RemoteError(f"{place}: the manifest is not well formed.") from None


def _parts(path: str, given: Any, place: str) -> tuple[Part, ...]:
    if not is_known(path):
        raise RemoteError(f"{place}: {path[:100]!r} is no file of a run.")
    parts = cast("list[dict[str, Any]]", given)
    if not isinstance(given, list) or len(parts) > _MOST_PARTS:
        raise ValueError
    read = tuple(Part(_whole(part["bytes"]), str(part["sha256"]), _whole(part["turn"])) for part in parts)
    if not all(_SHA.fullmatch(part.sha256) for part in read):
        raise ValueError
    return read


def _whole(value: Any) -> int:
    if type(value) is not int or not 0 <= value <= _MOST_SIZE:
        raise ValueError
    return value
