"""Commands of Inkcap that outlive the process that starts them: a training, a sweep."""

import _thread
import os
import platform
import subprocess
import sys
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from pathlib import Path

from inkcap.recipes.liveness import wish_to_stop

OUT, ERRORS = "out.txt", "errors.txt"
LONGEST_WORDS = 2_000
TRACE = "Traceback (most recent call last):"

BOUND = "INKCAP_BOUND"
"""Set for a process that is to end with the one that started it, by the end of its standard input."""

TUNABLES = "GLIBC_TUNABLES"
_HUGE_PAGES = "glibc.malloc.hugetlb"

WAITING = {"OMP_WAIT_POLICY": "passive", "GOMP_SPINCOUNT": "10000"}
"""How threads wait for each other: awake for a tenth of a millisecond, which bridges the gaps within a step, and asleep
after that. Ones that sleep at once are woken in every operation, ones that never sleep take the processor from others.
"""


ASLEEP = {"OMP_WAIT_POLICY": "passive"}
"""How threads wait where others want the processors: one that is awake keeps them from whoever it waits for."""
_STAT = Path("/proc/stat")
_LOOK = 0.1
_BUSY = 0.4
"""The share of the processors from which on others want them."""


def waiting() -> dict[str, str]:
    """Give how the threads of a process are to wait, by how busy the processors are at this moment."""
    try:
        before = _STAT.read_text()
        time.sleep(_LOOK)
        return ASLEEP if busy_share(before, _STAT.read_text()) > _BUSY else WAITING
    except (OSError, ValueError):
        return WAITING


def busy_share(before: str, after: str) -> float:
    """Tell from two looks at the kernel's counts which share of the processors was at work, but for nice processes."""
    first, last = ([int(count) for count in text.split("\n", 1)[0].split()[1:9]] for text in (before, after))
    passed = [end - start for start, end in zip(first, last, strict=True)]
    # User, nice, system, idle, waiting for disks, two kinds of interrupts, and what neighbours have taken.
    return (passed[0] + passed[2] + passed[7]) / max(1, sum(passed))


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
    chosen = {} if any(name in os.environ for name in WAITING) else waiting()
    return {**chosen, **roomy_environment()}


def start_apart(
    command: Sequence[str],
    workspace: Path,
    folder: Path,
    *,
    variables: Mapping[str, str] | None = None,
    bound: bool = False,
    by: Sequence[str] = (),
) -> subprocess.Popen[bytes]:
    """Start a command of Inkcap in a session of its own; what it says goes into files of the folder.

    Its variables are those of this process unless others are given. One that is bound stops as by Ctrl-C when this
    process ends, however it ends, or closes what leads to it. It may be started by another program.
    """
    given = {**(os.environ if variables is None else variables), **training_environment()}
    with open(folder / OUT, "wb") as out, open(folder / ERRORS, "wb") as errors:
        # Neither Ctrl-C in this terminal nor the end of this process reaches another session.
        return subprocess.Popen(  # noqa: S603
            [*by, sys.executable, "-m", "inkcap", *command],
            stdin=subprocess.PIPE if bound else subprocess.DEVNULL,
            stdout=out,
            stderr=errors,
            env={**given, BOUND: "1"} if bound else given,
            cwd=workspace,
            start_new_session=True,
        )


def stop_when_left() -> None:
    """Stop this process as by Ctrl-C when the one that started it is gone, if it was started bound to it."""
    if not os.environ.pop(BOUND, ""):
        return

    def wait() -> None:
        # Nothing is ever written there: it ends when the last process that could write does.
        while os.read(0, 1):
            pass
        if os.name == "posix":
            os.kill(os.getpid(), wish_to_stop(os.getpid()))
        else:
            _thread.interrupt_main()

    threading.Thread(target=wait, daemon=True).start()


def complaint(folder: Path) -> str:
    """Give what a command that was started with this folder had to complain about, in its last words."""
    with suppress(OSError):
        text = (folder / ERRORS).read_text(encoding="utf-8", errors="replace").strip().removeprefix("inkcap: ")
        # Of a fault of Inkcap itself the last line says what it is.
        return f"{TRACE}\n{text.splitlines()[-1]}" if TRACE in text else text[-LONGEST_WORDS:]
    return ""
