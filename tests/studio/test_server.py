"""The studio as a process with a socket."""

import os
import re
import signal
import socket
import subprocess
import sys
from pathlib import Path

import httpx
import pytest

import inkcap.studio
from inkcap.structures.errors import InkcapError
from inkcap.studio import serve

SOURCE = Path(inkcap.studio.__file__).parents[2]
posix = pytest.mark.skipif(os.name != "posix", reason="a process is interrupted by a signal")


def start(workspace: Path, port: int) -> subprocess.Popen[str]:
    code = f"from pathlib import Path; from inkcap.studio import serve; serve(Path({str(workspace)!r}), port={port})"
    return subprocess.Popen(
        [sys.executable, "-W", "error", "-c", code],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "PYTHONPATH": str(SOURCE)},
    )


@posix
def test_it_serves_and_stops_cleanly(tmp_path):
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        taken = busy.getsockname()[1]
        process = start(tmp_path, taken)
        try:
            assert process.stdout is not None
            first, second = process.stdout.readline(), process.stdout.readline()
            address = re.fullmatch(r"Inkcap studio: http://127\.0\.0\.1:(\d+)/\n", second)
            assert address is not None, second
            port = int(address[1])
            assert first == f"Port {taken} is taken: the studio uses {port}.\n"
            with httpx.Client(base_url=f"http://127.0.0.1:{port}", trust_env=False) as client:
                assert "inkcap new lenet" in client.get("/").text
                assert client.head("/").content == b""
                assert client.get("/static/inkcap.svg").headers["content-type"] == "image/svg+xml"
                assert client.get("/", headers={"host": f"evil.test:{port}"}).status_code == 421
                upgrade = {"connection": "upgrade", "upgrade": "websocket", "sec-websocket-version": "13"}
                assert client.get("/", headers=upgrade).status_code == 403
            process.send_signal(signal.SIGINT)
            rest, errors = process.communicate(timeout=20)
        finally:
            process.kill()
            process.communicate()
    assert (process.returncode, rest, errors) == (0, "Inkcap studio: stopped.\n", "")


def test_it_serves_this_machine_alone(tmp_path):
    with pytest.raises(InkcapError, match=r"cannot listen on 0\.0\.0\.0"):
        serve(tmp_path, host="0.0.0.0")  # noqa: S104


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_does_not_exist_is_refused(tmp_path, port):
    with pytest.raises(InkcapError, match=f"port {port} does not exist"):
        serve(tmp_path, port=port)
