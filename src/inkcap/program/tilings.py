"""Tilings: injections that fill an axis of their front end without gap or overlap."""

from __future__ import annotations

from collections.abc import Sequence

from inkcap.network import CheckedConnection

Starting = dict[tuple[int, int], list[CheckedConnection]]
"""Injections by their axis and offset, the one drawn first at the end."""


def along(connection: CheckedConnection) -> int:
    """Give the axis along which an injection lies."""
    assert connection.record.lays_along is not None
    assert connection.back_end is not None
    return connection.record.lays_along(connection.back_end.shape, connection.attributes)


def find_tilings(entering: Sequence[CheckedConnection]) -> list[list[CheckedConnection]]:
    """Join the injections that together fill an axis, in their order along it; every other connection stays alone."""
    starting: Starting = {}
    for connection in reversed(entering):
        if connection.record.lays_along:
            starting.setdefault((along(connection), connection.attributes["offset"]), []).append(connection)
    found: list[list[CheckedConnection]] = []
    for axis in sorted({axis for axis, _ in starting}):
        while tiling := _next_tiling(axis, starting):
            found.append(tiling)
    joined = {connection.id for tiling in found for connection in tiling}
    return [*([connection] for connection in entering if connection.id not in joined), *found]


def _next_tiling(axis: int, starting: Starting) -> list[CheckedConnection]:
    tiling: list[CheckedConnection] = []
    place, size = 0, -1
    while place != size:
        waiting = starting.get((axis, place))
        if not waiting:
            return []
        tiling.append(waiting[-1])
        assert waiting[-1].back_end is not None
        place, size = place + waiting[-1].back_end.sizes[axis], waiting[-1].attributes["size"]
    for connection in tiling:
        starting[(axis, connection.attributes["offset"])].pop()
    return tiling
