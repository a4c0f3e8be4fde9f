"""Plain networks in columns: checked as numbers, for millions of connections; nothing becomes an object.

Neurons are called n0, n1, … in diagnostics. The rules are those of every other drawing.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any

from inkcap.drawing import Drawing, Plain
from inkcap.network.diagnostics import Diagnostic
from inkcap.network.report import NotWellFormed
from inkcap.structures import BYTES
from inkcap.theory import Classification, Witness

MOST_NAMED = 8
"""How many neurons a message names."""


@dataclass(frozen=True)
class PlainNetwork:
    """A checked plain network: its columns, and which neurons are inputs and outputs."""

    drawing: Drawing
    columns: Plain
    inputs: tuple[int, ...]
    outputs: tuple[int, ...]

    @property
    def name(self) -> str:
        """The drawing's name."""
        return self.drawing.name


@dataclass(frozen=True)
class PlainReport:
    """The report of a drawing that is one plain block; it answers like any other report."""

    drawing: Drawing
    columns: Plain
    levels: Sequence[int]
    """The longest way from an input to each neuron; −1 on or behind a cycle."""
    entered: Sequence[int]
    left: Sequence[int]
    """How many connections enter and leave each neuron."""
    diagnostics: tuple[Diagnostic, ...]

    @property
    def capsules(self) -> range:
        """The neurons, by number."""
        return range(len(self.columns.symbol))

    @property
    def connections(self) -> range:
        """The connections, by number."""
        return range(len(self.columns.back))

    @property
    def errors(self) -> tuple[Diagnostic, ...]:
        """The diagnostics that must be mended."""
        return tuple(d for d in self.diagnostics if d.severity == "error")

    @property
    def well_formed(self) -> bool:
        """Tell whether the drawing is a network."""
        return not self.errors

    @property
    def network(self) -> PlainNetwork:
        """The network, when the drawing is well formed; else the errors are raised in words."""
        if not self.well_formed:
            lines = "\n".join(f"  [{d.rule}] {d.message}" for d in self.errors[:5])
            raise NotWellFormed(f"the drawing {self.drawing.name!r} has {len(self.errors)} error(s):\n{lines}")
        return PlainNetwork(self.drawing, self.columns, self.input_numbers, self.output_numbers)

    @cached_property
    def input_numbers(self) -> tuple[int, ...]:
        """The neurons that nothing enters."""
        return tuple(i for i, count in enumerate(self.entered) if count == 0)

    @cached_property
    def output_numbers(self) -> tuple[int, ...]:
        """The neurons that nothing leaves; an isolated one is an input."""
        found = tuple(i for i, count in enumerate(self.left) if count == 0 and self.entered[i])
        return found or self.input_numbers

    @property
    def inputs(self) -> tuple[str, ...]:
        """The inputs' names."""
        return tuple(f"n{i}" for i in self.input_numbers)

    @property
    def outputs(self) -> tuple[str, ...]:
        """The outputs' names."""
        return tuple(f"n{i}" for i in self.output_numbers)

    @property
    def hidden(self) -> range:
        """As many numbers as there are hidden neurons."""
        return range(len(self.columns.symbol) - len({*self.input_numbers, *self.output_numbers}))

    @property
    def depth(self) -> int:
        """The number of layers without the input layer."""
        return max(self.levels, default=0)

    @property
    def parameters(self) -> int:
        """Count the numbers that training changes: weights, tied ones once, and biases."""
        ties = self.columns.tie
        free = len(self.columns.back) if not ties else sum(t < 0 for t in ties) + len({t for t in ties if t >= 0})
        return free + sum(symbol != "data" for symbol in self.columns.symbol)

    @property
    def frozen_parameters(self) -> int:
        """No weight of a plain block is frozen."""
        return 0

    @property
    def multiply_adds(self) -> int:
        """Count one multiply-add a connection."""
        return len(self.columns.back)

    def activation_bytes(self, batch: int = 1) -> int:
        """Count the bytes that the outputs of all neurons take for a batch."""
        return batch * len(self.columns.symbol) * BYTES[self.drawing.dtype]

    @cached_property
    def classification(self) -> Classification | None:
        """Layered, or skip with a witness; the layers themselves are told by their sizes alone."""
        if any(level < 0 for level in self.levels):
            return None
        for back, front in zip(self.columns.back, self.columns.front, strict=True):
            i, j = self.levels[back], self.levels[front]
            if j != i + 1:
                reason = "late input" if self.entered[back] == 0 and self._always_late(back) else "skip edge"
                return Classification("skip", (), Witness(reason, (f"n{back}", f"n{front}"), (i, j)))
        outputs = self.output_numbers
        for output in outputs[1:]:
            if self.levels[output] != self.levels[outputs[0]]:
                ends = (f"n{outputs[0]}", f"n{output}")
                depths = (self.levels[outputs[0]], self.levels[output])
                return Classification("skip", (), Witness("unequal outputs", ends, depths))
        return Classification("layered", (), None)

    def _always_late(self, neuron: int) -> bool:
        pairs = zip(self.columns.back, self.columns.front, strict=True)
        return all(self.levels[front] > 1 for back, front in pairs if back == neuron)

    def layer_sizes(self) -> list[int]:
        """Count the neurons of every layer."""
        sizes = [0] * (self.depth + 1)
        for level in self.levels:
            sizes[level] += 1
        return sizes

    def to_json(self, batch: int = 1) -> dict[str, Any]:
        """Describe the report as one JSON object; structures of single neurons are left out."""
        kind = self.classification
        return {
            "name": self.drawing.name,
            "well_formed": self.well_formed,
            "kind": kind.kind if kind else None,
            "layers": self.layer_sizes() if kind and kind.kind == "layered" else None,
            "witness": kind.witness.to_json() if kind and kind.witness else None,
            "capsules": len(self.capsules),
            "connections": len(self.connections),
            "inputs": list(self.inputs),
            "outputs": list(self.outputs),
            "hidden": len(self.hidden),
            "depth": self.depth,
            "deep": self.depth > 2,
            "parameters": self.parameters,
            "frozen_parameters": self.frozen_parameters,
            "multiply_adds": self.multiply_adds,
            "activation_bytes": self.activation_bytes(batch),
            "batch": batch,
            "structures": {"capsules": {}, "connections": {}},
            "diagnostics": [diagnostic.to_json() for diagnostic in self.diagnostics],
        }


