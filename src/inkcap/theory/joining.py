"""The parts of a graph after a change: searches from what the change touched, all at once, until all but one are done.

Each search that comes to its end has found a whole part; whatever is left belongs to the last one. So a change costs
what the smaller parts are, and a change inside of a well joined part costs next to nothing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Collection, Iterable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from inkcap.theory.graphs import Graph, NumberedParts


def changed_parts(old: Graph, new: Graph, touched: Collection[str], gone: Collection[str]) -> NumberedParts:
    """Give the parts of the new graph; ``touched`` are the vertices that are new or have other edges than before."""
    numbers, members = dict(old.numbered_parts[0]), dict(old.numbered_parts[1])
    fresh = max(members, default=-1) + 1
    concerned = {numbers[v] for v in (*touched, *gone) if v in numbers}
    for vertex in gone:
        del numbers[vertex]
    # A way that led to a changed edge leads at least to the end of it that was touched: all that is left of a part
    # hangs together with something that is touched.
    if not touched:
        for number in concerned:
            del members[number]
        return numbers, members
    whole, rest = _search(new, touched)
    largest = max(concerned, key=lambda number: len(members[number]), default=fresh)
    moved: set[str] = set()
    for number in concerned - {largest}:
        # All that is not found in a part of its own belongs to the rest, which keeps the number of the largest.
        numbers.update(dict.fromkeys([v for v in members[number] if v in new.known], largest))
        moved.update(members.pop(number))
    members.pop(largest, None)
    for vertex in rest:
        numbers[vertex] = largest
    for part in whole:
        fresh += 1
        members[fresh] = tuple(_drawn(new, part))
        numbers.update(dict.fromkeys(part, fresh))
    if rest:
        one = len(members) == 0
        members[largest] = new.vertices if one else tuple([v for v in new.vertices if numbers[v] == largest])
    return numbers, members


def _drawn(graph: Graph, part: set[str]) -> Iterable[str]:
    if len(part) == 1:
        return part
    return (vertex for vertex in graph.vertices if vertex in part)


def _search(graph: Graph, seeds: Collection[str]) -> tuple[list[set[str]], set[str]]:
    """Give the parts that end, and what was seen of the one that is left when all others have ended."""
    found = {seed: {seed} for seed in seeds}
    leader = {seed: seed for seed in seeds}
    # What is near is seen first: the ends of a line that was cut mostly meet again around the corner.
    fringe = {seed: deque([seed]) for seed in seeds}
    owner = {seed: seed for seed in seeds}
    whole: list[set[str]] = []

    def lead(seed: str) -> str:
        while leader[seed] != seed:
            leader[seed] = leader[leader[seed]]
            seed = leader[seed]
        return seed

    while len(found) > 1:
        for seed in list(found):
            if seed not in found or len(found) == 1:
                continue
            if not fringe[seed]:
                whole.append(found.pop(seed))
                continue
            vertex = fringe[seed].popleft()
            for other in (*graph.successors[vertex], *graph.predecessors[vertex]):
                met = owner.get(other)
                mine = lead(seed)
                if met is None:
                    owner[other] = mine
                    found[mine].add(other)
                    fringe[mine].append(other)
                elif (theirs := lead(met)) != mine:
                    small, large = sorted((mine, theirs), key=lambda one: len(found[one]))
                    leader[small] = large
                    found[large] |= found.pop(small)
                    fringe[large] += fringe.pop(small)
    (last,) = found.values()
    return whole, last
