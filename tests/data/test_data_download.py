"""Fetching sets from a server on this machine."""

import gzip
import hashlib
import http.server
import io
import tarfile
import threading
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import pytest

from inkcap.training.data import MNIST, DataError, RemoteFile, RemoteSet, load, obtain
from inkcap.training.data.remote_sources import load_cifar_10, load_mnist_like, read_members


@dataclass
class Server:
    """A small server: what it offers, what was asked of it, and how it misbehaves."""

    address: str = ""
    content: dict[str, bytes] = field(default_factory=dict[str, bytes])
    requests: list[str] = field(default_factory=list[str])
    cut_after: int | None = None
    hide_length: bool = False
    redirect_to: str = ""


@pytest.fixture
def server() -> Iterator[Server]:
    """Run a server for the length of a test."""
    state = Server()

    class Handler(http.server.BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            name = self.path.rsplit("/", 1)[-1]
            state.requests.append(name)
            if state.redirect_to:
                self.send_response(302)
                self.send_header("Location", state.redirect_to)
                self.end_headers()
                return
            if name not in state.content:
                self.send_error(404)
                return
            body = state.content[name]
            self.send_response(200)
            if not state.hide_length:
                self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body[: state.cut_after])

        def log_message(self, format: str, *args: object) -> None:
            """Keep the output quiet."""

    httpd = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    state.address = f"http://127.0.0.1:{httpd.server_address[1]}/data/"
    thread = threading.Thread(target=httpd.serve_forever, kwargs={"poll_interval": 0.02})
    thread.start()
    yield state
    httpd.shutdown()
    thread.join()
    httpd.server_close()


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Keep the cache in the test's own folder."""
    monkeypatch.delenv("INKCAP_DATA", raising=False)
    monkeypatch.setattr("platformdirs.user_cache_dir", lambda name: str(tmp_path / name))  # pyright: ignore[reportUnknownLambdaType, reportUnknownArgumentType]
    return tmp_path / "inkcap" / "datasets" / "small"


def described(name: str, body: bytes) -> RemoteFile:
    """Describe a file by its true size and checksum."""
    return RemoteFile(name, len(body), hashlib.md5(body, usedforsecurity=False).hexdigest())


def idx_bytes(array: np.ndarray[tuple[int, ...], np.dtype[np.uint8]]) -> bytes:
    """Pack an array as MNIST's files are packed."""
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, ">u4").tobytes()
    return gzip.compress(header + array.tobytes(), mtime=0)


def small_set(server: Server) -> RemoteSet:
    """Offer a set in MNIST's form: three training and two test images."""
    for part, count in (("train", 3), ("t10k", 2)):
        images = np.arange(count * 4, dtype=np.uint8).reshape(count, 2, 2)
        server.content[f"{part}-images-idx3-ubyte.gz"] = idx_bytes(images)
        server.content[f"{part}-labels-idx1-ubyte.gz"] = idx_bytes(np.arange(count, dtype=np.uint8))
    names = [file.name for file in MNIST.files]
    return RemoteSet("small", tuple(described(name, server.content[name]) for name in names), (server.address,))


def leftovers(folder: Path) -> list[str]:
    """List what lies in a folder, hidden files too."""
    return sorted(entry.name for entry in folder.iterdir()) if folder.exists() else []


def test_fetching_then_using_the_cache(server: Server, cache: Path) -> None:
    remote = small_set(server)
    seen: list[tuple[str, int, int]] = []
    dataset = load_mnist_like(remote, ("a", "b", "c"), "", lambda name, done, size: seen.append((name, done, size)))
    assert dataset.test is not None
    assert (len(dataset), len(dataset.test), dataset.classes) == (3, 2, ("a", "b", "c"))
    assert dataset.manifest["verified"] is True
    assert [news[0] for news in seen if news[1] == news[2]] == [file.name for file in remote.files]
    assert leftovers(cache) == sorted(file.name for file in remote.files)
    asked = len(server.requests)
    assert asked == 4
    again = load_mnist_like(remote, ("a", "b", "c"), "")
    assert len(server.requests) == asked
    assert again.manifest == dataset.manifest


def test_a_damaged_cache_is_fetched_anew(server: Server, cache: Path) -> None:
    remote = small_set(server)
    obtain(remote)
    target = cache / remote.files[0].name
    target.write_bytes(b"x" * remote.files[0].size)
    obtain(remote)
    assert len(server.requests) == 5
    assert target.read_bytes() == server.content[target.name]


@pytest.mark.parametrize("hide_length", [False, True])
def test_interrupted_transfer(server: Server, cache: Path, hide_length: bool) -> None:
    remote = small_set(server)
    server.cut_after, server.hide_length = 10, hide_length
    with pytest.raises(DataError) as caught:
        obtain(remote)
    assert "broke off" in str(caught.value)
    assert leftovers(cache) == []
    server.cut_after = None
    assert len(obtain(remote)) == 4


def test_wrong_checksum_and_sizes(server: Server, cache: Path) -> None:
    remote = small_set(server)
    name = remote.files[0].name
    right = server.content[name]
    server.content[name] = right[:-1] + bytes([right[-1] ^ 1])
    with pytest.raises(DataError, match=f"checksum .* where {remote.files[0].md5} is expected"):
        obtain(remote)
    server.content[name] = right + b"more"
    with pytest.raises(DataError, match=f"offers {len(right) + 4} bytes where {len(right)} are expected"):
        obtain(remote)
    server.hide_length = True
    with pytest.raises(DataError, match=f"more than the expected {len(right)} bytes"):
        obtain(remote)
    assert leftovers(cache) == []


