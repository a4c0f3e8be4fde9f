"""Drawn plain networks as torch modules: whole ones, and blocks of neurons among capsules."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn

from inkcap.drawing import FIXED
from inkcap.engine.evaluation import run_on_torch
from inkcap.engine.plain.columns import Columns
from inkcap.engine.plain.module import run_plain
from inkcap.engine.plain.network import PlainNetwork
from inkcap.engine.torch_operations import torch_dtype
from inkcap.network import Network, PlainFacts
from inkcap.network.network import PLAIN_BIAS, PLAIN_WEIGHT
from inkcap.network.plain_form import WRITTEN
from inkcap.operations import Step
from inkcap.program import lower_to_steps

Whole = NDArray[np.int64]


@dataclass(frozen=True, eq=False)
class Slots:
    """Where the numbers of connections, or of neurons, are stored: in the weight that trains, or behind it, fixed."""

    place: Whole
    """For every connection or neuron its place among the stored and, after them, the fixed numbers."""
    trained: int
    fixed: NDArray[np.float64]
    first: Whole
    """For every stored number the first connection or neuron that has it."""

    @staticmethod
    def of(ties: Sequence[int], numbers: NDArray[np.float64]) -> Slots:
        """Give every number that is not tied, and every tie at its first occurrence, a place of its own, in order."""
        count = numbers.size
        tie = np.asarray(ties, np.int64) if len(ties) else np.full(count, -1, np.int64)
        alone = np.arange(count) + count  # beyond every tie's number
        key = np.where(tie >= 0, tie, alone)
        free = tie != FIXED
        _, first, inverse = np.unique(key[free], return_index=True, return_inverse=True)
        order = np.argsort(first, kind="stable")
        rank = np.empty_like(order)
        rank[order] = np.arange(order.size)
        place = np.empty(count, np.int64)
        place[free] = rank[inverse]
        place[~free] = first.size + np.arange(count - int(free.sum()))
        return Slots(place, first.size, numbers[~free], np.flatnonzero(free)[first[order]])


@dataclass(frozen=True, eq=False)
class _Pick:
    """Some neurons' values: columns of what segments and capsules give, side by side, and then put in order."""

    parts: tuple[tuple[int | str, Tensor], ...]
    order: Tensor | None

    def take(self, given: Mapping[int | str, Tensor]) -> Tensor:
        """Pick the values: a row for each sample."""
        found = [
            given[source].reshape(len(given[source]), -1).index_select(1, columns) for source, columns in self.parts
        ]
        joined = found[0] if len(found) == 1 else torch.cat(found, 1)
        return joined if self.order is None else joined.index_select(1, self.order)


class _Sources:
    """Where the value of every neuron is found: in its stage's segment, or in the capsule that it reads."""

    def __init__(self, facts: PlainFacts) -> None:
        self.stage = np.asarray(facts.stages[: facts.neurons], np.int64)
        self.data = np.array([symbol == "data" for symbol in facts.columns.symbol])
        self.reader = np.full(facts.neurons, -1, np.int64)
        self.element = np.zeros(facts.neurons, np.int64)
        self.capsules = tuple(facts.columns.reads)
        for number, (first, count) in enumerate(facts.columns.reads.values()):
            self.reader[first : first + count] = number
            self.element[first : first + count] = np.arange(count)
        self.column = np.zeros(facts.neurons, np.int64)
        """The column of a neuron among the outputs of its segment; segments fill it in."""

    def pick(self, neurons: Whole) -> _Pick:
        """Find the values of some neurons."""
        key = np.where(self.data[neurons], -1 - self.reader[neurons], self.stage[neurons])
        parts: list[tuple[int | str, Tensor]] = []
        order: list[Whole] = []
        for source in map(int, np.unique(key)):
            at = np.flatnonzero(key == source)
            name: int | str = self.capsules[-1 - source] if source < 0 else source
            columns = (self.element if source < 0 else self.column)[neurons[at]]
            parts.append((name, torch.from_numpy(columns)))
            order.append(at)
        placed = np.concatenate(order)
        inverse = None if len(parts) == 1 else torch.from_numpy(np.argsort(placed))
        return _Pick(tuple(parts), inverse)


@dataclass(frozen=True, eq=False)
class _Segment:
    """The neurons of one stage, compiled, with what they take from where."""

    network: PlainNetwork
    enters: _Pick | None
    """None where the network's own input enters."""
    weight: Tensor | None
    """Places of its weights among all stored and fixed ones; None where they are the stored ones in order."""
    bias: Tensor | None


