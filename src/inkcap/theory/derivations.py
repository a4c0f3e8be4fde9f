"""The generation theorem as an algorithm: a derivation for every connected directed acyclic graph.

The proof takes a sink away, splits what is left and starts again on every part. Done so, a large graph would be split
again and again. Here the sinks are taken away once, the last drawn first; put back in the opposite order, a vertex
joins exactly the parts that its removal had left, and a union-find knows them. That is near-linear in the edges.
"""

from __future__ import annotations

import heapq
from array import array
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate
from typing import Literal, cast, get_args, overload

from inkcap.theory.errors import Cyclic, DerivationError, NotConnected
from inkcap.theory.graphs import Graph

Rule = Literal["variable", "neuron", "growth", "convergence"]
RuleSet = Literal["four", "three", "two"]
"""Four: all. Three: without neuron, which is growth on one variable and convergence on several.
Two: variable and convergence with K ≥ 1, of which growth is the case K = 1."""

INTEGER = "i"


@dataclass(frozen=True)
class Step:
    """One application of a rule: the new vertex and the vertices that enter it, grouped by the part they lie in."""

    rule: Rule
    vertex: str
    parts: tuple[tuple[str, ...], ...] = ()

    @property
    def entering(self) -> tuple[str, ...]:
        """N: the vertices that enter, part by part."""
        return tuple(name for part in self.parts for name in part)

    def text(self, most: int | None = None) -> str:
        """Write the step in words, e.g. ``growth: h2 ← {x1}``; at most so many names, when a number is given."""
        if self.rule == "variable":
            return f"variable: {self.vertex}"
        parts = self.parts if self.rule == "convergence" else (self.entering,)
        left = sum(map(len, parts)) if most is None else most
        shown: list[str] = []
        for i, part in enumerate(parts):
            if left <= 0:
                shown.append(f"… {len(parts) - i} more parts")
                break
            rest = f", … {len(part) - left} more" if len(part) > left else ""
            shown.append(f"{{{', '.join(part[:left])}{rest}}}")
            left -= len(part)
        kind = f"convergence (K = {len(self.parts)})" if self.rule == "convergence" else self.rule
        return f"{kind}: {self.vertex} ← {' ∪ '.join(shown)}"

    def __str__(self) -> str:
        return self.text()


@dataclass(frozen=True, eq=False, repr=False)
class Derivation(Sequence[Step]):
    """The steps that make a network, kept in flat columns and read as a sequence of steps.

    Vertices are numbers; ``names`` has their names, or is empty when a number is a name. Vertex v has the parts from
    ``first_part[v]``, ``part_count[v]`` of them; part p is entered at the vertices from ``members[part_start[p]]`` up
    to the start of the next, and was completed by the step of the vertex ``part_top[p]``.
    """

    rules: RuleSet
    names: Sequence[str]
    order: array[int]
    first_part: array[int]
    part_count: array[int]
    part_start: array[int]
    part_top: array[int]
    members: array[int]

    def __len__(self) -> int:
        return len(self.order)

    @overload
    def __getitem__(self, index: int) -> Step: ...
    @overload
    def __getitem__(self, index: slice) -> tuple[Step, ...]: ...
    def __getitem__(self, index: int | slice) -> Step | tuple[Step, ...]:
        if isinstance(index, slice):
            return tuple(self._step(vertex) for vertex in self.order[index])
        return self._step(self.order[index])

    def __iter__(self) -> Iterator[Step]:
        return map(self._step, self.order)

    def __repr__(self) -> str:
        return f"<Derivation: {len(self)} steps by {self.rules} rules, {len(self.members)} edges>"

    def name(self, vertex: int) -> str:
        """Give the name of a vertex."""
        return self.names[vertex] if self.names else str(vertex)

    def rule(self, vertex: int) -> Rule:
        """Tell which rule makes a vertex: a neuron when all parts are trivial, growth when there is one part."""
        count = self.part_count[vertex]
        if count == 0:
            return "variable"
        if self.rules == "two":
            return "convergence"
        first = self.first_part[vertex]
        if self.rules == "four" and not any(self.part_count[top] for top in self.part_top[first : first + count]):
            return "neuron"
        return "growth" if count == 1 else "convergence"

    def rows(self) -> Iterator[tuple[Rule, int, list[array[int]]]]:
        """Give every step with vertices as numbers: the rule, the new vertex, the vertices of every part."""
        for vertex in self.order:
            yield self.rule(vertex), vertex, self._parts(vertex)

    def by(self, rules: RuleSet) -> Derivation:
        """Give the same derivation by another set of rules."""
        return replace(self, rules=_known(rules))

    def counts(self) -> dict[Rule, int]:
        """Count the steps of every rule."""
        found: dict[Rule, int] = dict.fromkeys(get_args(Rule), 0)
        for vertex in self.order:
            found[self.rule(vertex)] += 1
        return {rule: count for rule, count in found.items() if count}

    def _parts(self, vertex: int) -> list[array[int]]:
        first = self.first_part[vertex]
        starts = self.part_start[first : first + self.part_count[vertex] + 1]
        return [self.members[starts[i] : starts[i + 1]] for i in range(len(starts) - 1)]

    def _step(self, vertex: int) -> Step:
        parts = tuple(tuple(map(self.name, part)) for part in self._parts(vertex))
        return Step(self.rule(vertex), self.name(vertex), parts)


