"""Fetching the well-known image sets: over https, checked by size and checksum, kept in a cache."""

import contextlib
import functools
import hashlib
import http.client
import os
import time
import urllib.error
import urllib.parse
import urllib.request
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import IO, Any

import platformdirs

from inkcap.training.data.errors import DataError
from inkcap.training.data.files import replaced_file
from inkcap.training.data.peers import LocalConnection, OpenConnection

Progress = Callable[[str, int, int], None]
"""Told (file name, bytes so far, bytes in all) as a transfer goes on."""

_READ_AT_ONCE = 1 << 18
_LEAST_RATE = 16 * 1024
"""Bytes in a second, over a whole transfer; a slower peer is given up."""
_SHOWN = 200
_LOCAL_HOSTS = ("localhost", "127.0.0.1", "::1")
DATA_FOLDER_VARIABLE = "INKCAP_DATA"


@dataclass(frozen=True)
class RemoteFile:
    """One file to fetch: its name, exact size and md5, by which its publishers identify it."""

    name: str
    size: int
    md5: str


@dataclass(frozen=True)
class RemoteSet:
    """A set to fetch: its files and the addresses of the folders that hold them, tried in turn."""

    name: str
    files: tuple[RemoteFile, ...]
    bases: tuple[str, ...]


@dataclass(frozen=True)
class ObtainedFile:
    """A file that is there now, and whether its checksum is the published one."""

    path: Path
    verified: bool


MNIST = RemoteSet(
    "mnist",
    (
        RemoteFile("train-images-idx3-ubyte.gz", 9912422, "f68b3c2dcbeaaa9fbdd348bbdeb94873"),
        RemoteFile("train-labels-idx1-ubyte.gz", 28881, "d53e105ee54ea40749a09fcbcd1e9432"),
        RemoteFile("t10k-images-idx3-ubyte.gz", 1648877, "9fb629c4189551a2d022fa330f9573f3"),
        RemoteFile("t10k-labels-idx1-ubyte.gz", 4542, "ec29112dd5afa0611ce80d1b7f02629c"),
    ),
    ("https://ossci-datasets.s3.amazonaws.com/mnist/", "https://storage.googleapis.com/cvdf-datasets/mnist/"),
)

FASHION_MNIST = RemoteSet(
    "fashion-mnist",
    (
        RemoteFile("train-images-idx3-ubyte.gz", 26421880, "8d4fb7e6c68d591d4c3dfef9ec88bf0d"),
        RemoteFile("train-labels-idx1-ubyte.gz", 29515, "25c81989df183df01b3e8a0aad5dffbe"),
        RemoteFile("t10k-images-idx3-ubyte.gz", 4422102, "bef4ecab320f06d8554ea6380940ec79"),
        RemoteFile("t10k-labels-idx1-ubyte.gz", 5148, "bb300cfdad3c16e7a12a480ee83cd310"),
    ),
    (
        "https://storage.googleapis.com/tensorflow/tf-keras-datasets/",
        "https://raw.githubusercontent.com/zalandoresearch/fashion-mnist/master/data/fashion/",
    ),
)

CIFAR_10 = RemoteSet(
    "cifar-10",
    (RemoteFile("cifar-10-binary.tar.gz", 170052171, "c32a1d4ab5d03f1284b67883e8d87530"),),
    ("https://www.cs.toronto.edu/~kriz/",),
)


def data_folder(name: str) -> tuple[Path, bool]:
    """Give the folder of a set, and whether the user chose it with INKCAP_DATA."""
    chosen = os.environ.get(DATA_FOLDER_VARIABLE, "").strip()
    if chosen:
        return Path(chosen).expanduser() / name, True
    return Path(platformdirs.user_cache_dir("inkcap")) / "datasets" / name, False


def obtain(
    remote: RemoteSet,
    *,
    bases: Sequence[str] | None = None,
    progress: Progress | None = None,
    timeout: float = 30.0,
) -> dict[str, ObtainedFile]:
    """Make sure that all files of a set are there, fetching those that are not.

    In the user's own folder a file is taken as it is, since copies are often packed anew and then have another
    checksum; its content is checked when it is read. In the cache only the published checksum is trusted.
    """
    folder, chosen = data_folder(remote.name)
    obtained: dict[str, ObtainedFile] = {}
    for file in remote.files:
        path = folder / file.name
        unpacked = path.with_suffix("")
        if chosen and not path.is_file() and file.name.endswith("ubyte.gz") and unpacked.is_file():
            path = unpacked
        verified = path.is_file() and _matches(path, file)
        if not verified and not (chosen and path.is_file()):
            _fetch(remote, file, path, remote.bases if bases is None else bases, progress, timeout)
            verified = True
        obtained[file.name] = ObtainedFile(path, verified)
    return obtained


def _matches(path: Path, file: RemoteFile) -> bool:
    """Tell whether a file has the published size and checksum."""
    try:
        if path.stat().st_size != file.size:
            return False
        digest = hashlib.md5(usedforsecurity=False)
        with path.open("rb") as stream:
            while chunk := stream.read(_READ_AT_ONCE):
                digest.update(chunk)
    except OSError:
        return False
    return digest.hexdigest() == file.md5


