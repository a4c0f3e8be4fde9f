"""Commands of Inkcap that outlive the process that starts them: a training, a sweep."""

import os
import platform
import subprocess
import sys
from collections.abc import Sequence
from contextlib import suppress
from pathlib import Path

OUT, ERRORS = "out.txt", "errors.txt"
LONGEST_WORDS = 2_000
TRACE = "Traceback (most recent call last):"


TUNABLES = "GLIBC_TUNABLES"
_HUGE_PAGES = "glibc.malloc.hugetlb"

WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "10000"}
"""How threads wait for each other: awake for a tenth of a millisecond, which bridges the gaps within a step, and asleep
after that. Ones that sleep at once are woken in every operation, ones that never sleep take the processor from others.
"""


def roomy_environment() -> dict[str, str]:
    """Give the variables of a process that trains: huge pages, which spare it look-ups, where glibc knows them.

    It reads them when a process starts.
    """
    if platform.libc_ver()[0] != "glibc":
        return {}
    given = os.environ.get(TUNABLES, "")
    return {TUNABLES: given if _HUGE_PAGES in given else ":".join(filter(None, (given, f"{_HUGE_PAGES}=1")))}


def training_environment() -> dict[str, str]:
    """Give the variables of a process that is started to train; what a person has set about waiting stays."""
    waiting = {} if any(name in os.environ for name in WAITING) else WAITING
    return {**waiting, **roomy_environment()}


def start_apart(command: Sequence[str], workspace: Path, folder: Path) -> subprocess.Popen[bytes]:
    """Start a command of Inkcap in a session of its own; what it says goes into files of the folder."""
    with open(folder / OUT, "wb") as out, open(folder / ERRORS, "wb") as errors:
        # Neither Ctrl-C in this terminal nor the end of this process reaches another session.
        return subprocess.Popen(  # noqa: S603
            [sys.executable, "-m", "inkcap", *command],
            stdin=subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            env={**os.environ, **training_environment()},
            cwd=workspace,
            start_new_session=True,
        )


def complaint(folder: Path) -> str:
    """Give what a command that was started with this folder had to complain about, in its last words."""
    with suppress(OSError):
        text = (folder / ERRORS).read_text(encoding="utf-8", errors="replace").strip().removeprefix("inkcap: ")
        # Of a fault of Inkcap itself the last line says what it is.
        return f"{TRACE}\n{text.splitlines()[-1]}" if TRACE in text else text[-LONGEST_WORDS:]
    return ""
