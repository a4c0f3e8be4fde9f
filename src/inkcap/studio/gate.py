"""The studio's gate: the outermost piece of the application, which denies whatever it does not know.

The studio listens on this machine alone, yet every web page that the user visits can send requests to this machine.
Three checks stop them, and none replaces another: the Host must be one of ours (a foreign name that was
re-pointed at this machine fails), the request must come from our own page (other sites and other local ports fail),
and path and method must be in the policy table. All of them read the raw scope.
"""

from collections.abc import MutableMapping
from typing import Any

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from inkcap.studio.policy import policy_for

HEADERS: tuple[tuple[bytes, bytes], ...] = (
    (b"x-content-type-options", b"nosniff"),
    (
        b"content-security-policy",
        b"default-src 'none'; style-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
        b"frame-ancestors 'none'",
    ),
    (b"cross-origin-resource-policy", b"same-origin"),
    (b"cross-origin-opener-policy", b"same-origin"),
    (b"referrer-policy", b"same-origin"),
    (b"cache-control", b"no-store"),
)
OURS = frozenset({b"same-origin", b"none"})
POLICY_VIOLATION = 1008


def allowed_hosts(port: int) -> frozenset[bytes]:
    """Return the exact Host headers under which the studio answers."""
    return frozenset(f"{name}:{port}".encode() for name in ("127.0.0.1", "localhost", "[::1]"))


class Refusal(Exception):
    """A request that the gate turns away, with its status and one sentence for the person who reads it."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status = status


class Gate:
    """The ASGI application that stands before all others and lets through only what the checks allow."""

    def __init__(self, app: ASGIApp, port: int) -> None:
        self.app = app
        self.hosts = allowed_hosts(port)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Let the server's own start and stop through, check http, refuse websockets, know nothing else."""
        if scope["type"] == "lifespan":
            await self.app(scope, receive, send)
        elif scope["type"] == "http":
            await self._http(scope, receive, send)
        elif scope["type"] == "websocket":
            await send({"type": "websocket.close", "code": POLICY_VIOLATION, "reason": "The studio has no websockets."})
        else:
            raise RuntimeError(f"The studio's gate does not know the scope type {scope['type']!r}: it is refused.")

    async def _http(self, scope: Scope, receive: Receive, send: Send) -> None:
        head = scope["method"] == "HEAD"

        async def send_guarded(message: Message) -> None:
            if message["type"] == "http.response.start":
                message = {**message, "headers": _guarded(message.get("headers", ()))}
            elif head and message["type"] == "http.response.body":
                message = {**message, "body": b""}
            await send(message)

        try:
            self._check(scope)
        except Refusal as refusal:
            await _refuse(refusal, send_guarded)
            return
        # The routes know GET only: a HEAD is a GET whose body stays here.
        inner: MutableMapping[str, Any] = {**scope, "method": "GET"} if head else scope
        await self.app(inner, receive, send_guarded)

    def _check(self, scope: Scope) -> None:
        headers: list[tuple[bytes, bytes]] = list(scope["headers"])
        hosts = _values(headers, b"host")
        if len(hosts) != 1 or hosts[0] not in self.hosts:
            raise Refusal(421, "This is not the studio's address: open the one that it printed when it started.")
        path: str = scope["path"]
        if not path.startswith("/") or any(ord(letter) < 32 or ord(letter) == 127 for letter in path):
            raise Refusal(400, "The path must begin with / and hold no control characters.")
        if any(b"websocket" in value.lower() for value in _values(headers, b"upgrade")):
            raise Refusal(403, "The studio has no websockets.")
        policy = policy_for(path)
        if scope["method"] not in (policy.methods if policy else {"GET", "HEAD"}):
            raise Refusal(405, "The studio answers GET and HEAD only.")
        _check_origin(headers, hosts[0], navigable=policy is not None and policy.navigable)
        if policy is None:
            raise Refusal(404, "The studio has no such page.")


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


def _values(headers: list[tuple[bytes, bytes]], name: bytes) -> list[bytes]:
    return [value for key, value in headers if key.lower() == name]


def _guarded(headers: list[tuple[bytes, bytes]]) -> list[tuple[bytes, bytes]]:
    """Return the response's headers with ours in the place of any of the same name."""
    ours = {name for name, _ in HEADERS}
    return [(name, value) for name, value in headers if name.lower() not in ours] + list(HEADERS)


async def _refuse(refusal: Refusal, send: Send) -> None:
    body = f"{refusal}\n".encode()
    headers = [(b"content-type", b"text/plain; charset=utf-8"), (b"content-length", str(len(body)).encode())]
    if refusal.status == 405:
        headers.append((b"allow", b"GET, HEAD"))
    await send({"type": "http.response.start", "status": refusal.status, "headers": headers})
    await send({"type": "http.response.body", "body": body})
