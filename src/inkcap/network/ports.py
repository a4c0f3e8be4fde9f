"""The checks of ports: which there are, what must enter them, how many connections they take."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace

from inkcap.drawing import Capsule, Connection, Edit, Put, Remove
from inkcap.network.diagnostics import Diagnostic
from inkcap.symbols import CAPSULES, MAIN_PORT


def unknown_port(capsule: Capsule, connection: Connection, title: str) -> Diagnostic | None:
    """Find a connection that enters a port that is not there; with one port alone, that must be meant."""
    symbol = CAPSULES[capsule.symbol]
    if symbol.port(connection.port) is not None:
        return None
    names = [port.name for port in symbol.ports]
    fix = None
    if len(names) == 1:
        fix = Edit(f"let {connection.id} enter the port {names[0]}", (Put(replace(connection, port=names[0])),))
    there = f"its ports are {' and '.join(names)}" if len(names) > 1 else f"its only port is {names[0]}"
    return Diagnostic(
        "unknown-port",
        (connection.id, capsule.id),
        f"{title} enters the port {connection.port!r}, which the {symbol.title_of(capsule.rank, capsule.attributes)} "
        f"capsule {capsule.id} does not have; {there}",
        {"port": connection.port, "ports": names},
        fix,
    )


def check_ports(capsule: Capsule, incoming: Sequence[Connection], title: str) -> Iterator[Diagnostic]:
    """Check what enters the ports of a capsule: each must be entered, and one that takes a single one only once."""
    symbol = CAPSULES[capsule.symbol]
    if symbol.is_data:
        return
    for port in symbol.ports:
        entering = [c for c in incoming if c.port.partition(".")[0] == port.name]
        if not entering and port.open:
            continue
        if not entering and port.name == MAIN_PORT:
            yield Diagnostic(
                "no-input",
                (capsule.id,),
                f"nothing enters {title}: connect a capsule to it, or make it a data capsule",
                fix=None,
            )
        elif not entering:
            what = port.help[0].lower() + port.help[1:].rstrip(".")
            yield Diagnostic(
                "no-input",
                (capsule.id,),
                f"nothing enters the port {port.name} of {title} ({what}): connect a capsule to this port",
                {"port": port.name},
            )
        if port.kind == "single" and len(entering) > 1:
            extra = entering[1:]
            names = " and ".join(c.id for c in entering)
            yield Diagnostic(
                "port-taken",
                (capsule.id, *(c.id for c in entering)),
                f"{names} enter the port {port.name} of {title}, which takes one: remove one, or sum them in an "
                "identical capsule before it",
                {"port": port.name, "entering": len(entering)},
                Edit(f"remove {' and '.join(c.id for c in extra)}", tuple(Remove("connection", c.id) for c in extra)),
            )