def check_plain(drawing: Drawing, columns: Plain) -> PlainReport:
    """Check a plain block: acyclic, connected, data neurons as inputs and only they."""
    count = len(columns.symbol)
    entered, left = [0] * count, [0] * count
    for front in columns.front:
        entered[front] += 1
    for back in columns.back:
        left[back] += 1
    levels = _levels(columns, entered, left)
    found: list[Diagnostic] = []
    if not count:
        found.append(Diagnostic("empty", (), "the plain block is empty: add a data neuron first"))
    stuck = [i for i, level in enumerate(levels) if level < 0]
    if stuck:
        found.append(_diagnostic("cycle", stuck, "lie on or behind a cycle; a network has none: remove a connection"))
    symbols = columns.symbol
    wrong = [i for i in range(count) if symbols[i] == "data" and entered[i]]
    if wrong:
        found.append(_diagnostic("data-has-input", wrong, "are data neurons, and connections enter them"))
    orphans = [i for i in range(count) if symbols[i] != "data" and not entered[i]]
    if orphans:
        found.append(_diagnostic("no-input", orphans, "are no data neurons, and nothing enters them"))
    apart = _apart(columns, count)
    if apart:
        found.append(_diagnostic("disconnected", apart, "are not connected to the rest: connect or remove them"))
    return PlainReport(drawing, columns, levels, entered, left, tuple(found))


def _diagnostic(rule: str, neurons: list[int], words: str) -> Diagnostic:
    names = tuple(f"n{i}" for i in neurons[:MOST_NAMED])
    more = f" and {len(neurons) - MOST_NAMED} more" if len(neurons) > MOST_NAMED else ""
    return Diagnostic(rule, names, f"the neurons {', '.join(names)}{more} {words}", {"neurons": len(neurons)})


def _levels(columns: Plain, entered: list[int], left: list[int]) -> list[int]:
    """Find every neuron's level in topological order; fronts lie in one flat list, sorted by back."""
    count = len(entered)
    start = [0] * (count + 1)
    for i in range(count):
        start[i + 1] = start[i] + left[i]
    fronts = [0] * len(columns.back)
    place = start[:count]
    for back, front in zip(columns.back, columns.front, strict=True):
        fronts[place[back]] = front
        place[back] += 1
    waiting = list(entered)
    levels = [-1] * count
    known = [0] * count
    ready = deque(i for i in range(count) if not entered[i])
    while ready:
        neuron = ready.popleft()
        level = levels[neuron] = known[neuron]
        for front in fronts[start[neuron] : start[neuron + 1]]:
            if known[front] <= level:
                known[front] = level + 1
            waiting[front] -= 1
            if not waiting[front]:
                ready.append(front)
    return levels


def _apart(columns: Plain, count: int) -> list[int]:
    """Find the neurons outside the largest part, by union and find."""
    parent = list(range(count))
    for back, front in zip(columns.back, columns.front, strict=True):
        while parent[back] != back:
            parent[back] = parent[parent[back]]
            back = parent[back]
        while parent[front] != front:
            parent[front] = parent[parent[front]]
            front = parent[front]
        if back != front:
            parent[max(back, front)] = min(back, front)
    roots = [0] * count
    sizes: dict[int, int] = {}
    for i in range(count):
        root = i
        while parent[root] != root:
            root = parent[root]
        roots[i] = root
        sizes[root] = sizes.get(root, 0) + 1
    if len(sizes) < 2:
        return []
    main = max(sizes, key=lambda root: sizes[root])
    return [i for i in range(count) if roots[i] != main]
