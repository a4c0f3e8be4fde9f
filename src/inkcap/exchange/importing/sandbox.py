"""The limited process: what comes from elsewhere is read in a process that can take little memory, time and disk."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import tempfile
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from inkcap.exchange.importing import limits
from inkcap.exchange.importing.errors import ImportRefused

CHILD = "inkcap.exchange.importing.child"
KEPT = ("PATH", "SYSTEMROOT", "TEMP", "TMP", "LANG", "LC_ALL", "HOME")
"""What the limited process sees of the environment: nothing that could hold a secret."""


@contextmanager
def desk() -> Generator[Path]:
    """Give a folder in which the limited process leaves what it made."""
    with tempfile.TemporaryDirectory(prefix="inkcap-import-") as folder:
        yield Path(folder)


def run_limited(task: str, folder: Path, content: bytes, arguments: Sequence[str] = ()) -> dict[str, Any]:
    """Let the limited process do a task on bytes; give what it answers, or raise what it refused."""
    command = [sys.executable, "-B", "-m", CHILD, task, str(folder), *arguments]
    with subprocess.Popen(  # noqa: S603 - our own module, with no word of a person's in it
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        env=_environment(),
        cwd=folder,
        start_new_session=True,
    ) as process:
        try:
            answer, said = process.communicate(content, timeout=limits.WALL_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.communicate()
            raise ImportRefused(f"it took more than {limits.WALL_SECONDS} s, which is the most that is given") from None
        except BaseException:
            process.kill()
            raise
    if process.returncode != 0:
        raise ImportRefused(_reason(process.returncode, said))
    try:
        told: Any = json.loads(answer)
    except ValueError:
        raise ImportRefused("the limited process gave no answer that can be read; the model is damaged") from None
    if "refused" in told:
        raise ImportRefused(told["refused"])
    return told


def _environment() -> dict[str, str]:
    kept = {name: os.environ[name] for name in KEPT if name in os.environ}
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    return {**kept, **threads, "PYTHONPATH": os.pathsep.join(entry for entry in sys.path if entry), "PYTHONUTF8": "1"}


def _reason(code: int, said: bytes) -> str:
    """Say why the limited process ended without an answer."""
    memory = limits.MEMORY_BYTES // 2**30
    if code in (-_number("SIGXCPU"), -_number("SIGKILL")):
        return f"it took more than {limits.CPU_SECONDS} s of computing, or was killed; that is the most that is given"
    if code == -_number("SIGXFSZ"):
        return f"it became more than {limits.OUTPUT_BYTES // 2**30} GiB, which is the most that is written"
    last = said.decode("utf-8", "replace").strip().splitlines()[-1:] or [""]
    told = "".join(letter for letter in last[0] if letter.isprintable())[:120]
    return (
        f"it could not be read within {memory} GiB of memory (process ended with {code}{f': {told}' if told else ''})"
    )


def _number(name: str) -> int:
    return int(getattr(signal, name, 0))


def limit_this_process() -> None:
    """Take away what reading a file does not need: memory, time, disk, files, the network where it can be had."""
    try:
        import resource
    except ImportError:
        # Windows has no such limits: there the time alone is limited, from outside.
        return
    wanted = {
        "RLIMIT_AS": limits.MEMORY_BYTES,
        "RLIMIT_CPU": limits.CPU_SECONDS,
        "RLIMIT_FSIZE": limits.OUTPUT_BYTES,
        "RLIMIT_NOFILE": limits.OPEN_FILES,
        "RLIMIT_CORE": 0,
    }
    for name, most in wanted.items():
        kind: int | None = getattr(resource, name, None)
        if kind is None:
            continue
        _, hard = resource.getrlimit(kind)
        least = most if hard == resource.RLIM_INFINITY else min(most, hard)
        try:
            resource.setrlimit(kind, (least, least))
        except (ValueError, OSError):
            # A system that does not know this limit; the others hold.
            continue
    _leave_the_network()


def _leave_the_network() -> None:
    """Move into a network of one's own, where nothing is; where that is not allowed, nothing is lost."""
    if not sys.platform.startswith("linux"):
        return
    import ctypes

    new_user, new_network = 0x10000000, 0x40000000
    try:
        ctypes.CDLL(None).unshare(new_user | new_network)
    except (OSError, AttributeError):
        return
