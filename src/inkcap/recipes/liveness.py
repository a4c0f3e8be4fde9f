"""Whether the process that writes a run is still there: a killed one cannot say so itself."""

import hashlib
import os
import platform
import signal
from collections.abc import Generator
from contextlib import contextmanager, suppress
from pathlib import Path

from inkcap.structures.errors import InkcapError

_PROC = Path("/proc")
_GONE = "gone"


def own_process() -> str:
    """Give a mark of this process: its machine, the machine's start and its own, as far as they can be told."""
    return mark_of(os.getpid())


def mark_of(pid: int) -> str:
    """Give the mark of a process of this machine, which no later one with its number has."""
    return ":".join((_machine(), _machine_start(), _process_start(pid)))


def is_here(mark: str) -> bool:
    """Tell whether a mark is one of this machine's processes, as far as that can be told."""
    return mark.partition(":")[0] == _machine()


@contextmanager
def held(folder: Path, refusal: InkcapError | None = None) -> Generator[None]:
    """Hold a folder, so that two processes never write it at once; not every platform can.

    Where another holds it, the refusal is raised, or, if there is none, the other is waited for.
    """
    try:
        import fcntl
    except ImportError:
        yield
        return
    handle = os.open(folder, os.O_RDONLY)
    try:
        try:
            fcntl.flock(handle, fcntl.LOCK_EX | (fcntl.LOCK_NB if refusal else 0))
        except BlockingIOError:
            if refusal:
                raise refusal from None
        except OSError:
            # Some network file systems have no locks.
            pass
        yield
    finally:
        os.close(handle)


def has_ended(pid: int, mark: str) -> bool:
    """Tell whether the process of that number and mark is surely gone; a doubtful one counts as alive.

    The same number may have been given to another process since, so the times of start are compared where there are
    any. A process of another machine cannot be looked for.
    """
    if pid <= 0:
        return False
    _, machine_start, start = mark.split(":") if mark.count(":") == 2 else ("", "", "")
    if is_elsewhere(mark):
        return False
    if machine_start and machine_start != _machine_start():
        return True
    found = _process_start(pid)
    if found == _GONE:
        return True
    if found:
        return bool(start) and found != start
    return not _is_there(pid)


def is_elsewhere(mark: str) -> bool:
    """Tell whether a mark is that of a process of another machine, which cannot be looked for."""
    machine = mark.partition(":")[0] if mark.count(":") == 2 else ""
    return bool(machine) and machine != _machine()


def interrupt(pid: int, mark: str) -> str:
    """Ask a process to stop as Ctrl-C does, if it is the one of that mark; give why that could not be done, or nothing.

    A number that was given to another process since is left alone. Where the kernel has handles of processes, not even
    one that ends between the look and the signal can be mistaken.
    """
    if pid <= 0 or has_ended(pid, mark):
        return "its process has ended"
    start = mark.split(":")[2] if mark.count(":") == 2 else ""
    if is_elsewhere(mark):
        return "it runs on another machine"
    try:
        handle = os.pidfd_open(pid) if hasattr(os, "pidfd_open") else None
    except OSError:
        handle = None
    try:
        if _process_start(pid) != start:
            return f"the process {pid} is not surely its own"
        if handle is not None:
            signal.pidfd_send_signal(handle, wish_to_stop(pid))
        else:
            os.kill(pid, wish_to_stop(pid))
    except OSError as problem:
        return problem.strerror or str(problem)
    finally:
        if handle is not None:
            os.close(handle)
    return ""


def wish_to_stop(pid: int) -> signal.Signals:
    """Give the signal that a process takes as the wish to stop.

    A shell that starts something in the background lets it ignore what Ctrl-C sends, and whatever it starts itself.
    """
    ignored = 0
    with suppress(OSError, ValueError):
        for line in (_PROC / str(pid) / "status").read_text(errors="replace").splitlines():
            if line.startswith("SigIgn:"):
                ignored = int(line.split()[1], 16)
    deaf = bool(ignored >> (signal.SIGINT - 1) & 1)
    return signal.SIGTERM if deaf or os.name != "posix" else signal.SIGINT


def _digest(text: str) -> str:
    return hashlib.sha256(text.encode()).hexdigest()[:12] if text else ""


def _machine() -> str:
    return _digest(platform.node())


def _machine_start() -> str:
    try:
        return _digest((_PROC / "sys/kernel/random/boot_id").read_text().strip())
    except OSError:
        return ""


def _process_start(pid: int) -> str:
    """Give when a process started, in the kernel's own count; empty when that cannot be told."""
    try:
        # The name in the second place may hold blanks and brackets; the state is the first word after it.
        words = (_PROC / str(pid) / "stat").read_text().rpartition(")")[2].split()
    except (OSError, UnicodeDecodeError):
        return ""
    # One that is dead, but whose parent has not asked after it yet, still has its number.
    return "" if len(words) < 20 else _GONE if words[0] in "ZX" else words[19]


def _is_there(pid: int) -> bool:
    if os.name == "nt":
        # Asking by a signal would end the process there.
        return True
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return False
    except (OSError, OverflowError):
        return True
    return True
