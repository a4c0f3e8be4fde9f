"""The gate: what it checks beyond the matrix of tests/fortress, and the requests it must let through."""

import itertools
import json
from contextlib import suppress
from dataclasses import replace

import pytest
from fastapi import FastAPI
from knocking import BEARER, COOKIE, OURS, OWN_PAGE, PORT, TOKEN, Door, Request, concrete
from starlette.routing import Mount, Route, WebSocketRoute

from inkcap.exchange.importing.limits import FILE_BYTES
from inkcap.structures.errors import InkcapError
from inkcap.studio.access import Access
from inkcap.studio.gate import HEADER_BYTES, Refusal, guarding_headers
from inkcap.studio.policy import MOST_PAIRS, MOST_PARTS, POLICIES, Policy, require_policies, too_many_parts

SOCKET = "/api/drawings/abcdefgh/live"
EVERY = [(concrete(policy.path), method) for policy in POLICIES for method in sorted(policy.methods)]
PATHS = ["/", "/api/workspace", "/static/studio.css", "/nothing"]
LINK = (("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "document"))
KNOWN = Request(headers=(BEARER,))


def status(request: Request) -> tuple[int, int]:
    return Door().status(request)


def sized(length: object, kind: str = "application/json") -> tuple[tuple[str, str], ...]:
    return ("content-length", str(length)), ("content-type", kind)


@pytest.mark.parametrize("policy", [policy for policy in POLICIES if "POST" in policy.methods], ids=lambda p: p.path)
def test_a_body_may_be_as_large_as_its_policy_says(policy):
    kind = "application/octet-stream" if policy.binary else "application/json"
    request = replace(KNOWN, path=concrete(policy.path), method="POST")
    for whole in (sized(5, kind), sized(policy.limit, f"{kind.title()} ; charset=utf-8"), (("content-length", "0"),)):
        assert status(request.having(*whole)) == (200, 1)
    chunked = ("transfer-encoding", "chunked"), ("content-type", kind)
    assert status(request.having(*chunked)) == (200, 1)
    assert told(request.having(*sized(policy.limit + 1, kind))) == (
        413,
        f"The request has {policy.limit + 1} bytes; here {policy.limit} are allowed.",
    )
    assert told(request.having(*sized(5, "text/plain"))) == (415, f"The request must be of the type {kind}.")
    if policy.limit <= 2**20:
        # What lies about its length is cut off when it has sent too much.
        full = replace(request.having(*chunked), body=(b"x" * (policy.limit - 1), b"x"))
        assert status(full) == (200, 1)
        assert told(replace(full, body=(*full.body, b"x"))) == (
            413,
            f"The request has more than {policy.limit} bytes, which is all that is allowed here.",
        )


def test_a_text_may_have_as_many_parts_and_keys_as_the_limits():
    assert (MOST_PARTS, MOST_PAIRS) == (300_000, 600_000)
    assert too_many_parts(300_000, 600_000) == ""
    lists = "The text has more than 300000 lists and objects, which is all that is allowed."
    assert too_many_parts(300_001, 0) == too_many_parts(300_001, 600_001) == lists
    assert too_many_parts(0, 600_001) == "The text has more than 600000 keys, which is all that is allowed."
    request = replace(KNOWN, path="/api/drawings", method="POST").having(
        ("transfer-encoding", "chunked"), ("content-type", "application/json")
    )
    for sign in (b"[", b"{"):
        assert status(replace(request, body=(sign * 299_999, sign))) == (200, 1)
        assert told(replace(request, body=(sign * 300_000, sign))) == (413, lists)
    assert status(replace(request, body=(b":" * 599_999, b":"))) == (200, 1)
    assert told(replace(request, body=(b":" * 600_000, b":"))) == (413, too_many_parts(0, 600_001))


def test_what_is_too_much_does_not_come_to_the_application_and_what_has_no_body_counts_nothing():
    for pieces, heard in (((b"x" * 2**16, b"x"), [2**16]), ((b"x" * 2**16, None), [2**16, None])):
        door, got = Door(), []

        async def reads(scope, receive, send, pieces=pieces, got=got):
            with suppress(Refusal):
                for _ in pieces:
                    body = (await receive()).get("body")
                    got.append(None if body is None else len(body))

        door.gate.app = reads
        request = replace(KNOWN, path="/api/undelete", method="POST", body=pieces)
        door.knock(request.having(("transfer-encoding", "chunked"), ("content-type", "application/json")))
        assert got == heard


def test_an_application_that_answers_a_body_that_was_cut_off_is_not_heard():
    for begun, codes in ((False, [413]), (True, [200])):
        door, sent = Door(), []

        async def answers(scope, receive, send, begun=begun):
            if begun:
                await send({"type": "http.response.start", "status": 200, "headers": []})
            with suppress(Refusal):
                await receive()
            # What frameworks make of any fault in a body.
            await send({"type": "http.response.start", "status": 400, "headers": []})
            await send({"type": "http.response.body", "body": b"There was an error parsing the body"})

        door.gate.app = answers
        request = replace(KNOWN, path="/api/drawings", method="POST", body=(b"[" * 300_001,))
        sent = door.knock(request.having(("transfer-encoding", "chunked"), ("content-type", "application/json")))
        assert [message["status"] for message in sent if "status" in message] == codes
        assert not any(b"parsing" in message.get("body", b"") for message in sent)


def told(request: Request) -> tuple[int, str]:
    """The status of a refusal and its sentence, which an interface gets as JSON."""
    sent = Door().knock(request)
    assert [message["type"] for message in sent] == ["http.response.start", "http.response.body"]
    given = dict(sent[0]["headers"])
    assert given[b"content-length"] == str(len(sent[1]["body"])).encode()
    if request.path.startswith("/api/"):
        assert given[b"content-type"] == b"application/json"
        return sent[0]["status"], json.loads(sent[1]["body"])["detail"]
    assert given[b"content-type"] == b"text/plain; charset=utf-8"
    assert sent[1]["body"].endswith(b"\n")
    return sent[0]["status"], sent[1]["body"].decode().removesuffix("\n")


WORKSPACE = replace(KNOWN, path="/api/workspace")
COOKIE_ONLY = Request("/api/undelete", "POST", headers=(COOKIE,))
REFUSALS = [
    (replace(KNOWN, hosts=()), 421, "This is not the studio's address: open the one that it printed when it started."),
    (replace(KNOWN, path="x"), 400, "The path must begin with / and hold no control characters."),
    (
        WORKSPACE.having(("x-large", "x" * 20_000)),
        431,
        "The request has more than 16384 bytes of headers: delete old cookies.",
    ),
    (WORKSPACE.having(("upgrade", "x, WebSocket")), 403, "There is no websocket here."),
    (
        WORKSPACE.having(("sec-fetch-site", "same-site")),
        403,
        "Another page asked for this: open the studio's own address instead.",
    ),
    (
        WORKSPACE.having(("origin", "null")),
        403,
        "A page of another origin asked for this: open the studio's own address instead.",
    ),
    (replace(WORKSPACE, method="POST"), 405, "This takes GET, HEAD only."),
    (replace(KNOWN, path="/none", method="POST"), 405, "This takes GET, HEAD only."),
    (replace(KNOWN, path="/none"), 404, "The studio has no such page."),
    (replace(WORKSPACE, headers=()), 401, "Open the studio by the link that it printed when it started."),
    (
        COOKIE_ONLY,
        403,
        "The request does not say which page it comes from: use a newer browser, or the token.",
    ),
    (
        WORKSPACE.having(("content-length", "x")),
        400,
        "The request must say its length once, in at most 20 digits.",
    ),
]


@pytest.mark.parametrize(("request_", "code", "sentence"), REFUSALS, ids=[str(code) for _, code, _ in REFUSALS])
def test_a_refusal_says_why_in_one_sentence(request_, code, sentence):
    assert told(request_) == (code, sentence)
    allow = [value for name, value in Door().knock(request_)[0]["headers"] if name == b"allow"]
    assert allow == ([b"GET, HEAD"] if code == 405 else [])


def test_headers_may_be_as_large_as_the_limit():
    used = sum(len(name) + len(value) for name, value in KNOWN.raw()) + len("x-large")
    assert status(KNOWN.having(("x-large", "x" * (HEADER_BYTES - used)))) == (200, 1)
    assert status(KNOWN.having(("x-large", "x" * (HEADER_BYTES - used + 1)))) == (431, 0)
    assert HEADER_BYTES == 16384


def test_a_length_may_have_twenty_digits():
    assert status(KNOWN.having(("content-length", "0" * 20))) == (200, 1)
    assert status(KNOWN.having(("content-length", "0" * 21))) == (400, 0)


@pytest.mark.parametrize("path", ["", "x", "http://evil.test/", "/\n", "/api\x00", "/\x1f", "/\x7f"])
def test_a_malformed_path_is_refused(path):
    assert status(replace(KNOWN, path=path)) == (400, 0)


@pytest.mark.parametrize(
    "path",
    ["//", "/docs", "/redoc", "/openapi.json", "/api", "/api/", "/API/workspace", "/static/", "/api/drawings/",
     "/static/../app.py", "/static/a/b", "/static", "/api/drawings/abcdefgh/live/x", "/index.html", "/ ", "/~",
     "/api/drawings//live"],
)  # fmt: skip
def test_a_path_outside_the_table_is_denied_before_any_handler(path):
    assert status(replace(KNOWN, path=path)) == (404, 0)


@pytest.mark.parametrize("host", [OURS, "localhost:8765", "[::1]:8765"])
@pytest.mark.parametrize("path", PATHS[:-1])
def test_our_own_names_pass(path, host):
    request = replace(KNOWN, path=path, hosts=(host,))
    assert status(request) == (200, 1)
    for site in ("same-origin", "none"):
        assert status(request.having(("sec-fetch-site", site), ("origin", f"http://{host}"))) == (200, 1)


@pytest.mark.parametrize(("path", "method"), EVERY)
def test_a_link_elsewhere_may_open_the_front_page_alone(path, method):
    request = replace(KNOWN, path=path, method=method).having(*LINK)
    assert status(request) == ((200, 1) if path == "/" else (403, 0))


def test_a_second_opinion_about_the_site_closes_even_the_front_page():
    assert status(KNOWN.having(*LINK, ("sec-fetch-site", "none"))) == (403, 0)


def test_another_page_does_not_learn_what_a_path_takes():
    assert status(replace(KNOWN, method="POST").having(*LINK)) == (403, 0)
    assert status(replace(KNOWN, path="/none", method="PUT").having(*LINK)) == (403, 0)


def test_an_upgrade_to_something_else_is_no_websocket():
    assert status(KNOWN.having(("upgrade", "h2c"))) == (200, 1)
    # The handshake of a websocket itself says so.
    socket = replace(KNOWN, path=SOCKET, method="WEBSOCKET")
    assert status(socket.having(OWN_PAGE, ("upgrade", "websocket"))) == (101, 1)


def test_every_answer_carries_the_headers_once():
    for request in (KNOWN, replace(KNOWN, hosts=()), replace(KNOWN, method="POST"), replace(KNOWN, path="/nothing")):
        given = [(name.lower(), value) for name, value in Door().knock(request)[0]["headers"]]
        for name, value in guarding_headers(PORT):
            assert [held for key, held in given if key == name] == [value]


def test_what_the_headers_of_every_answer_are():
    assert dict(guarding_headers(PORT)[:-1]) == {
        b"x-content-type-options": b"nosniff",
        b"cross-origin-resource-policy": b"same-origin",
        b"cross-origin-opener-policy": b"same-origin",
        b"referrer-policy": b"same-origin",
        b"cache-control": b"no-store",
    }


def test_the_content_policy_allows_nothing_from_elsewhere():
    policy = dict(guarding_headers(PORT))[b"content-security-policy"].decode()
    parts = dict(part.strip().split(" ", 1) for part in policy.split(";"))
    own = dict.fromkeys(("script-src", "style-src", "font-src", "worker-src"), "'self'")
    none = dict.fromkeys(("default-src", "frame-ancestors", "base-uri", "form-action", "trusted-types"), "'none'")
    assert parts == own | none | {
        "img-src": "'self' blob: data:",
        "require-trusted-types-for": "'script'",
        "connect-src": "'self' ws://127.0.0.1:8765 ws://localhost:8765",
    }


def test_a_head_request_has_no_body():
    door = Door()
    sent = door.knock(replace(KNOWN, method="HEAD"))
    assert door.inside.scope["method"] == "GET"
    assert [message.get("body") for message in sent[1:]] == [b""]


def test_any_other_answer_goes_through_as_it_is():
    door = Door()
    sent = door.knock(KNOWN)
    assert door.inside.scope["method"] == "GET"
    assert sent[1] == {"type": "http.response.body", "body": b"inside"}
    assert not any(name == b"Cache-Control" for name, _ in sent[0]["headers"])


def test_a_websocket_is_closed_before_it_opens():
    door = Door()
    sent = door.knock(Request(SOCKET, "WEBSOCKET"))
    reason = "Open the studio by the link that it printed when it started."
    assert sent == [{"type": "websocket.close", "code": 1008, "reason": reason}]
    assert door.inside.reached == 0


def test_an_unknown_scope_is_refused():
    with pytest.raises(
        RuntimeError, match=r"^The studio's gate does not know the scope type 'smoke': it is refused\.$"
    ):
        Door().knock(KNOWN, kind="smoke")


def test_the_servers_own_start_passes():
    door = Door()
    started = []

    async def start(scope, *_) -> None:
        started.append(scope["type"])

    door.gate.app = start
    door.knock(KNOWN, kind="lifespan")
    assert started == ["lifespan"]


def test_a_body_that_grows_too_large_after_the_answer_began_ends_it_there():
    """Nothing can be said any more; a second answer within the first would be worse than none."""
    door = Door()

    async def hasty(scope, receive, send) -> None:
        await send({"type": "http.response.start", "status": 200})
        while (await receive()).get("more_body"):
            pass

    door.gate.app = hasty
    chunked = ("transfer-encoding", "chunked"), ("content-type", "application/json")
    request = replace(KNOWN, path="/api/undelete", method="POST", body=(b"x" * 2**16, b"x")).having(*chunked)
    (only,) = door.knock(request)
    assert only["status"] == 200
    assert only["headers"] == list(guarding_headers(PORT))


@pytest.mark.parametrize(
    "cookies",
    [f'prefs={{"a": 1}}; inkcap-8765={TOKEN}', f"inkcap-8765={TOKEN}; inkcap-8765=x", f"a[b]=c;inkcap-8765={TOKEN};d"],
)
def test_cookies_of_other_servers_of_this_machine_keep_nobody_out(cookies):
    assert status(Request("/api/workspace", headers=(("cookie", cookies),))) == (200, 1)
    assert status(Request("/api/workspace", headers=(("cookie", "\xff"), ("cookie", cookies)))) == (200, 1)


def test_the_code_of_the_link_is_good_once():
    access = Access(TOKEN, PORT)
    code, other = access.new_code(), access.new_code()
    assert len(code) == 32
    assert not access.take_code(code[:-1])
    assert not access.take_code("é")
    assert access.take_code(code)
    assert not access.take_code(code)
    assert access.take_code(other)


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


def test_what_the_table_allows_beyond_little_and_to_those_with_the_token():
    """Said once more on purpose: whoever opens a path, or makes it wider, has to say so twice."""
    assert {policy.path for policy in POLICIES if policy.public} == {"/", "/static/{name}"}
    assert {policy.path for policy in POLICIES if policy.navigable} == {"/"}
    assert {policy.path for policy in POLICIES if policy.binary} == {"/api/imports", "/api/data/upload"}
    drawing, mebi = "/api/drawings/{id}", 2**20
    assert {policy.path: policy.limit for policy in POLICIES if policy.limit != 65_536} == {
        "/api/drawings": 16 * mebi,
        f"{drawing}/step": 16 * mebi,
        "/api/runs/{id}/answer": 16 * mebi,
        "/api/runs/{id}/notes": 131_072,
        "/api/imports": FILE_BYTES,
        "/api/data/upload": 4096 * mebi,
    }
    assert {policy.path for policy in POLICIES if policy.methods == {"WEBSOCKET"}} == {f"{drawing}/live"}
    rest = {policy.methods for policy in POLICIES} - {frozenset({"WEBSOCKET"})}
    assert rest == {frozenset({"GET", "HEAD"}), frozenset({"POST"})}


def test_a_route_without_a_policy_stops_the_start(app: FastAPI):
    app.get("/api/new")(lambda: None)
    with pytest.raises(InkcapError) as told:
        app.build_middleware_stack()
    route = app.routes[-1]
    assert str(told.value) == (
        f"The studio's route {route!r} has no entry in the policy table, which names {len(POLICIES)} paths: add one to "
        "POLICIES in inkcap/studio/policy.py."
    )


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
    app.api_route("/api/workspace", methods=["PUT", "POST"])(lambda: None)
    with pytest.raises(InkcapError) as told:
        require_policies(app.routes)
    assert str(told.value) == (
        "The studio's route /api/workspace answers POST, PUT, its policy allows GET, HEAD: bring the two together."
    )
    endless = Route("/api/workspace", endpoint=print)
    endless.methods = set()
    with pytest.raises(InkcapError, match=r"^The studio's route /api/workspace answers every method, its policy"):
        require_policies([endless])


def test_an_entry_that_nothing_serves_stops_the_start(app: FastAPI, monkeypatch):
    monkeypatch.setattr("inkcap.studio.policy.POLICIES", (*POLICIES, Policy("/old"), Policy("/older")))
    with pytest.raises(InkcapError) as told:
        require_policies(app.routes)
    assert str(told.value) == (
        "The policy table names /old, /older, and no route of the studio serves it: remove the entry."
    )