def test_not_found_names_files_and_folder(server: Server, cache: Path) -> None:
    remote = small_set(server)
    server.content.clear()
    with pytest.raises(DataError) as caught:
        obtain(remote)
    for word in ("404", str(cache), *(file.name for file in remote.files)):
        assert word in str(caught.value)


def test_the_second_address_is_tried(server: Server) -> None:
    remote = small_set(server)
    assert len(obtain(remote, bases=["http://127.0.0.1:1/", server.address], timeout=2)) == 4


def test_no_network(cache: Path) -> None:
    file = RemoteFile("file.gz", 5, "0" * 32)
    with pytest.raises(DataError, match="cannot be reached") as caught:
        obtain(RemoteSet("small", (file,), ("http://127.0.0.1:1/",)), timeout=2)
    assert "put the files file.gz into the folder" in str(caught.value)
    assert leftovers(cache) == []


@pytest.mark.parametrize("address", ["http://example.org/", "file:///etc/", "ftp://example.org/"])
def test_only_https(server: Server, address: str) -> None:
    remote = small_set(server)
    with pytest.raises(DataError, match="is not an https address"):
        obtain(remote, bases=[address])
    server.redirect_to = address + "x"
    with pytest.raises(DataError, match=r"is not an https address|is not allowed"):
        obtain(remote)


def test_own_folder_is_used_without_asking(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    remote = small_set(server)
    monkeypatch.setenv("INKCAP_DATA", str(tmp_path / "own"))
    folder = tmp_path / "own" / "small"
    folder.mkdir(parents=True)
    for name, body in server.content.items():
        # Packed anew, and one of them not packed at all: other checksums, the same content.
        plain = gzip.decompress(body)
        if name.startswith("t10k-labels"):
            (folder / name.removesuffix(".gz")).write_bytes(plain)
        else:
            (folder / name).write_bytes(gzip.compress(plain, 1, mtime=7))
    dataset = load_mnist_like(remote, ("a", "b", "c"), "")
    assert server.requests == []
    assert dataset.manifest["verified"] is False
    assert len(dataset) == 3


def test_mnist_in_own_folder_by_name(server: Server, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    small_set(server)
    monkeypatch.setenv("INKCAP_DATA", str(tmp_path))
    (tmp_path / "mnist").mkdir()
    for name, body in server.content.items():
        (tmp_path / "mnist" / name).write_bytes(body)
    dataset = load("mnist", {}, tmp_path)
    assert dataset.classes == tuple("0123456789")
    assert len(dataset) == 3


def cifar_archive(records: int, names: list[str]) -> bytes:
    """Pack batches of CIFAR-10's binary form."""
    packed = io.BytesIO()
    with tarfile.open(fileobj=packed, mode="w:gz") as archive:
        for number, name in enumerate(names):
            pixels = np.full((records, 3072), number, np.uint8)
            pixels[:, 1024:2048] = 77
            body = np.concatenate([np.arange(records, dtype=np.uint8)[:, None], pixels], axis=1).tobytes()
            entry = tarfile.TarInfo(f"cifar-10-batches-bin/{name}")
            entry.size = len(body)
            archive.addfile(entry, io.BytesIO(body))
    return packed.getvalue()


BATCHES = [*(f"data_batch_{number}.bin" for number in range(1, 6)), "test_batch.bin"]


def test_cifar_is_read_from_the_stream(server: Server, cache: Path) -> None:
    body = cifar_archive(4, BATCHES)
    server.content["cifar.tar.gz"] = body
    remote = RemoteSet("small", (described("cifar.tar.gz", body),), (server.address,))
    dataset = load_cifar_10(remote=remote, records_per_batch=4)
    assert dataset.test is not None
    assert dataset.inputs["x"].shape == (20, 3, 32, 32)
    assert dataset.inputs["x"][7, :, 31, 31].tolist() == [1, 77, 1]
    assert dataset.targets["y"].tolist() == [0, 1, 2, 3] * 5
    assert dataset.test.inputs["x"][0, 0, 0, 0] == 5
    assert leftovers(cache) == ["cifar.tar.gz"]


def test_odd_archives_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "a.tar.gz"
    path.write_bytes(cifar_archive(1, BATCHES[:2]))
    with pytest.raises(DataError, match="has 3073 bytes where 10 are expected"):
        read_members(path, {"cifar-10-batches-bin/data_batch_2.bin": 10, "other": 5000})
    with pytest.raises(DataError, match=r"lacks cifar-10-batches-bin/test_batch\.bin"):
        read_members(path, {"cifar-10-batches-bin/test_batch.bin": 3073})
    path.write_bytes(path.read_bytes()[:60])
    with pytest.raises(DataError, match="is damaged"):
        read_members(path, {"cifar-10-batches-bin/data_batch_1.bin": 3073})
    with tarfile.open(path, "w:gz") as archive:
        link = tarfile.TarInfo("x.bin")
        link.type, link.linkname = tarfile.SYMTYPE, "/etc/passwd"
        archive.addfile(link)
    with pytest.raises(DataError, match=r"x\.bin has 0 bytes where 4"):
        read_members(path, {"x.bin": 4})
