"""The processes that a process has started, as the system tells them."""

import os
import time
from contextlib import suppress
from pathlib import Path

from inkcap.recipes.liveness import mark_of


def descendants(root):
    """Give number and mark of the processes that a process has started, and they in turn."""
    children = {}
    for entry in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError, IndexError):
            words = (entry / "stat").read_text(errors="replace").rpartition(")")[2].split()
            children.setdefault(int(words[1]), []).append(int(entry.name))
    found, waiting = [], [root]
    while waiting:
        below = children.get(waiting.pop(), [])
        found += below
        waiting += below
    return [(pid, mark_of(pid)) for pid in found]


def command_of(pid):
    """Give the words that a process was started by; none where it has ended."""
    with suppress(OSError):
        return Path(f"/proc/{pid}/cmdline").read_text().replace("\0", " ")
    return ""


LOOPBACKS = {"0100007F", "0000000000000000FFFF00000100007F", "00000000000000000000000001000000"}
"""As the kernel writes them."""
_LISTENS = "0A"


def listening(pids):
    """Give the addresses at which processes listen, as the kernel writes them."""
    sockets = set()
    for pid in pids:
        for link in Path(f"/proc/{pid}/fd").glob("*"):
            with suppress(OSError):
                target = os.readlink(link)
                if target.startswith("socket:["):
                    sockets.add(target[8:-1])
    found = set()
    for table in ("tcp", "tcp6"):
        for line in Path(f"/proc/net/{table}").read_text().splitlines()[1:]:
            words = line.split()
            if words[3] == _LISTENS and words[9] in sockets:
                found.add(words[1].rpartition(":")[0])
    return found


def wait_for(found, seconds=60.0):
    """Wait until something is found, and give it."""
    until = time.monotonic() + seconds
    while not (value := found()):
        assert time.monotonic() < until, "it did not come to that"
        time.sleep(0.05)
    return value
