"""Runs, data and drawings in storage that several machines share, by the URLs of fsspec; nothing here needs torch."""

from inkcap.remote.cached import local_copy
from inkcap.remote.errors import NotPublished, RemoteError
from inkcap.remote.places import Place, at, local_file, overview, publish
from inkcap.remote.publisher import Publisher
from inkcap.remote.store import Store
from inkcap.remote.urls import is_url, parse_url

__all__ = [
    "NotPublished",
    "Place",
    "Publisher",
    "RemoteError",
    "Store",
    "at",
    "is_url",
    "local_copy",
    "local_file",
    "overview",
    "parse_url",
    "publish",
]
