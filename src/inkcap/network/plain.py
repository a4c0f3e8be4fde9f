"""Plain networks in columns: checked as numbers, for millions of connections; nothing becomes an object.

The vertices of the graph are the block's neurons, called n0, n1, … in diagnostics, and after them the drawing's
capsules, if there are any: what a capsule gives can be read by neurons, what neurons give be written into capsules.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Literal

from inkcap.drawing import FIXED, Drawing, Plain
from inkcap.network.diagnostics import Diagnostic
from inkcap.structures import BYTES
from inkcap.theory import Classification, Witness

MOST_NAMED = 8
"""How many neurons a message names."""
PLAIN_DTYPES = ("float32", "float64")
"""The data types in which plain networks compute."""


@dataclass(frozen=True)
class Start:
    """Weights of some connections, or biases of some neurons, that start alike at random."""

    of: Literal["weight", "bias"]
    initialiser: str
    fan_in: int
    places: tuple[int, ...]


@dataclass(frozen=True)
class PlainFacts:
    """What is known of a drawing's plain block, together with the capsules around it."""

    columns: Plain
    capsules: tuple[str, ...]
    dtype: str
    order: Sequence[int]
    """Vertices in topological order; those on or behind a cycle are missing."""
    levels: Sequence[int]
    """The longest way from an input to each vertex; −1 on or behind a cycle."""
    stages: Sequence[int]
    """How many times the way to each vertex goes from a capsule into the block."""
    entered: Sequence[int]
    left: Sequence[int]
    """How many edges enter and leave each vertex."""
    names: tuple[str, ...] = ()
    """The neurons' names where they were drawn one by one."""
    starts: tuple[Start, ...] = ()
    """Weights and biases that start at random instead of with the columns' numbers."""

    @property
    def neurons(self) -> int:
        """Count the neurons."""
        return len(self.columns.symbol)

    def name(self, vertex: int) -> str:
        """Give the name of a vertex."""
        if vertex >= self.neurons:
            return self.capsules[vertex - self.neurons]
        return self.names[vertex] if self.names else f"n{vertex}"

    @cached_property
    def inputs(self) -> tuple[int, ...]:
        """The vertices that nothing enters."""
        return tuple(i for i, count in enumerate(self.entered) if count == 0)

    @cached_property
    def outputs(self) -> tuple[int, ...]:
        """The vertices that nothing leaves; an isolated one is an input, and an element of a capsule is none."""
        read = {i for first, count in self.spans for i in range(first, first + count)}
        found = (i for i, count in enumerate(self.left) if count == 0 and self.entered[i] and i not in read)
        return tuple(found) or self.inputs

    @property
    def spans(self) -> tuple[tuple[int, int], ...]:
        """The data neurons that stand for elements of capsules."""
        return tuple(self.columns.reads.values())

    @property
    def own_neurons(self) -> tuple[str, ...]:
        """The names of the neurons that are not elements of capsules."""
        read = {i for first, count in self.spans for i in range(first, first + count)}
        return tuple(self.name(i) for i in range(self.neurons) if i not in read)

    @property
    def depth(self) -> int:
        """The number of layers without the input layer."""
        return max(self.levels, default=0)

    @cached_property
    def weights(self) -> int:
        """Count the weights that training changes, tied ones once."""
        return _count_free(self.columns.tie, len(self.columns.back))

    @cached_property
    def biases(self) -> int:
        """Count the biases that training changes, tied ones once."""
        computing = [i for i, symbol in enumerate(self.columns.symbol) if symbol != "data"]
        ties = self.columns.bias_tie
        return _count_free([ties[i] for i in computing] if ties else (), len(computing))

    @property
    def fixed(self) -> int:
        """Count the weights that training leaves alone."""
        return sum(tie == FIXED for tie in self.columns.tie)

    def activation_bytes(self) -> int:
        """Count the bytes that the outputs of all neurons take for one sample."""
        return self.neurons * BYTES[self.dtype]

    @cached_property
    def classification(self) -> Classification | None:
        """Layered, or skip with a witness; the layers themselves are told by their sizes alone."""
        if not self.levels or any(level < 0 for level in self.levels):
            return None
        reading = bytearray(len(self.levels))
        for first, count in self.spans:
            reading[first : first + count] = b"\1" * count
        for back, front in zip(*_edges(self.columns, self.capsules, ()), strict=True):
            i, j = self.levels[back], self.levels[front]
            if j != i + 1 and not reading[front]:
                late = self.entered[back] == 0 and self._always_late(back)
                ends = (self.name(back), self.name(front))
                return Classification("skip", (), Witness("late input" if late else "skip edge", ends, (i, j)))
        first = self.outputs[0]
        for output in self.outputs[1:]:
            if self.levels[output] != self.levels[first]:
                ends, depths = (self.name(first), self.name(output)), (self.levels[first], self.levels[output])
                return Classification("skip", (), Witness("unequal outputs", ends, depths))
        return Classification("layered", (), None)

    def _always_late(self, neuron: int) -> bool:
        pairs = zip(self.columns.back, self.columns.front, strict=True)
        return all(self.levels[front] > 1 for back, front in pairs if back == neuron)

    def layer_sizes(self) -> list[int]:
        """Count the vertices of every layer; neurons that stand for elements of capsules are not counted."""
        sizes = [0] * (self.depth + 1)
        for level in self.levels:
            sizes[level] += 1
        for first, count in self.spans:
            sizes[self.levels[first]] -= count
        return sizes


