"""Which rule can be applied next: to the networks that are there, on the vertices that are chosen."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from inkcap.theory.derivations import Rule
from inkcap.theory.errors import Cyclic, RuleError, some
from inkcap.theory.graphs import Graph
from inkcap.theory.nets import ANY, Net, Rules
from inkcap.theory.replay import induced_net


@dataclass(frozen=True)
class Offer:
    """A rule and the vertices that it would take of each network; ``why`` says what forbids it, or nothing."""

    rule: Rule
    parts: tuple[tuple[str, ...], ...] = ()
    why: str = ""


def offers(graph: Graph, chosen: Sequence[str], new: str) -> tuple[Offer, ...]:
    """Try each of the four rules for a new vertex on the chosen ones; the parts of the graph are the networks."""
    if cycle := graph.cycle():
        raise Cyclic(cycle)
    known = set(graph.vertices)
    if strange := [name for name in chosen if name not in known]:
        raise RuleError(f"there is no vertex {some(strange)}; choose among those that are drawn")
    networks = graph.parts()
    owner = {name: i for i, part in enumerate(networks) for name in part}
    groups: dict[int, list[str]] = {}
    for name in chosen:
        groups.setdefault(owner[name], []).append(name)
    nets = [_net(graph, networks[i]) for i in groups]
    parts = tuple(tuple(part) for part in groups.values())
    trivial = Rules(X=frozenset(part[0] for part in networks if len(part) == 1))

    def growth() -> object:
        # Growth takes one network: that of the first vertex, which the others must lie in.
        return ANY.growth(nets[0] if nets else Net((), (), ()), new, chosen)

    tries: dict[Rule, Callable[[], object]] = {
        "variable": lambda: ANY.variable(new),
        "neuron": lambda: trivial.neuron(new, chosen),
        "growth": growth,
        "convergence": lambda: ANY.convergence(nets, new, parts),
    }
    return tuple(Offer(rule, () if rule == "variable" else parts, _problem(attempt)) for rule, attempt in tries.items())


def _net(graph: Graph, part: Sequence[str]) -> Net:
    inside = set(part)
    return induced_net(Graph(tuple(part), tuple(edge for edge in graph.edges if edge[0] in inside)))


def _problem(attempt: Callable[[], object]) -> str:
    try:
        attempt()
    except RuleError as error:
        return str(error)
    return ""
