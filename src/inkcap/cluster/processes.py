"""The processes of a Ray that was started here: a guard ends them with this one, however it ends."""

import os
import subprocess
import sys
import tempfile
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

_PREFIX = "inkcap-ray-"
_LONGEST = 39
"""Of the folder's path: a socket's may have 103 letters at most, and Ray puts 64 after it."""
_PATIENCE = 20.0


@contextmanager
def guarded_folder() -> Generator[Path]:
    """Give a folder for a Ray; whoever has a file of it open afterwards is killed, and the folder taken away.

    Ray's own processes end with the one that started them, but for some that look for its head for a minute more.
    """
    folder = Path(tempfile.mkdtemp(prefix=_PREFIX, dir=_base()))
    command = [sys.executable, "-I", "-S", str(Path(__file__).with_name("guard.py")), str(folder)]
    # In a session of its own it hears neither Ctrl-C nor the end of a terminal.
    guard = subprocess.Popen(command, stdin=subprocess.PIPE, start_new_session=True)  # noqa: S603
    try:
        yield folder
    finally:
        assert guard.stdin is not None
        with suppress(OSError):
            guard.stdin.close()
        with suppress(subprocess.TimeoutExpired):
            guard.wait(_PATIENCE)


def _base() -> Path:
    # Without links: whoever has a file open is known by where it really is.
    base = Path(tempfile.gettempdir()).resolve()
    long = os.name == "posix" and len(str(base)) + len(_PREFIX) + 9 > _LONGEST
    return Path("/tmp") if long else base  # noqa: S108
