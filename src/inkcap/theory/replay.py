"""Derivations forwards: every step is tried against the rules, and what comes out is compared with the graph.

Nothing here knows how a derivation was found. The networks under way are kept as one forest of vertices, so that a
long derivation is replayed in one pass.
"""

from __future__ import annotations

from array import array
from collections.abc import Iterable, Mapping, Sequence
from typing import get_args

from inkcap.theory.derivations import INTEGER, Derivation, Rule, Step
from inkcap.theory.errors import Cyclic, DerivationError, NotConnected, some
from inkcap.theory.graphs import Graph
from inkcap.theory.nets import ACTIVATIONS, Net, Neuron, WeightingConnection

Strengths = Mapping[tuple[str, str], float]


class Workshop:
    """The networks that the steps so far have made and not yet used, as a union-find over numbered vertices."""

    def __init__(self, names: Sequence[str] = ()) -> None:
        self._names = names
        self._root: dict[int, int] = {}
        self._trivial: set[int] = set()
        self._networks = 0
        self._steps = 0

    def apply(self, rule: Rule, vertex: int, parts: Sequence[Sequence[int]]) -> None:
        """Apply one step, or say which condition of its rule is broken."""
        self._steps += 1
        if rule not in get_args(Rule):
            raise self._wrong(rule, vertex, f"there is no such rule; there are {', '.join(get_args(Rule))}")
        if vertex in self._root:
            raise self._wrong(rule, vertex, f"{self._name(vertex)} is not new")
        if rule == "variable":
            if parts:
                raise self._wrong(rule, vertex, "nothing enters a variable")
            self._trivial.add(vertex)
        else:
            self._join(rule, vertex, parts)
        self._root[vertex] = vertex
        self._networks += 1

    def finish(self) -> None:
        """Require that one network is left."""
        if self._networks == 1:
            return
        if not self._networks:
            raise DerivationError("the derivation has no step; the shortest has one, a variable")
        tops = [self._name(vertex) for vertex, root in self._root.items() if vertex == root]
        raise DerivationError(
            f"the derivation ends with {self._networks} networks, whose last vertices are {some(tops)}; "
            "a convergence must join them"
        )

    def _join(self, rule: Rule, vertex: int, parts: Sequence[Sequence[int]]) -> None:
        if not parts:
            raise self._wrong(rule, vertex, "K = 0: it takes one network at least")
        if rule == "growth" and len(parts) != 1:
            raise self._wrong(rule, vertex, f"it takes one network, not {len(parts)}")
        tops: dict[int, int] = {}
        for k, part in enumerate(parts, 1):
            found = {self._find(rule, vertex, member) for member in part}
            if not found:
                raise self._wrong(rule, vertex, f"A_{k} is empty")
            if len(found) > 1:
                raise self._wrong(rule, vertex, f"A_{k} is not inside one network: it lies in {len(found)}")
            if len(set(part)) != len(part):
                raise self._wrong(rule, vertex, f"A_{k} names a vertex twice")
            top = found.pop()
            if top in tops:
                raise self._wrong(rule, vertex, f"A_{tops[top]} and A_{k} lie in one network")
            tops[top] = k
        if rule == "neuron" and (grown := [top for top in tops if top not in self._trivial]):
            raise self._wrong(rule, vertex, f"a neuron takes variables alone, and {self._name(grown[0])} is none")
        for top in tops:
            self._root[top] = vertex
            self._trivial.discard(top)
        self._networks -= len(tops)

    def _find(self, rule: Rule, vertex: int, member: int) -> int:
        root = self._root
        if member not in root:
            raise self._wrong(rule, vertex, f"there is no vertex {self._name(member)} yet")
        while root[member] != member:
            root[member] = root[root[member]]
            member = root[member]
        return member

    def _name(self, vertex: int) -> str:
        return self._names[vertex] if self._names else str(vertex)

    def _wrong(self, rule: str, vertex: int, why: str) -> DerivationError:
        return DerivationError(f"step {self._steps}, {rule} of {self._name(vertex)}: {why}")


