"""A Ray of one's own listens on loopback alone, knows its token, and leaves nothing behind."""

import json
import os
import re
import socket
import subprocess
import sys
import threading
import time
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest
from processes import LOOPBACKS, command_of, descendants, listening

from inkcap.cluster import ClusterError, joined
from inkcap.recipes.liveness import has_ended

pytestmark = pytest.mark.skipif(not Path("/proc/net/tcp").exists(), reason="looks at the system's own tables")


_STRANGER = """
import json, os, sys
from ray._raylet import AuthenticationTokenLoader, Config, GcsClient
from ray.exceptions import AuthenticationError
told = []
for variables in json.loads(sys.argv[2]):
    os.environ.update(variables)
    Config.initialize("")
    AuthenticationTokenLoader.instance().reset_cache()
    try:
        GcsClient(address=sys.argv[1])
        told.append("let in")
    except AuthenticationError:
        told.append("refused")
print(json.dumps(told))
"""


def _let_in(address, *ways):
    """Tell who is let in at an address, by the variables that each has set."""
    bare = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    command = [sys.executable, "-c", _STRANGER, address, json.dumps(ways)]
    done = subprocess.run(command, env=bare, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


def test_a_ray_of_ones_own_listens_on_loopback_alone_and_asks_for_its_token(cluster):
    assert cluster.own
    assert cluster.alone
    started = descendants(os.getpid())
    addresses = listening([os.getpid(), *(pid for pid, _ in started)])
    assert addresses, "nothing listens, so nothing was looked at"
    assert addresses <= LOOPBACKS
    host, _, port = cluster.address.rpartition(":")
    socket.create_connection((host, int(port)), timeout=5).close()
    none, known = (
        {"RAY_AUTH_MODE": "disabled"},
        {name: os.environ[name] for name in ("RAY_AUTH_MODE", "RAY_AUTH_TOKEN")},
    )
    wrong = {"RAY_AUTH_MODE": "token", "RAY_AUTH_TOKEN": "0" * 64}
    assert _let_in(cluster.address, none, wrong, known) == ["refused", "refused", "let in"]
    with pytest.raises(ClusterError, match="joined a Ray already"), joined():
        pass


def test_a_ray_of_ones_own_starts_only_what_is_needed(cluster):
    words = [command_of(pid) for pid, _ in descendants(os.getpid())]
    assert any("raylet" in word for word in words)
    assert [word for word in words if re.search(r"/(dashboard|monitor|log_monitor)\.py", word)] == []


def test_more_than_there_is_is_told_in_seconds_with_what_there_is(cluster):
    begun = time.monotonic()
    with pytest.raises(ClusterError, match=r"1000 workers of 2 CPU each were asked for, and there is room for \d"):
        cluster.require(1000, cpus_each=2)
    with pytest.raises(ClusterError, match=r"1 workers of 1 CPU and 1 GPU each .* 0 GPU\)"):
        cluster.require(1, gpus=1)
    assert time.monotonic() - begun < 10
    assert cluster.share(1000) == 1
    assert cluster.share(1) == cluster.cpus >= 1


def test_nothing_is_left_of_a_ray_that_was_left():
    code = (
        # A process that knew Ray before can start one all the same.
        "import os, signal, ray\n"
        "before, handler = dict(os.environ), signal.getsignal(signal.SIGTERM)\n"
        "from inkcap.cluster import joined\n"
        "from inkcap.recipes.liveness import has_ended\n"
        "from processes import descendants\n"
        "with joined() as cluster:\n"
        "    started = descendants(os.getpid())\n"
        "    assert len(started) > 3 and cluster.folder.exists()\n"
        "assert all(has_ended(*process) for process in started)\n"
        "assert not cluster.folder.exists()\n"
        "assert dict(os.environ) == before, set(os.environ.items()) ^ set(before.items())\n"
        "assert signal.getsignal(signal.SIGTERM) is handler\n"
        "print('nothing')"
    )
    support = Path(__file__).parents[1] / "support"
    bare = {name: value for name, value in os.environ.items() if not name.startswith("RAY_")}
    done = subprocess.run(
        [sys.executable, "-c", code],
        env={**bare, "PYTHONPATH": str(support)},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert (done.stdout, done.stderr) == ("nothing\n", "")


@pytest.mark.soak
def test_a_killed_process_takes_its_ray_with_it():
    code = (
        "import time; from inkcap.cluster import joined\n"
        "with joined() as cluster:\n"
        "    print(cluster.folder, flush=True)\n"
        "    time.sleep(99)"
    )
    driver = subprocess.Popen([sys.executable, "-c", code], stdout=subprocess.PIPE, text=True)
    try:
        folder = Path(driver.stdout.readline().strip())
        assert folder.is_dir()
        started = descendants(driver.pid)
        assert len(started) > 3
    finally:
        driver.kill()
        driver.wait()
        driver.stdout.close()
    until = time.monotonic() + 15
    while folder.exists() or not all(has_ended(*process) for process in started):
        assert time.monotonic() < until
        time.sleep(0.05)


def test_a_cluster_that_asks_for_no_token_is_refused(monkeypatch):
    code = (
        "import ray, tempfile\n"
        "from ray._private.node import Node\n"
        "Node.start_api_server = Node.start_log_monitor = Node.start_monitor = lambda *_, **__: None\n"
        "with tempfile.TemporaryDirectory(dir='/tmp') as folder:\n"
        "    found = ray.init('local', num_cpus=1, include_dashboard=False, log_to_driver=False, _temp_dir=folder)\n"
        "    print(found.address_info['gcs_address'], flush=True)\n"
        "    input()\n"
        "    ray.shutdown()"
    )
    open_to_all = {"RAY_AUTH_MODE": "disabled", "RAY_ENABLE_WINDOWS_OR_OSX_CLUSTER": "0"}
    driver = subprocess.Popen(
        [sys.executable, "-c", code], env={**os.environ, **open_to_all},
        stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    )  # fmt: skip
    try:
        monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
        address = driver.stdout.readline().strip()
        with pytest.raises(ClusterError, match="asks for no token, so anyone could use it"), joined(address):
            pass
    finally:
        driver.communicate("\n", timeout=240)


def test_a_wrong_token_is_told_in_one_line(cluster, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    with pytest.raises(ClusterError, match="the token here is not that of the cluster"), joined(cluster.address):
        pass


def test_what_is_no_ray_is_told_in_one_line(monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    monkeypatch.setattr("inkcap.cluster.joining._ASKING", 2.0)
    with HTTPServer(("127.0.0.1", 0), BaseHTTPRequestHandler) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        address = f"127.0.0.1:{server.server_port}"
        with pytest.raises(ClusterError, match="does not answer as a Ray does"), joined(address):
            pass
        server.shutdown()


@pytest.mark.parametrize(
    ("address", "exposed", "words"),
    [
        ("10.1.2.3:6379", False, r"--cluster 10\.1\.2\.3:6379: .* give --expose too"),
        ("ray://127.0.0.1:10001", False, r"an address is HOST:PORT"),
        ("nonsense", True, r"an address is HOST:PORT"),
        ("", True, r"--expose goes with --cluster"),
    ],
)
def test_an_address_that_is_not_meant_is_refused(address, exposed, words, monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    with pytest.raises(ClusterError, match=words), joined(address, exposed=exposed):
        pass


def test_joining_needs_a_token(monkeypatch, tmp_path):
    monkeypatch.delenv("RAY_AUTH_TOKEN", raising=False)
    monkeypatch.delenv("RAY_AUTH_TOKEN_PATH", raising=False)
    monkeypatch.setenv("HOME", str(tmp_path))
    with pytest.raises(ClusterError, match="there is no token for it here"), joined("127.0.0.1:6379"):
        pass


def test_more_workers_than_processors_are_refused_before_a_ray_is_started():
    words = (
        r"^this machine: 1000 workers of 1 CPU each were asked for, and there is room for \d+ \(1 machine with \d+ CPU"
    )
    with pytest.raises(ClusterError, match=words), joined(workers=1000):
        pass


def test_an_address_where_nothing_answers_is_told_in_seconds(monkeypatch):
    monkeypatch.setenv("RAY_AUTH_TOKEN", "0" * 64)
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        begun = time.monotonic()
        with pytest.raises(ClusterError, match="nothing answers there"), joined(address):
            pass
        assert time.monotonic() - begun < 10
