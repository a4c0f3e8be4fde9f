"""Directed graphs: order, cycles, connectedness, layers. They know nothing of tensors."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cached_property
from typing import Literal


@dataclass(frozen=True)
class Graph:
    """Vertices in drawing order and directed edges from back to front."""

    vertices: tuple[str, ...]
    edges: tuple[tuple[str, str], ...]

    @staticmethod
    def of(vertices: Iterable[str], edges: Iterable[tuple[str, str]]) -> Graph:
        """Make a graph; both ends of every edge must be vertices."""
        graph = Graph(tuple(vertices), tuple(edges))
        for back, front in graph.edges:
            if back not in graph.known or front not in graph.known:
                raise ValueError(f"the edge {back}→{front} has an end that is no vertex")
        return graph

    @cached_property
    def known(self) -> frozenset[str]:
        """The vertices, to be asked for."""
        return frozenset(self.vertices)

    @cached_property
    def successors(self) -> dict[str, list[str]]:
        """OUT of every vertex, in the order of the edges."""
        found: dict[str, list[str]] = {vertex: [] for vertex in self.vertices}
        for back, front in self.edges:
            found[back].append(front)
        return found

    @cached_property
    def predecessors(self) -> dict[str, list[str]]:
        """IN of every vertex, in the order of the edges."""
        found: dict[str, list[str]] = {vertex: [] for vertex in self.vertices}
        for back, front in self.edges:
            found[front].append(back)
        return found

    @cached_property
    def inputs(self) -> tuple[str, ...]:
        """The vertices that nothing enters; an isolated vertex counts as an input."""
        return tuple(vertex for vertex in self.vertices if not self.predecessors[vertex])

    @cached_property
    def outputs(self) -> tuple[str, ...]:
        """The vertices that nothing leaves, except isolated ones."""
        return tuple(v for v in self.vertices if not self.successors[v] and self.predecessors[v])

    @cached_property
    def hidden(self) -> tuple[str, ...]:
        """The vertices between: V − (X ∪ O)."""
        return tuple(v for v in self.vertices if self.successors[v] and self.predecessors[v])

    @cached_property
    def order(self) -> tuple[str, ...]:
        """A topological order that follows the drawing order; vertices on or behind a cycle are left out."""
        waiting = {vertex: len(self.predecessors[vertex]) for vertex in self.vertices}
        ready = deque(self.inputs)
        order: list[str] = []
        while ready:
            vertex = ready.popleft()
            order.append(vertex)
            for front in self.successors[vertex]:
                waiting[front] -= 1
                if waiting[front] == 0:
                    ready.append(front)
        return tuple(order)

    @cached_property
    def positions(self) -> dict[str, int]:
        """The place of every vertex in the order."""
        return dict(zip(self.order, range(len(self.order)), strict=True))

    @cached_property
    def levels(self) -> dict[str, int]:
        """The longest path in edges from an input to every vertex; vertices on or behind a cycle have none."""
        level = dict.fromkeys(self.inputs, 0)
        for vertex in self.order:
            for front in self.successors[vertex]:
                level[front] = max(level.get(front, 0), level[vertex] + 1)
        return {vertex: level[vertex] for vertex in self.order}

    @cached_property
    def depth(self) -> int:
        """The number of layers without the input layer: the longest path in edges."""
        return max(self.levels.values(), default=0)

    def cycle(self) -> tuple[str, ...] | None:
        """Find a cycle: its vertices in order, the one drawn first in front, or nothing."""
        if len(self.order) == len(self.vertices):
            return None
        stuck = set(self.vertices) - set(self.order)
        # Every stuck vertex has a stuck predecessor, so walking backwards must come round.
        start = next(vertex for vertex in self.vertices if vertex in stuck)
        seen: dict[str, int] = {}
        path: list[str] = []
        vertex = start
        while vertex not in seen:
            seen[vertex] = len(path)
            path.append(vertex)
            vertex = next(back for back in self.predecessors[vertex] if back in stuck)
        found = list(reversed(path[seen[vertex] :]))
        members = set(found)
        first = found.index(next(v for v in self.vertices if v in members))
        return (*found[first:], *found[:first])

    def same_as(self, other: Graph) -> bool:
        """Tell whether both have the same vertices and edges, whatever their order."""
        return set(self.vertices) == set(other.vertices) and set(self.edges) == set(other.edges)

    @cached_property
    def classification(self) -> Classification:
        """Layered, or skip with a witness; of an acyclic graph."""
        return classify(self)

    def parts(self) -> tuple[tuple[str, ...], ...]:
        """Split into weakly connected parts, each in drawing order, the one drawn first in front."""
        return self._parts

    @cached_property
    def _parts(self) -> tuple[tuple[str, ...], ...]:
        members = self.numbered_parts[1]
        if len(members) == 1:
            return tuple(members.values())
        first = {part[0]: part for part in members.values()}
        return tuple(first[vertex] for vertex in self.vertices if vertex in first)

    @cached_property
    def numbered_parts(self) -> NumberedParts:
        """The number of every vertex's part, and the parts by their numbers, which say nothing else."""
        part: dict[str, int] = {}
        count = 0
        for start in self.vertices:
            if start in part:
                continue
            part[start] = count
            queue = [start]
            while queue:
                vertex = queue.pop()
                for other in (*self.successors[vertex], *self.predecessors[vertex]):
                    if other not in part:
                        part[other] = count
                        queue.append(other)
            count += 1
        members: list[list[str]] = [[] for _ in range(count)]
        for vertex in self.vertices:
            members[part[vertex]].append(vertex)
        return part, {number: tuple(one) for number, one in enumerate(members)}


