"""Which networks need the rule of convergence, and in how many ways a network can be derived."""

from __future__ import annotations

from dataclasses import dataclass
from math import prod

from inkcap.theory.errors import TheoryError, some
from inkcap.theory.graphs import Graph
from inkcap.theory.replay import require_network

COUNTED_VERTICES = 20
EXAMPLES = 3


@dataclass(frozen=True)
class Necessity:
    """Whether a network needs convergence; if not, the neuron that it can begin with; in both cases, why."""

    needed: bool
    first: str | None
    reason: str

    def __bool__(self) -> bool:
        return self.needed

    def to_json(self) -> dict[str, object]:
        """Describe it for JSON."""
        return {"needed": self.needed, "first": self.first, "reason": self.reason}


def needs_convergence(graph: Graph) -> Necessity:
    """Decide whether a network can be made without the rule of convergence.

    Without it, inputs come with the rule of neuron alone, all at once, since growth adds none. So the first neuron is
    entered by all inputs and by nothing else. Is there such a neuron, it is made first and all others grow.
    """
    require_network(graph)
    if len(graph.vertices) == 1:
        return Necessity(False, None, f"the rule of variable makes {graph.vertices[0]}")
    inputs = set(graph.inputs)
    shown = f"{{{some(graph.inputs)}}}"
    neurons = [name for name in graph.order if name not in inputs]
    for name in neurons:
        if set(graph.predecessors[name]) == inputs:
            reason = f"exactly the inputs {shown} enter {name}: the rule of neuron makes it, and all others grow"
            return Necessity(False, name, reason)
    cases = [_unfit(name, graph, inputs) for name in neurons[:EXAMPLES]]
    if len(neurons) > EXAMPLES:
        cases.append(f"nor is it so with the {len(neurons) - EXAMPLES} others")
    return Necessity(
        True,
        None,
        f"growth adds no inputs, so without convergence the first neuron is entered by exactly the inputs {shown}, "
        f"and there is none: {'; '.join(cases)}",
    )


def _unfit(name: str, graph: Graph, inputs: set[str]) -> str:
    entering = set(graph.predecessors[name])
    if missing := [x for x in graph.inputs if x not in entering]:
        return f"{name} lacks {some(missing, 3)}"
    return f"{name} also has {some([z for z in graph.vertices if z in entering - inputs], 3)}"


def count_derivations(graph: Graph) -> int:
    """Count the derivations of a small network: D(G) = Σ over sinks h of Π D(G_k), the G_k being the parts of G − h."""
    require_network(graph)
    count = len(graph.vertices)
    if count > COUNTED_VERTICES:
        raise TheoryError(
            f"derivations are counted up to {COUNTED_VERTICES} vertices, and the graph has {count}; "
            "derive() gives one of them at any size"
        )
    number = {name: i for i, name in enumerate(graph.order)}
    into, out = [0] * count, [0] * count
    for back, front in graph.edges:
        into[number[front]] |= 1 << number[back]
        out[number[back]] |= 1 << number[front]
    # Vertices with the same neighbours are interchangeable: the last of them stands for all, as many times.
    twins = [sum(1 << j for j in range(count) if (into[j], out[j]) == (into[i], out[i])) for i in range(count)]
    known: dict[int, int] = {}

    def ways(graph_bits: int) -> int:
        if graph_bits & (graph_bits - 1) == 0:
            return 1
        if graph_bits not in known:
            total, left = 0, graph_bits
            while left:
                vertex = left.bit_length() - 1
                alike = twins[vertex] & graph_bits
                left &= ~alike
                if not out[vertex] & graph_bits:
                    rest = _split(graph_bits & ~(1 << vertex), into, out)
                    total += alike.bit_count() * prod(map(ways, rest))
            known[graph_bits] = total
        return known[graph_bits]

    return ways((1 << count) - 1)


def _split(bits: int, into: list[int], out: list[int]) -> list[int]:
    """Split a set of vertices into its connected parts, all of them sets of bits."""
    parts: list[int] = []
    while bits:
        part = frontier = bits & -bits
        while frontier:
            vertex = frontier.bit_length() - 1
            frontier &= ~(1 << vertex)
            reached = (into[vertex] | out[vertex]) & bits & ~part
            part |= reached
            frontier |= reached
        parts.append(part)
        bits &= ~part
    return parts
