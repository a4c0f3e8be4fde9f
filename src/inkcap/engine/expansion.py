"""Expansion: a network of capsules as the network of neurons that it is (Figure 20 as Figure 22)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from inkcap.drawing import Drawing, limits
from inkcap.drawing.plain import FIXED, FREE
from inkcap.engine.build import starting_weights
from inkcap.engine.correspondence import Correspondence, Numbers
from inkcap.engine.neurons import Wiring, draw_block, draw_neurons, fits_neurons
from inkcap.engine.patterns import ExpansionError, Pattern, TooManyEntries, find_pattern
from inkcap.engine.plain.columns import CODES
from inkcap.network import CheckedCapsule, CheckedConnection, Network, structure_of
from inkcap.network.plain import find_parts
from inkcap.structures import FLOATING

MOST_DRAWN = 2_000
"""Up to so many connections a network of neurons is drawn neuron by neuron, above them as columns."""

DATA = "data"
ELEMENTWISE = frozenset(CODES) - {DATA}
"""Capsules that compute element by element what a plain neuron computes."""


@dataclass(frozen=True, eq=False)
class Expansion:
    """A network of neurons, and how its weights correspond to those of the network of capsules."""

    drawing: Drawing
    correspondence: Correspondence
    neurons: int
    connections: int
    parameters: int
    """The numbers that training changes, tied ones once."""


@dataclass(eq=False)
class _Group:
    """Neurons that stand for the elements of one capsule."""

    capsule: CheckedCapsule
    symbol: str
    size: int
    entering: list[tuple[_Group, CheckedConnection, Pattern]] = field(default_factory=list[Any])
    needed: NDArray[np.bool_] = field(default_factory=lambda: np.zeros(0, np.bool_))
    first: int = 0

    @property
    def numbers(self) -> NDArray[np.int64]:
        """The number of each element's neuron; only those that are needed have one."""
        return self.first + np.cumsum(self.needed) - 1

    @property
    def span(self) -> tuple[int, int]:
        return self.first, int(self.needed.sum())


def expand(network: Network, weights: Mapping[str, Tensor] | None = None, *, columns: bool = False) -> Expansion:
    """Expand a network to neurons and amplifying connections, with these weights, or with those of seed 0.

    One data capsule, one output and functions that plain neurons know give neurons only: drawn one by one up to
    2,000 connections, above that, or with ``columns``, as a plain block. Otherwise, and where single neurons would
    fall apart, what plain neurons cannot compute, the data and the outputs stay capsules, and a plain block reads from
    them and writes into them.
    """
    _check(network)
    if weights is None:
        weights = starting_weights(network, 0)
    numbers = Numbers.of(network, weights)
    plan = _Plan(network)
    wiring = plan.wire(numbers)
    if not plan.kept and any(find_parts(wiring.neurons, wiring.back.tolist(), wiring.front.tolist())):
        # What goes element by element falls apart as neurons; the capsules at its ends hold it together.
        plan = _Plan(network, keep_ends=True)
        wiring = plan.wire(numbers)
    kept = {id: capsule for id, capsule in network.capsules.items() if id in plan.kept}
    if not kept and not columns and wiring.connections <= MOST_DRAWN and fits_neurons(wiring):
        drawing, correspondence = draw_neurons(network, wiring, numbers)
    else:
        drawing, correspondence = draw_block(network, wiring, numbers, kept, plan.staying)
    return Expansion(drawing, correspondence, wiring.neurons, wiring.connections, wiring.parameters)


def wire(network: Network, weights: Mapping[str, Tensor]) -> tuple[Wiring, Numbers] | None:
    """Give the neurons of a network whose capsules are all made of plain neurons, as columns; None for any other."""
    try:
        _check(network)
        numbers = Numbers.of(network, weights)
        plan = _Plan(network)
        return None if plan.kept else (plan.wire(numbers), numbers)
    except ExpansionError:
        return None


