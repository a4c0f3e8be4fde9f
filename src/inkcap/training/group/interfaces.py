"""By which of a machine's connections members speak.

Left alone, gloo takes the one of the machine's own name, and on many that is an address which no other reaches.
"""

from __future__ import annotations

import os
import socket
import struct
from contextlib import suppress

VARIABLE = "GLOO_SOCKET_IFNAME"
_ASK_ADDRESS = 0x8915
"""SIOCGIFADDR of Linux."""


def speak_by(address: str) -> None:
    """Let gloo use the connection that has an address of this machine, unless another one was chosen."""
    name = _interface_of(address)
    if name and not os.environ.get(VARIABLE):
        os.environ[VARIABLE] = name


def speak_towards(host: str, port: int) -> None:
    """Let gloo use the connection by which another machine, or this one, is reached."""
    with suppress(OSError):
        kind, _, _, _, place = socket.getaddrinfo(host, port, type=socket.SOCK_DGRAM)[0]
        with socket.socket(kind, socket.SOCK_DGRAM) as asking:
            # Nothing is sent: it only says which way it would take.
            asking.connect(place)
            speak_by(str(asking.getsockname()[0]))


def _interface_of(address: str) -> str:
    """Give the name of the connection with an address; nothing where the system does not tell."""
    try:
        import fcntl
    except ImportError:
        return ""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as asking:
        for _, name in socket.if_nameindex():
            with suppress(OSError):
                told = fcntl.ioctl(asking.fileno(), _ASK_ADDRESS, struct.pack("256s", name.encode()[:15]))
                if socket.inet_ntoa(told[20:24]) == address:
                    return name
    return ""
