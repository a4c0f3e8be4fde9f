"""Studios that start in an instant: a process that has imported everything forks one whenever it is asked.

A studio from here is a process like any other, killed like any other; only its imports were done before. Run as a
program it is that process; ``Nursery`` starts and asks it.
"""

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


class Nursery:
    """The process that forks studios for one workspace."""

    def __init__(self, workspace: Path) -> None:
        self.workspace, self.state = workspace, workspace.parent / "state"
        environment = {**os.environ, "PYTHONPATH": str(SOURCE), "XDG_STATE_HOME": str(self.state)}
        self._process = subprocess.Popen(
            [sys.executable, __file__, str(workspace)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.DEVNULL,
            text=True,
            env=environment,
        )
        self._lines: Queue[str] = Queue()
        threading.Thread(target=self._read, daemon=True).start()
        assert self._lines.get(timeout=120) == "ready\n"

    def _read(self) -> None:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            self._lines.put(line)

    def fork(self) -> int:
        """Begin to start a studio, and give the number of its process."""
        while not self._lines.empty():
            self._lines.get()
        assert self._process.stdin is not None
        self._process.stdin.write("\n")
        self._process.stdin.flush()
        return int(self._lines.get(timeout=60))

    def start(self) -> "Forked":
        """Start a studio and wait until it answers."""
        pid = self.fork()
        while True:
            try:
                line = self._lines.get(timeout=60)
            except Empty:
                raise AssertionError("the studio says nothing") from None
            if line.startswith("failed"):
                raise AssertionError(line)
            if found := re.fullmatch(STARTED, line):
                return Forked(self, pid, found)

    def close(self) -> None:
        self._process.kill()
        self._process.communicate()

    def __enter__(self) -> "Nursery":
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


class Forked(Server):
    """A studio from a nursery."""

    def __init__(self, nursery: Nursery, pid: int, found: re.Match[str]) -> None:
        self.workspace, self.pid = nursery.workspace, pid
        self.read_address(found, nursery.state)

    def kill(self) -> None:
        end(self.pid)


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
    print("ready", flush=True)
    for _ in sys.stdin:
        pid = os.fork()
        if pid:
            print(pid, flush=True)
            continue
        signal.signal(signal.SIGCHLD, signal.SIG_DFL)
        os.dup2(os.open(os.devnull, os.O_RDONLY), 0)
        try:
            serve(workspace, port=0)
        except BaseException as error:
            print(f"failed: {error!r}", flush=True)
        os._exit(0)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
