"""Which n-m networks there are: n inputs x1 … xn, m neurons h1 … hm, counted and listed.

A network is a tuple of whole numbers, one per neuron: bit i − 1 stands for x_i, bit n + j − 1 for h_j, and the bits set
are the vertices that enter. What counts as different is a choice, and the paper's counts are those "by order".
"""

from __future__ import annotations

from collections.abc import Iterator
from itertools import permutations
from math import factorial
from typing import Literal, cast, get_args

from inkcap.theory.canonical import InSets, canonical, is_connected, is_layered, relabel
from inkcap.theory.counting import connected_count, labelled_count, ordered_count
from inkcap.theory.errors import EnumerationError
from inkcap.theory.graphs import Graph
from inkcap.theory.replay import require_network

MadeBy = Literal["growth", "all"]
"""Growth: one neuron on all inputs, then growth. All: convergence as well, so every connected acyclic graph."""
UpTo = Literal["order", "labels", "isomorphism"]
"""Order: neurons are numbered as they were made, and a different history is a different network.
Labels: neurons have names, in any order. Isomorphism: the names of neurons do not matter."""
Inputs = Literal["fixed", "free"]
"""Up to isomorphism only. Fixed: inputs keep their names. Free: they are interchangeable."""

CANDIDATES = 1_000_000
"""So many networks are looked at in one enumeration, at most: some tens of seconds."""
DIGITS_SHOWN = 12


def count_networks(
    inputs: int,
    neurons: int,
    rules: MadeBy = "growth",
    up_to: UpTo = "order",
    inputs_are: Inputs = "fixed",
    layered: bool = False,
) -> int:
    """Count the networks that ``list_networks`` lists; by order and by labels from a formula, at any sensible size."""
    _check(inputs, neurons, rules, up_to, inputs_are)
    if not layered and up_to == "order":
        return ordered_count(inputs, neurons) if rules == "growth" else connected_count(inputs, neurons, ordered=True)
    if not layered and up_to == "labels":
        return _labelled(inputs, neurons, rules)
    found = _found(inputs, neurons, rules, up_to, inputs_are)
    return sum(1 for network in found if not layered or is_layered(network, inputs))


def list_networks(
    inputs: int,
    neurons: int,
    rules: MadeBy = "growth",
    up_to: UpTo = "order",
    inputs_are: Inputs = "fixed",
    layered: bool = False,
) -> Iterator[Graph]:
    """List networks as graphs with the vertices x1 … xn, h1 … hm, no two of them the same in the chosen sense."""
    _check(inputs, neurons, rules, up_to, inputs_are)
    found = _found(inputs, neurons, rules, up_to, inputs_are)
    return (_graph(network, inputs) for network in found if not layered or is_layered(network, inputs))


def list_children(network: Graph, up_to: UpTo = "order", inputs_are: Inputs = "fixed") -> Iterator[Graph]:
    """List the networks that one application of growth makes of a network, each vertex named anew x1 …, h1 …."""
    _choose("up_to", up_to, UpTo)
    _choose("inputs_are", inputs_are, Inputs)
    require_network(network)
    inputs = len(network.inputs)
    ordered = (*network.inputs, *(name for name in network.order if name not in set(network.inputs)))
    number = {name: i for i, name in enumerate(ordered)}
    parent = tuple(sum(1 << number[back] for back in set(network.predecessors[name])) for name in ordered[inputs:])
    _limit(1 << len(ordered), f"the children of a network with {len(ordered)} vertices")
    children: Iterator[InSets] | list[InSets] = ((*parent, bits) for bits in range(1, 1 << len(ordered)))
    if up_to == "isomorphism":
        # The first of every class stays as it was made, so that the new neuron is the last.
        classes: dict[InSets, InSets] = {}
        for child in children:
            classes.setdefault(canonical(child, inputs, inputs_are == "free"), child)
        children = list(classes.values())
    return (_graph(child, inputs) for child in children)


def _labelled(inputs: int, neurons: int, rules: MadeBy) -> int:
    if rules == "all":
        return connected_count(inputs, neurons, ordered=False)
    if neurons == 0:
        return int(inputs == 1)
    # A neuron on exactly all inputs joins everything, so those with one are those without none.
    return labelled_count(inputs, neurons) - labelled_count(inputs, neurons, barred=1)


