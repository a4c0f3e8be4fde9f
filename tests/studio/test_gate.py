"""The gate: every route under every attack, and the requests it must let through."""

import asyncio
import itertools
from typing import Any

import pytest
from fastapi import FastAPI
from starlette.routing import Mount, WebSocketRoute

from inkcap.structures.errors import InkcapError
from inkcap.studio.access import Access
from inkcap.studio.gate import Gate, guarding_headers
from inkcap.studio.policy import POLICIES, Policy, require_policies

OURS = "127.0.0.1:8765"
TOKEN = "t" * 43
BEARER = {"authorization": f"Bearer {TOKEN}"}
COOKIE = {"cookie": f"other=1; inkcap-8765={TOKEN}"}
SOCKET = "/api/drawings/abcdefgh/live"


def concrete(policy: Policy) -> str:
    """A path that the entry covers."""
    return "/".join("abcdefgh" if part.startswith("{") else part for part in policy.path.split("/"))


EVERY = [(concrete(policy), method) for policy in POLICIES for method in sorted(policy.methods)]
PATHS = ["/", "/api/workspace", "/static/studio.css", "/nothing"]

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
]


class Counter:
    """An application behind the gate that counts how often it was reached."""

    def __init__(self) -> None:
        self.reached = 0

    async def __call__(self, scope, receive, send) -> None:
        self.reached += 1
        self.scope = scope
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"Cache-Control", b"public")]})
        await send({"type": "http.response.body", "body": b"inside"})


def knock(path="/", method="GET", hosts=(OURS,), headers=None, more=(), kind=None, body=(b"",), auth=BEARER):
    """Send one scope through a gate; return what was sent, and the inside."""
    inside, sent = Counter(), []
    raw = [(b"host", host.encode()) for host in hosts]
    given = {**auth, **(headers or {})}
    raw += [(name.encode(), value.encode()) for name, value in given.items()] + list(more)
    pieces = [{"type": "http.request", "body": piece, "more_body": True} for piece in body]
    pieces[-1]["more_body"] = False

    async def send(message) -> None:
        sent.append(message)

    async def receive():
        return pieces.pop(0)

    kind = kind or ("websocket" if method == "WEBSOCKET" else "http")
    scope = {"type": kind, "method": method, "path": path, "headers": raw}
    asyncio.run(Gate(inside, 8765, Access(TOKEN, 8765))(scope, receive, send))
    return sent, inside


def status(**request) -> tuple[int, int]:
    """The answer's status and how often the inside was reached; a websocket that is let in counts as 101."""
    sent, inside = knock(**request)
    first = sent[0]
    if first["type"].startswith("websocket"):
        return (101 if first["type"] == "websocket.accept" else 403), inside.reached
    return first["status"], inside.reached


def expected(code: int, method: str) -> tuple[int, int]:
    return (403 if method == "WEBSOCKET" else code), 0


@pytest.mark.parametrize(("path", "method"), [*EVERY, ("/nothing", "GET")])
def test_a_foreign_host_is_misdirected(path, method):
    for hosts in BAD_HOSTS:
        assert status(path=path, method=method, hosts=hosts) == expected(421, method), hosts


@pytest.mark.parametrize(("path", "method"), [*EVERY, ("/nothing", "GET")])
def test_another_page_is_refused_whatever_it_carries(path, method):
    for headers, auth in itertools.product(BAD_ORIGINS, (BEARER, COOKIE, {})):
        assert status(path=path, method=method, headers=headers, auth=auth) == (403, 0), headers


@pytest.mark.parametrize(("path", "method"), EVERY)
def test_without_the_token_only_the_public_answers(path, method):
    policy = next(p for p in POLICIES if p.covers(path))
    headers = ("Bearer x", TOKEN, "Basic dDp0", "", f"bearer {TOKEN}")
    cookies = (
        f"inkcap-8766={TOKEN}",
        f"inkcap-8765={TOKEN[:-1]}",
        "inkcap-8765",
        f"inkcap-8765=x; Inkcap-8765={TOKEN}",
    )
    wrong = [{}, *({"authorization": value} for value in headers), *({"cookie": value} for value in cookies)]
    for auth in wrong:
        answer = status(path=path, method=method, auth=auth, headers={"sec-fetch-site": "same-origin"})
        assert answer == ((200, 1) if policy.public else expected(401, method)), auth
    assert sum(policy.public for policy in POLICIES) == 2