def _count_free(ties: Sequence[int], count: int) -> int:
    if not ties:
        return count
    return sum(tie == -1 for tie in ties) + len({tie for tie in ties if tie >= 0})


def survey(
    columns: Plain,
    dtype: str,
    capsules: Sequence[str] = (),
    connections: Sequence[tuple[str, str]] = (),
    names: tuple[str, ...] = (),
    starts: tuple[Start, ...] = (),
) -> PlainFacts:
    """Walk the graph of a plain block and the capsules around it."""
    back, front = _edges(columns, capsules, connections)
    count = len(columns.symbol) + len(capsules)
    entered, left = [0] * count, [0] * count
    for vertex in front:
        entered[vertex] += 1
    for vertex in back:
        left[vertex] += 1
    reading = bytearray(count)
    for first, length in columns.reads.values():
        reading[first : first + length] = b"\1" * length
    order, levels, stages = _walk(back, front, entered, left, reading)
    return PlainFacts(columns, tuple(capsules), dtype, order, levels, stages, entered, left, names, starts)


def _edges(
    columns: Plain, capsules: Sequence[str], connections: Sequence[tuple[str, str]]
) -> tuple[Sequence[int], Sequence[int]]:
    """Give all edges as two columns of vertices: the block's, then those that read, write and join capsules."""
    neurons = len(columns.symbol)
    number = {id: neurons + i for i, id in enumerate(capsules)}
    extra = [(number[id], i) for id, (f, n) in columns.reads.items() if id in number for i in range(f, f + n)]
    extra += [(i, number[id]) for id, (f, n) in columns.writes.items() if id in number for i in range(f, f + n)]
    extra += [(number[a], number[b]) for a, b in connections if a in number and b in number]
    if not extra:
        return columns.back, columns.front
    return [*columns.back, *(a for a, _ in extra)], [*columns.front, *(b for _, b in extra)]


def _walk(
    backs: Sequence[int], front_ends: Sequence[int], entered: list[int], left: list[int], reading: bytearray
) -> tuple[list[int], list[int], list[int]]:
    """Find order, levels and stages; fronts lie in one flat list, sorted by back."""
    count = len(entered)
    start = [0] * (count + 1)
    for i in range(count):
        start[i + 1] = start[i] + left[i]
    fronts = [0] * len(backs)
    place = start[:count]
    for back, front in zip(backs, front_ends, strict=True):
        fronts[place[back]] = front
        place[back] += 1
    waiting = list(entered)
    levels, known, stages = [-1] * count, [0] * count, [0] * count
    order: list[int] = []
    ready = deque(i for i in range(count) if not entered[i])
    while ready:
        vertex = ready.popleft()
        order.append(vertex)
        level, stage = known[vertex], stages[vertex]
        levels[vertex] = level
        for front in fronts[start[vertex] : start[vertex + 1]]:
            # A neuron that reads an element of a capsule is that element: it lies where the capsule does.
            reach = level + 1 - reading[front]
            if known[front] < reach:
                known[front] = reach
            if stages[front] < stage + reading[front]:
                stages[front] = stage + reading[front]
            waiting[front] -= 1
            if not waiting[front]:
                ready.append(front)
    return order, levels, stages


