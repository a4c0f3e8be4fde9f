"""The gate: every route under every attack, and the requests it must let through."""

import asyncio
import itertools
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.routing import Mount, WebSocketRoute

from inkcap.structures.errors import InkcapError
from inkcap.studio.gate import HEADERS, Gate
from inkcap.studio.policy import POLICIES, Policy, require_policies

OURS = "127.0.0.1:8765"
PATHS = ["/", "/api/drawings", "/api/openapi.json", "/static/studio.css", "/nothing"]

BAD_HOSTS = [
    [],
    [OURS, OURS],
    [OURS, "evil.test"],
    *(
        [host]
        for host in (
            "",
            "127.0.0.1",
            "127.0.0.1:8766",
            "127.0.0.1:08765",
            "localhost",
            "LOCALHOST:8765",
            "localhost.:8765",
            "evil.test:8765",
            "127.0.0.1.evil.test:8765",
            "user@127.0.0.1:8765",
            "127.0.0.1:8765/x",
            "127.0.0.1:8765, evil.test",
            "2130706433:8765",
            "0.0.0.0:8765",
            "[::]:8765",
            "::1:8765",
        )
    ),
]
BAD_ORIGINS = [
    {"sec-fetch-site": "cross-site"},
    {"sec-fetch-site": "same-site"},
    {"sec-fetch-site": "Same-Origin"},
    {"sec-fetch-site": ""},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "no-cors", "sec-fetch-dest": "image"},
    {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "iframe"},
    {"sec-fetch-site": "same-site", "sec-fetch-mode": "websocket"},
    {"origin": "null"},
    {"origin": "http://evil.test"},
    {"origin": "http://127.0.0.1:3000"},
    {"origin": "https://127.0.0.1:8765"},
    {"sec-fetch-site": "same-origin", "origin": "http://evil.test"},
    {"upgrade": "websocket", "connection": "upgrade"},
]


class Counter:
    """An application behind the gate that counts how often it was reached."""

    def __init__(self) -> None:
        self.reached = 0

    async def __call__(self, scope, receive, send) -> None:
        self.reached += 1
        self.scope = scope
        await send({"type": "http.response.start", "status": 200, "headers": [(b"Cache-Control", b"public")]})
        await send({"type": "http.response.body", "body": b"inside"})


def knock(path="/", method="GET", hosts=(OURS,), headers=None, more=(), kind="http"):
    """Send one scope through a gate; return the status, the headers, the body and how often the inside was reached."""
    inside, sent = Counter(), []
    raw = [(b"host", host.encode()) for host in hosts]
    raw += [(name.encode(), value.encode()) for name, value in (headers or {}).items()] + list(more)

    async def send(message) -> None:
        sent.append(message)

    async def receive():
        return {"type": "http.request"}

    scope = {"type": kind, "method": method, "path": path, "headers": raw}
    asyncio.run(Gate(inside, 8765)(scope, receive, send))
    return sent, inside


def status(**request) -> tuple[int, int]:
    sent, inside = knock(**request)
    return sent[0]["status"], inside.reached


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("hosts", BAD_HOSTS, ids=str)
def test_a_foreign_host_is_misdirected(path, hosts):
    assert status(path=path, hosts=hosts) == (421, 0)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("headers", BAD_ORIGINS, ids=str)
def test_another_page_is_refused(path, headers):
    assert status(path=path, headers=headers) == (403, 0)


@pytest.mark.parametrize("path", PATHS)
@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "QUERY"])
def test_other_methods_are_refused(path, method):
    assert status(path=path, method=method) == (405, 0)


@pytest.mark.parametrize("path", ["", "x", "http://evil.test/", "/\n", "/api\x00", "/\x7f"])
def test_a_malformed_path_is_refused(path):
    assert status(path=path) == (400, 0)


@pytest.mark.parametrize(
    "path", ["//", "/docs", "/redoc", "/openapi.json", "/api", "/api/", "/API/drawings", "/static/"]
)
def test_a_path_outside_the_table_is_denied_before_any_handler(path):
    assert status(path=path) == (404, 0)


