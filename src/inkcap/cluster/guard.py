"""Run beside a Ray: waits for the end of the process that started it, then ends what that left behind.

It is started without the packages of the environment, so that it costs next to nothing.
"""

import os
import shutil
import signal
import sys
import time
from contextlib import suppress
from pathlib import Path

_LONGEST = 15.0


def users_of(folder: str, but: int) -> list[int]:
    """Give the processes, but for one, that have a file of a folder open; none where the system does not tell."""
    inside, found = folder.rstrip("/") + "/", list[int]()
    for process in Path("/proc").glob("[0-9]*"):
        with suppress(OSError):
            if process.name == str(but):
                continue
            if any(_target(link).startswith(inside) for link in (process / "fd").iterdir()):
                found.append(int(process.name))
    return found


def _target(link: Path) -> str:
    with suppress(OSError):
        return os.readlink(link)
    return ""


def end_users_of(folder: str, but: int) -> None:
    """Kill the processes, but for one, that have a file of a folder open, and those that they were just starting."""
    until = time.monotonic() + _LONGEST
    while (left := users_of(folder, but)) and time.monotonic() < until:
        for pid in left:
            with suppress(OSError):
                os.kill(pid, signal.SIGKILL)
        time.sleep(0.05)


if __name__ == "__main__":
    # It may have logs open still, if it is alive.
    starter = os.getppid()
    while sys.stdin.buffer.read(1024):
        pass
    end_users_of(sys.argv[1], but=starter)
    shutil.rmtree(sys.argv[1], ignore_errors=True)
