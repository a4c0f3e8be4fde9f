"""The studio's gate: the outermost piece of the application, which denies whatever it does not know.

The studio listens on this machine alone, yet every web page that the user visits can send requests to this machine,
and so can every other program and person on it. Four checks stop them, and none replaces another: the Host must be one
of ours (a foreign name that was re-pointed at this machine fails), the request must come from our own page (other
sites and other local ports fail), path and method must be in the policy table, and the token must be there. All of
them read the raw scope, for http and for websockets alike.
"""

import json
from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inkcap.studio.access import Access
from inkcap.studio.policy import Policy, policy_for, too_many_parts

OURS = frozenset({b"same-origin", b"none"})
POLICY_VIOLATION = 1008
HEADER_BYTES = 16 * 2**10
LENGTH_DIGITS = 20
NAMES = ("127.0.0.1", "localhost", "[::1]")

HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
CONTENT = (
    "default-src 'none'; script-src 'self'; style-src 'self'; img-src 'self' blob: data:; font-src 'self'; "
    "worker-src 'self'; connect-src {own}; base-uri 'none'; form-action 'none'; frame-ancestors 'none'; "
    "require-trusted-types-for 'script'; trusted-types 'none'"
)
"""No page of another may load, frame or post to the studio, and no text becomes markup or script in it."""


def allowed_hosts(port: int) -> frozenset[bytes]:
    """Return the exact Host headers under which the studio answers."""
    return frozenset(f"{name}:{port}".encode() for name in NAMES)


def guarding_headers(port: int) -> tuple[tuple[bytes, bytes], ...]:
    """Return the headers of every answer; not every browser counts a websocket to our own port as 'self'."""
    # A policy cannot name an IPv6 address: browsers leave such a source out, and complain.
    own = " ".join(["'self'", *(f"ws://{name}:{port}" for name in NAMES if name[0] != "[")])
    return (*HEADERS, (b"content-security-policy", CONTENT.format(own=own).encode()))


class Refusal(Exception):
    """A request that the gate turns away, with its status and one sentence for the person who reads it."""

    def __init__(self, status: int, sentence: str, allowed: str = "") -> None:
        super().__init__(sentence)
        self.status = status
        self.allowed = allowed


