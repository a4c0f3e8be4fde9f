"""Ties: connections that store one weight, capsules that store one bias and the same parameters."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from inkcap.drawing import Capsule, Drawing
from inkcap.network.diagnostics import Diagnostic
from inkcap.network.network import CheckedCapsule, CheckedConnection, WeightRecord
from inkcap.structures import Structure


def owner_of(capsule: Capsule) -> str:
    """Name whom the bias and the parameters of a capsule belong to: itself, or its tie."""
    return f"tie:{capsule.tie}" if capsule.tie else capsule.id


def check_ties(
    drawing: Drawing, capsules: Mapping[str, CheckedCapsule], connections: Mapping[str, CheckedConnection]
) -> Iterator[Diagnostic]:
    """Compare what is tied: it must be stored alike and trained alike."""
    first: dict[str, CheckedConnection] = {}
    drawn = drawing.connections
    for connection in connections.values():
        tie = drawn[connection.id].tie
        if not tie:
            continue
        other = first.setdefault(tie, connection)
        mine, theirs = _structures(connection.weights), _structures(other.weights)
        trained = [bool(c.attributes.get("trainable", True)) for c in (connection, other)]
        if mine == theirs and trained[0] != trained[1]:
            yield Diagnostic(
                "tie-mismatch",
                (connection.id, other.id),
                f"{connection.id} and {other.id} are tied as {tie!r}, but one is trainable and the other is not: make "
                "them alike or untie one",
            )
        if mine != theirs:
            yield _mismatch(connection.id, other.id, tie, mine, theirs)
    yield from _check_capsules(drawing, capsules)


def _check_capsules(drawing: Drawing, capsules: Mapping[str, CheckedCapsule]) -> Iterator[Diagnostic]:
    first: dict[str, CheckedCapsule] = {}
    drawn = drawing.capsules
    for capsule in capsules.values():
        tie = drawn[capsule.id].tie
        if not tie:
            continue
        other = first.setdefault(tie, capsule)
        if any(weight.state for weight in capsule.stored):
            yield Diagnostic(
                "tie-mismatch",
                (capsule.id,),
                f"{capsule.id} is tied as {tie!r} and wears a part with running numbers, which each tied capsule would "
                "move: wear layer norm or group norm instead, or untie it",
            )
            continue
        mine, theirs = ({weight.name: weight for weight in c.stored} for c in (capsule, other))
        if _structures(mine) != _structures(theirs):
            yield _mismatch(capsule.id, other.id, tie, _structures(mine), _structures(theirs))


def _structures(weights: Mapping[str, WeightRecord]) -> dict[str, Structure]:
    return {name: weight.structure for name, weight in weights.items()}


def _mismatch(one: str, other: str, tie: str, mine: dict[str, Structure], theirs: dict[str, Structure]) -> Diagnostic:
    return Diagnostic(
        "tie-mismatch",
        (one, other),
        f"{one} and {other} are tied as {tie!r}, but their weights are {_show(mine)} and {_show(theirs)}: give them "
        "equal structures or untie one",
    )


def _show(weights: dict[str, Structure]) -> str:
    return " and ".join("×".join(map(str, s.shape)) or "a scalar" for s in weights.values()) or "none"