def _check(network: Network) -> None:
    inside = next((id for id in network.capsules if "." in id), None)
    if inside is not None:
        raise ExpansionError(
            f"{inside} is inside of a group, and neurons are drawn without groups; 'inkcap dissolve --all' first"
        )
    dtypes = {structure_of(capsule).dtype: capsule.id for capsule in network.capsules.values()}
    if len(dtypes) > 1 or not dtypes.keys() <= set(FLOATING):
        held = " and ".join(f"{dtype} ({id})" for dtype, id in sorted(dtypes.items()))
        raise ExpansionError(
            f"the network {network.name!r} holds {held}; neurons compute in one floating data type: state the same "
            "one, such as float32, at every capsule"
        )
    for capsule in network.capsules.values():
        if capsule.ports:
            raise ExpansionError(
                f"{capsule.id} has several ports, and neurons are written into one; expand a network without it"
            )
        learnt = [weight.name for weight in capsule.stored if weight is not capsule.bias]
        if learnt:
            raise ExpansionError(
                f"{capsule.id} stores {learnt[0]}, and a drawing of neurons has no place for it; expand a network "
                "without it"
            )
    for connection in network.connections.values():
        if connection.attributes.get("dropconnect"):
            raise ExpansionError(
                f"the connection {connection.id} has dropconnect, which neurons do not have; set it to 0 first"
            )
    if not network.connections:
        raise ExpansionError(f"the network {network.name!r} has no connection, so there is nothing to expand")
    # What a weighted connection multiplies, or a weightless one carries, is one amplifying connection each.
    estimate = sum(
        c.multiply_adds or (c.front_end.elements if c.front_end else 0) for c in network.connections.values()
    )
    # Multiply-adds with padding are counted too, so only what is far too large is refused before it is counted.
    if estimate > 2 * limits.PLAIN_CONNECTIONS:
        raise _too_large(network, f"about {estimate:,}")


def _is_plain(capsule: CheckedCapsule) -> bool:
    """Tell whether a capsule computes element by element what a plain neuron computes, and wears nothing."""
    return capsule.symbol in ELEMENTWISE and not capsule.parts and capsule.record.is_plain(capsule.attributes)


def _too_large(network: Network, count: str) -> ExpansionError:
    return ExpansionError(
        f"the network {network.name!r} would have {count} amplifying connections, {limits.PLAIN_CONNECTIONS:,} are "
        "allowed; expand a smaller one, with fewer channels or a smaller input"
    )