NumberedParts = tuple[dict[str, int], dict[int, tuple[str, ...]]]
Reason = Literal["skip edge", "late input", "unequal outputs"]


@dataclass(frozen=True)
class Witness:
    """Why a network is not layered: an edge that leaves a layer out, or outputs at different depths."""

    reason: Reason
    vertices: tuple[str, str]
    levels: tuple[int, int]

    def __str__(self) -> str:
        (a, b), (i, j) = self.vertices, self.levels
        if self.reason == "unequal outputs":
            return f"the outputs {a} and {b} lie in different layers, {i} and {j}"
        kind = "the input enters late" if self.reason == "late input" else "the edge skips"
        return f"{a}→{b} goes from layer {i} to layer {j}: {kind}"

    def to_json(self) -> dict[str, object]:
        """Describe it for JSON."""
        return {"reason": self.reason, "vertices": [*self.vertices], "levels": [*self.levels], "text": str(self)}


@dataclass(frozen=True)
class Classification:
    """Layered, with its layers; or skip, with a witness."""

    kind: Literal["layered", "skip"]
    layers: tuple[tuple[str, ...], ...]
    witness: Witness | None


def layers_of(graph: Graph) -> tuple[tuple[str, ...], ...]:
    """Give the vertices of each level in drawing order."""
    level = graph.levels
    layers: list[list[str]] = [[] for _ in range(graph.depth + 1 if graph.vertices else 0)]
    for vertex in graph.vertices:
        if vertex in level:
            layers[level[vertex]].append(vertex)
    return tuple(tuple(layer) for layer in layers)


def classify(graph: Graph, layers: tuple[tuple[str, ...], ...] | None = None) -> Classification:
    """Tell whether an acyclic graph is layered: every edge from one layer to the next, all outputs in the last."""
    level = graph.levels
    frozen = layers_of(graph) if layers is None else layers
    for back, front in graph.edges:
        if back in level and front in level and level[front] != level[back] + 1:
            reason = "skip edge"
            if not graph.predecessors[back] and all(level[f] > 1 for f in graph.successors[back]):
                reason = "late input"
            return Classification("skip", frozen, Witness(reason, (back, front), (level[back], level[front])))
    outputs = graph.outputs
    for output in outputs[1:]:
        if level.get(output) != level.get(outputs[0]):
            pair = (outputs[0], output)
            return Classification("skip", frozen, Witness("unequal outputs", pair, (level[pair[0]], level[pair[1]])))
    return Classification("layered", frozen, None)
