"""Data and drawings from storage: fetched once, never changed, never from where they should not come."""

from __future__ import annotations

import os
import time
from pathlib import Path
from typing import Any

import pytest
from fsspec.implementations.memory import MemoryFileSystem
from stored import fresh, store_of

from inkcap.remote import RemoteError, Store, at, cached, local_copy, local_file
from inkcap.remote.cached import copy_of


def put(path: str, content: bytes) -> None:
    MemoryFileSystem().pipe_file(path, content)


@pytest.fixture
def opened(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Hear which objects are read."""
    found: list[str] = []
    copy = Store.copy

    def heard(self: Store, name: str, target: Any, size: int) -> str:
        found.append(name)
        return copy(self, name, target, size)

    monkeypatch.setattr(Store, "copy", heard)
    return found


def test_a_file_is_fetched_once_and_again_when_it_has_changed(opened):
    put("/box/houses.csv", b"a,b\n1,2\n")
    first = local_copy("memory://box/houses.csv")
    assert first.read_bytes() == b"a,b\n1,2\n"
    assert first.name == "houses.csv"
    assert local_copy("memory://box/houses.csv") == first
    assert opened == ["houses.csv"]
    put("/box/houses.csv", b"a,b\n3,4\n")
    second = local_copy("memory://box/houses.csv")
    assert second.read_bytes() == b"a,b\n3,4\n"
    assert first.read_bytes() == b"a,b\n1,2\n", "who trains on the first one goes on with it"
    assert opened == ["houses.csv", "houses.csv"]


def test_what_a_killed_process_has_fetched_half_is_taken_away_a_day_later():
    put("/box/houses.csv", b"1")
    place = local_copy("memory://box/houses.csv").parent.parent
    for name, age in ((".new-old", 90_000), (".new-young", 3_000)):
        (place / name).mkdir()
        os.utime(place / name, (time.time() - age, time.time() - age))
    put("/box/houses.csv", b"2")
    local_copy("memory://box/houses.csv")
    assert [path.name for path in place.glob(".new-*")] == [".new-young"]


def test_a_copy_cannot_be_changed_by_mistake():
    put("/box/x.csv", b"1")
    assert not local_copy("memory://box/x.csv").stat().st_mode & 0o222


def test_a_folder_is_fetched_as_it_lies(opened):
    for name in ("train/cats/1.png", "train/dogs/1.png", "test/cats/2.png"):
        put(f"/box/pets/{name}", name.encode())
    copy = local_copy("memory://box/pets")
    assert copy.name == "pets"
    assert (copy / "train" / "dogs" / "1.png").read_bytes() == b"train/dogs/1.png"
    local_copy("memory://box/pets")
    assert len(opened) == 3


def test_data_of_a_workspace_in_storage_lie_where_its_folder_is_looked_into(opened):
    put("/box/tables/houses.csv", b"a,b\n1,2\n")
    put("/box/images.idx", b"i")
    put("/box/labels.idx", b"l")
    for _ in range(2):
        with at("memory://box") as place:
            for name in ("tables/houses.csv", "digits", "images.idx, labels.idx", "../box/images.idx", "/etc/passwd"):
                place.data(name)
            assert (place.folder / "tables" / "houses.csv").read_bytes() == b"a,b\n1,2\n"
            assert (place.folder / "labels.idx").read_bytes() == b"l"
    assert len(opened) == 3
    put("/box/tables/houses.csv", b"a,b\n5,6\n")
    with at("memory://box") as place:
        place.data("tables/houses.csv")
        assert (place.folder / "tables" / "houses.csv").read_bytes() == b"a,b\n5,6\n"


class Hostile:
    """A file system that lists whatever its owner likes."""

    def __init__(self, names: list[str], **facts: object) -> None:
        self.inner = fresh()
        self.inner.pipe_file("/shared/pets/a.png", b"a")
        self.names, self.facts = names, facts

    def __getattr__(self, name: str) -> Any:
        return getattr(self.inner, name)

    def find(self, path: str, **options: object) -> dict[str, Any]:
        return {name: {"name": name, "size": 1, "type": "file", **self.facts} for name in self.names}

    def open(self, path: str, mode: str = "rb") -> Any:
        return self.inner.open("/shared/pets/a.png", mode)


@pytest.mark.parametrize(
    "name",
    [
        "/shared/pets/../../../outside",
        "/shared/pets/..",
        "/elsewhere/outside",
        "/shared/pets//outside",
        "/shared/pets/C:outside",
        "/shared/pets/..\\outside",
        "/shared/pets/a\x00",
    ],
)
def test_a_name_of_a_stranger_leads_nowhere(tmp_path, name):
    store = store_of(Hostile(["/shared/pets/a.png", name]))
    copy = copy_of(store, "pets")
    assert copy is not None
    assert [path.name for path in copy.rglob("*")] == ["a.png"]
    assert not list(tmp_path.rglob("*outside*"))


@pytest.mark.parametrize(
    ("facts", "words"),
    [
        ({"size": 2**40}, "bytes"),
        ({"size": None}, "no ordinary file"),
        ({"size": -5}, "no ordinary file"),
        ({"type": "other"}, "no ordinary file"),
        ({"islink": True}, "no ordinary file"),
        ({"size": 0}, "has not the 0 bytes"),
        ({"size": 7}, "has not the 7 bytes"),
    ],
)
def test_a_store_that_lies_about_what_it_has_is_refused(tmp_path, facts, words):
    with pytest.raises(RemoteError, match=words):
        copy_of(store_of(Hostile(["/shared/pets/a.png"], **facts)), "pets")
    assert not list((tmp_path / "copies").rglob("a.png"))


def test_too_many_files_and_none_are_refused(monkeypatch):
    monkeypatch.setattr(cached, "MOST_FILES", 3)
    for count in (0, 4):
        with pytest.raises(RemoteError, match=f"{count} files"):
            copy_of(store_of(Hostile([f"/shared/pets/{i}.png" for i in range(count)])), "pets")


@pytest.mark.skipif(os.name != "posix", reason="links and pipes of POSIX")
def test_links_and_pipes_of_a_mounted_folder_are_not_followed(tmp_path):
    folder = tmp_path / "pets"
    folder.mkdir()
    (folder / "a.png").write_bytes(b"a")
    assert (local_copy(f"file://{folder}") / "a.png").read_bytes() == b"a"
    (folder / "b.png").symlink_to("/etc/hostname")
    with pytest.raises(RemoteError, match=r"b\.png: this is no ordinary file"):
        local_copy(f"file://{folder}")
    (folder / "b.png").unlink()
    os.mkfifo(folder / "c.png")
    with pytest.raises(RemoteError, match="no ordinary file"):
        local_copy(f"file://{folder / 'c.png'}")


def test_a_drawing_is_read_from_a_url_within_its_limit():
    put("/box/net.inkcap.json", b"x" * 100)
    assert local_file("memory://box/net.inkcap.json", 100).read_bytes() == b"x" * 100
    with pytest.raises(RemoteError, match="100 bytes"):
        local_file("memory://box/net.inkcap.json", 99)
    assert local_file("some/net.inkcap.json", 1) == Path("some/net.inkcap.json")


def test_what_is_not_there_is_told():
    with pytest.raises(RemoteError, match=r"memory://box/none\.csv: there is no such file or folder"):
        local_copy("memory://box/none.csv")


def test_a_url_with_http_is_never_asked():
    with pytest.raises(RemoteError, match="http is no storage"):
        local_copy("http://169.254.169.254/latest/meta-data")
