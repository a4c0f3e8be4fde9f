"""Machines of their own on one machine: each has its processes, its network, its name and its /tmp, and sees a folder.

They are namespaces of Linux, joined by a bridge that is in a namespace, too: nothing of this machine's own network is
touched, and all of it ends with the process that made it. Only root may make them.
"""

from __future__ import annotations

import os
import shlex
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path

from processes import command_of, wait_for

ROOT = Path(__file__).resolve().parents[2]
_TMP = "/tmp"  # noqa: S108
_TOOLS = ("unshare", "nsenter", "ip", "mount", "hostname")
_SPACES = ("--mount", "--net", "--uts", "--ipc", "--pid")
_COMMANDS = {
    "inkcap": "-m inkcap",
    "ray": "-m ray.scripts.scripts",
    "torchrun": "-m torch.distributed.run",
    "python": "",
}
_INIT = """
import os, time
print("up", flush=True)
while True:
    try:
        os.wait()
    except ChildProcessError:
        time.sleep(0.1)
"""
"""What the first process of a machine does: it takes leave of those that nobody else waits for."""


def why_not() -> str:
    """Say why machines cannot be made here; nothing where they can."""
    if missing := [tool for tool in _TOOLS if shutil.which(tool) is None]:
        return f"{', '.join(missing)} not installed"
    if os.geteuid() != 0:
        return "only root may make namespaces"
    done = subprocess.run(
        ["unshare", *_SPACES, "--fork", "ip", "link", "add", "bridge0", "type", "bridge"], check=False
    )
    return "" if done.returncode == 0 else "namespaces or bridges cannot be made here"


@dataclass
class Host:
    """A machine: its first process, its address, and its own folder, which it sees as /tmp."""

    name: str
    address: str
    folder: Path
    init: int
    started: list[subprocess.Popen[bytes]] = field(default_factory=list[subprocess.Popen[bytes]])

    def start(self, command: str, **variables: str) -> tuple[subprocess.Popen[bytes], Path]:
        """Start a line of a shell in its shared folder; give the process, and the file with all that it says."""
        said = self.folder / f"said-{len(self.started)}.txt"
        own = {"PATH": f"{_TMP}/home/bin:{os.environ['PATH']}", "HOME": f"{_TMP}/home", "NO_COLOR": "1"}
        enter = ["nsenter", "--target", str(self.init), *_SPACES]
        with open(said, "wb") as out:
            process = subprocess.Popen(
                [*enter, "bash", "-c", f"cd {_TMP}/shared && {command}"],
                env={"LANG": "C.UTF-8", "OMP_NUM_THREADS": "1", "PYTHONUTF8": "1", **own, **variables},
                stdin=subprocess.DEVNULL, stdout=out, stderr=subprocess.STDOUT,
            )  # fmt: skip
        self.started.append(process)
        return process, said

    def run(self, command: str, seconds: float = 240, **variables: str) -> str:
        """Run a line of a shell, and give what it says."""
        process, said = self.start(command, **variables)
        code = process.wait(seconds)
        assert code == 0, f"{self.name}: {command}\n{said.read_text()}"
        return said.read_text()

    def processes(self, word: str = "") -> list[int]:
        """Give the machine's processes whose command has a word in it."""
        own, found = os.readlink(f"/proc/{self.init}/ns/pid"), list[int]()
        for entry in Path("/proc").glob("[0-9]*"):
            with suppress(OSError):
                if os.readlink(entry / "ns" / "pid") == own and word in command_of(int(entry.name)):
                    found.append(int(entry.name))
        return found

    def listening(self) -> dict[int, str]:
        """Give the ports that can be reached from elsewhere, each with the command of whoever listens there."""
        owners: dict[str, str] = {}
        for pid in self.processes():
            for link in Path(f"/proc/{pid}/fd").glob("*"):
                with suppress(OSError):
                    owners[os.readlink(link)] = command_of(pid)
        found: dict[int, str] = {}
        for table in ("tcp", "tcp6"):
            for line in Path(f"/proc/{self.init}/net/{table}").read_text().splitlines()[1:]:
                words = line.split()
                address, _, port = words[1].rpartition(":")
                if words[3] == "0A" and address not in _LOOPBACKS:
                    found[int(port, 16)] = owners.get(f"socket:[{words[9]}]", "")
        return found