@pytest.mark.parametrize("path", ["/api/drawings/", "/static/../app.py", "/static/a/b", "/static"])
def test_a_path_that_only_resembles_an_entry_is_denied(path):
    assert status(path=path) == (404, 0)


@pytest.mark.parametrize("host", [OURS, "localhost:8765", "[::1]:8765"])
@pytest.mark.parametrize("path", PATHS[:-1])
@pytest.mark.parametrize("site", [None, "same-origin", "none"])
def test_our_own_requests_pass(path, host, site):
    headers = {} if site is None else {"sec-fetch-site": site, "origin": f"http://{host}"}
    assert status(path=path, hosts=[host], headers=headers) == (200, 1)


@pytest.mark.parametrize(("path", "expected"), [(path, 200 if path == "/" else 403) for path in PATHS])
def test_a_link_elsewhere_may_open_the_front_page_alone(path, expected):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert status(path=path, headers=headers) == (expected, int(expected == 200))


def test_a_second_opinion_about_the_site_closes_even_the_front_page():
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert status(headers=headers, more=[(b"sec-fetch-site", b"none")]) == (403, 0)


def test_the_case_of_a_header_name_hides_nothing():
    assert status(more=[(b"Host", b"evil.test")]) == (421, 0)
    assert status(more=[(b"Sec-Fetch-Site", b"cross-site")]) == (403, 0)


def test_every_answer_carries_the_headers_once():
    requests: list[dict[str, Any]] = [{}, {"hosts": ()}, {"method": "POST"}, {"path": "/nothing"}]
    for request in requests:
        sent, _ = knock(**request)
        given = [(name.lower(), value) for name, value in sent[0]["headers"]]
        for name, value in HEADERS:
            assert [held for key, held in given if key == name] == [value]


def test_a_head_request_has_no_body():
    sent, inside = knock(method="HEAD")
    assert inside.scope["method"] == "GET"
    assert [message.get("body") for message in sent[1:]] == [b""]


def test_websockets_are_closed_before_they_open():
    sent, inside = knock(kind="websocket")
    assert [message["type"] for message in sent] == ["websocket.close"]
    assert inside.reached == 0


def test_an_unknown_scope_is_refused():
    with pytest.raises(RuntimeError, match="'smoke'"):
        knock(kind="smoke")


def test_the_whole_application_stands_behind_the_gate(ask):
    for path, host in itertools.product(PATHS, ["evil.test:8765", "127.0.0.1:1"]):
        assert ask(path, headers={"host": host}).status_code == 421
    assert [ask(path).status_code for path in PATHS] == [200, 200, 200, 200, 404]
    assert ask("/static/app.py").status_code == 404
    head = ask(method="HEAD")
    assert (head.status_code, head.content) == (200, b"")


def test_even_a_failing_handler_answers_with_the_headers(ask, monkeypatch):
    def fail(workspace) -> None:
        raise ZeroDivisionError

    monkeypatch.setattr("inkcap.studio.app.list_drawings", fail)
    answer = ask()
    assert answer.status_code == 500
    assert answer.headers["x-content-type-options"] == "nosniff"


def test_a_route_without_a_policy_stops_the_start(app: FastAPI):
    app.get("/api/new")(lambda: None)
    with pytest.raises(InkcapError, match="/api/new"):
        app.build_middleware_stack()


@pytest.mark.parametrize(
    "route", [Mount("/", app=FastAPI()), WebSocketRoute("/", endpoint=print)], ids=["mount", "websocket"]
)
def test_mounts_and_websockets_cannot_hide_behind_a_known_path(app: FastAPI, route):
    with pytest.raises(InkcapError, match="no entry in the policy table"):
        require_policies([*app.routes, route])


def test_a_method_beyond_the_policy_stops_the_start(app: FastAPI):
    app.post("/api/drawings")(lambda: None)
    with pytest.raises(InkcapError, match="POST"):
        require_policies(app.routes)


def test_an_entry_that_nothing_serves_stops_the_start(app: FastAPI, monkeypatch):
    monkeypatch.setattr("inkcap.studio.policy.POLICIES", (*POLICIES, Policy("/old")))
    with pytest.raises(InkcapError, match="/old"):
        require_policies(app.routes)