def derive(graph: Graph, rules: RuleSet = "four") -> Derivation:
    """Derive the induced network of a connected directed acyclic graph; equal edges count once."""
    number = {name: i for i, name in enumerate(graph.vertices)}
    if len(number) != len(graph.vertices):
        twice = next(name for i, name in enumerate(graph.vertices) if number[name] != i)
        raise DerivationError(f"two vertices are named {twice}; vertices have names of their own")
    backs = array(INTEGER, (number[back] for back, _ in graph.edges))
    fronts = array(INTEGER, (number[front] for _, front in graph.edges))
    return derive_edges(len(number), backs, fronts, rules, graph.vertices)


def derive_edges(
    count: int, backs: Sequence[int], fronts: Sequence[int], rules: RuleSet = "four", names: Sequence[str] = ()
) -> Derivation:
    """Derive from columns: ``count`` vertices, numbered from 0 in drawing order, and an edge per pair of entries."""
    _known(rules)
    if count < 1:
        raise DerivationError("the graph is empty; a network has one vertex at least")
    if names and len(names) != count:
        raise DerivationError(f"there are {count} vertices and {len(names)} names; give one for each, or none")
    if len(backs) != len(fronts):
        raise DerivationError(f"there are {len(backs)} back ends and {len(fronts)} front ends; every edge has both")
    for what, ends in (("back", backs), ("front", fronts)):
        if len(ends) and not (min(ends) >= 0 and max(ends) < count):
            wrong = next(end for end in ends if not 0 <= end < count)
            raise DerivationError(f"the {what} end {wrong} is no vertex; vertices are numbered from 0 to {count - 1}")
    starts, inside = _entering(count, backs, fronts)
    removed = _take_sinks_away(count, starts, inside, backs)
    if len(removed) < count:
        raise Cyclic([names[v] if names else str(v) for v in _cycle(count, removed, backs, fronts)])
    derivation = _put_back(count, starts, inside, removed, rules, names)
    _walk(derivation, removed[0])
    return derivation


def _known(rules: str) -> RuleSet:
    if rules not in get_args(RuleSet):
        raise DerivationError(f"there is no set of rules {rules!r}; there are {', '.join(get_args(RuleSet))}")
    return cast("RuleSet", rules)


def _zeros(count: int) -> array[int]:
    return array(INTEGER, bytes(count * array(INTEGER).itemsize))


