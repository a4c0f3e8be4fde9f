"""The kernel's own tracing of a child, as strace does it, but in one process: each system call is seen, and may fail.

A child costs a fork in place of a new interpreter, so that every single call of an action can be made to fail. What
SQLite writes by its own hands is seen like what Python writes.
"""

from __future__ import annotations

import ctypes
import errno
import os
import platform
import signal
import struct
import sys
import traceback
from collections.abc import Callable
from dataclasses import dataclass, field

SUPPORTED = sys.platform == "linux" and platform.machine() == "x86_64"

_TRACEME, _GETREGS, _SETREGS, _SYSCALL, _SETOPTIONS = 0, 12, 13, 24, 0x4200
_OPTIONS = 0x1 | 0x2 | 0x4 | 0x8 | 0x100000
"""Mark stops at calls, follow forks and threads, and take the child along when this process ends."""
_WALL = 0x40000000
_AT_CALL = signal.SIGTRAP | 0x80

_RAX, _RDX, _ORIG_RAX = 10, 12, 15
_ARGUMENTS = (14, 13, 12, 7, 9, 8)
"""The places of the registers that hold a call's number, result and arguments."""

CALLS = {
    1: "write", 18: "pwrite64", 20: "writev", 74: "fsync", 75: "fdatasync", 76: "truncate", 77: "ftruncate",
    82: "rename", 83: "mkdir", 84: "rmdir", 86: "link", 87: "unlink", 257: "openat", 258: "mkdirat", 263: "unlinkat",
    264: "renameat", 265: "linkat", 285: "fallocate", 296: "pwritev", 316: "renameat2", 326: "copy_file_range",
    40: "sendfile", 110: "getppid",
}  # fmt: skip
TOLD = "getppid"
"""A call that nothing else makes here: an action makes it for each thing that it announces."""
PUTTING = ("write", "pwrite64")

DONE, REFUSED, BROKEN = 0, 3, 4
"""How a child ends: well, with an error that a user is told, or with one that nobody has thought of."""


class Registers(ctypes.Structure):
    """The registers of a stopped process."""

    _fields_ = (("all", ctypes.c_ulonglong * 27),)


@dataclass
class Call:
    """A system call of a process, with its arguments."""

    process: int
    name: str
    arguments: tuple[int, ...]

    @property
    def writes(self) -> bool:
        """Whether it changes what is on a disk."""
        return self.name != TOLD and (self.name != "openat" or bool(self.arguments[2] & os.O_CREAT))

    def memory(self, place: int, size: int) -> bytes:
        """Read what the process has at a place."""
        with open(f"/proc/{self.process}/mem", "rb") as file:
            file.seek(place)
            return file.read(size)

    def text(self, argument: int) -> str:
        """Read an argument that is a path; memory is read page by page, since the next one may not be there."""
        place, found = self.arguments[argument], b""
        while b"\0" not in found:
            found += self.memory(place + len(found), 4096 - (place + len(found)) % 4096)
        return os.fsdecode(found.partition(b"\0")[0])


class Watcher:
    """Sees each call of the child; this one only counts what was announced."""

    def __init__(self) -> None:
        """Begin with nothing."""
        self.told = 0

    def enter(self, call: Call) -> str:
        """Say what is to become of a call: nothing, KILL, short, torn, or the name of an error."""
        self.told += call.name == TOLD
        return ""

    def leave(self, call: Call, result: int) -> None:
        """Hear what came of a call."""


@dataclass
class _Stopped:
    """A thread of the child between the entry of a call and its end."""

    call: Call | None = None
    fate: str = ""
    inside: bool = field(default=False)


def _ptrace(request: int, process: int, data: object = 0) -> None:
    libc = _libc()
    if libc.ptrace(request, process, 0, data) == -1:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))


def _libc() -> ctypes.CDLL:
    libc = ctypes.CDLL(None, use_errno=True)
    libc.ptrace.restype = ctypes.c_long
    libc.ptrace.argtypes = (ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p)
    return libc


def can_trace() -> bool:
    """Tell whether this machine lets a process trace its own child."""
    if not SUPPORTED:
        return False
    try:
        return traced(lambda: None, Watcher()) == DONE
    except OSError:
        return False


def traced(act: Callable[[], None], watcher: Watcher, seconds: int = 60) -> int:
    """Let a child act and show each of its calls to the watcher; give how it ended, a signal as a negative number."""
    child = os.fork()
    if not child:
        _live(act, seconds)
    _, status = os.waitpid(child, 0)
    if not os.WIFSTOPPED(status):
        raise OSError(errno.EPERM, "the child cannot be traced")
    _ptrace(_SETOPTIONS, child, _OPTIONS)
    threads: dict[int, _Stopped] = {child: _Stopped()}
    _ptrace(_SYSCALL, child)
    while True:
        process, status = os.waitpid(-1, _WALL)
        if not os.WIFSTOPPED(status):
            if process == child:
                return os.waitstatus_to_exitcode(status)
            continue
        known = process in threads
        thread = threads.setdefault(process, _Stopped())
        number, passed = os.WSTOPSIG(status), 0
        try:
            if number == _AT_CALL:
                _at_call(process, thread, watcher)
            elif number != signal.SIGTRAP and (known or number != signal.SIGSTOP):
                passed = number
            _ptrace(_SYSCALL, process, passed)
        except ProcessLookupError:
            # Killed meanwhile; the next look tells.
            continue


def _live(act: Callable[[], None], seconds: int) -> None:
    from inkcap.structures.errors import InkcapError

    code = BROKEN
    try:
        _ptrace(_TRACEME, 0)
        signal.alarm(seconds)
        os.kill(os.getpid(), signal.SIGSTOP)
        act()
        code = DONE
    except (InkcapError, OSError):
        code = REFUSED
    except BaseException:
        traceback.print_exc()
        sys.stderr.flush()
    finally:
        os._exit(code)


def _at_call(process: int, thread: _Stopped, watcher: Watcher) -> None:
    registers = Registers()
    _ptrace(_GETREGS, process, ctypes.addressof(registers))
    values = registers.all
    if not thread.inside:
        name = CALLS.get(values[_ORIG_RAX], "")
        thread.inside, thread.fate = True, ""
        thread.call = Call(process, name, tuple(values[place] for place in _ARGUMENTS)) if name else None
        if thread.call is not None:
            thread.fate = watcher.enter(thread.call)
        if thread.fate == "KILL":
            os.kill(process, signal.SIGKILL)
        elif thread.fate in ("short", "torn"):
            values[_RDX] = max(1, thread.call.arguments[2] // 2) if thread.call is not None else 0
            _ptrace(_SETREGS, process, ctypes.addressof(registers))
        elif thread.fate:
            # A call of no number is refused by the kernel before it does anything.
            values[_ORIG_RAX] = 2**64 - 1
            _ptrace(_SETREGS, process, ctypes.addressof(registers))
        return
    thread.inside = False
    call = thread.call
    if call is None:
        return
    if thread.fate == "torn":
        os.kill(process, signal.SIGKILL)
    elif thread.fate == "short":
        values[_RDX] = call.arguments[2]
        _ptrace(_SETREGS, process, ctypes.addressof(registers))
    elif thread.fate:
        values[_RAX] = 2**64 - getattr(errno, thread.fate)
        _ptrace(_SETREGS, process, ctypes.addressof(registers))
    watcher.leave(call, struct.unpack("q", struct.pack("Q", values[_RAX]))[0])
