"""What is refused of groups before anything is made: recursion, and more capsules than a network may have."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inkcap.drawing import limits
from inkcap.drawing.groups import Group, Use, chained_ports
from inkcap.drawing.history import Document
from inkcap.drawing.records import Connection


@dataclass(frozen=True)
class GroupProblem:
    """Why a use of a group cannot be flattened: which rule, where, and in words what to do."""

    rule: str
    where: tuple[str, ...]
    message: str
    numbers: Mapping[str, Any] = field(default_factory=dict[str, Any])


def refusals(drawing: Document) -> Iterator[GroupProblem]:
    """Find what must not be flattened."""
    cycle = _recursion(drawing.groups)
    if cycle:
        yield GroupProblem(
            "group-recursive",
            cycle,
            f"the group {' → '.join((*cycle, cycle[0]))} uses itself: it would never end; remove that use from it",
        )
        return
    counts = Counts.of(drawing)
    sizes = counts.sizes
    for what, number, most in (
        ("capsules", counts.capsules, limits.CAPSULES),
        ("connections", counts.connections, limits.CONNECTIONS),
    ):
        if number > most:
            large = max(drawing.uses.values(), key=lambda use: use.repeat * sizes[use.group].capsules)
            yield GroupProblem(
                "group-explodes",
                (large.id,),
                f"with its groups opened the drawing would have {number} {what}, {most} are allowed; most come from "
                f"{large.id} (×{large.repeat} {large.group}): repeat it less often",
                {what: number, "allowed": most},
            )
            return
    for use in drawing.uses.values():
        if sizes[use.group].depth > limits.GROUP_DEPTH:
            yield GroupProblem(
                "group-explodes",
                (use.id,),
                f"the group {use.group} is nested {sizes[use.group].depth} deep, {limits.GROUP_DEPTH} are allowed",
                {"depth": sizes[use.group].depth},
            )
            return


def _recursion(groups: Mapping[str, Group]) -> tuple[str, ...]:
    """Find a group that uses itself, directly or through others, without recursion of our own."""
    done: set[str] = set()
    for first in groups:
        path: dict[str, None] = {}
        waiting: list[tuple[str, bool]] = [(first, True)]
        while waiting:
            id, entering = waiting.pop()
            if not entering:
                done.add(path.popitem()[0])
                continue
            if id in done:
                continue
            path[id] = None
            waiting.append((id, False))
            for use in groups[id].uses:
                if use.group in path:
                    return tuple(path)[list(path).index(use.group) :]
                waiting.append((use.group, True))
    return ()


@dataclass(frozen=True)
class Size:
    """What a group becomes: its capsules and connections, how deep it is nested, and the ends of each input."""

    capsules: int
    connections: int
    depth: int
    fans: Mapping[str, int]
    """By input: how many capsules inside it leads to, for an inner use gives some inputs to all its copies."""


def _sizes(groups: Mapping[str, Group]) -> dict[str, Size]:
    """Count what every group becomes with its inner uses opened."""
    sizes: dict[str, Size] = {}
    waiting = list(groups)
    while waiting:
        group = groups[waiting[-1]]
        if group.id in sizes:
            waiting.pop()
            continue
        # Each once, however often it is used: else two groups of many uses would take for ever.
        missing = {use.group for use in group.uses if use.group not in sizes}
        if missing:
            waiting.extend(missing)
            continue
        waiting.pop()
        uses = {use.id: use for use in group.uses}
        capsules, connections = _counts(len(group.capsules), group.connections, uses, groups, sizes)
        depth = 1 + max((sizes[use.group].depth for use in group.uses), default=0)
        fans = {port: _fan(uses[id], port, groups, sizes) if id in uses else 1 for port, id in group.inputs.items()}
        sizes[group.id] = Size(capsules, connections, depth, fans)
    return sizes


def _counts(
    own: int,
    drawn: Collection[Connection],
    uses: Mapping[str, Use],
    groups: Mapping[str, Group],
    sizes: Mapping[str, Size],
) -> tuple[int, int]:
    """Count capsules and connections that some capsules, connections and uses become."""
    capsules = own + sum(use.repeat * sizes[use.group].capsules for use in uses.values())
    lines = _lines(drawn, uses, groups, sizes)
    for use in uses.values():
        size = sizes[use.group]
        chained = sum(size.fans[port] for port in chained_ports(groups[use.group]).values())
        lines += use.repeat * size.connections + (use.repeat - 1) * chained
    return capsules, lines


def _lines(
    drawn: Collection[Connection], uses: Mapping[str, Use], groups: Mapping[str, Group], sizes: Mapping[str, Size]
) -> int:
    return len(drawn) + sum([_fan(uses[c.front], c.port, groups, sizes) - 1 for c in drawn if c.front in uses])


@dataclass(frozen=True)
class Counts:
    """How many capsules and connections a drawing has with its groups opened."""

    capsules: int
    connections: int
    sizes: Mapping[str, Size]

    @staticmethod
    def of(drawing: Document) -> Counts:
        """Count what a drawing becomes; no group may use itself."""
        sizes = _sizes(drawing.groups)
        drawn = drawing.connections.values()
        return Counts(*_counts(len(drawing.capsules), drawn, drawing.uses, drawing.groups, sizes), sizes)

    @property
    def fit(self) -> bool:
        """Tell whether a network may have so many."""
        return self.capsules <= limits.CAPSULES and self.connections <= limits.CONNECTIONS

    def changed(
        self, drawing: Document, more: int, gone: Collection[Connection], come: Collection[Connection]
    ) -> Counts:
        """Count with so many capsules more and other connections, while groups and uses are the same."""
        lines = [_lines(drawn, drawing.uses, drawing.groups, self.sizes) for drawn in (gone, come)]
        return Counts(self.capsules + more, self.connections + lines[1] - lines[0], self.sizes)


def _fan(use: Use, port: str, groups: Mapping[str, Group], sizes: Mapping[str, Size]) -> int:
    """Count the capsules that one connection into a use enters: those of all copies, unless a copy feeds the next."""
    group, fans = groups[use.group], sizes[use.group].fans
    entered = port if port in fans else next(iter(fans), "")
    if entered not in fans:
        return 1
    return fans[entered] * (1 if entered in chained_ports(group).values() else use.repeat)
