"""Capsules that are alike: what is found of one holds for all that state the same and are entered alike.

Large drawings repeat themselves: thousands of neurons of one symbol, hundreds of convolutions in a row. Nothing that is
inferred or checked of a settled capsule depends on names, so it is found once and written under the others' names.
"""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, field

from inkcap.drawing import Capsule, Connection, Drawing
from inkcap.network.inference import Inferred
from inkcap.network.network import CheckedCapsule, CheckedConnection, CheckedPart, WeightRecord
from inkcap.network.ties import owner_of
from inkcap.structures import PartialShape
from inkcap.symbols import socket

Checked = tuple[tuple[CheckedConnection, ...], CheckedCapsule]
"""The records of the connections that enter a capsule, and its own."""
MOST = 4_096
"""How many kinds are remembered; more than that only pass by, such as sizes that someone tries out."""


@dataclass
class Alike:
    """What was found of the first capsule of a kind, and the records where there was nothing to complain about."""

    capsule: Capsule
    incoming: tuple[Connection, ...]
    found: Inferred
    checked: dict[tuple[str, ...], Checked] = field(default_factory=dict[tuple[str, ...], Checked])
    """By the data types of the capsule and of what enters it."""


def likeness(
    drawing: Drawing, capsule: Capsule, incoming: Sequence[Connection], backs: tuple[PartialShape, ...]
) -> Hashable:
    """Give what everything that is found of a settled capsule depends on."""
    if not incoming:
        return capsule.likeness
    givers = [drawing.capsules[connection.back] for connection in incoming]
    entering = [(c.likeness, giver.symbol, giver.rank) for c, giver in zip(incoming, givers, strict=True)]
    return (capsule.likeness, len({c.back for c in incoming}), backs, *entering)


def found_alike(alike: Alike, drawing: Drawing, capsule: Capsule, incoming: Sequence[Connection]) -> Inferred:
    """Write what was found of another capsule under the names of this one."""
    one, other, found = alike.capsule.id, capsule.id, alike.found
    made = Inferred(drawing)
    made.output[other] = found.output[one]
    made.attributes[other] = found.attributes[one]
    if one in found.entered:
        made.entered[other] = found.entered[one]
    for name in found.ports_of(one):
        here, there = socket(other, name), socket(one, name)
        made.total_input[here] = found.total_input[there]
        if there in found.gathered:
            gathered = found.gathered[there]
            made.gathered[here] = {
                new.id: gathered[old.id]
                for old, new in zip(alike.incoming, incoming, strict=True)
                if old.id in gathered
            }
    for old, new in zip(alike.incoming, incoming, strict=True):
        made.connection_attributes[new.id] = found.connection_attributes[old.id]
    return made


def checked_alike(checked: Checked, capsule: Capsule, incoming: Sequence[Connection]) -> Checked:
    """Write the records of another capsule, and of what enters it, under the names of this one."""
    old = checked[1]
    connections = tuple(
        CheckedConnection(
            connection.id,
            one.symbol,
            connection.back,
            connection.front,
            one.attributes,
            one.back_end,
            one.front_end,
            _named(one.weights, f"tie:{connection.tie}" if connection.tie else connection.id) if one.weights else {},
            one.multiply_adds,
            one.tied,
            one.port,
        )
        for one, connection in zip(checked[0], incoming, strict=True)
    )
    owner = owner_of(capsule)
    parts = [CheckedPart(p.part, p.attributes, _named(p.weights, f"{owner}.{p.part}")) for p in old.parts]
    made = CheckedCapsule(
        capsule.id,
        old.symbol,
        old.rank,
        old.attributes,
        old.total_input,
        old.output,
        old.bias_kind,
        _renamed(old.bias, f"{owner}.bias") if old.bias else None,
        tuple([connection.id for connection in incoming]),
        tuple(parts),
        old.ports,
        _named(old.parameters, owner) if old.parameters else {},
        old.multiply_adds,
    )
    return connections, made


def _named(weights: Mapping[str, WeightRecord], owner: str) -> dict[str, WeightRecord]:
    return {name: _renamed(weight, f"{owner}.{name}") for name, weight in weights.items()}


def _renamed(weight: WeightRecord, name: str) -> WeightRecord:
    return WeightRecord(
        name,
        weight.structure,
        weight.initialiser,
        weight.fan_in,
        weight.fan_out,
        weight.trainable,
        weight.start,
        weight.state,
        weight.starts,
    )
