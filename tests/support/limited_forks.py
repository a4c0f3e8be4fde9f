"""Cases that may kill: a process that has loaded everything once forks a limited child for a batch of them.

A child that dies, takes too long over a case or takes too much memory is one finding, with the number of the case that
it was at; another goes on behind it. This module runs in a process of its own, see `run`.
"""

from __future__ import annotations

import importlib
import json
import mmap
import os
import resource
import signal
import struct
import subprocess
import sys
import tempfile
import time
import traceback
from collections import Counter
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import inkcap

SUPPORT = Path(__file__).parent
SOURCE = Path(inkcap.__file__).parents[1]
BATCH = 500


@dataclass
class Told:
    """What a campaign gives: how the cases ended, what broke, and the most that was taken."""

    ends: dict[str, int] = field(default_factory=dict)
    broken: list[list[Any]] = field(default_factory=list)
    longest: float = 0.0
    """Seconds of the processor for one case."""
    longest_case: int = -1
    memory: int = 0
    """Bytes that the largest child had in memory at once."""
    forks: int = 0
    seconds: float = 0.0


class Campaign:
    """Cases by their numbers: a module of the tests gives one as its `campaign`."""

    seconds = 1.0
    """Of the processor, for one case; the system ends the child that takes longer."""
    room = 3 << 29
    """Bytes that a child may take beyond what its parent holds."""

    def prepare(self) -> None:
        """Load what every case needs; called once, before the first fork."""

    def enter(self) -> None:
        """Called in each child, before its limits hold."""

    def case(self, seed: int, number: int) -> str:
        """Do a case and say how it ended; what breaks the promise raises."""
        raise NotImplementedError


def run(module: str, seed: int, count: int, patience: float, first: int = 0) -> Told:
    """Run a campaign in a process of its own; the module is one that tests can import."""
    paths = [str(SUPPORT), str(SOURCE)]
    threads = dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"), "1")
    done = subprocess.run(
        [sys.executable, "-W", "ignore", "-m", "limited_forks", module, str(seed), str(count), str(first)],
        capture_output=True,
        text=True,
        env={**os.environ, **threads, "PYTHONPATH": os.pathsep.join(paths)},
        timeout=patience,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    return Told(**json.loads(done.stdout.splitlines()[-1]))


class _Board:
    """Memory that parent and child share: the number of the case at work, and the longest so far."""

    FORM = struct.Struct("qdq")

    def __init__(self) -> None:
        self._memory = mmap.mmap(-1, self.FORM.size)

    def write(self, number: int, longest: float, case: int) -> None:
        self._memory[:] = self.FORM.pack(number, longest, case)

    def read(self) -> tuple[int, float, int]:
        return self.FORM.unpack(self._memory[:])


def _vast() -> int:
    """Bytes of addresses that this process holds."""
    return int(Path("/proc/self/statm").read_text().split()[0]) * resource.getpagesize()


def _child(campaign: Campaign, seed: int, numbers: range, board: _Board, notes: Path) -> None:
    campaign.enter()
    room = _vast() + campaign.room
    resource.setrlimit(resource.RLIMIT_AS, (room, room))
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    ends: Counter[str] = Counter()
    broken: list[list[Any]] = []
    longest, slowest = 0.0, -1
    for number in numbers:
        board.write(number, longest, slowest)
        # The default of the signal ends the process, even one that is deep in a library.
        signal.setitimer(signal.ITIMER_PROF, campaign.seconds)
        started = time.process_time()
        try:
            ends[campaign.case(seed, number)] += 1
        except Exception:
            broken.append([number, traceback.format_exc()[-900:]])
        taken = time.process_time() - started
        if taken > longest:
            longest, slowest = taken, number
    signal.setitimer(signal.ITIMER_PROF, 0)
    board.write(numbers.stop, longest, slowest)
    notes.write_text(json.dumps([ends, broken]))


def _batch(campaign: Campaign, seed: int, numbers: range, told: Told, notes: Path) -> int:
    """Let a child do cases; give the number after the last that it did."""
    board = _Board()
    board.write(numbers.start, 0.0, -1)
    notes.unlink(missing_ok=True)
    told.forks += 1
    if (pid := os.fork()) == 0:
        code = 1
        try:
            _child(campaign, seed, numbers, board, notes)
            code = 0
        except BaseException:
            traceback.print_exc()
        finally:
            os._exit(code)
    _, status, usage = os.wait4(pid, 0)
    at, longest, slowest = board.read()
    told.memory = max(told.memory, usage.ru_maxrss * 1024)
    if longest > told.longest:
        told.longest, told.longest_case = longest, slowest
    if status == 0:
        ends, broken = json.loads(notes.read_text())
        told.ends = dict(Counter(told.ends) + Counter(ends))
        told.broken += broken
        return numbers.stop
    if os.WIFSIGNALED(status) and os.WTERMSIG(status) == signal.SIGPROF:
        told.broken.append([at, f"took more than {campaign.seconds} s of the processor"])
    else:
        told.broken.append([at, f"the child ended with {os.waitstatus_to_exitcode(status)}"])
    # What came before the one that broke is done again, so that its counts are not lost.
    if at > numbers.start:
        _batch(campaign, seed, range(numbers.start, at), told, notes)
    return at + 1


def main() -> None:
    """Run the campaign that the command line names."""
    module, seed, count, first = sys.argv[1], *map(int, sys.argv[2:5])
    campaign: Campaign = importlib.import_module(module).campaign
    campaign.prepare()
    told = Told()
    with tempfile.TemporaryDirectory(prefix="inkcap-forks-") as folder:
        notes = Path(folder, "notes.json")
        number = first
        while number < first + count and len(told.broken) < 100:
            number = _batch(campaign, seed, range(number, min(number + BATCH, first + count)), told, notes)
            print(f"{number - first} of {count}: {told.ends}, {len(told.broken)} broken", file=sys.stderr, flush=True)
    mine, theirs = resource.getrusage(resource.RUSAGE_SELF), resource.getrusage(resource.RUSAGE_CHILDREN)
    told.seconds = mine.ru_utime + mine.ru_stime + theirs.ru_utime + theirs.ru_stime
    print(json.dumps(asdict(told)))


if __name__ == "__main__":
    main()
