"""Patterns: which element enters which, and by which number of the weight, found by asking the connection itself.

A linear connection is a matrix. Its weights are numbered, unit vectors go through its forward in float64, and what
comes out at (i, j) is the number of the weight that joins element j of the back end to element i of the front end.
No symbol is named: any connection of the catalogue that is linear and weighs each pair by one number has a pattern.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inkcap.engine.evaluation import run_backwards, run_on_torch
from inkcap.network import CheckedConnection
from inkcap.operations import Step, Trace
from inkcap.structures import InkcapError

Array = NDArray[Any]

ROOM = 1 << 22
"""How many numbers one batch of unit vectors may take on both sides."""

BASE = 1 << 24
"""The first weight's number: no sum of two weights, and no likely constant, looks like another one."""

TRIALS = 4
"""How many random vectors must agree with a pattern that was found."""


class ExpansionError(InkcapError):
    """A network that cannot be expanded to neurons, or too large a one."""


@dataclass(frozen=True, eq=False)
class Pattern:
    """The entries of a connection's matrix, by row and then by column.

    ``number`` counts through all weights of the connection; −1 is no weight but the constant ``strength``.
    """

    rows: NDArray[np.int64]
    columns: NDArray[np.int64]
    number: NDArray[np.int64]
    strength: NDArray[np.float64]

    @property
    def is_identity(self) -> bool:
        """Tell whether it carries every element unchanged to its own place."""
        return bool((self.number < 0).all() and (self.strength == 1).all() and (self.rows == self.columns).all())

    def among(self, keep: NDArray[np.bool_]) -> Pattern:
        """Give the entries that are chosen."""
        return Pattern(self.rows[keep], self.columns[keep], self.number[keep], self.strength[keep])


def in_float64(steps: Sequence[Step]) -> list[Step]:
    """Let every step compute in float64: casts leave their argument as it is."""
    return [replace(s, attributes={"dtype": "float64"}) if s.operation.name == "cast" else s for s in steps]


def find_pattern(connection: CheckedConnection, most: int) -> Pattern:
    """Find the pattern of a connection; more entries than ``most`` are refused as soon as they are seen."""
    probe = _Probe(connection)
    if probe.back == probe.front == 1:
        # Thousands of connections between neurons do the same, and are asked once.
        if probe.signature not in _SCALARS:
            _SCALARS[probe.signature] = _ask(probe, connection, most)
        return _SCALARS[probe.signature]
    return _ask(probe, connection, most)


def _ask(probe: _Probe, connection: CheckedConnection, most: int) -> Pattern:
    found = probe.one_a_row()
    if found is None:
        found = probe.by_unit_vectors(most)
        if not probe.agrees(found):
            raise ExpansionError(
                f"the {connection.record.title} connection {connection.id} cannot be expanded: what it does is not "
                "one weight or constant for each pair of elements; keep this capsule network as it is"
            )
    order = np.lexsort((found.columns, found.rows))
    return Pattern(found.rows[order], found.columns[order], found.number[order], found.strength[order])


