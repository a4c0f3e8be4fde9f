"""Edits that mend a diagnostic."""

from __future__ import annotations

from collections.abc import Container, Mapping, Sequence
from dataclasses import replace
from typing import Any, cast

from inkcap.drawing import Capsule, Connection, Drawing, Edit, Put, Remove
from inkcap.drawing.fields import fresh_id
from inkcap.network.inference import Inferred, port_rank, stated_shape
from inkcap.structures import AXES, Shape, known
from inkcap.symbols import CAPSULES, CONNECTIONS, MAIN_PORT, Attributes, complete


def show(value: Any) -> str:
    """Write an attribute's value as people do: ``3×3``."""
    return "×".join(map(str, cast("tuple[Any, ...]", value))) if isinstance(value, tuple) else str(value)


def wording(id: str, changes: Mapping[str, Any]) -> str:
    """Say what a change of attributes does: ``set padding of a-b to 1×1``."""
    words = [f"empty {k}" if v is None else f"set {k} to {show(v)}" for k, v in changes.items()]
    return f"{' and '.join(words)} at {id}"


def set_capsule(capsule: Capsule, label: str, **changes: Any) -> Edit:
    """Change attributes of a capsule; None empties one."""
    attributes = {k: v for k, v in {**capsule.attributes, **changes}.items() if v is not None}
    declared = CAPSULES[capsule.symbol].attributes(capsule.rank)
    ordered = {a.name: attributes[a.name] for a in declared if a.name in attributes}
    return Edit(label, (Put(replace(capsule, attributes=ordered)),))


def set_connection(connection: Connection, label: str, symbol: str | None = None, **changes: Any) -> Edit:
    """Change attributes of a connection, or give it another symbol with new attributes."""
    name = symbol or connection.symbol
    attributes = changes if symbol else {**connection.attributes, **changes}
    ordered = {a.name: attributes[a.name] for a in CONNECTIONS[name].attributes if attributes.get(a.name) is not None}
    return Edit(label, (Put(replace(connection, symbol=name, attributes=ordered)),))


class _Names(Container[str]):
    """The ids of a drawing's capsules and connections, to be asked for; a set of them would take longer to make."""

    def __init__(self, drawing: Drawing) -> None:
        self._capsules, self._connections = drawing.capsules, drawing.connections

    def __contains__(self, name: object) -> bool:
        return name in self._capsules or name in self._connections


def insert_between(drawing: Drawing, connection: Connection, rank: int, symbol: str, **attributes: Any) -> Edit:
    """Put an identical capsule between two ends, entered by another connection symbol."""
    name = fresh_id(f"{connection.back}-{symbol}", _Names(drawing))
    moved = replace(connection, back=name)
    bridge = Connection(f"{name}-in", symbol, connection.back, name, dict(attributes))
    return Edit(
        f"insert a capsule by a {symbol} connection before {connection.front}",
        (Put(Capsule(name, "identical", rank)), Put(bridge), Put(moved)),
    )


def remove_connections(connections: list[Connection]) -> Edit:
    """Take connections away."""
    names = " and ".join(c.id for c in connections)
    return Edit(f"remove {names}", tuple(Remove("connection", c.id) for c in connections))


def resize(capsule: Capsule, shape: Shape, wanted: tuple[int, ...]) -> Edit | None:
    """Let the sizes that a capsule states be those that enter it."""
    sizes = known(shape)
    stated = stated_shape(complete(CAPSULES[capsule.symbol].attributes(capsule.rank), capsule.attributes), capsule.rank)
    if sizes is None or len(sizes) != len(stated):
        return None
    # A size that is not stated here follows from something else: stating it would only move the contradiction.
    if any(size is None and wish != now for size, wish, now in zip(stated, sizes, wanted, strict=True)):
        return None
    reading = (*sizes[1:], sizes[0]) if capsule.rank > 1 else sizes
    changes = {n: s for n, s in zip(AXES[capsule.rank], reading, strict=True) if capsule.attributes.get(n) is not None}
    return set_capsule(capsule, wording(capsule.id, changes), **changes)