@pytest.mark.parametrize(("path", "method"), EVERY)
def test_who_has_the_token_and_comes_from_our_page_passes(path, method):
    good = (101 if method == "WEBSOCKET" else 200), 1
    for auth, headers in itertools.product(
        (BEARER, COOKIE), ({"sec-fetch-site": "same-origin"}, {"origin": f"http://{OURS}"})
    ):
        assert status(path=path, method=method, auth=auth, headers=headers) == good
    assert status(path=path, method=method, auth=BEARER) == good  # a tool says no origin
    if method in ("GET", "HEAD"):
        assert status(path=path, method=method, auth=COOKIE) == good  # an old browser says none either
    else:
        assert status(path=path, method=method, auth=COOKIE) == (403, 0)  # but then it may not change anything


@pytest.mark.parametrize(("path", "method"), EVERY)
def test_other_methods_are_refused(path, method):
    allowed = next(p for p in POLICIES if p.covers(path)).methods
    for other in ("GET", "POST", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "QUERY"):
        if other not in allowed:
            assert status(path=path, method=other) == (405, 0)
    if method != "WEBSOCKET":
        assert status(path=path, method="WEBSOCKET") == (403, 0)
        upgrade = {"upgrade": "websocket", "connection": "upgrade"}
        assert status(path=path, method=method, headers=upgrade) == (403, 0)


@pytest.mark.parametrize(("path", "method"), [pair for pair in EVERY if pair[1] == "POST"])
def test_a_body_is_json_and_not_too_large(path, method):
    policy = next(p for p in POLICIES if p.covers(path))
    kind = "application/octet-stream" if policy.binary else "application/json"
    size = {"content-length": "5", "content-type": kind}
    assert status(path=path, method=method, headers=size) == (200, 1)
    for other in ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x", ""):
        assert status(path=path, method=method, headers={**size, "content-type": other}) == (415, 0)
    assert status(path=path, method=method, headers={**size, "content-length": str(policy.limit + 1)}) == (413, 0)
    for length in ("-1", "1e9", "x", "+5", ""):
        assert status(path=path, method=method, headers={**size, "content-length": length}) == (400, 0)
    if policy.limit <= 2**20:
        # What lies about its length is cut off when it has sent too much.
        answer, _ = status(path=path, method=method, headers=size, body=(b"x" * policy.limit, b"x"))
        assert answer == 413


def test_headers_beyond_measure_are_refused():
    assert status(headers={"x-large": "x" * 20_000}) == (431, 0)


@pytest.mark.parametrize("path", ["", "x", "http://evil.test/", "/\n", "/api\x00", "/\x7f"])
def test_a_malformed_path_is_refused(path):
    assert status(path=path) == (400, 0)


@pytest.mark.parametrize(
    "path",
    ["//", "/docs", "/redoc", "/openapi.json", "/api", "/api/", "/API/workspace", "/static/", "/api/drawings/",
     "/static/../app.py", "/static/a/b", "/static", "/api/drawings/abcdefgh/live/x", "/index.html"],
)  # fmt: skip
def test_a_path_outside_the_table_is_denied_before_any_handler(path):
    assert status(path=path) in ((404, 0), (405, 0))


@pytest.mark.parametrize("host", [OURS, "localhost:8765", "[::1]:8765"])
@pytest.mark.parametrize("path", PATHS[:-1])
def test_our_own_names_pass(path, host):
    for site in (None, "same-origin", "none"):
        headers = {} if site is None else {"sec-fetch-site": site, "origin": f"http://{host}"}
        assert status(path=path, hosts=[host], headers=headers) == (200, 1)


@pytest.mark.parametrize(("path", "method"), EVERY)
def test_a_link_elsewhere_may_open_the_front_page_alone(path, method):
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert status(path=path, method=method, headers=headers) == ((200, 1) if path == "/" else (403, 0))


def test_a_second_opinion_about_the_site_closes_even_the_front_page():
    headers = {"sec-fetch-site": "cross-site", "sec-fetch-mode": "navigate", "sec-fetch-dest": "document"}
    assert status(headers=headers, more=[(b"sec-fetch-site", b"none")]) == (403, 0)


def test_the_case_of_a_header_name_hides_nothing():
    assert status(more=[(b"Host", b"evil.test")]) == (421, 0)
    assert status(more=[(b"Sec-Fetch-Site", b"cross-site")]) == (403, 0)