class PlainDrawn(nn.Module):
    """Called with the network's inputs, it gives its outputs; the neurons run as compiled kernels, not one by one.

    ``weight_names`` maps the names of the stored weights to their paths, as in every built module.
    """

    fixed_weight: Tensor
    fixed_bias: Tensor

    def __init__(self, network: Network, returns: Mapping[str, str] | None = None) -> None:
        super().__init__()
        assert network.plain is not None
        facts = network.plain
        dtype = torch_dtype(facts.dtype)
        columns = facts.columns
        self.weight_slots = Slots.of(columns.tie, np.asarray(columns.weight, np.float64))
        self.computing = np.flatnonzero(np.array([symbol != "data" for symbol in columns.symbol]))
        ties: Any = np.asarray(columns.bias_tie, np.int64)[self.computing] if columns.bias_tie else ()
        self.bias_slots = Slots.of(ties, np.asarray(columns.bias, np.float64)[self.computing])
        self.weight = nn.Parameter(torch.zeros(self.weight_slots.trained, dtype=dtype))
        self.bias = nn.Parameter(torch.zeros(self.bias_slots.trained, dtype=dtype))
        self.register_buffer("fixed_weight", torch.tensor(self.weight_slots.fixed, dtype=dtype), persistent=False)
        self.register_buffer("fixed_bias", torch.tensor(self.bias_slots.fixed, dtype=dtype), persistent=False)
        self.weight_names = {PLAIN_WEIGHT: "weight", PLAIN_BIAS: "bias"}
        sources = _Sources(facts)
        logits = not facts.capsules and "U" in (returns or {}).values()
        self.segments = _compile(facts, sources, self.weight_slots, self.bias_slots, logits)
        self.capsules = _CapsulePart(network, sources, returns) if facts.capsules else None
        if self.capsules is not None:
            self.weight_names |= {name: f"capsules.{path}" for name, path in self.capsules.paths.items()}

    def forward(self, *inputs: Tensor) -> Tensor | tuple[Tensor, ...]:
        """Compute the outputs, stage by stage: neurons, the capsules that they write, the neurons that read these."""
        weight = torch.cat([self.weight, self.fixed_weight]) if self.fixed_weight.numel() else self.weight
        bias = torch.cat([self.bias, self.fixed_bias]) if self.fixed_bias.numel() else self.bias
        if self.capsules is None:
            return _run(self.segments[0], inputs[0], weight, bias)
        part = self.capsules
        values = part.begin(inputs)
        given: dict[int | str, Tensor] = {}
        for stage in range(part.stages):
            segment = self.segments.get(stage)
            if segment is not None and segment.enters is not None:
                given[stage] = _run(segment, segment.enters.take(given), weight, bias)
            part.go_on(stage, values, given)
        return part.returned(values)


def _run(segment: _Segment, x: Tensor, weight: Tensor, bias: Tensor) -> Tensor:
    own_weight = weight if segment.weight is None else weight.index_select(0, segment.weight)
    own_bias = bias if segment.bias is None else bias.index_select(0, segment.bias)
    return run_plain(segment.network, x, own_weight, own_bias)


def _compile(facts: PlainFacts, sources: _Sources, weights: Slots, biases: Slots, logits: bool) -> dict[int, _Segment]:
    """Compile the neurons of every stage that compute."""
    columns = facts.columns
    symbol = np.array(columns.symbol, "U16")
    back, front = np.asarray(columns.back, np.int64), np.asarray(columns.front, np.int64)
    bias_of = np.cumsum(~sources.data) - 1
    sinks = np.array([i for i in facts.outputs if i < facts.neurons], np.int64)
    if logits:
        # Nothing leaves an output, so that without its function it gives its total input.
        symbol[sinks] = "identical"
    wanted = np.zeros(facts.neurons, np.bool_)
    wanted[sinks] = True
    for first, count in columns.writes.values():
        wanted[first : first + count] = True
    crossing = sources.stage[back] != sources.stage[front]
    wanted[back[crossing]] = True
    segments: dict[int, _Segment] = {}
    for stage in np.unique(sources.stage[~sources.data]).tolist():
        own = np.flatnonzero((sources.stage == stage) & ~sources.data)
        joined = np.flatnonzero(sources.stage[front] == stage)
        outside = np.unique(back[joined][sources.data[back[joined]] | crossing[joined]])
        if not facts.capsules:
            outside = np.asarray(facts.inputs, np.int64)
        local = np.full(facts.neurons, -1, np.int64)
        local[np.concatenate([outside, own])] = np.arange(outside.size + own.size)
        names = np.concatenate([np.full(outside.size, "data", symbol.dtype), symbol[own]])
        place, tie = _local_ties(weights.place[joined])
        outputs = own[wanted[own]]
        sources.column[outputs] = np.arange(outputs.size)
        network = PlainNetwork(
            Columns(names, np.zeros(names.size), local[back[joined]], local[front[joined]], np.zeros(joined.size), tie),
            local[outputs],
        )
        enters = sources.pick(outside) if facts.capsules else None
        segments[stage] = _Segment(network, enters, _index(place, weights), _index(biases.place[bias_of[own]], biases))
    return segments


