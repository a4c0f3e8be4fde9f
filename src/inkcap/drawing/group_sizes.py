"""What is refused of groups before anything is made: recursion, and more capsules than a network may have."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from inkcap.drawing import limits
from inkcap.drawing.groups import Group
from inkcap.drawing.history import Document


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
    sizes, depths = _sizes(drawing.groups)
    count = len(drawing.capsules) + sum(use.repeat * sizes[use.group][0] for use in drawing.uses.values())
    lines = len(drawing.connections) + sum(use.repeat * (sizes[use.group][1] + 1) for use in drawing.uses.values())
    for what, number, most in (("capsules", count, limits.CAPSULES), ("connections", lines, limits.CONNECTIONS)):
        if number > most:
            large = max(drawing.uses.values(), key=lambda use: use.repeat * sizes[use.group][0])
            yield GroupProblem(
                "group-explodes",
                (large.id,),
                f"with its groups opened the drawing would have {number} {what}, {most} are allowed; most come from "
                f"{large.id} (×{large.repeat} {large.group}): repeat it less often",
                {what: number, "allowed": most},
            )
            return
    for use in drawing.uses.values():
        if depths[use.group] > limits.GROUP_DEPTH:
            yield GroupProblem(
                "group-explodes",
                (use.id,),
                f"the group {use.group} is nested {depths[use.group]} deep, {limits.GROUP_DEPTH} are allowed",
                {"depth": depths[use.group]},
            )
            return


def _recursion(groups: Mapping[str, Group]) -> tuple[str, ...]:
    """Find a group that uses itself, directly or through others, without recursion of our own."""
    done: set[str] = set()
    for first in groups:
        path: list[str] = []
        waiting: list[tuple[str, bool]] = [(first, True)]
        while waiting:
            id, entering = waiting.pop()
            if not entering:
                done.add(path.pop())
                continue
            if id in done:
                continue
            path.append(id)
            waiting.append((id, False))
            for use in groups[id].uses:
                if use.group in path:
                    return tuple(path[path.index(use.group) :])
                waiting.append((use.group, True))
    return ()


def _sizes(groups: Mapping[str, Group]) -> tuple[dict[str, tuple[int, int]], dict[str, int]]:
    """Count capsules and connections of every group with its inner uses opened, and how deep they are nested."""
    sizes: dict[str, tuple[int, int]] = {}
    depths: dict[str, int] = {}
    waiting = list(groups)
    while waiting:
        group = groups[waiting[-1]]
        missing = [use.group for use in group.uses if use.group not in sizes]
        if missing:
            waiting.extend(missing)
            continue
        waiting.pop()
        capsules = len(group.capsules) + sum(u.repeat * sizes[u.group][0] for u in group.uses)
        lines = len(group.connections) + sum(u.repeat * (sizes[u.group][1] + 1) for u in group.uses)
        sizes[group.id] = (capsules, lines)
        depths[group.id] = 1 + max((depths[use.group] for use in group.uses), default=0)
    return sizes, depths
