"""The studio as a process with a socket."""

import os
import socket
import subprocess
import sys
from types import SimpleNamespace

import httpx
import pytest
from serving import SOURCE, Server, Tab
from uvicorn.protocols.http.h11_impl import H11Protocol
from websockets.exceptions import InvalidStatus
from websockets.sync.client import connect
from websockets.typing import Origin

from inkcap.structures.errors import InkcapError
from inkcap.studio import connections, serve
from inkcap.studio.server import _listen

posix = pytest.mark.skipif(os.name != "posix", reason="a process is interrupted by a signal")


@posix
def test_it_serves_by_its_link_and_stops_cleanly(tmp_path):
    workspace = tmp_path / "work"
    workspace.mkdir()
    with socket.socket() as busy:
        busy.bind(("127.0.0.1", 0))
        busy.listen()
        taken = busy.getsockname()[1]
        with Server(workspace, taken) as server:
            assert server.lines[0] == f"Port {taken} is taken: the studio uses {server.port}.\n"
            with httpx.Client(base_url=server.address, trust_env=False) as browser:
                assert browser.get("/").status_code == 401
                assert "Open it by its link" in browser.get("/").text
                assert browser.get("/api/workspace").status_code == 401
                ahead = browser.get("/", params={"code": server.code}, headers={"sec-purpose": "prefetch"})
                assert ahead.status_code == 401
                answer = browser.get("/", params={"code": server.code})
                assert (answer.status_code, answer.headers["location"]) == (303, "/")
                cookie = answer.headers["set-cookie"].lower()
                assert cookie.startswith(f"inkcap-{server.port}=")
                assert all(word in cookie for word in ("httponly", "samesite=strict", "path=/"))
                assert browser.get("/").status_code in (200, 503)  # 503 where the front end is not built
                assert browser.get("/api/workspace").json()["drawings"] == []
                assert browser.post("/api/drawings", json={"name": "a"}).status_code == 403  # no word of its page
                ours = {"sec-fetch-site": "same-origin"}
                assert browser.post("/api/drawings", json={"name": "a"}, headers=ours).status_code == 200
                assert browser.get("/", headers={"host": f"evil.test:{server.port}"}).status_code == 421
            with httpx.Client(base_url=server.address, trust_env=False) as other:
                assert other.get("/", params={"code": server.code}).status_code == 401
            code, rest, errors = server.stop()
    assert (code, rest, errors) == (0, "Inkcap studio: stopped.\n", "")


@posix
def test_one_that_a_shell_started_in_the_background_stops_as_cleanly(tmp_path):
    workspace = tmp_path / "work"
    workspace.mkdir()
    with Server(workspace, before="import signal; signal.signal(signal.SIGINT, signal.SIG_IGN)") as server:
        assert server.stop() == (0, "Inkcap studio: stopped.\n", "")


@posix
def test_a_websocket_needs_token_and_origin(tmp_path):
    workspace = tmp_path / "work"
    workspace.mkdir()
    with Server(workspace) as server, server.client() as client:
        id = client.post("/api/drawings", json={"name": "a"}).json()["id"]
        uri = f"ws://127.0.0.1:{server.port}/api/drawings/{id}/live"
        cookie = {"cookie": f"inkcap-{server.port}={server.token}"}
        refused = [
            {},
            {"additional_headers": cookie},
            {"additional_headers": cookie, "origin": "http://evil.test"},
            {"additional_headers": cookie, "origin": "null"},
            {"additional_headers": {"cookie": "inkcap=x"}, "origin": server.address.rstrip("/")},
        ]
        for options in refused:
            with pytest.raises(InvalidStatus) as error, connect(uri, proxy=None, **options):
                pass
            assert error.value.response.status_code == 403
        with connect(uri, proxy=None, additional_headers=cookie, origin=Origin(server.address.rstrip("/"))) as ours:
            assert ours.response is not None
        Tab(server, id).close()


@posix
def test_a_second_studio_on_the_same_folder_is_refused(tmp_path):
    workspace = tmp_path / "work"
    workspace.mkdir()
    with Server(workspace) as first:
        with pytest.raises(AssertionError, match="has this folder open already"):
            Server(workspace)
        first.kill()
        Server(workspace).kill()


def test_its_start_knows_no_torch():
    code = "import sys, inkcap.studio.server; print(sorted({'torch', 'sklearn', 'numba'} & set(sys.modules)))"
    environment = {**os.environ, "PYTHONPATH": str(SOURCE)}
    out = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, env=environment, check=True)
    assert out.stdout == "[]\n"


def test_requests_are_read_by_the_parser_that_is_attacked(tmp_path, monkeypatch):
    """Uvicorn takes another where it is installed, and believes headers that proxies write."""
    started = []
    monkeypatch.setattr("inkcap.studio.server._Server.run", lambda server, sockets: started.append(server.config))
    monkeypatch.setattr("inkcap.studio.server.gc", SimpleNamespace(freeze=int, set_threshold=lambda *_: None))
    monkeypatch.setenv("XDG_STATE_HOME", str(tmp_path / "state"))
    serve(tmp_path, port=0)
    (config,) = started
    config.app.state.hub.close()
    assert (config.proxy_headers, config.server_header, config.access_log) == (False, False, False)
    assert config.http is connections.Connection
    assert issubclass(connections.Connection, H11Protocol)
    held = (connections.PATIENCE, connections.SLOWEST, connections.UNREAD, connections.MOST)
    assert held == (30.0, 10_000, 60.0, 500)


def test_it_serves_this_machine_alone(tmp_path):
    with pytest.raises(InkcapError, match=r"cannot listen on 0\.0\.0\.0"):
        serve(tmp_path, host="0.0.0.0")  # noqa: S104


@pytest.mark.parametrize("port", [-1, 65536])
def test_a_port_that_does_not_exist_is_refused(tmp_path, port):
    with pytest.raises(InkcapError, match=f"port {port} does not exist"):
        serve(tmp_path, port=port)


def test_small_answers_do_not_wait_for_one_another():
    """Asyncio turns Nagle's algorithm off where it knows a socket as TCP: else a report waits 40 ms for the network."""
    with _listen("127.0.0.1", 0) as listener:
        assert listener.proto == socket.IPPROTO_TCP
