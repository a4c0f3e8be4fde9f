"""Bundles: the amplifying connections between two groups of neurons as full, sparse or transfer connections."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.engine.gathering import Group, Neurons
from inkcap.engine.plain.columns import DATA

Array = NDArray[Any]


@dataclass(eq=False)
class Edges:
    """Amplifying connections between groups: row and column in the matrix of two groups, and which number weighs."""

    back: Array
    front: Array
    column: Array
    row: Array
    value: Array
    number: Array
    fixed: Array
    sizes: list[int]

    @staticmethod
    def of(neurons: Neurons, groups: Sequence[Group]) -> Edges:
        """Find the groups, rows and columns of all connections."""
        of, index = np.zeros((2, neurons.code.size), np.int64)
        for i, group in enumerate(groups):
            of[group.members], index[group.members] = i, np.arange(group.members.size)
        return Edges(
            of[neurons.back], of[neurons.front], index[neurons.back], index[neurons.front],
            neurons.weight, neurons.number, neurons.fixed, [group.members.size for group in groups],
        )  # fmt: skip

    def has_own_bias(self, neurons: Neurons, group: Group) -> bool:
        """Tell whether every neuron of an entered group has a bias that training changes and no other shares."""
        numbers = neurons.bias_number[group.members]
        if (numbers < 0).any() or neurons.bias_fixed[group.members].any():
            return False
        uses = np.bincount(neurons.bias_number[neurons.bias_number >= 0])
        return bool((uses[numbers] == 1).all() and np.isin(group.members, neurons.front).any())

    def add_biases(self, neurons: Neurons, groups: Sequence[Group]) -> bool:
        """Let a group of one neuron that is always 1 send the biases that no capsule can have; tell whether it must."""
        one, first = len(groups), int(self.number.max(initial=-1)) + 1
        spare = first + neurons.code.size
        sent: list[tuple[int, Array, Array, Array, Array]] = []
        for i, group in enumerate(groups):
            if group.reads or self.has_own_bias(neurons, group):
                continue
            number = neurons.bias_number[group.members]
            rows = np.flatnonzero(number >= 0)
            if rows.size:
                members = group.members[rows]
                sent.append((i, rows, neurons.bias[members], first + number[rows], neurons.bias_fixed[members]))
            elif not (self.front == i).any() and group.code != DATA:
                # Nothing enters: a strength of 0 makes it a capsule that is entered, and changes nothing.
                sent.append((i, np.zeros(1, np.int64), np.zeros(1), np.array([spare + i]), np.ones(1, np.bool_)))
        for i, rows, value, number, fixed in sent:
            count = rows.size
            self.back = np.concatenate([self.back, np.full(count, one)])
            self.front = np.concatenate([self.front, np.full(count, i)])
            self.column = np.concatenate([self.column, np.zeros(count, np.int64)])
            self.row = np.concatenate([self.row, rows])
            self.value = np.concatenate([self.value, value])
            self.number = np.concatenate([self.number, number])
            self.fixed = np.concatenate([self.fixed, fixed])
        if sent:
            self.sizes.append(1)
        return bool(sent)


@dataclass(frozen=True, eq=False)
class Bundle:
    """One connection between two groups; those with the same ``tie`` above 0 have one weight."""

    back: int
    front: int
    symbol: str
    fixed: bool
    attributes: Mapping[str, Any]
    weight: Array | None
    tie: int = 0


@dataclass(eq=False)
class _Part:
    """The entries of one connection to be, by row and then by column."""

    back: int
    front: int
    fixed: bool
    shape: tuple[int, int]
    row: Array
    column: Array
    number: Array
    value: Array

    @property
    def complete(self) -> bool:
        """Tell whether all entries exist, each with a number of its own."""
        return self.row.size == self.shape[0] * self.shape[1] == np.unique(self.number).size


def bundle(edges: Edges) -> Iterator[Bundle]:
    """Bundle connections: by groups, trained and fixed ones apart, so that every tie can be said."""
    pair = _pairs(edges)
    tie = _ties(edges.number, pair)
    key = pair * (int(tie.max(initial=0)) + 1) + tie
    order = np.lexsort((edges.column, edges.row, key))
    starts = np.flatnonzero(np.diff(key[order], prepend=-1))
    tied: dict[int, list[_Part]] = {}
    for chosen in np.split(order, starts[1:]) if order.size else ():
        back, front = int(edges.back[chosen[0]]), int(edges.front[chosen[0]])
        part = _Part(
            back, front, bool(edges.fixed[chosen[0]]), (edges.sizes[front], edges.sizes[back]),
            edges.row[chosen], edges.column[chosen], edges.number[chosen], edges.value[chosen],
        )  # fmt: skip
        if knot := int(tie[chosen[0]]):
            tied.setdefault(knot, []).append(part)
        else:
            yield _alone(part)
    for knot, parts in tied.items():
        yield from _together(knot, parts)


def _pairs(edges: Edges) -> Array:
    """Number the connections to be: two groups, fixed or not; a second line between two neurons is another one."""
    count = len(edges.sizes)
    key = (edges.back * count + edges.front) * 2 + edges.fixed
    order = np.lexsort((edges.column, edges.row, key))
    rows = np.stack([key[order], edges.row[order], edges.column[order]])
    new = np.ones(order.size, np.bool_)
    new[1:] = (rows[:, 1:] != rows[:, :-1]).any(0)
    first = np.maximum.accumulate(np.where(new, np.arange(order.size), 0))
    again = np.empty(order.size, np.int64)
    again[order] = np.arange(order.size) - first
    return np.unique(key * (int(again.max(initial=0)) + 1) + again, return_inverse=True)[1]


def _ties(number: Array, pair: Array) -> Array:
    """Give every entry whose number is used in several connections the tie of these connections, others 0."""
    width = int(pair.max(initial=0)) + 1
    uses = np.stack(np.divmod(np.unique(number * width + pair), width))
    several = np.flatnonzero(np.bincount(uses[0]) > 1)
    tie = np.zeros(int(number.max(initial=0)) + 1, np.int64)
    starts = np.searchsorted(uses[0], several)
    known: dict[tuple[int, ...], int] = {}
    for which, start in zip(several.tolist(), starts.tolist(), strict=True):
        end = int(np.searchsorted(uses[0], which, "right"))
        tie[which] = known.setdefault(tuple(uses[1, start:end].tolist()), len(known) + 1)
    return tie[number]


def _alone(part: _Part) -> Bundle:
    height, width = part.shape
    if part.fixed and height == width == part.row.size and (part.row == part.column).all() and (part.value == 1).all():
        return Bundle(part.back, part.front, "transfer", True, {}, None)
    if part.complete:
        return Bundle(part.back, part.front, "full", part.fixed, {}, part.value.reshape(part.shape))
    used = _in_order(part.number)
    return _sparse(part, used, part.value[_first(part.number, used)], 0)


def _together(knot: int, parts: list[_Part]) -> Iterator[Bundle]:
    first = parts[0]
    if all(p.complete and p.shape == first.shape and (p.number == first.number).all() for p in parts):
        for p in parts:
            yield Bundle(p.back, p.front, "full", p.fixed, {}, first.value.reshape(first.shape), knot)
        return
    used = _in_order(first.number)
    for p in parts:
        yield _sparse(p, used, first.value[_first(first.number, used)], knot)


def _in_order(number: Array) -> Array:
    """Give the numbers that are used, each once, in the order of their first use."""
    _, first = np.unique(number, return_index=True)
    return number[np.sort(first)]


def _first(number: Array, used: Array) -> Array:
    """Find where each number is used first."""
    values, first = np.unique(number, return_index=True)
    return first[np.searchsorted(values, used)]


def _sparse(part: _Part, used: Array, weight: Array, knot: int) -> Bundle:
    order = np.argsort(used)
    share = order[np.searchsorted(used[order], part.number)]
    own = share.size == used.size and (share == np.arange(share.size)).all()
    attributes = {
        "height": part.shape[0],
        "width": part.shape[1],
        "rows": tuple(part.row.tolist()),
        "columns": tuple(part.column.tolist()),
        **({} if own else {"share": tuple(share.tolist())}),
    }
    return Bundle(part.back, part.front, "sparse", part.fixed, attributes, weight, knot)
