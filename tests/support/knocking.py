"""Requests for the gate: what attackers send to any route, generated ones, and a second opinion on each of them."""

from __future__ import annotations

import random
import re
from collections.abc import Callable, Coroutine, Iterable, Iterator
from dataclasses import dataclass, field, replace
from typing import Any

from starlette.routing import BaseRoute, Route, WebSocketRoute

from inkcap.studio.access import Access
from inkcap.studio.gate import Gate

PORT = 8765
OURS = f"127.0.0.1:{PORT}"
TOKEN = "t" * 43
BEARER = ("authorization", f"Bearer {TOKEN}")
COOKIE = ("cookie", f"other=1; inkcap-{PORT}={TOKEN}")
OWN_PAGE = ("sec-fetch-site", "same-origin")
Header = tuple[str, str]


@dataclass(frozen=True)
class Request:
    """One request; a websocket is one of the method WEBSOCKET."""

    path: str = "/"
    method: str = "GET"
    hosts: tuple[str, ...] = (OURS,)
    headers: tuple[Header, ...] = ()
    body: tuple[bytes | None, ...] = field(default=(b"",), repr=False)
    """Its pieces; the place of one may take that whoever sends is gone."""

    def having(self, *headers: Header) -> Request:
        """The same with more headers."""
        return replace(self, headers=(*self.headers, *headers))

    def raw(self) -> list[tuple[bytes, bytes]]:
        """The headers as the server gives them to an application."""
        named = [*(("host", host) for host in self.hosts), *self.headers]
        return [(name.encode("latin-1"), value.encode("latin-1")) for name, value in named]


class Inside:
    """An application behind the gate that counts how often it was reached, and reads all that was sent."""

    def __init__(self) -> None:
        self.reached = 0
        self.scope: dict[str, Any] = {}

    async def __call__(self, scope: Any, receive: Any, send: Any) -> None:
        self.reached += 1
        self.scope = scope
        if scope["type"] == "websocket":
            await send({"type": "websocket.accept"})
            return
        while (await receive()).get("more_body"):
            pass
        await send({"type": "http.response.start", "status": 200, "headers": [(b"Cache-Control", b"public")]})
        await send({"type": "http.response.body", "body": b"inside"})


class Door:
    """A gate with a counter behind it."""

    def __init__(self, gate: Gate | None = None) -> None:
        self.gate = gate or Gate(Inside(), PORT, Access(TOKEN, PORT))
        self.inside = Inside()
        self.gate.app = self.inside

    def knock(self, request: Request, kind: str = "") -> list[dict[str, Any]]:
        """Send one request through the gate and give what was sent back."""
        sent: list[dict[str, Any]] = []
        pieces: list[dict[str, Any]] = [
            {"type": "http.disconnect"} if piece is None else {"type": "http.request", "body": piece, "more_body": True}
            for piece in request.body
        ]
        pieces[-1]["more_body"] = False

        async def send(message: Any) -> None:
            sent.append(message)

        async def receive() -> Any:
            return pieces.pop(0)

        scope = {"method": request.method, "path": request.path, "headers": request.raw()}
        scope["type"] = kind or ("websocket" if request.method == "WEBSOCKET" else "http")
        finish(self.gate(scope, receive, send))
        return sent

    def status(self, request: Request) -> tuple[int, int]:
        """The answer's status and how often the inside was reached for it; a websocket that is let in has 101."""
        before = self.inside.reached
        first = self.knock(request)[0]
        code = {"websocket.accept": 101, "websocket.close": 403}.get(first["type"]) or first["status"]
        return code, self.inside.reached - before


def finish(work: Coroutine[Any, Any, Any]) -> None:
    """Run what never waits to its end; an event loop for each of so many requests would take most of the time."""
    try:
        work.send(None)
    except StopIteration:
        return
    work.close()
    raise AssertionError("the gate waited for something")


def routes_of(routes: Iterable[BaseRoute]) -> Iterator[tuple[str, str]]:
    """Give each path that an application serves, with each method; what GET may, HEAD may."""
    for route in routes:
        assert isinstance(route, Route | WebSocketRoute), route
        methods = {"WEBSOCKET"} if isinstance(route, WebSocketRoute) else set(route.methods or ())
        for method in sorted(methods | ({"HEAD"} if "GET" in methods else set())):
            yield route.path, method


def concrete(path: str, part: Callable[[], str] = lambda: "abcdefgh") -> str:
    """A path that a route answers to: something in the place of each name in braces."""
    return re.sub(r"\{\w+\}", lambda _: part(), path)


