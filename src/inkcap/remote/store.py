"""A folder in storage: objects that are written once, listed, read with a limit, and removed. Nothing is renamed."""

import hashlib
import os
from collections.abc import Generator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any, cast

from inkcap.remote.errors import RemoteError
from inkcap.remote.urls import DRIVERS, Location, checked_name, parse_url
from inkcap.structures.atomic import make_folder, sync_folder

_AT_ONCE = 1 << 20
_LONGEST_WORDS = 200
_WITH_FOLDERS = ("file", "sftp", "smb", "hdfs")
_IDENTITY = ("ETag", "etag", "md5Hash", "md5", "crc32c", "mtime", "LastModified", "last_modified", "updated", "created")
"""What drivers call the marks of an object's content, and its times."""


class Missing(RemoteError):
    """An object that is not there."""


@dataclass(frozen=True)
class Object:
    """What a store says of something in it; `identity` is another one when its content has changed."""

    name: str
    size: int
    folder: bool
    ordinary: bool
    identity: str


class Store:
    """A folder in storage. Names are relative to it and parted by /."""

    def __init__(self, location: Location, files: Any = None) -> None:
        """Open a place; `files` is a file system of fsspec's, the one of the URL when not given."""
        self.location = location
        self.shown = location.shown
        self._files = _driver(location) if files is None else files
        self._root = str(self._files._strip_protocol(location.full)).rstrip("/")

    @classmethod
    def open(cls, url: str) -> "Store":
        """Open the place of a URL."""
        return cls(parse_url(url))

    @property
    def exclusive(self) -> bool:
        """Whether two machines that make the same object at once are surely told apart by the store itself."""
        return self.location.protocol == "file"

    def names(self, under: str) -> dict[str, int]:
        """Give the sizes of all objects below a folder, by their names from this store's root on."""
        return {one.name: one.size for one in self.objects(under) if one.ordinary}

    def objects(self, under: str) -> list[Object]:
        """Give all that lies below a folder but for folders; names that are not safe are left out."""
        with self._asking("listed", under):
            self._files.invalidate_cache()
            found: dict[str, Any] = self._files.find(self._at(under), detail=True)
        objects: list[Object] = []
        for path, info in found.items():
            name = self._relative(str(path))
            if name is not None and info:
                objects.append(_object(name, info))
        return objects

    def folders(self, under: str) -> list[str]:
        """Give the names of the folders right below a folder."""
        try:
            with self._asking("listed", under):
                self._files.invalidate_cache()
                found: list[Any] = self._files.ls(self._at(under), detail=True)
        except Missing:
            return []
        inside = [self._relative(str(info["name"])) for info in found if info.get("type") == "directory"]
        return sorted(name.rpartition("/")[2] for name in inside if name is not None)

    def look(self, name: str) -> Object | None:
        """Give what the store says of a name, or nothing where nothing has it."""
        try:
            with self._asking("looked at", name):
                self._files.invalidate_cache()
                info: Any = self._files.info(self._at(name))
        except Missing:
            return None
        return _object(name, info)

    def read(self, name: str, most: int) -> bytes:
        """Give an object's content; a larger one than it may be is refused."""
        with self._asking("read", name), self._files.open(self._at(name), "rb") as file:
            content = bytes(file.read(most + 1))
        if len(content) > most:
            raise RemoteError(f"{self.shown}/{name}: it has more than {most} bytes, so it is not what it should be.")
        return content

    def copy(self, name: str, target: IO[bytes], size: int) -> str:
        """Copy an object of a known size into a file, and give its check sum."""
        digest, left = hashlib.sha256(), size
        with self._asking("read", name), self._files.open(self._at(name), "rb") as file:
            while piece := file.read(min(_AT_ONCE, left + 1)):
                left -= len(piece)
                if left < 0:
                    break
                digest.update(piece)
                target.write(piece)
        if left:
            raise RemoteError(f"{self.shown}/{name}: it has not the {size} bytes that it should have.")
        return digest.hexdigest()

    def write(self, name: str, content: bytes) -> None:
        """Write an object."""
        path = self._at(name)
        with self._asking("written", name):
            self._make_room(path)
            self._files.pipe_file(path, content)
            self._settle(path)

    def send(self, name: str, path: Path) -> None:
        """Write an object from a file."""
        target = self._at(name)
        with self._asking("written", name):
            self._make_room(target)
            self._files.put_file(str(path), target)
            self._settle(target)

    def create(self, name: str, content: bytes) -> bool:
        """Make an object, or tell that there is one already; only an exclusive store can be trusted in this."""
        path = self._at(name)
        with self._asking("written", name):
            self._make_room(path)
            try:
                with self._files.open(path, "xb") as file:
                    file.write(content)
            except FileExistsError:
                return False
            self._settle(path)
        return True

    def remove(self, name: str) -> None:
        """Take an object away, and the folder that it leaves empty."""
        path = self._at(name)
        with suppress(Missing), self._asking("removed", name):
            self._files.rm_file(path)
        if self.location.protocol == "file":
            with suppress(OSError):
                os.rmdir(path.rpartition("/")[0])

    def _at(self, name: str) -> str:
        return f"{self._root}/{checked_name(name)}" if name else self._root

    def _relative(self, path: str) -> str | None:
        name = path.removeprefix(f"{self._root}/")
        if name == path:
            return None
        try:
            return checked_name(name)
        except RemoteError:
            return None

    def _make_room(self, path: str) -> None:
        if self.location.protocol == "file":
            make_folder(Path(path).parent)
        elif self.location.protocol in _WITH_FOLDERS:
            self._files.makedirs(path.rpartition("/")[0], exist_ok=True)

    def _settle(self, path: str) -> None:
        """Make what was written to a disk last; other stores answer when it does."""
        if self.location.protocol == "file":
            with open(path, "r+b") as file:
                os.fsync(file.fileno())
            sync_folder(Path(path).parent)

    @contextmanager
    def _asking(self, done: str, name: str) -> Generator[None]:
        """Turn whatever a driver raises into one line without secrets."""
        place = f"{self.shown}/{name}" if name else self.shown
        try:
            yield
        except RemoteError:
            raise
        except FileNotFoundError:
            if done == "written":
                raise RemoteError(f"{place}: could not be written (there is no such bucket or folder).") from None
            raise Missing(f"{place}: there is no such object.") from None
        except Exception as problem:
            # Each driver has errors of its own, and all of them mean that the store did not do it.
            raise RemoteError(f"{place}: could not be {done} ({self._words(problem)}).") from None

    def _words(self, problem: Exception) -> str:
        lines = str(problem).strip().splitlines()
        words = f"{type(problem).__name__}: {lines[0]}" if lines else type(problem).__name__
        for secret in filter(None, (self.location.secret, *self.location.secret.split(":"))):
            words = words.replace(secret, "…")
        return words[:_LONGEST_WORDS]


def _object(name: str, info: Any) -> Object:
    kind, size = info.get("type"), info.get("size")
    marks = ",".join(f"{key}={info[key]}" for key in _IDENTITY if info.get(key) is not None)
    folder, ordinary = kind == "directory", kind == "file" and not info.get("islink")
    return Object(name, size if isinstance(size, int) else -1, folder, ordinary, f"{size},{marks}")


def _driver(location: Location) -> Any:
    """Give the file system of a URL, or the line that says what has to be installed."""
    import fsspec.core

    try:
        return cast("tuple[Any, str]", fsspec.core.url_to_fs(location.full))[0]
    except ImportError:
        package = DRIVERS[location.protocol]
        raise RemoteError(
            f"{location.shown}: storage {location.protocol}:// needs the package {package}: pip install {package}"
        ) from None
    except Exception as problem:
        raise RemoteError(f"{location.shown}: cannot be opened ({type(problem).__name__}).") from None
