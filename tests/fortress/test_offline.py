"""S12: the program speaks to this machine alone, and works where there is no other.

In a network of its own, which has loopback and nothing else, the studio is started, a drawing is made, trained and
exported, and a run is asked; the system calls tell whom any process of it tried to reach.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

import offline

ROOT = Path(__file__).resolve().parents[2]
CALLS = "connect,sendto,sendmsg,sendmmsg"
ELSEWHERE = re.compile(
    r"sa_family=(AF_\w+)(?:, sin6?_port=htons\(\d+\))?(?:, .*?(?:inet_addr\(\"|inet_pton\(AF_INET6, \"))?([\w.:]*)"
)
HERE = ("127.", "::1", "::ffff:127.")

pytestmark = pytest.mark.skipif(not offline.prefix(), reason="this machine gives no network of one's own (unshare, ip)")


def reached(trace: str) -> list[str]:
    """The calls of a trace that went, or would have gone, to anything but this machine."""
    inside = ("AF_UNIX", "AF_NETLINK", "AF_UNSPEC")
    return [
        line
        for line in trace.splitlines()
        for family, address in ELSEWHERE.findall(line)
        if family not in inside and not address.startswith(HERE)
    ]


@pytest.mark.skipif(shutil.which("strace") is None, reason="there is no strace, which tells whom a process reaches")
def test_drawing_training_exporting_and_asking_speak_to_this_machine_alone(tmp_path: Path, tally) -> None:
    trace = tmp_path / "calls"
    strace = ["strace", "-f", "-qq", "--seccomp-bpf", "-e", f"trace={CALLS}", "-e", "signal=none", "-o", str(trace)]
    paths = os.pathsep.join(str(ROOT / folder) for folder in ("src", "tests/support"))
    quiet = {"PYTHONPATH": paths, "OMP_NUM_THREADS": "1", "XDG_CACHE_HOME": str(tmp_path / "cache")}
    script = [sys.executable, str(ROOT / "tests" / "support" / "unplugged.py"), str(tmp_path / "workspace")]
    done = subprocess.run(
        [*offline.prefix(), *strace, *script],
        env={**os.environ, **quiet},
        capture_output=True,
        text=True,
        timeout=600,
    )
    assert done.returncode == 0, done.stderr[-3000:]
    assert done.stdout.startswith("exported ")
    text = trace.read_text(encoding="utf-8", errors="replace")
    connections = [line for line in text.splitlines() if "connect(" in line]
    assert any("127.0.0.1" in line for line in connections)  # the tab reached the studio, and that was seen
    assert reached(text) == []
    tally("S12", what="calls in a day of the studio", calls=len(text.splitlines()), elsewhere=0)


def test_there_is_no_way_out_of_such_a_network() -> None:
    code = "import socket; socket.create_connection(('8.8.8.8', 53), timeout=5)"
    done = subprocess.run([*offline.prefix(), sys.executable, "-c", code], capture_output=True, text=True, timeout=60)
    assert done.returncode == 1
    assert "Network is unreachable" in done.stderr


@pytest.mark.parametrize(
    ("line", "seen"),
    [
        ('7 connect(3, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("8.8.8.8")}, 16) = -1', True),
        (
            "7 connect(3, {sa_family=AF_INET6, sin6_port=htons(443), sin6_flowinfo=htonl(0), "
            'inet_pton(AF_INET6, "2606:4700::1111", &sin6_addr), sin6_scope_id=0}, 28) = -1',
            True,
        ),
        ('7 sendto(3, "x", 1, 0, {sa_family=AF_INET, sin_port=htons(53), sin_addr=inet_addr("10.0.0.2")}, 16)', True),
        ('7 connect(3, {sa_family=AF_INET, sin_port=htons(8765), sin_addr=inet_addr("127.0.0.1")}, 16) = 0', False),
        (
            "7 connect(3, {sa_family=AF_INET6, sin6_port=htons(1), sin6_flowinfo=htonl(0), "
            'inet_pton(AF_INET6, "::1", &sin6_addr), sin6_scope_id=0}, 28) = 0',
            False,
        ),
        ('7 connect(3, {sa_family=AF_UNIX, sun_path="/run/x"}, 110) = 0', False),
    ],
)
def test_the_judge_tells_this_machine_from_others(line: str, seen: bool) -> None:
    assert bool(reached(line)) is seen
