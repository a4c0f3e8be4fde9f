"""Gathering: neurons read from a drawing, and grouped into the capsules that they could be."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray
from torch import Tensor

from inkcap.drawing import Drawing, Plain
from inkcap.drawing.plain import FIXED, FREE
from inkcap.engine.build import WeightsError, starting_weights
from inkcap.engine.patterns import find_pattern
from inkcap.engine.plain.columns import CODES, DATA, Columns, read
from inkcap.network import CheckedConnection, Network, check
from inkcap.structures import InkcapError

Array = NDArray[Any]


class ContractionError(InkcapError):
    """A drawing that cannot be contracted to capsules."""


@dataclass(frozen=True, eq=False)
class Neurons:
    """Neurons and connections as columns; equal ``number``s are one number, ``fixed`` ones training leaves alone.

    ``names`` are the neurons' ids where they were drawn one by one. A neuron without a bias has ``bias_number`` −1.
    """

    names: tuple[str, ...]
    code: NDArray[np.int8]
    back: NDArray[np.int64]
    front: NDArray[np.int64]
    weight: NDArray[np.float64]
    number: NDArray[np.int64]
    fixed: NDArray[np.bool_]
    bias: NDArray[np.float64]
    bias_number: NDArray[np.int64]
    bias_fixed: NDArray[np.bool_]

    @property
    def columns(self) -> Columns:
        """The columns as the kernels take them, without ties."""
        symbols = np.array(list(CODES))[self.code]
        return Columns(symbols, self.bias, self.back, self.front, self.weight)


def read_neurons(drawing: Drawing, weights: Mapping[str, Tensor] | None = None) -> Neurons:
    """Read the neurons of a drawing, from its plain block or drawn one by one, with these weights or their starts."""
    if drawing.plain is not None:
        if not drawing.plain.reads and not drawing.plain.writes and drawing.capsules:
            raise ContractionError(
                f"the drawing {drawing.name!r} has a plain block beside capsules that it neither reads from nor writes "
                "into; contract a drawing of neurons alone"
            )
        return _read_block(drawing.plain, weights)
    return _read_drawn(check(drawing).network, weights)


def _read_block(plain: Plain, weights: Mapping[str, Tensor] | None) -> Neurons:
    checked = read(Columns(plain.symbol, plain.bias, plain.back, plain.front, plain.weight))
    computes = checked.code != DATA
    tie = np.array(plain.tie or np.full(checked.back.size, FREE), np.int64)
    bias_tie = np.array(plain.bias_tie or np.full(checked.code.size, FREE), np.int64)
    weight, number = checked.weight.copy(), _number(tie)
    bias, bias_number = checked.bias.copy(), _number(bias_tie)
    if weights is not None:
        _fill("plain.weight", weights, weight, number, tie != FIXED)
        _fill("plain.bias", weights, bias, bias_number, (bias_tie != FIXED) & computes)
    bias_number[~computes | ((bias_tie == FIXED) & (bias == 0))] = -1
    back, front = checked.back.astype(np.int64), checked.front.astype(np.int64)
    return Neurons((), checked.code, back, front, weight, number, tie == FIXED, bias, bias_number, bias_tie == FIXED)


def _number(tie: NDArray[np.int64]) -> NDArray[np.int64]:
    """Number entries so that tied ones, and no others, have the same number."""
    number = np.arange(tie.size)
    tied = np.flatnonzero(tie >= 0)
    _, first, inverse = np.unique(tie[tied], return_index=True, return_inverse=True)
    number[tied] = tied[first][inverse]
    return number


def _fill(name: str, weights: Mapping[str, Tensor], values: Array, number: Array, trained: Array) -> None:
    """Put stored numbers at their places: each that training changes once, where it is used first."""
    used, inverse = np.unique(number[trained], return_inverse=True)
    if name not in weights or tuple(weights[name].shape) != (used.size,):
        raise WeightsError(f"the weights do not fit the plain block: {name} must have {used.size} numbers")
    values[trained] = weights[name].detach().cpu().double().numpy()[inverse]


def _read_drawn(network: Network, weights: Mapping[str, Tensor] | None) -> Neurons:
    for capsule in network.capsules.values():
        if capsule.rank or capsule.symbol not in CODES or not capsule.record.is_plain(capsule.attributes):
            raise ContractionError(
                f"the capsule {capsule.id} is no plain neuron but a {capsule.record.title_of(capsule.rank)}; contract "
                "takes neurons and a plain block, as 'inkcap expand' makes them"
            )
    if weights is None:
        weights = starting_weights(network, 0)
    values = {name: float(value.reshape(-1)[0]) for name, value in weights.items()}
    names = tuple(id for id in network.drawing.capsules if id in network.capsules)
    place = {id: i for i, id in enumerate(names)}
    capsules = [network.capsules[id] for id in names]
    numbers: dict[str, int] = {}
    entries = [_entry(connection, values) for connection in network.connections.values()]
    number = np.array([numbers.setdefault(name or f"{i}", len(numbers)) for i, (name, _, _) in enumerate(entries)])
    biased = np.array([capsule.bias is not None for capsule in capsules])
    return Neurons(
        names,
        np.array([CODES[capsule.symbol] for capsule in capsules], np.int8),
        np.array([place[c.back] for c in network.connections.values()], np.int64),
        np.array([place[c.front] for c in network.connections.values()], np.int64),
        np.array([value for _, value, _ in entries], np.float64),
        number.astype(np.int64),
        np.array([fixed for _, _, fixed in entries], np.bool_),
        np.array([values[c.bias.name] if c.bias else 0.0 for c in capsules]),
        np.where(biased, np.arange(len(names)), -1),
        np.zeros(len(names), np.bool_),
    )


def _entry(connection: CheckedConnection, values: Mapping[str, float]) -> tuple[str, float, bool]:
    """Give a connection's weight by name, its value, and whether training leaves it alone."""
    pattern = find_pattern(connection, 1)
    record = next(iter(connection.weights.values()), None)
    if record is None or (pattern.number < 0).any():
        return "", float(pattern.strength.sum()), True
    return record.name, values[record.name], not record.trainable