class _Plan:
    """Which capsules are kept, which connections stay, and which groups of neurons stand for the rest."""

    def __init__(self, network: Network, *, keep_ends: bool = False) -> None:
        self.network = network
        self.kept = self._kept(keep_ends)
        self.staying = {c.id for c in network.connections.values() if self._stays(network.capsules[c.front])}
        self.read = {c.back for c in network.connections.values() if c.id not in self.staying}
        self.groups: list[_Group] = []
        self.reads: dict[str, _Group] = {}
        self.writes: dict[str, _Group] = {}
        self._count = 0
        for capsule in network.capsules.values():
            self._place(capsule)
        self._mark_needed()

    def _kept(self, keep_ends: bool) -> set[str]:
        capsules, ends = self.network.capsules, (self.network.inputs, self.network.outputs)
        expandable = all(_is_plain(c) for id, c in capsules.items() if id not in self.network.inputs)
        if expandable and all(len(end) == 1 for end in ends) and not keep_ends:
            return set()
        return {id for id, c in capsules.items() if not _is_plain(c) or any(id in end for end in ends)}

    def _stays(self, capsule: CheckedCapsule) -> bool:
        """Tell whether all that enters a kept capsule comes unweighted from kept capsules."""
        entering = [self.network.connections[id] for id in capsule.incoming]
        light = all(c.back in self.kept and not c.weights for c in entering)
        return capsule.id in self.kept and light and capsule.bias is None

    def _place(self, capsule: CheckedCapsule) -> None:
        elements = structure_of(capsule).elements
        entering = [c for c in map(self.network.connections.__getitem__, capsule.incoming) if c.id not in self.staying]
        if capsule.id not in self.kept:
            self.reads[capsule.id] = self._group(capsule, capsule.symbol, elements, entering)
            return
        if entering:
            assert capsule.total_input is not None
            self.writes[capsule.id] = self._written(capsule, capsule.total_input.elements, entering)
        if capsule.id in self.read:
            self.reads[capsule.id] = self._group(capsule, DATA, elements, [])

    def _written(self, capsule: CheckedCapsule, elements: int, entering: list[CheckedConnection]) -> _Group:
        first = entering[0]
        if len(entering) == 1 and not first.weights and capsule.bias is None and first.back not in self.kept:
            source = self.reads[first.back]
            if self._pattern(first).is_identity and source.size == elements:
                return source
        return self._group(capsule, "identical", elements, entering)

    def _group(self, capsule: CheckedCapsule, symbol: str, elements: int, entering: list[CheckedConnection]) -> _Group:
        group = _Group(capsule, symbol, elements, needed=np.full(elements, symbol == DATA))
        for connection in entering:
            pattern = self._pattern(connection)
            self._count += pattern.rows.size
            group.entering.append((self.reads[connection.back], connection, pattern))
        self.groups.append(group)
        return group

    def _pattern(self, connection: CheckedConnection) -> Pattern:
        try:
            return find_pattern(connection, limits.PLAIN_CONNECTIONS - self._count)
        except TooManyEntries:
            raise _too_large(self.network, f"more than {limits.PLAIN_CONNECTIONS:,}") from None

    def _mark_needed(self) -> None:
        """Leave out neurons that no output depends on, such as those between the strides of a kernel."""
        for group in self.writes.values() if self.kept else self.groups[-1:]:
            group.needed[:] = True
        for group in reversed(self.groups):
            for i, (source, connection, pattern) in enumerate(group.entering):
                pattern = pattern.among(group.needed[pattern.rows])
                source.needed[pattern.columns] = True
                group.entering[i] = (source, connection, pattern)
        for before, group in zip(self.groups, self.groups[1:], strict=False):
            group.first = before.first + int(before.needed.sum())

    def wire(self, numbers: Numbers) -> Wiring:
        """Join all groups to columns."""
        edges = [
            (
                source.numbers[pattern.columns],
                group.numbers[pattern.rows],
                np.where(pattern.number < 0, -1, numbers.of_connection(connection)[pattern.number]),
                pattern.strength,
            )
            for group in self.groups
            for source, connection, pattern in group.entering
        ]
        if not edges:
            raise ExpansionError(
                f"in the network {self.network.name!r} there is nothing to expand: every capsule is data, an output or "
                "no function of plain neurons, and no connection between them has a weight"
            )
        back, front, number, strength = (np.concatenate(column) for column in zip(*edges, strict=True))
        symbol = np.concatenate([np.full(int(g.needed.sum()), g.symbol) for g in self.groups])
        # Where a kernel sees nothing but padding, a strength of 0 makes a neuron of what has only a bias.
        empty = np.setdiff1d(np.flatnonzero(symbol != DATA), front)
        back, front = np.append(back, np.zeros_like(empty)), np.append(front, empty)
        number, strength = np.append(number, np.full_like(empty, -1)), np.append(strength, np.zeros(empty.size))
        if back.size > limits.PLAIN_CONNECTIONS:
            raise _too_large(self.network, f"{back.size:,}")
        return Wiring(
            symbol,
            np.concatenate([numbers.of_bias(g.capsule, g.symbol == DATA, g.size)[g.needed] for g in self.groups]),
            back,
            front,
            number,
            np.where(number < 0, strength, numbers.flat[number]),
            numbers.tie_of(number, FREE, FIXED),
            [
                (g.capsule.id, g.capsule.output.sizes if g.capsule.output else (), g.span, np.flatnonzero(g.needed))
                for g in self.groups
            ],
            {id: group.span for id, group in self.reads.items() if id in self.kept},
            {id: group.span for id, group in self.writes.items()},
        )