def _entering(count: int, backs: Sequence[int], fronts: Sequence[int]) -> tuple[array[int], array[int]]:
    """Sort the back ends by their front ends: those of vertex v lie from starts[v] to starts[v + 1]."""
    amount = _zeros(count + 1)
    for front in fronts:
        amount[front + 1] += 1
    starts = array(INTEGER, accumulate(amount))
    place = starts[:]
    inside = _zeros(len(backs))
    for back, front in zip(backs, fronts, strict=True):
        inside[place[front]] = back
        place[front] += 1
    return starts, inside


def _take_sinks_away(count: int, starts: array[int], inside: array[int], backs: Sequence[int]) -> array[int]:
    """Take sinks away, always the one drawn last; vertices before a cycle are never sinks and stay."""
    leaving = _zeros(count)
    for back in backs:
        leaving[back] += 1
    ready = [-vertex for vertex in range(count) if leaving[vertex] == 0]
    heapq.heapify(ready)
    removed = array(INTEGER)
    while ready:
        vertex = -heapq.heappop(ready)
        removed.append(vertex)
        for back in inside[starts[vertex] : starts[vertex + 1]]:
            leaving[back] -= 1
            if leaving[back] == 0:
                heapq.heappush(ready, -back)
    return removed


def _put_back(
    count: int, starts: array[int], inside: array[int], removed: array[int], rules: RuleSet, names: Sequence[str]
) -> Derivation:
    """Put the vertices back; each joins the parts that its back ends lie in and becomes the root of the whole."""
    root = array(INTEGER, range(count))
    # The first drawn vertex of a part, told at its root: parts are named in this order.
    first = array(INTEGER, range(count))
    made = Derivation(rules, names, array(INTEGER), _zeros(count), _zeros(count),
                      array(INTEGER, (0,)), array(INTEGER), array(INTEGER))  # fmt: skip
    for vertex in reversed(removed):
        backs = sorted(set(inside[starts[vertex] : starts[vertex + 1]]))
        parts: dict[int, list[int]] = {}
        for back in backs:
            top = back
            while root[top] != top:
                root[top] = root[root[top]]
                top = root[top]
            parts.setdefault(top, []).append(back)
        tops = sorted(parts, key=first.__getitem__) if len(parts) > 1 else list(parts)
        made.first_part[vertex] = len(made.part_top)
        made.part_count[vertex] = len(tops)
        for top in tops:
            made.part_top.append(top)
            made.members.extend(parts[top])
            made.part_start.append(len(made.members))
            root[top] = vertex
            first[vertex] = min(first[vertex], first[top])
    if len(made.part_top) < count - 1:
        raise NotConnected(_parts(root, names))
    return made


def _parts(root: array[int], names: Sequence[str]) -> list[list[str]]:
    """List the vertices of every part, the part drawn first in front."""
    found: dict[int, list[str]] = {}
    for vertex in range(len(root)):
        top = vertex
        while root[top] != top:
            root[top] = root[root[top]]
            top = root[top]
        found.setdefault(top, []).append(names[vertex] if names else str(vertex))
    return list(found.values())


def _walk(derivation: Derivation, last: int) -> None:
    """Put the steps into order: the steps of every part, then the step that joins the parts."""
    order = derivation.order
    waiting = [last]
    while waiting:
        vertex = waiting.pop()
        order.append(vertex)
        first = derivation.first_part[vertex]
        waiting.extend(derivation.part_top[first : first + derivation.part_count[vertex]])
    order.reverse()


def _cycle(count: int, removed: array[int], backs: Sequence[int], fronts: Sequence[int]) -> list[int]:
    """Find a cycle among the vertices that stayed: each of them has a successor that stayed as well."""
    gone = bytearray(count)
    for vertex in removed:
        gone[vertex] = 1
    following = {back: front for back, front in zip(backs, fronts, strict=True) if not gone[back] and not gone[front]}
    vertex = min(following)
    place: dict[int, int] = {}
    while vertex not in place:
        place[vertex] = len(place)
        vertex = following[vertex]
    found = list(place)[place[vertex] :]
    lead = found.index(min(found))
    return found[lead:] + found[:lead]