def _found(inputs: int, neurons: int, rules: MadeBy, up_to: UpTo, inputs_are: Inputs) -> Iterator[InSets]:
    """Refuse what would take too long, then give the networks one by one."""
    what = f"the {inputs}-{neurons} networks"
    if up_to == "order":
        amount = ordered_count(inputs, neurons) if rules == "growth" else labelled_count(inputs, neurons, ordered=True)
        _limit(amount, what)
        return (s for s in _sequences(inputs, neurons, rules) if is_connected(s, inputs))
    least = _least_candidates(inputs, neurons, rules, inputs_are)
    if up_to == "isomorphism":
        _limit(least, what)
        return iter(_classes(inputs, neurons, rules, inputs_are == "free"))
    _limit(max(least, _labelled(inputs, neurons, rules)), what)
    return _labellings(inputs, neurons, rules)


def _sequences(inputs: int, neurons: int, rules: MadeBy) -> Iterator[InSets]:
    """Give every history: each neuron on a nonempty set of what is there, the first on all inputs if by growth."""

    def extend(made: InSets) -> Iterator[InSets]:
        if len(made) == neurons:
            yield made
            return
        most = 1 << (inputs + len(made))
        for bits in (most - 1,) if rules == "growth" and not made else range(1, most):
            yield from extend((*made, bits))

    return extend(())


def _classes(inputs: int, neurons: int, rules: MadeBy, free: bool) -> list[InSets]:
    """Give one network of every class, neuron by neuron: the last made of a network is a sink that can be left out."""
    found: set[InSets] = {()}
    for made in range(neurons):
        most = 1 << (inputs + made)
        choices = (most - 1,) if rules == "growth" and not made else range(1, most)
        _limit(len(found) * len(choices), f"the {inputs}-{neurons} networks")
        found = {canonical((*network, bits), inputs, free) for network in found for bits in choices}
    return sorted(network for network in found if is_connected(network, inputs))


def _labellings(inputs: int, neurons: int, rules: MadeBy) -> Iterator[InSets]:
    for network in _classes(inputs, neurons, rules, free=False):
        orders = permutations(range(neurons))
        yield from sorted({relabel(network, inputs, range(inputs), order) for order in orders})


def _least_candidates(inputs: int, neurons: int, rules: MadeBy, inputs_are: Inputs) -> int:
    """Tell how many networks the classes are made from, at least: a class has no more labellings than orders."""
    made = neurons - 1
    if made < 1:
        return (1 << inputs) - 1 if neurons and rules == "all" else 1
    labelled = labelled_count(inputs, made) if rules == "all" else _labelled(inputs, made, rules)
    symmetries = factorial(made) * (factorial(inputs) if inputs_are == "free" else 1)
    return -(-labelled // symmetries) * ((1 << (inputs + made)) - 1)


def _graph(network: InSets, inputs: int) -> Graph:
    vertices = tuple(f"x{i + 1}" for i in range(inputs)) + tuple(f"h{j + 1}" for j in range(len(network)))
    edges = (
        (vertices[i], vertices[inputs + j])
        for j, bits in enumerate(network)
        for i in range(bits.bit_length())
        if bits >> i & 1
    )
    return Graph(vertices, tuple(edges))


def _check(inputs: int, neurons: int, rules: str, up_to: str, inputs_are: str) -> None:
    if inputs < 1 or neurons < 0:
        raise EnumerationError(
            f"inputs: {inputs}, neurons: {neurons}; a network has one input at least, and neurons from 0 upwards"
        )
    if inputs + neurons > 64:
        raise EnumerationError(
            f"{inputs}-{neurons} networks have {inputs + neurons} vertices; they are counted up to 64 vertices"
        )
    _choose("rules", rules, MadeBy)
    _choose("up_to", up_to, UpTo)
    _choose("inputs_are", inputs_are, Inputs)


def _choose(what: str, chosen: str, choices: object) -> None:
    known = cast("tuple[str, ...]", get_args(choices))
    if chosen not in known:
        raise EnumerationError(f"{what} cannot be {chosen!r}; it is one of {', '.join(known)}")


def _limit(amount: int, what: str) -> None:
    if amount > CANDIDATES:
        shown = f"{amount:,}".replace(",", " ") if amount < 10**DIGITS_SHOWN else f"about 10^{len(str(amount)) - 1}"
        most = f"{CANDIDATES:,}".replace(",", " ")
        raise EnumerationError(
            f"{what} would be sought among {shown} candidates, and {most} are allowed; take fewer inputs or neurons"
        )