def test_every_answer_carries_the_headers_once():
    requests: list[dict[str, Any]] = [{}, {"hosts": ()}, {"method": "POST"}, {"path": "/nothing"}, {"auth": {}}]
    for request in requests:
        sent, _ = knock(**request)
        given = [(name.lower(), value) for name, value in sent[0]["headers"]]
        for name, value in guarding_headers(8765):
            assert [held for key, held in given if key == name] == [value]


def test_the_content_policy_allows_nothing_from_elsewhere():
    policy = dict(guarding_headers(8765))[b"content-security-policy"].decode()
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    assert parts["script-src"] == parts["style-src"] == parts["font-src"] == parts["worker-src"] == "'self'"
    assert parts["default-src"] == parts["frame-ancestors"] == parts["base-uri"] == parts["form-action"] == "'none'"
    assert parts["require-trusted-types-for"] == "'script'"
    assert parts["trusted-types"] == "'none'"
    assert "unsafe" not in policy
    assert all(source == "'self'" or source.endswith(":8765") for source in parts["connect-src"].split())


def test_a_head_request_has_no_body():
    sent, inside = knock(method="HEAD")
    assert inside.scope["method"] == "GET"
    assert [message.get("body") for message in sent[1:]] == [b""]


def test_a_websocket_is_closed_before_it_opens():
    sent, inside = knock(path=SOCKET, method="WEBSOCKET", auth={})
    assert [message["type"] for message in sent] == ["websocket.close"]
    assert inside.reached == 0


def test_an_unknown_scope_is_refused():
    with pytest.raises(RuntimeError, match="'smoke'"):
        knock(kind="smoke")


def test_the_code_of_the_link_is_good_once():
    access = Access(TOKEN, 8765)
    code = access.new_code()
    assert not access.take_code(code[:-1])
    assert access.take_code(code)
    assert not access.take_code(code)


def test_the_whole_application_stands_behind_the_gate(ask):
    for path, host in itertools.product(PATHS, ["evil.test:8765", "127.0.0.1:1"]):
        assert ask(path, headers={"host": host}).status_code == 421
    assert [ask(path).status_code for path in PATHS] == [401, 200, 200, 404]
    assert ask("/static/app.py").status_code == 404
    assert ask("/api/workspace", headers={"authorization": ""}).json() == {
        "detail": "Open the studio by the link that it printed when it started."
    }
    head = ask("/api/workspace", method="HEAD")
    assert (head.status_code, head.content) == (200, b"")


def test_even_a_failing_handler_answers_with_the_headers_and_one_sentence(ask, monkeypatch, caplog):
    def fail(*_) -> None:
        raise ZeroDivisionError("secret")

    monkeypatch.setattr("inkcap.studio.routes.workspace.catalogue", fail)
    answer = ask("/api/catalogue")
    assert answer.status_code == 500
    assert answer.headers["x-content-type-options"] == "nosniff"
    assert set(answer.json()) == {"detail"}
    assert "secret" not in answer.text


def test_a_route_without_a_policy_stops_the_start(app: FastAPI):
    app.get("/api/new")(lambda: None)
    with pytest.raises(InkcapError, match="/api/new"):
        app.build_middleware_stack()


@pytest.mark.parametrize(
    "route", [Mount("/", app=FastAPI()), WebSocketRoute("/api/x", endpoint=print)], ids=["mount", "websocket"]
)
def test_mounts_and_websockets_cannot_hide(app: FastAPI, route):
    with pytest.raises(InkcapError, match="no entry in the policy table"):
        require_policies([*app.routes, route])


def test_a_websocket_cannot_hide_behind_a_known_path(app: FastAPI):
    with pytest.raises(InkcapError, match="WEBSOCKET"):
        require_policies([*app.routes, WebSocketRoute("/api/workspace", endpoint=print)])


def test_a_method_beyond_the_policy_stops_the_start(app: FastAPI):
    app.post("/api/workspace")(lambda: None)
    with pytest.raises(InkcapError, match="POST"):
        require_policies(app.routes)


def test_an_entry_that_nothing_serves_stops_the_start(app: FastAPI, monkeypatch):
    monkeypatch.setattr("inkcap.studio.policy.POLICIES", (*POLICIES, Policy("/old")))
    with pytest.raises(InkcapError, match="/old"):
        require_policies(app.routes)
