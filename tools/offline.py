"""Run a command on a machine without a network: loopback is there, and nothing else.

Usage: python tools/offline.py command [argument ...]
"""

from __future__ import annotations

import functools
import shutil
import subprocess
import sys
from collections.abc import Sequence

_INSIDE = 'ip link set lo up && exec "$@"'
_WAYS = (("--map-root-user", "--net"), ("--net",))
"""As anyone, where the system lets anyone have name spaces; else as root."""


@functools.cache
def prefix() -> tuple[str, ...]:
    """Give the words before a command that cut it off, or none where this machine cannot do that."""
    unshare = shutil.which("unshare")
    if unshare is None or shutil.which("ip") is None:
        return ()
    for way in _WAYS:
        words = (unshare, *way, "sh", "-c", _INSIDE, "offline")
        if subprocess.run([*words, "true"], check=False, capture_output=True).returncode == 0:
            return words
    return ()


def main(arguments: Sequence[str]) -> int:
    """Run the command cut off."""
    words = prefix()
    if not words or not arguments:
        print("offline: this needs a command, and Linux with unshare and ip and the right to use them", file=sys.stderr)
        return 2
    return subprocess.run([*words, *arguments], check=False).returncode


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
