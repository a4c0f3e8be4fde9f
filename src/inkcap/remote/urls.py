"""URLs of storage: which are taken, how they are shown, and which names in them are safe."""

import re
from dataclasses import dataclass

from inkcap.remote.errors import RemoteError

DRIVERS = {
    "file": "",
    "memory": "",
    "s3": "s3fs",
    "gs": "gcsfs",
    "gcs": "gcsfs",
    "abfs": "adlfs",
    "az": "adlfs",
    "oci": "ocifs",
    "oss": "ossfs",
    "hdfs": "pyarrow",
    "sftp": "paramiko",
    "smb": "smbprotocol",
}
"""The storages that are taken, each with the package that has to be installed for it."""
_WITHOUT_HOST = ("file", "memory")
_WITH_LOGIN = ("sftp", "smb", "hdfs")

_URL = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*)://(.*)", re.DOTALL)
_DISK = re.compile(r"[A-Za-z]:(/|$)")
_LONGEST_PART = 255


@dataclass(frozen=True)
class Location:
    """A place in storage. Whatever comes before the @ of a password is told to the driver and to nobody else."""

    protocol: str
    host: str
    path: str
    secret: str = ""

    @property
    def shown(self) -> str:
        """The URL as it may be printed and kept."""
        return self._written(self.host)

    @property
    def full(self) -> str:
        """The URL as the driver takes it."""
        return self._written(f"{self.secret}@{self.host}" if self.secret else self.host)

    def _written(self, host: str) -> str:
        path = f"/{self.path}" if self.protocol == "file" or (host and self.path) else self.path
        return f"{self.protocol}://{host}{path}"

    def parted(self) -> tuple["Location", str]:
        """Give the place that something lies in, and its name there."""
        parent, _, name = self.path.rpartition("/")
        if not name:
            raise RemoteError(f"{self.shown}: this names a whole storage; name a file or a folder in it.")
        return Location(self.protocol, self.host, parent, self.secret), name


def is_url(text: str) -> bool:
    """Tell a URL from a path of this machine."""
    return _URL.match(text.strip()) is not None


def parse_url(text: str) -> Location:
    """Read a URL of storage; one that is not for this gets a word on what is."""
    match = _URL.fullmatch(text.strip())
    if match is None:
        raise RemoteError(f"{text!r} is no URL of storage; write for example s3://bucket/folder.")
    protocol, rest = match[1].lower(), match[2]
    if protocol in ("http", "https"):
        raise RemoteError(
            f"{_hidden(text)}: {protocol} is no storage; fetch the file yourself, or give the URL of a storage "
            f"({', '.join(f'{name}://' for name in DRIVERS)})."
        )
    if protocol not in DRIVERS:
        raise RemoteError(f"{_hidden(text)}: there is no storage {protocol}://; there are {', '.join(DRIVERS)}.")
    authority, _, path = ("", "", rest) if protocol in _WITHOUT_HOST else rest.partition("/")
    user, _, host = authority.rpartition("@")
    # A name without a password is not secret: it may be that of a container, or of an account.
    secret, host = (user, host) if ":" in user else ("", authority)
    if secret and protocol not in _WITH_LOGIN:
        raise RemoteError(
            f"{_hidden(text)}: {protocol}:// takes no password in its URL; give it by the driver's own settings."
        )
    if protocol == "file" and not path.startswith("/"):
        raise RemoteError(f"{_hidden(text)}: a path after file:// begins with /; write file:///folder.")
    if protocol not in _WITHOUT_HOST and not host:
        raise RemoteError(f"{_hidden(text)}: no bucket or machine is named; write {protocol}://NAME/folder.")
    path = path.strip("/")
    if "?" in rest or "::" in rest:
        raise RemoteError(
            f"{_hidden(text)}: a URL with ? or :: is not taken; give options by the driver's own settings."
        )
    # A disk of Windows has a letter: file:///C:/folder.
    below = _DISK.sub("", path) if protocol == "file" else path
    if below:
        checked_name(below)
    return Location(protocol, host, path, secret)


def parse_kept(text: str) -> Location:
    """Read a URL that a run will keep, such as that of its data: it must hold no password."""
    location = parse_url(text)
    if location.secret:
        raise RemoteError(
            f"{location.shown}: a run keeps this URL, so it must hold no password; give that by the driver's settings."
        )
    return location


def checked_name(name: str) -> str:
    """Give a name back that is safe below any folder of any platform, or refuse it: who fills a store is a stranger."""
    for part in name.split("/"):
        unsafe = part in ("", ".", "..") or len(part.encode("utf-8", "replace")) > _LONGEST_PART
        if unsafe or any(ord(sign) < 32 or ord(sign) == 127 or sign in "\\:" for sign in part):
            raise RemoteError(
                f"{name[:100]!r}: this name is not safe; a name has parts without .., \\, : and control characters."
            )
    return name


def _hidden(text: str) -> str:
    """Give a URL for a message before it is known to be one: without all that stands before an @."""
    protocol, _, rest = text.strip().partition("://")
    return f"{protocol}://{rest.rpartition('@')[2]}".partition("?")[0][:200]