def _local_ties(place: Whole) -> tuple[Whole, Whole]:
    """Give the places of a segment's weights, each once, and for every connection the first one that shares its."""
    _, first, inverse, count = np.unique(place, return_index=True, return_inverse=True, return_counts=True)
    if first.size == place.size:
        return place, np.zeros(0, np.int64)
    return place[np.sort(first)], np.where(count[inverse] > 1, first[inverse], -1)


def _index(place: Whole, slots: Slots) -> Tensor | None:
    same = not slots.fixed.size and place.size == slots.trained and bool((place == np.arange(place.size)).all())
    return None if same else torch.from_numpy(np.ascontiguousarray(place))


class _CapsulePart(nn.Module):
    """The capsules around a plain block: their steps stage by stage, and their weights."""

    def __init__(self, network: Network, sources: _Sources, returns: Mapping[str, str] | None) -> None:
        super().__init__()
        assert network.plain is not None
        facts = network.plain
        self.network, self.program = network, lower_to_steps(network)
        trained = lower_to_steps(network, training=True)
        self.results = self.program.returned(dict(returns or {}))
        self.stages = max(facts.stages) + 1
        self.paths: dict[str, str] = {}
        for i, name in enumerate(self.program.weights):
            record = network.weights[name].structure
            self.paths[name] = f"weight_{i}"
            zeros = torch.zeros(record.sizes, dtype=torch_dtype(record.dtype))
            self.register_parameter(self.paths[name], nn.Parameter(zeros))
        for i, (name, record) in enumerate(network.states.items()):
            self.paths[name] = f"state_{i}"
            zeros = torch.zeros(record.structure.sizes, dtype=torch_dtype(record.structure.dtype))
            self.register_buffer(self.paths[name], zeros)
        stage_of = {id: facts.stages[facts.neurons + i] for i, id in enumerate(facts.capsules)}
        self.steps: dict[bool, list[list[Step]]] = {}
        # Both modes have the same steps under the same numbers.
        for mode, program in ((False, self.program), (True, trained)):
            self.steps[mode] = [[] for _ in range(self.stages)]
            for step in program.trace.steps:
                self.steps[mode][stage_of[program.owners[step.target]]].append(step)
        self.writes: list[list[tuple[str, _Pick]]] = [[] for _ in range(self.stages)]
        for id, (first, count) in facts.columns.writes.items():
            pick = sources.pick(np.arange(first, first + count))
            self.writes[stage_of[id]].append((f"{id}{WRITTEN}", pick))
        self.read: list[list[str]] = [[] for _ in range(self.stages)]
        for id in facts.columns.reads:
            self.read[stage_of[id]].append(id)

    def begin(self, inputs: Sequence[Tensor]) -> dict[int, Tensor]:
        """Give the values that are known before the first step."""
        values = {self.program.inputs[id]: x for id, x in zip(self.network.inputs, inputs, strict=True)}
        stored = {number: self.get_parameter(self.paths[n]) for n, number in self.program.weights.items()}
        return values | stored | {number: self.get_buffer(self.paths[n]) for n, number in self.program.states.items()}

    def go_on(self, stage: int, values: dict[int, Tensor], given: dict[int | str, Tensor]) -> None:
        """Compute the capsules of a stage, and give what neurons read of them."""
        for id, pick in self.writes[stage]:
            number = self.program.inputs[id]
            structure = self.network.capsules[id].output
            assert structure is not None
            values[number] = pick.take(given).reshape(-1, *structure.sizes)
        values.update(run_on_torch(self.steps[self.training][stage], values))
        given.update({id: values[self.program.outputs[id]] for id in self.read[stage]})

    def returned(self, values: Mapping[int, Tensor]) -> Tensor | tuple[Tensor, ...]:
        """Give the network's outputs."""
        if self.training:
            with torch.no_grad():
                for name, number in self.program.moved.items():
                    self.get_buffer(self.paths[name]).copy_(values[number])
        results = tuple(values[number] for number in self.results)
        return results[0] if len(results) == 1 else results
