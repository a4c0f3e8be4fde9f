"""Who may come in: one token for a workspace, a code that is good for one exchange, and the cookie that it becomes.

Host and origin checks keep other pages out; the token keeps out other people and other programs of this machine. It
stays the same when the studio starts again, so that tabs which are open go on.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from pathlib import Path

from platformdirs import user_state_path

from inkcap.structures.errors import InkcapError

TOKEN = re.compile(r"[A-Za-z0-9_-]{43}")


class Access:
    """The token, and the one-time codes that were given out for it."""

    def __init__(self, token: str, port: int) -> None:
        """Know the token; no code is out yet."""
        self.token = token
        self.cookie = f"inkcap-{port}"
        self._codes: set[str] = set()

    def new_code(self) -> str:
        """Give out a code for a launch link."""
        code = secrets.token_urlsafe(24)
        self._codes.add(code)
        return code

    def take_code(self, code: str) -> bool:
        """Tell whether a code is good; it is not a second time."""
        good = next((known for known in self._codes if hmac.compare_digest(known.encode(), code.encode())), None)
        if good is not None:
            self._codes.discard(good)
        return good is not None

    def by_bearer(self, values: list[bytes]) -> bool:
        """Tell whether an Authorization header carries the token."""
        return len(values) == 1 and self._same(values[0].removeprefix(b"Bearer ")) and values[0][:7] == b"Bearer "

    def by_cookie(self, values: list[bytes]) -> bool:
        """Tell whether the cookies carry the token, whatever stands beside it."""
        # Cookies know no ports: those of every other server of this machine come along, well-formed or not.
        ours = f"{self.cookie}=".encode()
        pairs = (pair.strip() for value in values for pair in value.split(b";"))
        return any(pair.startswith(ours) and self._same(pair.removeprefix(ours)) for pair in pairs)

    def _same(self, given: bytes) -> bool:
        return hmac.compare_digest(given, self.token.encode())


def token_file(workspace: Path) -> Path:
    """Tell where the token of a workspace is kept: outside of it, readable by its owner alone."""
    name = hashlib.sha256(str(workspace.resolve()).encode("utf-8", "surrogateescape")).hexdigest()[:16]
    return user_state_path("inkcap", appauthor=False) / "studio" / f"{name}.token"


def stored_token(workspace: Path) -> str:
    """Give the token of a workspace, a new one where there is none or the file is not as it should be."""
    path = token_file(workspace)
    try:
        if path.is_file() and (os.name != "posix" or path.stat().st_mode & 0o077 == 0):
            known = path.read_text(encoding="ascii", errors="replace").strip()
            if TOKEN.fullmatch(known):
                return known
        path.parent.mkdir(parents=True, exist_ok=True, mode=0o700)
        token = secrets.token_urlsafe(32)
        path.unlink(missing_ok=True)
        with os.fdopen(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            file.write(f"{token}\n")
    except OSError as error:
        raise InkcapError(
            f"The studio cannot keep its token in {path} ({error.strerror}): check the permissions of that folder."
        ) from None
    return token
