"""Capsules that are alike: what is found of one holds for all that state the same and are entered alike.

Large drawings repeat themselves: thousands of neurons of one symbol, hundreds of convolutions in a row. Nothing that is
inferred or checked of a settled capsule depends on names, so it is found once and written under the others' names.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeVar

from inkcap.drawing import Capsule, Connection
from inkcap.network.inference import Inferred
from inkcap.network.network import CheckedCapsule, CheckedConnection, CheckedPart, WeightRecord
from inkcap.network.ties import owner_of
from inkcap.network.totals import Checked
from inkcap.structures import PartialShape
from inkcap.symbols import socket

MOST = 4_096
"""How many kinds are remembered; more than that only pass by, such as sizes that someone tries out."""
R = TypeVar("R", CheckedCapsule, CheckedConnection, WeightRecord)


@dataclass(frozen=True)
class Alike:
    """What was found of the first capsule of a kind, without names."""

    output: PartialShape
    attributes: dict[str, Any]
    entered: tuple[str, ...] | None
    ports: tuple[tuple[str, PartialShape, tuple[tuple[int, PartialShape], ...] | None], ...]
    """Each port with its total input and, if it gathers, what each connection brings by its place."""
    connections: tuple[dict[str, Any], ...]
    """The attributes of the connections that enter."""
    checked: dict[tuple[str, ...], Checked] = field(default_factory=dict[tuple[str, ...], Checked])
    """The records where there was nothing to complain about, by the data types of the capsule and of what enters it."""


def likeness(
    capsules: Mapping[str, Capsule], capsule: Capsule, incoming: Sequence[Connection], backs: Sequence[PartialShape]
) -> Hashable:
    """Give what everything that is found of a settled capsule depends on."""
    if not incoming:
        return capsule.likeness
    if len(incoming) == 1:
        giver = capsules[incoming[0].back]
        return (capsule.likeness, incoming[0].likeness, giver.symbol, giver.rank, backs[0])
    entering = [(c.likeness, capsules[c.back].symbol, capsules[c.back].rank) for c in incoming]
    return (capsule.likeness, len({c.back for c in incoming}), *backs, *entering)


def kind_of(found: Inferred, capsule: Capsule, incoming: Sequence[Connection]) -> Alike:
    """Take the names off what was found of a capsule."""
    id = capsule.id
    ports = [
        (name, found.total_input[socket(id, name)], _gathered(found, id, name, incoming)) for name in _ports(found, id)
    ]
    return Alike(
        found.output[id],
        found.attributes[id],
        found.entered.get(id),
        tuple(ports),
        tuple([found.connection_attributes[connection.id] for connection in incoming]),
    )


def _ports(found: Inferred, id: str) -> list[str]:
    return ["in" if name == id else name.removeprefix(f"{id}.") for name in found.sockets[id]]


def _gathered(
    found: Inferred, id: str, port: str, incoming: Sequence[Connection]
) -> tuple[tuple[int, PartialShape], ...] | None:
    gathered = found.gathered.get(socket(id, port))
    if gathered is None:
        return None
    return tuple([(i, gathered[c.id]) for i, c in enumerate(incoming) if c.id in gathered])


def write_alike(alike: Alike, known: Inferred, id: str, incoming: Sequence[Connection]) -> None:
    """Write what was found of another capsule under the names of this one."""
    known.output[id] = alike.output
    known.attributes[id] = alike.attributes
    if alike.entered is not None:
        known.entered[id] = alike.entered
    sockets: list[str] = []
    for name, shape, gathered in alike.ports:
        here = socket(id, name)
        sockets.append(here)
        known.total_input[here] = shape
        if gathered is not None:
            known.gathered[here] = {incoming[place].id: brought for place, brought in gathered}
    known.sockets[id] = tuple(sockets)
    for attributes, connection in zip(alike.connections, incoming, strict=True):
        known.connection_attributes[connection.id] = attributes


def checked_alike(checked: Checked, capsule: Capsule, incoming: Sequence[Connection]) -> Checked:
    """Write the records of another capsule, and of what enters it, under the names of this one."""
    old = checked[1]
    connections: list[CheckedConnection] = []
    for one, connection in zip(checked[0], incoming, strict=True):
        weights = one.weights
        if weights:
            weights = _named(weights, f"tie:{connection.tie}" if connection.tie else connection.id)
        names = {"id": connection.id, "back": connection.back, "front": connection.front, "weights": weights}
        connections.append(_like(one, names))
    own: dict[str, Any] = {"id": capsule.id, "incoming": tuple([connection.id for connection in incoming])}
    if old.bias or old.parts or old.parameters:
        owner = owner_of(capsule)
        own["bias"] = _like(old.bias, {"name": f"{owner}.bias"}) if old.bias else None
        own["parts"] = tuple(
            [CheckedPart(p.part, p.attributes, _named(p.weights, f"{owner}.{p.part}")) for p in old.parts]
        )
        own["parameters"] = _named(old.parameters, owner)
    return tuple(connections), _like(old, own)


def _named(weights: Mapping[str, WeightRecord], owner: str) -> dict[str, WeightRecord]:
    return {name: _like(weight, {"name": f"{owner}.{name}"}) for name, weight in weights.items()}


def _like(record: R, names: Mapping[str, Any]) -> R:
    """Make a record that differs in these fields: ``dataclasses.replace`` at a fifth of its cost."""
    made: R = object.__new__(type(record))
    vars(made).update(vars(record))
    vars(made).update(names)
    return made