def mend_mismatch(
    drawing: Drawing,
    connection: Connection,
    given: Shape,
    wanted: Shape,
    inferred: Inferred,
    beside: Sequence[Connection],
) -> Edit | None:
    """Find the edit that makes a connection give what its front end has."""
    capsule = drawing.capsules[connection.front]
    sizes, target = known(given), known(wanted)
    if sizes is None or target is None:
        return None
    if connection.symbol == "convolution":
        fitting = _fit_convolution(inferred.connection_attributes[connection.id], sizes, target)
        if fitting is not None:
            return set_connection(connection, wording(connection.id, fitting), **fitting)
    if connection.symbol == "full" and "height" in connection.attributes and sizes[:-1] == target[:-1]:
        return set_connection(connection, wording(connection.id, {"height": None}), height=None)
    if connection.symbol in ("transfer", "scale"):
        if len(sizes) == 1:
            return set_connection(connection, f"make {connection.id} a full connection", "full")
        strides = [a // b for a, b in zip(sizes[1:], target[1:], strict=True)]
        reached = [(a - 1) // s + 1 if s else 0 for a, s in zip(sizes[1:], strides, strict=True)]
        if reached == list(target[1:]):
            attributes = {"kernels": target[0], "kernel": (1,) * len(strides), "stride": tuple(strides)}
            ones = "×".join("1" * len(strides))
            return set_connection(connection, f"make {connection.id} a {ones} convolution", "convolution", **attributes)
    # Where several connections enter, a new size would only make another of them wrong.
    alone = [other.port for other in beside] == [MAIN_PORT]
    return resize(capsule, given, target) if alone else None


def _fit_convolution(attributes: dict[str, Any], given: tuple[int, ...], wanted: tuple[int, ...]) -> Attributes | None:
    changes: dict[str, Any] = {}
    if given[0] != wanted[0]:
        if wanted[0] % attributes["groups"]:
            return None
        changes["kernels"] = wanted[0]
    if given[1:] != wanted[1:]:
        if set(attributes["stride"]) != {1}:
            return None
        paddings: list[int] = []
        for have, want, padding in zip(given[1:], wanted[1:], attributes["padding"], strict=True):
            missing = want - have
            if missing % 2 or padding + missing // 2 < 0:
                return None
            paddings.append(padding + missing // 2)
        changes["padding"] = tuple(paddings)
    return changes


def mend_ranks(drawing: Drawing, connection: Connection) -> Edit | None:
    """Find the edit for a connection that cannot join its ends' ranks."""
    back, front = drawing.capsules[connection.back].output_rank, port_rank(drawing, connection)
    reshaping = CONNECTIONS["reshaping"]
    if front is None:
        return None
    if back >= 2 and front == 1 and connection.symbol == "full":
        return insert_between(drawing, connection, 1, "reshaping")
    if back == front == 1:
        return set_connection(connection, f"make {connection.id} a full connection", "full")
    if back == front == 0:
        return set_connection(connection, f"make {connection.id} an amplifying connection", "amplifying")
    if reshaping.joins(back, front):
        return set_connection(connection, f"make {connection.id} a reshaping connection", "reshaping")
    return None


DEFAULTS: dict[tuple[str, str], Any] = {
    ("convolution", "kernels"): 16,
    ("convolution", "kernel"): 3,
    ("subsampling", "window"): 2,
    ("transposed-convolution", "kernels"): 16,
    ("transposed-convolution", "kernel"): 4,
    ("local-convolution", "kernels"): 16,
    ("local-convolution", "kernel"): 3,
    ("downsampling", "window"): (2, 2),
    ("vote", "parents"): 10,
    ("vote", "atoms"): 16,
}
"""What the fix of a missing attribute offers: the commonest choice, for the person to change."""