@dataclass(eq=False)
class Group:
    """Neurons that become one capsule, in the order of its elements."""

    members: NDArray[np.int64]
    code: int
    reads: str = ""
    """The capsule from which the group reads, when it does."""
    writes: tuple[str, ...] = ()
    """The capsules into which the group writes."""
    id: str = ""


def levels_of(neurons: Neurons, drawing: Drawing) -> NDArray[np.int64]:
    """Give every neuron its level: the longest way to it from the inputs, through capsules too."""
    count = neurons.code.size
    place = {id: count + i for i, id in enumerate(drawing.capsules)} if drawing.plain else {}
    backs, fronts = [neurons.back], [neurons.front]
    for id, numbers, writes in _spans(drawing.plain):
        ends = numbers, np.full(numbers.size, place[id])
        backs.append(ends[0] if writes else ends[1])
        fronts.append(ends[1] if writes else ends[0])
    if place:
        backs.append(np.array([place[c.back] for c in drawing.connections.values()], np.int64))
        fronts.append(np.array([place[c.front] for c in drawing.connections.values()], np.int64))
    back, front = np.concatenate(backs), np.concatenate(fronts)
    order = np.argsort(back, kind="stable")
    front, start = front[order], np.searchsorted(back[order], np.arange(count + len(place) + 1))
    waiting = np.bincount(front, minlength=count + len(place))
    level = np.full(count + len(place), -1)
    ready, depth = np.flatnonzero(waiting == 0), 0
    while ready.size:
        level[ready] = depth
        entered = front[ranges(start[ready], start[ready + 1])]
        waiting -= np.bincount(entered, minlength=waiting.size)
        candidates = np.unique(entered)
        ready, depth = candidates[waiting[candidates] == 0], depth + 1
    if (level < 0).any():
        raise ContractionError(f"the neuron {int((level < 0).argmax())} is on a cycle; remove one of its connections")
    return level[:count]


