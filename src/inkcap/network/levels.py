"""Levels: connections that enter one port but are kept apart get a place of their own before anything is checked."""

from __future__ import annotations

from dataclasses import replace

from inkcap.drawing import Connection, Drawing, Edit, Put
from inkcap.network.diagnostics import Diagnostic
from inkcap.symbols import CAPSULES, level_of

KEEPING = frozenset(id for id, symbol in CAPSULES.items() if any(port.kind == "keeps" for port in symbol.ports))
"""Symbols with a port that keeps what enters it apart."""


def with_levels(drawing: Drawing) -> Drawing:
    """Give the drawing with every connection into such a port naming its place there, ``scores`` or ``scores.1``."""
    if not any(capsule.symbol in KEEPING for capsule in drawing.capsules.values()):
        return drawing
    counts: dict[tuple[str, str], int] = {}
    named: list[Put] = []
    for connection in drawing.connections.values():
        front = drawing.capsules.get(connection.front)
        port = CAPSULES[front.symbol].port(connection.port) if front is not None else None
        if port is None or port.kind != "keeps":
            continue
        key = (connection.front, connection.port)
        counts[key] = counts.get(key, 0) + 1
        if counts[key] > 1:
            named.append(Put(replace(connection, port=level_of(connection.port, counts[key] - 1))))
    if not named:
        return drawing
    told = drawing.copy()
    told.apply(Edit("name levels", tuple(named)))
    return told


def as_drawn(diagnostic: Diagnostic) -> Diagnostic:
    """Let a diagnostic's edit name the port as the drawing does."""
    if diagnostic.fix is None or not any(map(_levelled, diagnostic.fix.patches)):
        return diagnostic
    patches = tuple(_base(patch) if isinstance(patch, Put) else patch for patch in diagnostic.fix.patches)
    return replace(diagnostic, fix=Edit(diagnostic.fix.label, patches))


def _levelled(patch: object) -> bool:
    return isinstance(patch, Put) and isinstance(patch.record, Connection) and "." in patch.record.port


def _base(patch: Put) -> Put:
    record = patch.record
    if not isinstance(record, Connection):
        return patch
    return Put(replace(record, port=record.port.partition(".")[0]))
