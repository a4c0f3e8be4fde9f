"""Whom a fetch may speak to: machines of the open internet, and no others.

A name is looked up once, and the very address that was judged is connected to; so a name that answers otherwise the
second time gains nothing, and neither does a redirect to a machine behind this one.
"""

import functools
import http.client
import io
import ipaddress
import socket
import ssl
import time
from typing import Any

from inkcap.training.data.errors import DataError

Address = ipaddress.IPv4Address | ipaddress.IPv6Address
_CARRIERS = tuple(
    ipaddress.IPv6Network(text) for text in ("64:ff9b::/96", "64:ff9b:1::/48", "::/96", "::ffff:0:0:0/96")
)
"""Networks whose addresses end in one of IPv4, which is where they lead."""
_SITE_LOCAL = ipaddress.IPv6Network("fec0::/10")


def is_open(address: Address) -> bool:
    """Tell whether an address is one of the open internet, whatever it is wrapped in."""
    if isinstance(address, ipaddress.IPv6Address):
        inner = address.ipv4_mapped or address.sixtofour or (address.teredo[1] if address.teredo else None)
        if inner is None and any(address in network for network in _CARRIERS):
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_open(inner)
        if address in _SITE_LOCAL:
            return False
    return address.is_global and not address.is_multicast


def open_addresses(host: str, port: int) -> list[tuple[Any, ...]]:
    """Look a name up and give its addresses, if all of them are of the open internet."""
    found = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)
    for *_, place in found:
        # A scope such as %eth0 is that of a neighbour, and no part of the address.
        address = ipaddress.ip_address(str(place[0]).partition("%")[0])
        if not is_open(address):
            raise DataError(
                f"{host} is {address}, a machine that is not of the open internet; nothing is fetched from there."
            )
    return found


class _Bounded(io.RawIOBase):
    """What a socket gives, until the time is up: a peer that sends a byte now and then is not waited for."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline
        self._raw = sock.makefile("rb", buffering=0)

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any, /) -> int | None:
        left = self._deadline - time.monotonic()
        if left <= 0:
            raise TimeoutError("it takes too long")
        if (allowed := self._sock.gettimeout()) is None or allowed > left:
            self._sock.settimeout(left)
        return self._raw.readinto(buffer)

    def close(self) -> None:
        self._raw.close()
        super().close()


class _Reader:
    """A socket as an answer takes it: it asks for a file, once."""

    def __init__(self, sock: socket.socket, deadline: float) -> None:
        self._sock, self._deadline = sock, deadline

    def makefile(self, *_: Any) -> io.BufferedReader:
        return io.BufferedReader(_Bounded(self._sock, self._deadline))


@functools.cache
def _trusted() -> ssl.SSLContext:
    """Give the certificates that this machine trusts; they are read once."""
    return ssl.create_default_context()


def _answers(deadline: float) -> Any:
    """Give what makes an answer of a socket; headers and body together have this much time."""
    return lambda sock, **options: http.client.HTTPResponse(_Reader(sock, deadline), **options)  # pyright: ignore


class LocalConnection(http.client.HTTPConnection):
    """A plain connection to this machine itself."""

    def __init__(self, host: str, *, deadline: float, **options: Any) -> None:
        super().__init__(host, **options)
        self.response_class = _answers(deadline)


class OpenConnection(http.client.HTTPSConnection):
    """An https connection to the open internet; a proxy is the user's own choice, and asked whatever its address."""

    def __init__(self, host: str, *, deadline: float, **options: Any) -> None:
        self._secured = _trusted()
        super().__init__(host, context=self._secured, **options)
        self._by_proxy = False
        self.response_class = _answers(deadline)

    def set_tunnel(self, host: str, port: int | None = None, headers: Any = None) -> None:
        """Note that a proxy is asked."""
        self._by_proxy = True
        super().set_tunnel(host, port, headers)

    def connect(self) -> None:
        """Connect to an address that was judged, never to the name again."""
        if self._by_proxy:
            super().connect()
        else:
            self.sock = self._secured.wrap_socket(self._judged(), server_hostname=self.host)

    def _judged(self) -> socket.socket:
        reason: OSError | None = None
        for family, kind, protocol, _, place in open_addresses(self.host, self.port):
            connected = socket.socket(family, kind, protocol)
            try:
                connected.settimeout(self.timeout)
                connected.connect(place)
            except OSError as error:
                connected.close()
                reason = error
            else:
                return connected
        raise reason or OSError(f"{self.host} has no address")