# What attackers send ---------------------------------------------------------------------------------------------

BAD_HOSTS: tuple[tuple[str, ...], ...] = (
    (),
    (OURS, OURS),
    (OURS, "evil.test"),
    ("evil.test", OURS),
    *(
        (host,)
        for host in (
            *("", "127.0.0.1", "127.0.0.1:8766", "127.0.0.1:08765", "localhost", "LOCALHOST:8765", "localhost.:8765"),
            *("evil.test:8765", "127.0.0.1.evil.test:8765", "user@127.0.0.1:8765", "127.0.0.1:8765/x"),
            *("127.0.0.1:8765/login?", "127.0.0.1:8765, evil.test", "2130706433:8765", "0x7f.1:8765", "127.1:8765"),
            *("0.0.0.0:8765", "[::]:8765", "::1:8765", "[::ffff:127.0.0.1]:8765", "[0:0:0:0:0:0:0:1]:8765"),
            *(" 127.0.0.1:8765", "127.0.0.1:8765 ", "127.0.0.1:8765\t", "xn--lcalhost-54a:8765", "127.0.0.1:8765:8765"),
        )
    ),
)
BAD_PAGES: tuple[tuple[Header, ...], ...] = (
    (("sec-fetch-site", "cross-site"),),
    (("sec-fetch-site", "same-site"),),
    (("sec-fetch-site", "Same-Origin"),),
    (("sec-fetch-site", ""),),
    (("Sec-Fetch-Site", "cross-site"),),
    (("sec-fetch-site", "none"), ("sec-fetch-site", "cross-site")),
    (("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "no-cors"), ("sec-fetch-dest", "image")),
    (("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "iframe")),
    (("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "navigate"), ("sec-fetch-dest", "empty")),
    (("sec-fetch-site", "cross-site"), ("sec-fetch-mode", "cors"), ("sec-fetch-dest", "document")),
    (("sec-fetch-site", "same-site"), ("sec-fetch-mode", "websocket")),
    (("origin", "null"),),
    (("origin", ""),),
    (("origin", "file://"),),
    (("origin", "http://evil.test"),),
    (("Origin", f"http://evil.test:{PORT}"),),
    (("origin", "http://127.0.0.1"),),
    (("origin", "http://127.0.0.1:3000"),),
    (("origin", f"http://localhost:{PORT}"),),
    (("origin", f"https://127.0.0.1:{PORT}"),),
    (("origin", f"HTTP://127.0.0.1:{PORT}"),),
    (("origin", f"http://{OURS}/"),),
    (("origin", f"http://{OURS}.evil.test"),),
    (("origin", "http://xn--lcalhost-54a:8765"),),
    (("origin", f"http://{OURS}"), ("origin", "http://evil.test")),
    (OWN_PAGE, ("origin", "http://evil.test")),
)
BAD_TOKENS: tuple[tuple[Header, ...], ...] = (
    (),
    *(
        (("authorization", value),)
        for value in ("Bearer x", TOKEN, "Basic dDp0", "", f"bearer {TOKEN}", f"Bearer  {TOKEN}", f"Bearer {'u' * 43}")
    ),
    (BEARER, BEARER),
    (("x-authorization", f"Bearer {TOKEN}"),),
    *(
        (("cookie", value),)
        for value in (
            *(f"inkcap-8766={TOKEN}", f"inkcap-8765={TOKEN[:-1]}", f"inkcap-8765={TOKEN}x", "inkcap-8765", "\xff"),
            *(f"inkcap-8765=x; Inkcap-8765={TOKEN}", f"x=inkcap-8765={TOKEN}", f"inkcap={TOKEN}", TOKEN, ""),
        )
    ),
)
FORMS = ("text/plain", "application/x-www-form-urlencoded", "multipart/form-data; boundary=x")
OVERRIDES = tuple((name, "GET") for name in ("x-http-method-override", "x-http-method", "x-method-override"))


@dataclass(frozen=True)
class Attack:
    """What turns a request that would be let in into one that must not be, and the status that refuses it."""

    status: int
    change: Callable[[Request], Request]
    for_public: bool = True
    """Whether a route that needs no token refuses it too."""


def _attacks() -> Iterator[Attack]:
    good = (BEARER, OWN_PAGE)
    for hosts in BAD_HOSTS:
        yield Attack(421, lambda r, hosts=hosts: replace(r, hosts=hosts).having(*good))
    for host in ("evil.test:8765", "[::1]:9"):
        # A name that was pointed at this machine: for the browser all is of one origin.
        pair = ("origin", f"http://{host}")
        yield Attack(421, lambda r, host=host, pair=pair: replace(r, hosts=(host,)).having(*good, pair))
    for page in BAD_PAGES:
        for proof in ((BEARER,), (COOKIE,), ()):
            yield Attack(403, lambda r, page=page, proof=proof: r.having(*proof, *page))
    for proof in BAD_TOKENS:
        yield Attack(401, lambda r, proof=proof: r.having(OWN_PAGE, *proof), for_public=False)
    yield Attack(431, lambda r: r.having(*good, ("x-large", "x" * 20_000)))
    for value in ("-1", "+5", "1e9", "x", "", "5, 5", "0x5", "5_0", " 5", "9" * 5000):
        yield Attack(400, lambda r, value=value: r.having(*good, ("content-length", value)))
    yield Attack(400, lambda r: r.having(*good, ("content-length", "5"), ("Content-Length", "5")))
    yield Attack(413, lambda r: r.having(*good, ("content-length", str(2**62))))
    for kind in (*FORMS, "", "*/*"):
        for length in (("content-length", "5"), ("transfer-encoding", "chunked")):
            yield Attack(415, lambda r, kind=kind, length=length: r.having(*good, length, ("content-type", kind)))


ATTACKS = tuple(_attacks())


# Generated requests ----------------------------------------------------------------------------------------------

ODD_PARTS = ("a", "abcdefgh", "..", ".", "a b", "a;b", "%2e%2e", "é", "x" * 300, "{id}", "live", "~", "\\..\\")
PROOFS = ((BEARER,), (COOKIE,), (BEARER, COOKIE))
COOKIES = (
    f"inkcap-8765={TOKEN}",
    f'prefs={{"a": 1}}; inkcap-8765={TOKEN}',
    f"inkcap-8765={TOKEN}; bad[name]=1",
    f"a=b;inkcap-8765={TOKEN}",
    f"inkcap-8765=old; inkcap-8765={TOKEN}",
    f"inkcap-8765={TOKEN}; inkcap-8765=old",
    f"$Version=1; inkcap-8765={TOKEN}; secure",
)
SITES = ("same-origin", "none", "same-site", "cross-site", "SAME-ORIGIN", "")
METHODS = ("GET", "HEAD", "POST", "WEBSOCKET", "PUT", "DELETE", "PATCH", "OPTIONS", "TRACE", "CONNECT", "get", "QUERY")
KINDS = (
    *("application/json", "application/json; charset=utf-8", "Application/JSON", "application/octet-stream"),
    *(*FORMS, "application/json5"),
)
LENGTHS = ("0", "1", "500", "00", "007", "-1", "+1", "1.0", "", "٣".encode().decode("latin-1"), str(2**40), "8" * 4500)


class Generator:
    """Gives requests that are good but for a few things, over all routes; the same seed gives the same."""

    def __init__(self, routes: list[tuple[str, str]], seed: int) -> None:
        self.routes = routes
        self.luck = random.Random(seed)  # noqa: S311

    def request(self) -> Request:
        """One request: each of its parts is now and then not as it should be."""
        luck = self.luck
        path, method = luck.choice(self.routes)
        path = concrete(path, lambda: luck.choice(ODD_PARTS))
        if self._wrong():
            path = luck.choice((path + "/", "/" + path, path.upper(), path[1:], f"{path}\n", f"{path}\x7f", f"{path}/x",
                                f"http://{OURS}{path}", path.replace("/", "//"), "", "/nothing", "*"))  # fmt: skip
        if self._wrong():
            method = luck.choice(METHODS)
        host = luck.choice((OURS, OURS, f"localhost:{PORT}", f"[::1]:{PORT}"))
        hosts = luck.choice(BAD_HOSTS) if self._wrong() else (host,)
        headers = [*self._page(host), *self._proof(), *self._body(method)]
        if self._wrong():
            headers.append(("upgrade", luck.choice(("websocket", "WebSocket", "h2c, websocket", "h2c"))))
        if self._wrong():
            headers.append(luck.choice((("x-large", "x" * 40_000), *OVERRIDES, ("x-forwarded-host", "evil.test"))))
        if self._wrong() and headers:
            headers.append(luck.choice(headers))
        luck.shuffle(headers)
        cased = tuple((name.title() if luck.random() < 0.2 else name, value) for name, value in headers)
        return Request(path, method, hosts, cased)

    def _wrong(self) -> bool:
        return self.luck.random() < 0.08

    def _page(self, host: str) -> list[Header]:
        luck = self.luck
        if self._wrong():
            return list(luck.choice(BAD_PAGES))
        site = luck.choice(SITES) if self._wrong() else luck.choice(SITES[:2])
        headers = [("sec-fetch-site", site)] if luck.random() < 0.7 else []
        if luck.random() < 0.4:
            headers.append(("origin", f"http://{OURS if self._wrong() else host}"))
        if luck.random() < 0.3:
            headers.append(("sec-fetch-mode", luck.choice(("navigate", "navigate", "cors", "no-cors"))))
            headers.append(("sec-fetch-dest", luck.choice(("document", "document", "empty", "iframe"))))
        return headers

    def _proof(self) -> list[Header]:
        if self._wrong():
            return list(self.luck.choice(BAD_TOKENS))
        return [("cookie", self.luck.choice(COOKIES))] if self._wrong() else list(self.luck.choice(PROOFS))

    def _body(self, method: str) -> list[Header]:
        luck = self.luck
        if method != "POST" and not self._wrong():
            return []
        headers = [("content-type", luck.choice(KINDS if self._wrong() else KINDS[:4]))]
        headers.append(("content-length", luck.choice(LENGTHS if self._wrong() else LENGTHS[:3])))
        if self._wrong():
            headers[-1] = ("transfer-encoding", "chunked")
        return headers


# The second opinion ----------------------------------------------------------------------------------------------

UPLOADS = ("/api/imports", "/api/data/upload")
PUBLIC = ("/", "/static/{name}")


class Guide:
    """The rules of docs/guides/studio-server.md in the order of its list, over the routes of the application."""

    def __init__(self, routes: list[tuple[str, str]]) -> None:
        self.methods: dict[str, set[str]] = {}
        for path, method in routes:
            self.methods.setdefault(path, set()).add(method)
        part = r"[^/\x00-\x1f\x7f]+"
        self.patterns = {
            re.compile(part.join(map(re.escape, re.split(r"\{\w+\}", path)))): path for path in self.methods
        }

    def lets_in(self, request: Request) -> bool:
        """Tell whether a request may reach what is behind the gate."""
        given: dict[str, list[str]] = {}
        for name, value in request.headers:
            given.setdefault(name.lower(), []).append(value)
        route = next((path for pattern, path in self.patterns.items() if pattern.fullmatch(request.path)), None)
        reads = request.method in ("GET", "HEAD")
        # 1. The host is exactly one of ours, with the port.
        known = request.hosts in {(f"{name}:{PORT}",) for name in ("127.0.0.1", "localhost", "[::1]")}
        # 2. It comes from the studio's own page; a link that a person follows may lead to the front page.
        sites, said = given.get("sec-fetch-site", []), given.get("origin", [])
        link = (given.get("sec-fetch-mode"), given.get("sec-fetch-dest")) == (["navigate"], ["document"])
        ours = {*sites} <= {"same-origin", "none"} or (route == "/" and reads and link and len(sites) == 1)
        ours = ours and all(f"http://{host}" == origin for origin in said for host in request.hosts)
        # 3. Path and method are in the table; a websocket is none of the other methods.
        served = route is not None and request.method in self.methods[route]
        upgrades = any("websocket" in value.lower() for value in given.get("upgrade", []))
        served = served and (request.method == "WEBSOCKET" or not upgrades)
        # 4. The token is there; a cookie, which comes along by itself, changes things only if the page is known.
        bearer = given.get("authorization") == [f"Bearer {TOKEN}"]
        pairs = {pair.strip() for cookies in given.get("cookie", []) for pair in cookies.split(";")}
        cookie = f"inkcap-{PORT}={TOKEN}" in pairs and (reads or bool(sites or said))
        # 5. Bodies are JSON, uploads are bytes, their size and that of the headers is limited.
        lengths = given.get("content-length", [])
        stated = len(lengths) < 2 and all(re.fullmatch("[0-9]{1,12}", length) for length in lengths)
        empty = (not lengths or not lengths[0].strip("0")) and "transfer-encoding" not in given
        kinds = [kind.split(";")[0].strip().lower() for kind in given.get("content-type", [])]
        fits = empty or kinds == [f"application/{'octet-stream' if route in UPLOADS else 'json'}"]
        small = all(len(value) < 16_000 for _, value in request.headers) and all(
            int(n) <= 2**32 for n in lengths if stated
        )
        return known and ours and served and (route in PUBLIC or bearer or cookie) and stated and fits and small