class Gate:
    """The ASGI application that stands before all others and lets through only what the checks allow."""

    def __init__(self, app: ASGIApp, port: int, access: Access) -> None:
        self.app = app
        self.hosts = allowed_hosts(port)
        self.access = access
        self.headers = guarding_headers(port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the server's own start and stop through, check http and websockets, know nothing else."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await self._websocket(scope, receive, send)
        else:
            raise RuntimeError(f"The studio's gate does not know the scope type {scope['type']!r}: it is refused.")

    async def _websocket(self, scope: Scope, receive: Receive, send: Send) -> None:
        try:
            self._check(scope, "WEBSOCKET")
        except Refusal as refusal:
            # Closed before it was accepted: the server answers the handshake with 403.
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": str(refusal)})
            return
        await self.app(scope, receive, send)

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        head, as_json = scope["method"] == "HEAD", scope["path"].startswith("/api/")
        started = False
        counted: Counted | None = None

        async def send_guarded(message: Message) -> None:
            nonlocal started
            if message["type"] == "http.response.start":
                started = True
                message = {**message, "headers": self._guarded(message.get("headers", ()))}
            elif head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        async def send_unless_refused(message: Message) -> None:
            if counted is None or counted.refusal is None:
                await send_guarded(message)
            elif not started:
                # Whatever the application makes of a body that was cut off: this is why it was.
                await _refuse(counted.refusal, as_json, send_guarded)

        try:
            policy = self._check(scope, scope["method"])
            # The routes know GET only: a HEAD is a GET whose body stays here.
            inner: MutableMapping[str, Any] = {**scope, "method": "GET"} if head else scope
            counted = Counted(receive, policy)
            await self.app(inner, counted, send_unless_refused)
        except Refusal as refusal:
            if not started:
                await _refuse(refusal, as_json, send_guarded)

    def _check(self, scope: Scope, method: str) -> Policy:
        headers: list[tuple[bytes, bytes]] = list(scope["headers"])
        hosts = _values(headers, b"host")
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            raise Refusal(421, "This is not the studio's address: open the one that it printed when it started.")
        path: str = scope["path"]
        if not path.startswith("/") or any(ord(letter) < 32 or ord(letter) == 127 for letter in path):
            raise Refusal(400, "The path must begin with / and hold no control characters.")
        if sum(len(name) + len(value) for name, value in headers) > HEADER_BYTES:
            raise Refusal(431, f"The request has more than {HEADER_BYTES} bytes of headers: delete old cookies.")
        if method != "WEBSOCKET" and any(b"websocket" in value.lower() for value in _values(headers, b"upgrade")):
            raise Refusal(403, "There is no websocket here.")
        policy = policy_for(path)
        allowed = policy.methods if policy else frozenset({"GET", "HEAD"})
        # Before the method, so that another page learns nothing of what there is.
        _check_origin(
            headers, hosts[0], navigable=policy is not None and policy.navigable and method in ("GET", "HEAD")
        )
        if method not in allowed:
            takes = ", ".join(sorted(allowed))
            raise Refusal(405, f"This takes {takes} only.", takes)
        if policy is None:
            raise Refusal(404, "The studio has no such page.")
        self._check_token(headers, policy, method)
        _check_body(headers, policy)
        return policy

    def _check_token(self, headers: list[tuple[bytes, bytes]], policy: Policy, method: str) -> None:
        if policy.public or self.access.by_bearer(_values(headers, b"authorization")):
            return
        if not self.access.by_cookie(_values(headers, b"cookie")):
            raise Refusal(401, "Open the studio by the link that it printed when it started.")
        # A cookie comes along by itself, so what it lets do must say that our own page asks for it.
        ours = _values(headers, b"sec-fetch-site") or _values(headers, b"origin")
        if method not in ("GET", "HEAD") and not ours:
            raise Refusal(403, "The request does not say which page it comes from: use a newer browser, or the token.")

    def _guarded(self, headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
        """Return the response's headers with ours in the place of any of the same name."""
        ours = {name for name, _ in self.headers}
        return [(name, value) for name, value in headers if name.lower() not in ours] + list(self.headers)


def _check_origin(headers: list[tuple[bytes, bytes]], host: bytes, *, navigable: bool) -> None:
    """Refuse what another page asked for, unless it is a link that a person followed to the studio's front page."""
    sites = _values(headers, b"sec-fetch-site")
    followed = _values(headers, b"sec-fetch-mode") == [b"navigate"] and _values(headers, b"sec-fetch-dest") == [
        b"document"
    ]
    if not all(site in OURS for site in sites) and not (navigable and followed and len(sites) == 1):
        raise Refusal(403, "Another page asked for this: open the studio's own address instead.")
    if any(origin != b"http://" + host for origin in _values(headers, b"origin")):
        raise Refusal(403, "A page of another origin asked for this: open the studio's own address instead.")


def _check_body(headers: list[tuple[bytes, bytes]], policy: Policy) -> None:
    """Refuse a body that is too large by its own word, or of a kind that a form of another page could send."""
    lengths = _values(headers, b"content-length")
    # Python itself refuses to read whole numbers of thousands of digits.
    if len(lengths) > 1 or not all(length.isdigit() and len(length) <= LENGTH_DIGITS for length in lengths):
        raise Refusal(400, f"The request must say its length once, in at most {LENGTH_DIGITS} digits.")
    size = int(lengths[0]) if lengths else 0
    if size > policy.limit:
        raise Refusal(413, f"The request has {size} bytes; here {policy.limit} are allowed.")
    if size or _values(headers, b"transfer-encoding"):
        wanted = b"application/octet-stream" if policy.binary else b"application/json"
        kinds = [value.split(b";")[0].strip().lower() for value in _values(headers, b"content-type")]
        if kinds != [wanted]:
            raise Refusal(415, f"The request must be of the type {wanted.decode()}.")


class Counted:
    """Counts what comes in; more than is allowed ends the request, whatever it said before."""

    def __init__(self, receive: Receive, policy: Policy) -> None:
        self._receive, self._policy = receive, policy
        self._total = self._parts = self._pairs = 0
        self.refusal: Refusal | None = None

    async def __call__(self) -> Message:
        """Receive the next piece."""
        message = await self._receive()
        if wrong := self._wrong(message.get("body", b"")):
            self.refusal = Refusal(413, wrong)
            raise self.refusal
        return message

    def _wrong(self, body: bytes) -> str:
        self._total += len(body)
        if self._total > self._policy.limit:
            return f"The request has more than {self._policy.limit} bytes, which is all that is allowed here."
        if self._policy.binary:
            return ""
        self._parts += body.count(b"{") + body.count(b"[")
        self._pairs += body.count(b":")
        return too_many_parts(self._parts, self._pairs)


def _values(headers: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name]


async def _refuse(refusal: Refusal, as_json: bool, send: Send) -> None:
    body = json.dumps({"detail": str(refusal)}).encode() if as_json else f"{refusal}\n".encode()
    kind = b"application/json" if as_json else b"text/plain; charset=utf-8"
    headers = [(b"content-type", kind), (b"content-length", str(len(body)).encode())]
    if refusal.status == 405:
        headers.append((b"allow", refusal.allowed.encode()))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
