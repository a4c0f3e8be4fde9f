"""Networks as tuples of bit sets, and one form for all networks that differ by the names of their vertices.

Neurons are sorted into cells by what can be told without names: level, what enters, what follows, and the same of their
neighbours, again and again. Only within a cell all orders are tried, and the smallest tuple wins.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import permutations, product
from typing import Any, TypeVar

InSets = tuple[int, ...]
"""For every neuron the set of vertices that enter it: bit i for input i, bit n + j for neuron j, from 0."""

Told = TypeVar("Told", bound=tuple[Any, ...])


def bits_of(number: int) -> Iterator[int]:
    """Give the places of the bits that are set, in order."""
    while number:
        low = number & -number
        yield low.bit_length() - 1
        number ^= low


def relabel(network: InSets, inputs: int, input_order: Sequence[int], neuron_order: Sequence[int]) -> InSets:
    """Rename vertices: the one at place k of an order gets number k."""
    place = [0] * (inputs + len(network))
    for new, old in enumerate(input_order):
        place[old] = 1 << new
    for new, old in enumerate(neuron_order):
        place[inputs + old] = 1 << (inputs + new)
    renamed: list[int] = []
    for old in neuron_order:
        left, bits = network[old], 0
        while left:
            low = left & -left
            bits |= place[low.bit_length() - 1]
            left ^= low
        renamed.append(bits)
    return tuple(renamed)


def canonical(network: InSets, inputs: int, free: bool) -> InSets:
    """Give the same tuple for all networks that are equal up to the names of neurons, and of inputs if these are free.

    The neurons given must be in an order in which they can be computed; so are those of the result.
    """
    orders = _orders(_colours(network, inputs, free)[inputs:])
    named = range(inputs)
    forms = (
        relabel(network, inputs, _input_order(network, inputs, order) if free else named, order) for order in orders
    )
    return next(forms) if len(orders) == 1 else min(forms)


def _input_order(network: InSets, inputs: int, neuron_order: Sequence[int]) -> list[int]:
    """Sort inputs by the neurons that they enter; inputs that enter the same ones are alike in every respect."""
    entered = [0] * inputs
    for old in neuron_order:
        for i in range(inputs):
            entered[i] = entered[i] << 1 | network[old] >> i & 1
    return sorted(range(inputs), key=entered.__getitem__, reverse=True)


def _colours(network: InSets, inputs: int, free: bool) -> list[int]:
    """Number the vertices by what can be told of them without names; a neuron's number exceeds those before it."""
    count = inputs + len(network)
    following: list[list[int]] = [[] for _ in range(count)]
    entering: list[list[int]] = [[] for _ in range(inputs)]
    level = [0] * inputs
    for j, bits in enumerate(network):
        entering.append(list(bits_of(bits)))
        level.append(1 + max(level[i] for i in entering[-1]))
        for i in entering[-1]:
            following[i].append(inputs + j)
    start = [(level[v], len(entering[v]), len(following[v])) for v in range(count)]
    if not free:
        start[:inputs] = [(0, 0, i) for i in range(inputs)]
    colours, kinds = _ranked(start)
    while kinds < count:
        told = [
            (colours[v], _colours_of(entering[v], colours), _colours_of(following[v], colours)) for v in range(count)
        ]
        refined, more = _ranked(told)
        if more == kinds:
            break
        colours, kinds = refined, more
    return colours


def _colours_of(vertices: Sequence[int], colours: Sequence[int]) -> tuple[int, ...]:
    """Give the colours of some vertices, without saying which has which."""
    return tuple(sorted([colours[v] for v in vertices]))


def _ranked(values: list[Told]) -> tuple[list[int], int]:
    rank = {value: i for i, value in enumerate(sorted(set(values)))}
    return [rank[value] for value in values], len(rank)


def _orders(colours: Sequence[int]) -> list[tuple[int, ...]]:
    """List all orders of the vertices in which colours ascend."""
    cells: dict[int, list[int]] = {}
    for vertex, colour in sorted(enumerate(colours), key=lambda pair: pair[1]):
        cells.setdefault(colour, []).append(vertex)
    parts = product(*(permutations(cell) for cell in cells.values()))
    return [tuple(vertex for cell in part for vertex in cell) for part in parts]


def is_connected(network: InSets, inputs: int) -> bool:
    """Tell whether a network is in one part, regardless of directions."""
    parts = [1 << i for i in range(inputs)]
    # Neurons may be named in any order, so a neuron's own bit is part of what it joins.
    for j, bits in enumerate(network):
        joined = bits | 1 << (inputs + j)
        apart: list[int] = []
        for part in parts:
            if part & joined:
                joined |= part
            else:
                apart.append(part)
        parts = [*apart, joined]
    return len(parts) == 1


def is_layered(network: InSets, inputs: int) -> bool:
    """Tell whether every edge goes from one layer to the next and all outputs lie in the last layer."""
    layer = (1 << inputs) - 1
    seen = layer
    while True:
        following = 0
        used = 0
        for j, bits in enumerate(network):
            if bits & layer:
                if bits & ~layer:
                    return False
                following |= 1 << (inputs + j)
                used |= bits
        if not following:
            return seen == (1 << (inputs + len(network))) - 1
        if used != layer:
            return False
        layer = following
        seen |= layer