class _Probe:
    """A connection's forward on vectors, with all its weights as one row of numbers."""

    def __init__(self, connection: CheckedConnection) -> None:
        assert connection.back_end is not None
        assert connection.front_end is not None
        self.back_end, self.front_end = connection.back_end, connection.front_end
        self.back, self.front = self.back_end.elements, self.front_end.elements
        trace = Trace()
        self._y = trace.value(self.back_end.shape, "float64")
        records = connection.weights
        self._stored = {name: trace.value(w.structure.shape, "float64") for name, w in records.items()}
        self._made = connection.record.forward(self._y, self._stored, connection.attributes)
        self._steps = in_float64(trace.steps)
        self._shapes = {name: w.structure.sizes for name, w in records.items()}
        self.count = sum(w.structure.elements for w in records.values())
        self.ordinal = torch.arange(BASE, BASE + self.count, dtype=torch.float64)

    @property
    def signature(self) -> tuple[Any, ...]:
        """Tell connections apart by what they compute."""
        return tuple((s.operation.name, s.arguments, tuple(sorted(s.attributes.items()))) for s in self._steps)

    def _values(self, y: Tensor, numbers: Tensor) -> dict[int, Tensor]:
        values, first = {self._y.number: y.reshape(len(y), *self.back_end.sizes)}, 0
        for name, shape in self._shapes.items():
            size = int(np.prod(shape))
            values[self._stored[name].number] = numbers[first : first + size].reshape(shape)
            first += size
        return run_on_torch(self._steps, values)

    def forwards(self, y: Tensor, numbers: Tensor) -> Array:
        """Give what vectors become, a row for each."""
        return self._values(y, numbers)[self._made.number].reshape(len(y), -1).numpy()

    def backwards(self, gradient: Tensor, numbers: Tensor) -> Array:
        """Give what vectors at the front end become at the back end: the transposed matrix."""
        computed = self._values(torch.zeros(len(gradient), self.back, dtype=torch.float64), numbers)
        seed = {self._made.number: gradient.reshape(len(gradient), *self.front_end.sizes)}
        slopes = run_backwards(self._steps, computed, seed)
        return slopes[self._y.number].reshape(len(gradient), -1).numpy()

    def pattern(self, rows: Array, columns: Array, entries: Array) -> Pattern:
        """Read entries of the matrix of numbered weights: a weight's number, or a constant."""
        weighted = (entries >= BASE) & (entries < BASE + self.count) & (entries == np.floor(entries))
        number = np.where(weighted, entries - BASE, -1).astype(np.int64)
        return Pattern(rows.astype(np.int64), columns.astype(np.int64), number, np.where(weighted, 0.0, entries))

    def one_a_row(self) -> Pattern | None:
        """Find the pattern with two vectors, if every element of the front end gets one element at most."""
        ones = torch.ones(1, self.back, dtype=torch.float64)
        codes = torch.arange(1, self.back + 1, dtype=torch.float64)[None]
        entries, coded = (self.forwards(y, self.ordinal)[0] for y in (ones, codes))
        rows = np.flatnonzero(entries)
        columns = coded[rows] / entries[rows] - 1
        if ((columns != np.floor(columns)) | (columns < 0) | (columns >= self.back)).any():
            return None
        found = self.pattern(rows, columns, entries[rows])
        return found if self.agrees(found) else None

    def by_unit_vectors(self, most: int) -> Pattern:
        """Find the pattern with a unit vector for each element of the back end, or of the front end if it is small."""
        transposed = 2 * self.front < self.back  # going backwards costs twice as much
        side, other = (self.front, self.back) if transposed else (self.back, self.front)
        chunk = max(1, ROOM // (side + other))
        parts: list[tuple[Array, Array, Array]] = []
        total = 0
        for first in range(0, side, chunk):
            count = min(chunk, side - first)
            units = torch.zeros(count, side, dtype=torch.float64)
            units[torch.arange(count), torch.arange(first, first + count)] = 1
            made = (self.backwards if transposed else self.forwards)(units, self.ordinal)
            at, across = np.nonzero(made)
            total += at.size
            if total > most:
                raise TooManyEntries
            parts.append((at + first, across, made[at, across]))
        at, across, entries = (np.concatenate(column) for column in zip(*parts, strict=True))
        return self.pattern(*((at, across) if transposed else (across, at)), entries)

    def agrees(self, found: Pattern) -> bool:
        """Try a pattern on random vectors and random weights; whole numbers keep the sums exact."""
        rng = np.random.default_rng(self.count)
        for y in (*rng.integers(-512, 512, (TRIALS, self.back)), np.zeros(self.back)):
            numbers = rng.integers(1, 1 << 20, self.count).astype(np.float64)
            strength = found.strength
            if self.count:
                strength = np.where(found.number < 0, strength, numbers[found.number])
            expected = np.bincount(found.rows, strength * y[found.columns], self.front)
            made = self.forwards(torch.from_numpy(y.astype(np.float64))[None], torch.from_numpy(numbers))[0]
            if not np.allclose(made, expected, rtol=1e-9, atol=1e-9 * max(1.0, float(np.abs(expected).max()))):
                return False
        return True


_SCALARS: dict[tuple[Any, ...], Pattern] = {}
"""What connections between neurons do, by their signature."""


class TooManyEntries(Exception):
    """A pattern has more entries than are allowed."""