def ranges(starts: Array, ends: Array) -> NDArray[np.int64]:
    """Give all whole numbers of all half-open ranges, one after another."""
    counts = ends - starts
    before: NDArray[np.int64] = np.cumsum(counts) - counts
    return np.repeat(starts - before, counts) + np.arange(int(counts.sum()))


def _spans(plain: Plain | None) -> Iterator[tuple[str, NDArray[np.int64], bool]]:
    for spans, writes in ((plain.reads, False), (plain.writes, True)) if plain else ():
        for id, (first, count) in spans.items():
            yield id, np.arange(first, first + count), writes


def group_neurons(neurons: Neurons, drawing: Drawing) -> list[Group]:
    """Group neurons: data, what is read or written, outputs by symbol, and the rest level by level."""
    level = levels_of(neurons, drawing)
    of = np.full(neurons.code.size, -1)
    groups: list[Group] = []

    def form(group: Group) -> None:
        if (of[group.members] >= 0).any():
            raise ContractionError(
                f"neuron {int(group.members[0])} or one after it is written into {', '.join(group.writes)} and, as "
                "one of others, into another capsule; write the same neurons into both"
            )
        of[group.members] = len(groups)
        groups.append(group)

    for id, members, writes in _spans(drawing.plain):
        same = next((g for g in groups if g.writes and np.array_equal(g.members, members)), None)
        if writes and same is not None:
            same.writes = (*same.writes, id)
            continue
        codes = np.unique(neurons.code[members])
        if codes.size > 1:
            raise ContractionError(f"the neurons at {id} have different symbols; write neurons of one symbol into it")
        form(Group(members, int(codes[0]), "" if writes else id, (id,) if writes else ()))
    left = np.bincount(neurons.back, minlength=of.size) > 0
    if (data := np.flatnonzero((of < 0) & (neurons.code == DATA))).size:
        form(Group(data, DATA))
    outputs = (of < 0) & ~left
    hidden = np.flatnonzero((of < 0) & left)
    for members in _by_level(neurons, level, hidden, of, groups):
        form(Group(members, int(neurons.code[members[0]])))
    for code in np.unique(neurons.code[outputs]):
        form(Group(np.flatnonzero(outputs & (neurons.code == code)), int(code)))
    return groups


def _by_level(
    neurons: Neurons, level: Array, hidden: Array, of: Array, groups: list[Group]
) -> Iterator[NDArray[np.int64]]:
    """Give the hidden groups, lower levels first: equal predecessors that are whole capsules, then the others."""
    order = np.argsort(neurons.front, kind="stable")
    back, start = neurons.back[order], np.searchsorted(neurons.front[order], np.arange(of.size + 1))
    # Neurons with the same predecessors have the same sum of their random numbers.
    marks = np.random.default_rng(0).integers(0, 1 << 62, of.size, np.uint64)
    sums = np.zeros(of.size, np.uint64)
    np.add.at(sums, neurons.front, marks[neurons.back])
    for depth in np.unique(level[hidden]):
        here = hidden[level[hidden] == depth]
        for code in np.unique(neurons.code[here]):
            alike = here[neurons.code[here] == code]
            _, kind = np.unique(sums[alike], return_inverse=True)
            by_kind = np.split(alike[np.argsort(kind, kind="stable")], np.cumsum(np.bincount(kind))[:-1])
            whole = [
                members.size > 1 and _is_whole(back[start[members[0]] : start[members[0] + 1]], of, groups)
                for members in by_kind
            ]
            yield from sorted((m for m, w in zip(by_kind, whole, strict=True) if w), key=lambda m: int(m[0]))
            if rest := [m for m, w in zip(by_kind, whole, strict=True) if not w]:
                yield np.sort(np.concatenate(rest))


def _is_whole(predecessors: Array, of: Array, groups: list[Group]) -> bool:
    """Tell whether predecessors are all neurons of some groups."""
    single = np.unique(predecessors)
    touched = np.unique(of[single])
    return bool((touched >= 0).all()) and sum(groups[int(g)].members.size for g in touched) == single.size
