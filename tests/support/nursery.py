"""Studios that start in an instant: a process that has imported everything forks one whenever it is asked.

A studio from here is a process like any other, killed like any other; only its imports were done before. Run as a
program it is that process; ``Nursery`` starts and asks it.
"""

import io
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path
from queue import Empty, Queue

from serving import SOURCE, STARTED, Server

OWN = 0
"""The sign of the nursery's own words."""


class Nursery:
    """The process that forks studios for one workspace."""

    def __init__(self, workspace: Path) -> None:
        self.workspace, self.state = workspace, workspace.parent / "state"
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "XDG_STATE_HOME": str(self.state)}
        self._said = open(workspace.parent / "said.txt", "a+b")  # noqa: SIM115 - closed by close()
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(workspace)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=self._said,
            text=True,
            env=environment,
        )
        self._lines: dict[int, Queue[str]] = {}
        self._forked: set[int] = set()
        threading.Thread(target=self._read, daemon=True).start()
        assert self._of(OWN).get(timeout=120) == "ready"

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            who, _, words = line.rstrip("\n").partition(" ")
            self._of(int(who)).put(words)

    def _of(self, who: int) -> Queue[str]:
        # Whoever comes first, the thread that reads or the one that waits: it is one queue.
        return self._lines.setdefault(who, Queue())

    def fork(self) -> int:
        """Begin to start a studio, and give the number of its process."""
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        pid = int(self._of(OWN).get(timeout=60))
        self._forked.add(pid)
        return pid

    def start(self) -> "Forked":
        """Start a studio and wait until it answers."""
        return self.await_start(self.fork())

    def await_start(self, pid: int) -> "Forked":
        """Wait until a studio answers that was forked; an AssertionError says why it does not."""
        while True:
            try:
                line = self._of(pid).get(timeout=60)
            except Empty:
                raise AssertionError("the studio says nothing") from None
            if line.startswith("failed"):
                raise AssertionError(line)
            if found := re.fullmatch(STARTED, f"{line}\n"):
                return Forked(self, pid, found)

    def end(self, pid: int) -> None:
        """Kill a studio that was forked, and wait until it is gone."""
        # Once: the number may be another's afterwards.
        if pid in self._forked:
            self._forked.remove(pid)
            end(pid)

    def said(self) -> str:
        """Give what the studios said of faults of their own."""
        return Path(self._said.name).read_text(errors="replace")

    def close(self) -> None:
        self._process.kill()
        # A studio that a broken test has left would keep the pipe open for ever.
        for pid in list(self._forked):
            self.end(pid)
        self._process.communicate()
        self._said.close()

    def __enter__(self) -> "Nursery":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Forked(Server):
    """A studio from a nursery."""

    def __init__(self, nursery: Nursery, pid: int, found: re.Match[str]) -> None:
        self.workspace, self.pid, self._nursery = nursery.workspace, pid, nursery
        self.read_address(found, nursery.state)

    def kill(self) -> None:
        self._nursery.end(self.pid)


def say(who: int, line: str) -> None:
    """Say a line through the pipe, in one piece."""
    os.write(1, f"{who} {line}\n".encode())


class _Signed(io.TextIOBase):
    """What one studio says, with its number before each line: several speak through one pipe."""

    def write(self, text: str) -> int:
        for line in text.splitlines():
            say(os.getpid(), line)
        return len(text)


def end(pid: int) -> None:
    """Kill a process and wait until it is gone."""
    try:
        os.kill(pid, signal.SIGKILL)
        while True:
            os.kill(pid, 0)
            time.sleep(0.002)
    except ProcessLookupError:
        return


def main(workspace: Path) -> None:
    """Fork a studio for each line that comes."""
    from inkcap.studio.server import serve

    # Children are not asked after: they are killed, and must leave no zombies.
    signal.signal(signal.SIGCHLD, signal.SIG_IGN)
    say(OWN, "ready")
    for _ in sys.stdin:
        pid = os.fork()
        if pid:
            say(OWN, str(pid))
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        sys.stdout = _Signed()
        try:
            serve(workspace, port=0)
        except BaseException as error:
            print(f"failed: {error!r}", flush=True)
        os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