def check_plain(drawing: Drawing, facts: PlainFacts) -> Iterator[Diagnostic]:
    """Check the graph: acyclic, connected, data neurons as inputs and only they, spans that fit."""
    columns = facts.columns
    if not facts.neurons:
        yield Diagnostic("empty", (), "the plain block is empty: add a data neuron first")
        return
    if drawing.dtype not in PLAIN_DTYPES:
        yield Diagnostic(
            "not-floating", (), f"plain neurons compute in float32 or float64, not in {drawing.dtype}: change the type"
        )
    if len(facts.order) < len(facts.levels):
        stuck = [i for i, level in enumerate(facts.levels) if level < 0]
        yield _diagnostic(facts, "cycle", stuck, "lie on or behind a cycle; a network has none: remove a connection")
    entered = {vertex for vertex in columns.front if columns.symbol[vertex] == "data"}
    if entered:
        yield _diagnostic(facts, "data-has-input", sorted(entered), "are data neurons, and connections enter them")
    orphans = [i for i in range(facts.neurons) if columns.symbol[i] != "data" and not facts.entered[i]]
    if orphans:
        yield _diagnostic(facts, "no-input", orphans, "are no data neurons, and nothing enters them")
    biased = [i for i in range(facts.neurons) if columns.symbol[i] == "data" and columns.bias[i]]
    if biased:
        yield _diagnostic(facts, "data-has-input", biased, "are data neurons, which have no bias: write 0")
    yield from _check_spans(drawing, facts)
    yield from _check_shared(facts)
    if apart := _apart(drawing, facts):
        yield _diagnostic(facts, "disconnected", apart, "are not connected to the rest: connect or remove them")


def _check_spans(drawing: Drawing, facts: PlainFacts) -> Iterator[Diagnostic]:
    columns = facts.columns
    for word, spans in (("reads", columns.reads), ("writes", columns.writes)):
        for id in spans:
            if id not in drawing.capsules:
                yield Diagnostic("no-input", (), f"the plain block {word} {id}, which is not drawn: draw it")
    read: dict[int, str] = {}
    for id, (first, count) in columns.reads.items():
        span = range(first, first + count)
        wrong = [i for i in span if columns.symbol[i] != "data" or i in read]
        if wrong:
            words = f"are read from the capsule {id}, but are no data neurons, or are read from another one"
            yield _diagnostic(facts, "data-has-input", wrong, words)
        read.update(dict.fromkeys(span, id))
    if drawing.capsules:
        free = [i for i in range(facts.neurons) if columns.symbol[i] == "data" and i not in read]
        if free:
            yield _diagnostic(facts, "no-input", free, "are data neurons beside capsules: read them from one")
        ends = [i for i in facts.outputs if i < facts.neurons]
        if ends:
            yield _diagnostic(facts, "disconnected", ends, "give to nothing: write them into a capsule")


def _check_shared(facts: PlainFacts) -> Iterator[Diagnostic]:
    """Find tied connections or biases that start with different numbers."""
    columns = facts.columns
    for word, ties, numbers in (
        ("connection", columns.tie, columns.weight),
        ("bias", columns.bias_tie, columns.bias),
    ):
        first: dict[int, int] = {}
        for i, tie in enumerate(ties):
            if tie >= 0 and numbers[first.setdefault(tie, i)] != numbers[i]:
                j = first[tie]
                yield Diagnostic(
                    "tie-mismatch",
                    (),
                    f"plain {word} {i} has {numbers[i]:g}, but {word} {j} shares tie {tie} and has {numbers[j]:g}: "
                    "give both the same number",
                )
                break


def _diagnostic(facts: PlainFacts, rule: str, vertices: list[int], words: str) -> Diagnostic:
    names = tuple(facts.name(i) for i in vertices[:MOST_NAMED])
    more = f" and {len(vertices) - MOST_NAMED} more" if len(vertices) > MOST_NAMED else ""
    capsules = tuple(name for i, name in zip(vertices, names, strict=False) if i >= facts.neurons)
    return Diagnostic(rule, capsules, f"{', '.join(names)}{more} {words}", {"count": len(vertices)})


def _apart(drawing: Drawing, facts: PlainFacts) -> list[int]:
    """Find the vertices outside the largest part."""
    ends = [(c.back, c.front) for c in drawing.connections.values()]
    parent = find_parts(len(facts.left), *_edges(facts.columns, facts.capsules, ends))
    sizes: dict[int, int] = {}
    for root in parent:
        sizes[root] = sizes.get(root, 0) + 1
    if len(sizes) < 2:
        return []
    main = max(sizes, key=lambda root: sizes[root])
    return [i for i, root in enumerate(parent) if root != main]


def find_parts(count: int, backs: Iterable[int], fronts: Iterable[int]) -> list[int]:
    """Give for every vertex the first one of its connected part, by union and find."""
    parent = list(range(count))
    for back, front in zip(backs, fronts, strict=True):
        while parent[back] != back:
            parent[back] = parent[parent[back]]
            back = parent[back]
        while parent[front] != front:
            parent[front] = parent[parent[front]]
            front = parent[front]
        if back != front:
            parent[max(back, front)] = min(back, front)
    # A parent is never greater than its child, so one pass upwards finds every root.
    for i in range(count):
        parent[i] = parent[parent[i]]
    return parent
