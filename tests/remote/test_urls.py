"""URLs of storage: what is taken, what is shown, and what names may be."""

from __future__ import annotations

import importlib.util
from pathlib import Path, PurePosixPath, PureWindowsPath

import pytest
from hypothesis import given
from hypothesis import strategies as st

from inkcap.remote import RemoteError, Store, is_url, parse_url
from inkcap.remote.urls import checked_name, parse_kept


@pytest.mark.parametrize(
    ("url", "shown", "full"),
    [
        ("s3://bucket/a/b", "s3://bucket/a/b", "s3://bucket/a/b"),
        ("s3://bucket/", "s3://bucket", "s3://bucket"),
        ("file:///C:/x", "file:///C:/x", "file:///C:/x"),
        ("memory://", "memory://", "memory://"),
        ("S3://bucket/a/", "s3://bucket/a", "s3://bucket/a"),
        ("file:///tmp/x", "file:///tmp/x", "file:///tmp/x"),
        ("memory://a/b", "memory://a/b", "memory://a/b"),
        ("sftp://me:pass@host/a", "sftp://host/a", "sftp://me:pass@host/a"),
        ("sftp://me@host/a", "sftp://me@host/a", "sftp://me@host/a"),
        ("s3://KEY:se/cret", "s3://KEY:se/cret", "s3://KEY:se/cret"),
        ("abfs://box@account.net/a", "abfs://box@account.net/a", "abfs://box@account.net/a"),
    ],
)
def test_a_url_is_shown_without_its_password(url, shown, full):
    location = parse_url(url)
    assert (location.shown, location.full) == (shown, full)


@pytest.mark.parametrize(
    ("url", "words"),
    [
        ("http://169.254.169.254/latest", "no storage"),
        ("https://me:w0rd@example.org/x.csv", "no storage"),
        ("gopher://x/y", "there is no storage gopher"),
        ("zip://a::s3://b/c", "there is no storage zip"),
        ("simplecache://x", "there is no storage"),
        ("s3://bucket/a::b", "::"),
        ("s3://bucket/a?sig=w0rd", "?"),
        ("s3://me:w0rd@bucket/a", "takes no password"),
        ("sftp://me:w0rd@/a", "no bucket"),
        ("s3:///a", "no bucket"),
        ("file://tmp/x", "begins with /"),
        ("s3://bucket/a/../b", "not safe"),
        ("s3://bucket/a//b", "not safe"),
        ("file:///a/\x00b", "not safe"),
        ("memory://a\\b", "not safe"),
    ],
)
def test_a_url_that_is_none_of_a_storage_is_refused_in_one_line_without_secrets(url, words):
    with pytest.raises(RemoteError) as refused:
        parse_url(url)
    assert words in str(refused.value)
    assert "w0rd" not in str(refused.value)
    assert "\n" not in str(refused.value)


def test_a_url_that_a_run_keeps_must_hold_no_password():
    with pytest.raises(RemoteError, match="must hold no password") as refused:
        parse_kept("sftp://me:secretword@host/data.csv")
    assert "secretword" not in str(refused.value)


@pytest.mark.parametrize("text", ["data.csv", "C:\\data", "a,b", "1.0,2.0", "/s3/x", "s3:/bucket"])
def test_a_path_is_no_url(text):
    assert not is_url(text)


@pytest.mark.skipif(importlib.util.find_spec("ossfs") is not None, reason="the driver is installed here")
def test_a_driver_that_is_not_installed_is_named():
    with pytest.raises(RemoteError, match="pip install ossfs"):
        Store.open("oss://bucket/folder")


def test_what_a_driver_says_is_told_without_the_password():
    class Refusing:
        def __getattr__(self, name):
            raise PermissionError("login of me:secretword failed for secretword")

        def _strip_protocol(self, path):
            return path

    store = Store(parse_url("sftp://me:secretword@host/a"), Refusing())
    for ask in (lambda: store.names("runs"), lambda: store.read("x", 10), lambda: store.write("x", b"")):
        with pytest.raises(RemoteError, match="PermissionError") as refused:
            ask()
        assert "secretword" not in str(refused.value)


@given(st.text(st.sampled_from("./\\:a\x00~ "), max_size=8) | st.text(max_size=30))
def test_a_safe_name_stays_below_its_folder_on_every_platform(name):
    try:
        checked_name(name)
    except RemoteError:
        return
    for kind, root in ((PurePosixPath, "/root"), (PureWindowsPath, "C:\\root")):
        parts = kind(name).parts
        assert not kind(name).is_absolute()
        assert not kind(name).drive
        assert ".." not in parts
        assert (kind(root) / name).is_relative_to(root)
    assert Path("/root", name) != Path("/root")