_LOOPBACKS = ("0100007F", "00000000000000000000000001000000", "0000000000000000FFFF00000100007F")


@contextmanager
def hosts(addresses: dict[str, str], shared: Path) -> Iterator[list[Host]]:
    """Make machines with names and addresses of one network; each sees a folder as /tmp/shared."""
    with ExitStack() as stack:
        switch = stack.enter_context(_space(["sleep", "infinity"], ("--net",)))
        _ip(switch, "link add bridge0 type bridge")
        _ip(switch, "link set bridge0 up")
        made: list[Host] = []
        for number, (name, address) in enumerate(addresses.items()):
            folder = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="host-", ignore_cleanup_errors=True)))
            init = stack.enter_context(_space(_first_process(name, folder, shared), _SPACES))
            _ip(switch, f"link add port{number} type veth peer name eth0 netns {init}")
            _ip(switch, f"link set port{number} master bridge0 up")
            _ip(init, f"address add {address}/24 dev eth0")
            for link in ("lo", "eth0"):
                _ip(init, f"link set {link} up")
            made.append(Host(name, address, folder, init))
        yield made


def _first_process(name: str, folder: Path, shared: Path) -> list[str]:
    """Give what sets a machine up from inside: its own /tmp, in which what the tests need is still found, its name."""
    (folder / "home" / "bin").mkdir(parents=True)
    for command, module in _COMMANDS.items():
        # By this very Python: scripts of an environment that was copied call the one that it was copied from.
        script = folder / "home" / "bin" / command
        script.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} {module} "$@"\n')
        script.chmod(0o755)
    # As Debian writes it: the machine's own name is an address that nobody else reaches.
    (folder / "hosts").write_text(f"127.0.0.1 localhost\n127.0.1.1 {name}\n")
    kept = {Path(_TMP, "shared"): shared}
    kept |= {path: path for path in (ROOT, Path(sys.prefix), Path(sys.base_prefix))}
    steps = ["mount --make-rprivate /", f"mount --bind {shlex.quote(str(folder / 'hosts'))} /etc/hosts"]
    for place, path in kept.items():
        if place.is_relative_to(_TMP):
            inside = folder / place.relative_to(_TMP)
            inside.mkdir(parents=True, exist_ok=True)
            steps.append(f"mount --rbind {shlex.quote(str(path))} {shlex.quote(str(inside))}")
    python = [sys.executable, "-I", "-S", "-c", _INIT]
    steps += [f"mount --rbind {shlex.quote(str(folder))} {_TMP}", "mount -t proc proc /proc", f"hostname {name}"]
    return ["sh", "-ec", f"{'; '.join(steps)}; cd /; exec {shlex.join(python)}"]


@contextmanager
def _space(command: list[str], spaces: tuple[str, ...]) -> Iterator[int]:
    """Start a process in namespaces of its own, and give its number; with it ends all that is in them."""
    fork = ["--fork", "--kill-child"] if "--pid" in spaces else []
    with subprocess.Popen(["unshare", *spaces, *fork, *command], stdout=subprocess.PIPE) as process:
        try:
            if fork:
                assert process.stdout is not None
                assert process.stdout.readline() == b"up\n"
                yield int(Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()[0])
            else:
                own = os.readlink("/proc/self/ns/net")
                wait_for(lambda: os.readlink(f"/proc/{process.pid}/ns/net") != own)
                yield process.pid
        finally:
            process.kill()


def _ip(inside: int, words: str) -> None:
    subprocess.run(["nsenter", "--target", str(inside), "--net", "ip", *words.split()], check=True)
