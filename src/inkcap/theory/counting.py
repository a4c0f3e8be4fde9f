"""How many networks there are, from formulae: no network is made for it."""

from __future__ import annotations

from functools import cache
from math import comb, prod


def ordered_count(inputs: int, neurons: int) -> int:
    """Count growth histories: Π (2^{n+j} − 1) for j from 1 to m − 1, for the first neuron is on all inputs."""
    if neurons == 0:
        return int(inputs == 1)
    return prod((1 << (inputs + j)) - 1 for j in range(1, neurons))


@cache
def labelled_count(inputs: int, neurons: int, *, barred: int = 0, ordered: bool = False) -> int:
    """Count acyclic graphs in which every neuron is entered, connected or not.

    With names in any order, by inclusion and exclusion over the k sinks among the neurons, each entered by one of
    2^{n+m−k} − 1 sets; ``barred`` takes so many sets of inputs away from the choice. Ordered, a neuron is entered by
    inputs and by neurons made before it.
    """
    if ordered:
        return prod((1 << (inputs + j)) - 1 - barred for j in range(neurons))
    total = int(neurons == 0)
    for sinks in range(1, neurons + 1):
        rest = neurons - sinks
        ways = comb(neurons, sinks) * ((1 << (inputs + rest)) - 1 - barred) ** sinks
        total += (1 if sinks % 2 else -1) * ways * labelled_count(inputs, rest, barred=barred)
    return total


@cache
def connected_count(inputs: int, neurons: int, *, ordered: bool) -> int:
    """Count connected acyclic graphs in which every neuron is entered: all, less those with x1 in a smaller part.

    Every part has an input. The part of x1 has a inputs and b neurons, chosen freely; the rest is any graph.
    """
    total = labelled_count(inputs, neurons, ordered=ordered)
    for a in range(1, inputs):
        for b in range(neurons + 1):
            chosen = comb(inputs - 1, a - 1) * comb(neurons, b)
            rest = labelled_count(inputs - a, neurons - b, ordered=ordered)
            total -= chosen * connected_count(a, b, ordered=ordered) * rest
    return total