def replay(steps: Iterable[Step]) -> Graph:
    """Apply the steps of a derivation one by one and give the graph of the network they make."""
    names: list[str] = []
    number: dict[str, int] = {}

    def intern(name: str) -> int:
        if name not in number:
            number[name] = len(names)
            names.append(name)
        return number[name]

    workshop = Workshop(names)
    vertices: list[str] = []
    edges: list[tuple[str, str]] = []
    for step in steps:
        workshop.apply(step.rule, intern(step.vertex), [list(map(intern, part)) for part in step.parts])
        vertices.append(step.vertex)
        edges.extend((back, step.vertex) for part in step.parts for back in part)
    workshop.finish()
    return Graph(tuple(vertices), tuple(edges))


def replay_edges(derivation: Derivation) -> tuple[array[int], array[int]]:
    """Apply the steps of a derivation with vertices as numbers and give the back and front ends of all edges."""
    workshop = Workshop(derivation.names)
    backs, fronts = array(INTEGER), array(INTEGER)
    for rule, vertex, parts in derivation.rows():
        workshop.apply(rule, vertex, parts)
        for part in parts:
            backs.extend(part)
            fronts.extend([vertex] * len(part))
    workshop.finish()
    return backs, fronts


def replay_net(
    steps: Iterable[Step], neurons: Mapping[str, Neuron] | None = None, strengths: Strengths | None = None
) -> Net:
    """Apply the steps and give the network itself; a neuron not given is a ReLU without bias, a strength is 1."""
    return _net(replay(steps), neurons, strengths)


def induced_net(graph: Graph, neurons: Mapping[str, Neuron] | None = None, strengths: Strengths | None = None) -> Net:
    """Give the induced network of a connected directed acyclic graph: S its inputs, H all others, W its edges."""
    require_network(graph)
    ordered = Graph(graph.order, tuple(dict.fromkeys(graph.edges)))
    return _net(ordered, neurons, strengths)


def verify(steps: Iterable[Step], graph: Graph) -> None:
    """Replay a derivation and require that it makes this graph, no vertex and no edge more or less."""
    made = replay(steps)
    for what, wanted, found in (
        ("vertex", set(graph.vertices), set(made.vertices)),
        ("edge", {f"{a}→{b}" for a, b in graph.edges}, {f"{a}→{b}" for a, b in made.edges}),
    ):
        for word, differing in (("does not make", wanted - found), ("makes in excess", found - wanted)):
            if differing:
                names = sorted(differing)
                raise DerivationError(f"the derivation {word} the {what} {names[0]} ({len(names)} such in all)")


def require_network(graph: Graph) -> None:
    """Require a graph that the theorem speaks of: not empty, connected, without a cycle."""
    if not graph.vertices:
        raise DerivationError("the graph is empty; a network has one vertex at least")
    if cycle := graph.cycle():
        raise Cyclic(cycle)
    if len(parts := graph.parts()) > 1:
        raise NotConnected(parts)


def _net(graph: Graph, neurons: Mapping[str, Neuron] | None, strengths: Strengths | None) -> Net:
    """Dress a graph whose vertices are in an order in which they can be computed."""
    inputs = set(graph.inputs)
    given, weights = neurons or {}, strengths or {}
    if strange := [name for name in given if name in inputs or name not in graph.predecessors]:
        raise DerivationError(f"{strange[0]} is no neuron of the network; give activation and bias of neurons alone")
    if odd := [name for name, neuron in given.items() if neuron.name != name or neuron.activation not in ACTIVATIONS]:
        known = ", ".join(ACTIVATIONS)
        raise DerivationError(f"{odd[0]}: give a neuron of this name with one of the activation functions {known}")
    edges = set(graph.edges)
    if apart := [pair for pair in weights if pair not in edges]:
        raise DerivationError(f"there is no edge {apart[0][0]}→{apart[0][1]} to have a strength")
    return Net(
        graph.inputs,
        tuple(given.get(name, Neuron(name)) for name in graph.vertices if name not in inputs),
        tuple(WeightingConnection(a, b, weights.get((a, b), 1.0)) for a, b in graph.edges),
    )
