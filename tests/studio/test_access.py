"""The token of a workspace: where it is kept, that it stays, and that nobody else can have laid it there."""

import os
import re
import stat
from pathlib import Path

import pytest

from inkcap.structures.errors import InkcapError
from inkcap.studio.access import Access, stored_token, token_file

TOKEN = "A" * 21 + "_-" + "9" * 20
posix = pytest.mark.skipif(os.name != "posix", reason="elsewhere a file has no such permissions")


@pytest.fixture(autouse=True)
def state(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    return tmp_path / "state" / "inkcap" / "studio"


@pytest.fixture
def workspace(tmp_path: Path) -> Path:
    folder = tmp_path / "work"
    folder.mkdir()
    return folder


@posix
def test_it_is_kept_outside_of_the_workspace_for_its_owner_alone(workspace: Path, state: Path) -> None:
    before = os.umask(0)
    try:
        token = stored_token(workspace)
    finally:
        os.umask(before)
    (file,) = state.iterdir()
    assert file == token_file(workspace)
    assert re.fullmatch(r"[0-9a-f]{16}\.token", file.name)
    assert file.read_text() == f"{token}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600
    assert stat.S_IMODE(state.stat().st_mode) == 0o700
    assert len(token) == 43  # 256 bits
    assert list(workspace.iterdir()) == []


def test_it_stays_the_same_for_a_workspace_and_differs_between_them(workspace: Path, tmp_path: Path) -> None:
    token = stored_token(workspace)
    assert stored_token(workspace) == token
    assert stored_token(workspace / ".." / "work") == token
    other = tmp_path / "other"
    other.mkdir()
    assert stored_token(other) != token
    assert stored_token(workspace) == token


def test_a_folder_of_any_name_has_one(tmp_path: Path) -> None:
    odd = Path(os.fsdecode(os.fsencode(tmp_path) + b"/\xff"))
    assert re.fullmatch(r"[0-9a-f]{16}\.token", token_file(odd).name)


@pytest.mark.parametrize("mode", [0o600, 0o400, 0o700])
def test_a_token_that_is_there_is_used(workspace: Path, mode: int) -> None:
    file = token_file(workspace)
    file.parent.mkdir(parents=True)
    file.write_text(f" {TOKEN}\n")
    file.chmod(mode)
    assert stored_token(workspace) == TOKEN


@posix
@pytest.mark.parametrize("mode", [0o601, 0o602, 0o604, 0o610, 0o620, 0o640, 0o666])
def test_a_token_that_others_could_read_or_write_is_made_anew(workspace: Path, mode: int) -> None:
    file = token_file(workspace)
    file.parent.mkdir(parents=True)
    file.write_text(f"{TOKEN}\n")
    file.chmod(mode)
    token = stored_token(workspace)
    assert token != TOKEN
    assert file.read_text() == f"{token}\n"
    assert stat.S_IMODE(file.stat().st_mode) == 0o600


@pytest.mark.parametrize("content", [b"", TOKEN[:-1].encode(), f"{TOKEN}x".encode(), b"\xff" * 43, b"!" * 43])
def test_a_damaged_token_is_made_anew(workspace: Path, content: bytes) -> None:
    file = token_file(workspace)
    file.parent.mkdir(parents=True)
    file.write_bytes(content)
    file.chmod(0o600)
    token = stored_token(workspace)
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}", token)
    assert file.read_text() == f"{token}\n"


@posix
def test_a_link_in_its_place_is_not_followed(workspace: Path, tmp_path: Path) -> None:
    file, elsewhere = token_file(workspace), tmp_path / "elsewhere"
    file.parent.mkdir(parents=True)
    file.symlink_to(elsewhere)
    stored_token(workspace)
    assert not file.is_symlink()
    assert not elsewhere.exists()


def test_where_it_cannot_be_kept_it_is_told(workspace: Path, state: Path) -> None:
    file = token_file(workspace)
    file.mkdir(parents=True)
    reason = "Is a directory" if os.name == "posix" else "Permission denied"
    with pytest.raises(InkcapError) as error:
        stored_token(workspace)
    assert str(error.value) == (
        f"The studio cannot keep its token in {file} ({reason}): check the permissions of that folder."
    )
    assert error.value.__suppress_context__


def test_a_header_carries_the_whole_token_or_none() -> None:
    access = Access(TOKEN, 8765)
    assert access.cookie == "inkcap-8765"
    assert access.by_bearer([f"Bearer {TOKEN}".encode()])
    assert access.by_cookie([f"inkcap-8765={TOKEN}".encode()])
    for wrong in (TOKEN, f"Bearer{TOKEN}", f"Bearer Bearer {TOKEN}", "Bearer ", "", f"Basic {TOKEN}"):
        assert not access.by_bearer([wrong.encode()])
    assert not access.by_bearer([])
    assert not access.by_cookie([])
