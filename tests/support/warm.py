"""A warm `inkcap`: a process that has imported everything once and forks for each command that is typed.

A documented command takes seconds to import PyTorch and a tenth of one to do its work. `warm_commands` puts an
`inkcap` into a folder for the PATH; it hands its words, folder, environment and open files to the waiting process,
whose child runs the very same `main`. What is said, what is written and the exit code are those of any other process.
"""

from __future__ import annotations

import contextlib
import importlib
import json
import os
import pkgutil
import signal
import socket
import stat
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import inkcap

SLOW = ("sklearn.datasets", "torch._dynamo", "torch.export", "torch.onnx", "onnxscript", "onnxruntime")
"""What commands import only when they need it: each takes seconds."""

SHIM = """#!{python} -IS
import json, os, socket, sys
line = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
line.connect({address!r})
told = json.dumps({{"words": sys.argv[1:], "folder": os.getcwd(), "environment": dict(os.environ)}}).encode()
socket.send_fds(line, [len(told).to_bytes(4, "big")], [0, 1, 2])
line.sendall(told)
answer = line.recv(4)
sys.exit(int.from_bytes(answer, "big", signed=True) if len(answer) == 4 else 70)
"""


def _exactly(line: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        more = line.recv(count - len(found))
        if not more:
            raise EOFError
        found += more
    return found


def _run(line: socket.socket) -> int:
    """Take one command from the line and run it in this process, which is its own."""
    size, files, _, _ = socket.recv_fds(line, 4, 3)
    told = json.loads(_exactly(line, int.from_bytes(size, "big")))
    for number, file in enumerate(files):
        os.dup2(file, number)
    os.chdir(told["folder"])
    os.environ.clear()
    os.environ.update(told["environment"])
    sys.argv = ["inkcap", *told["words"]]
    sys.stdin, sys.stdout, sys.stderr = (os.fdopen(number, how) for number, how in enumerate("rww"))
    from inkcap.cli import main

    try:
        main()
    except SystemExit as stop:
        return stop.code if isinstance(stop.code, int) else int(stop.code is not None)
    finally:
        sys.stdout.flush()
        sys.stderr.flush()
    return 0


def _answer(line: socket.socket) -> None:
    """Run a command in a child of its own and tell its exit code, as long as whoever typed it waits."""
    child = os.fork()
    if child == 0:
        signal.signal(signal.SIGINT, signal.default_int_handler)
        code = 70
        try:
            code = _run(line)
        finally:
            os._exit(code)
    _, status = os.waitpid(child, 0)
    with contextlib.suppress(OSError):
        line.sendall(os.waitstatus_to_exitcode(status).to_bytes(4, "big", signed=True))


def serve(address: str) -> None:
    """Import what commands need, then fork for each one until the process is ended."""
    import torch

    from inkcap.exchange.keras_proof import load_keras

    for module in pkgutil.walk_packages(inkcap.__path__, "inkcap."):
        # The benchmark's peers may not be installed.
        if not module.name.endswith("__main__") and not module.name.startswith("inkcap.bench."):
            importlib.import_module(module.name)
    for name in SLOW:
        importlib.import_module(name)
    load_keras()
    torch.set_num_threads(1)
    door = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    door.bind(address)
    door.listen()
    print("ready", flush=True)
    while True:
        line, _ = door.accept()
        # Pipelines have several commands at once: each is waited for by a process of its own.
        if os.fork() == 0:
            door.close()
            _answer(line)
            os._exit(0)
        line.close()
        with contextlib.suppress(ChildProcessError):
            while os.waitpid(-1, os.WNOHANG) != (0, 0):
                pass


@contextlib.contextmanager
def warm_commands(folder: Path) -> Iterator[Path]:
    """Put a warm `inkcap` into a folder for the PATH; its own path must be short, as an address is."""
    address = str(folder / "line")
    shim = folder / "inkcap"
    shim.write_text(SHIM.format(python=sys.executable, address=address), encoding="utf-8")
    shim.chmod(shim.stat().st_mode | stat.S_IXUSR)
    environment = {**os.environ, "OMP_NUM_THREADS": "1", "NO_COLOR": "1", "PYTHONUTF8": "1"}
    command = [sys.executable, __file__, address]
    with subprocess.Popen(command, stdout=subprocess.PIPE, env=environment, start_new_session=True) as server:
        assert server.stdout is not None
        assert server.stdout.readline() == b"ready\n"
        try:
            yield shim.parent
        finally:
            os.killpg(server.pid, signal.SIGKILL)


if __name__ == "__main__":
    serve(sys.argv[1])