class _Redirects(urllib.request.HTTPRedirectHandler):
    """Follow a few redirects, each only to an https address: no server may send us to this machine itself."""

    max_redirections = 3

    def redirect_request(
        self, req: urllib.request.Request, fp: IO[bytes], code: int, msg: str, headers: Any, newurl: str
    ) -> urllib.request.Request | None:
        """Check the new address before following it."""
        _check_address(newurl, given=False)
        return super().redirect_request(req, fp, code, msg, headers, newurl)


class _Local(urllib.request.HTTPHandler):
    def __init__(self, deadline: float) -> None:
        super().__init__()
        self._deadline = deadline

    def http_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(functools.partial(LocalConnection, deadline=self._deadline), req)


class _Open(urllib.request.HTTPSHandler):
    def __init__(self, deadline: float) -> None:
        super().__init__()
        self._deadline = deadline

    def https_open(self, req: urllib.request.Request) -> http.client.HTTPResponse:
        return self.do_open(functools.partial(OpenConnection, deadline=self._deadline), req)


def _check_address(url: str, given: bool = True) -> None:
    """Refuse anything but https; plain http only to this machine itself, and only if the caller gave the address."""
    try:
        parts = urllib.parse.urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        raise DataError(f"{url[:_SHOWN]!r} is no address: {error}.") from None
    if parts.scheme != "https" and not (given and parts.scheme == "http" and host in _LOCAL_HOSTS):
        raise DataError(f"{_plain(url)} is not an https address. Give one that starts with https://.")
    if not host or "@" in parts.netloc or any(ord(sign) < 33 or ord(sign) > 126 for sign in url):
        raise DataError(f"{url[:_SHOWN]!r} is no address: it takes https://, a host and a path in plain signs.")


def _fetch(
    remote: RemoteSet,
    file: RemoteFile,
    path: Path,
    bases: Sequence[str],
    progress: Progress | None,
    timeout: float,
) -> None:
    """Fetch a file from the first address that gives it whole and right."""
    reasons: list[str] = []
    for base in bases:
        url = base.rstrip("/") + "/" + file.name
        try:
            with contextlib.closing(_request(url, timeout, file.size)) as response, replaced_file(path) as stream:
                _transfer(response, stream, file, url, progress)
            return
        except DataError as error:
            reasons.append(str(error))
        except urllib.error.HTTPError as error:
            reasons.append(f"{url} answered {error.code} {_plain(error.reason)}.")
            error.close()
        except urllib.error.URLError as error:
            reasons.append(f"{url} cannot be reached: {_plain(error.reason)}.")
        except (OSError, http.client.HTTPException) as error:
            reasons.append(f"{url} broke off: {_plain(error)}.")
        except ValueError as error:  # an address that no library can read, as a redirect or a name may bring it
            reasons.append(f"{url} leads to no address: {_plain(error)}.")
    wanted = ", ".join(entry.name for entry in remote.files)
    raise DataError(
        f"{file.name} of {remote.name} could not be fetched. {' '.join(reasons)} "
        f"Check the connection, or put the files {wanted} into the folder {path.parent} yourself."
    )


def _plain(error: object) -> str:
    """Give what went wrong in one short line: a peer may have written a part of it."""
    text = "".join(sign if sign.isprintable() else " " for sign in str(error))
    return " ".join(text.split())[:_SHOWN] or type(error).__name__


def _request(url: str, timeout: float, size: int) -> Any:
    _check_address(url)
    deadline = time.monotonic() + timeout + size / _LEAST_RATE
    opener = urllib.request.OpenerDirector()
    for handler in (
        urllib.request.ProxyHandler(),
        _Local(deadline),
        _Open(deadline),
        _Redirects(),
        urllib.request.HTTPDefaultErrorHandler(),
        urllib.request.HTTPErrorProcessor(),
    ):
        opener.add_handler(handler)
    request = urllib.request.Request(url, headers={"User-Agent": "inkcap"})  # noqa: S310 - the scheme was checked
    return opener.open(request, timeout=timeout)


def _transfer(response: Any, stream: IO[bytes], file: RemoteFile, url: str, progress: Progress | None) -> None:
    """Copy the answer while counting and hashing it, and never more than the expected size."""
    declared = response.headers.get("Content-Length")
    if declared is not None and declared.isdecimal() and int(declared) != file.size:
        raise DataError(f"{url} offers {declared} bytes where {file.size} are expected.")
    digest = hashlib.md5(usedforsecurity=False)
    received = 0
    while chunk := response.read(_READ_AT_ONCE):
        received += len(chunk)
        if received > file.size:
            raise DataError(f"{url} sends more than the expected {file.size} bytes.")
        digest.update(chunk)
        stream.write(chunk)
        if progress is not None:
            progress(file.name, received, file.size)
    if received != file.size:
        raise DataError(f"{url} broke off after {received} of {file.size} bytes.")
    if digest.hexdigest() != file.md5:
        raise DataError(f"{url} has the checksum {digest.hexdigest()} where {file.md5} is expected.")
