"""The columns of a plain network: read from anything that has them, checked, and held as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from numpy.typing import NDArray

from inkcap.structures import InkcapError

CODES = {"identical": 0, "relu": 1, "sigmoid": 2, "tanh": 3, "step": 4, "data": 5}
"""What a neuron computes, as the small numbers that the kernels know."""

DATA = CODES["data"]


class PlainError(InkcapError):
    """A plain network that cannot be compiled, or that is given what does not fit it."""


class PlainColumns(Protocol):
    """Anything with the six columns: a drawing's plain block, or :class:`Columns`."""

    @property
    def symbol(self) -> Sequence[str] | NDArray[Any]:
        """One symbol per neuron."""
        ...

    @property
    def bias(self) -> Sequence[float] | NDArray[Any]:
        """One bias per neuron."""
        ...

    @property
    def back(self) -> Sequence[int] | NDArray[Any]:
        """The neuron that each connection leaves."""
        ...

    @property
    def front(self) -> Sequence[int] | NDArray[Any]:
        """The neuron that each connection enters."""
        ...

    @property
    def weight(self) -> Sequence[float] | NDArray[Any]:
        """One weight per connection."""
        ...

    @property
    def tie(self) -> Sequence[int] | NDArray[Any]:
        """One tie per connection, −1 for none; or nothing at all."""
        ...


@dataclass(frozen=True, eq=False)
class Columns:
    """The six columns as the caller has them; :func:`read` checks them."""

    symbol: Sequence[str] | NDArray[Any]
    bias: Sequence[float] | NDArray[Any]
    back: Sequence[int] | NDArray[Any]
    front: Sequence[int] | NDArray[Any]
    weight: Sequence[float] | NDArray[Any]
    tie: Sequence[int] | NDArray[Any] = ()


@dataclass(frozen=True, eq=False)
class Checked:
    """Checked columns: codes for symbols, whole numbers for neurons, finite floats, ``tie`` empty where none is."""

    code: NDArray[np.int8]
    bias: NDArray[np.float64]
    back: NDArray[np.int32]
    front: NDArray[np.int32]
    weight: NDArray[np.float64]
    tie: NDArray[np.int32]


def read(columns: PlainColumns) -> Checked:
    """Check columns: equal lengths, known symbols, neurons that exist, finite numbers, ties that agree."""
    code = _codes(columns.symbol)
    neurons = code.size
    back = _whole("back", columns.back, None, 0, neurons)
    connections = back.size
    front = _whole("front", columns.front, connections, 0, neurons)
    checked = Checked(
        code,
        _finite("bias", columns.bias, neurons),
        back,
        front,
        _finite("weight", columns.weight, connections),
        _ties(columns.tie, connections),
    )
    _check_data(checked)
    _check_ties(checked)
    return checked


def _codes(symbol: Sequence[str] | NDArray[Any]) -> NDArray[np.int8]:
    names = np.asarray(symbol)
    if names.ndim != 1 or names.size == 0:
        raise PlainError("symbol: a plain network needs one symbol per neuron, and at least one neuron")
    codes = np.full(names.size, -1, np.int8)
    for name, code in CODES.items():
        codes[names == name] = code
    if (unknown := codes < 0).any():
        i = int(unknown.argmax())
        raise PlainError(f"symbol[{i}]: there is no neuron {str(names[i])!r}; there are {', '.join(CODES)}")
    return codes


def _whole(name: str, column: Sequence[int] | NDArray[Any], size: int | None, low: int, high: int) -> NDArray[np.int32]:
    numbers = np.asarray(column)
    if numbers.size == 0:
        numbers = np.zeros(0, np.int64)
    _check_size(name, numbers, size)
    if numbers.dtype.kind not in "iu":
        raise PlainError(f"{name}: the numbers must be whole, not {numbers.dtype}")
    if (wrong := (numbers < low) | (numbers >= high)).any():
        i = int(wrong.argmax())
        raise PlainError(f"{name}[{i}]: {numbers[i]} is not from {low} to {high - 1}")
    return np.ascontiguousarray(numbers, np.int32)


def _finite(name: str, column: Sequence[float] | NDArray[Any], size: int) -> NDArray[np.float64]:
    try:
        numbers = np.ascontiguousarray(column, np.float64)
    except (TypeError, ValueError):
        raise PlainError(f"{name}: every entry must be a number") from None
    _check_size(name, numbers, size)
    if not np.isfinite(numbers).all():
        i = int((~np.isfinite(numbers)).argmax())
        raise PlainError(f"{name}[{i}]: {numbers[i]} is not a finite number")
    return numbers


def _check_size(name: str, numbers: NDArray[Any], size: int | None) -> None:
    if numbers.ndim != 1 or (size is not None and numbers.size != size):
        raise PlainError(f"{name}: has the shape {numbers.shape}, {'one row' if size is None else (size,)} is needed")


def _ties(column: Sequence[int] | NDArray[Any], connections: int) -> NDArray[np.int32]:
    if len(column) == 0:
        return np.zeros(0, np.int32)
    ties = _whole("tie", column, connections, -1, max(connections, 1))
    return ties if (ties >= 0).any() else np.zeros(0, np.int32)


def _check_data(columns: Checked) -> None:
    data = columns.code == DATA
    if not data.any():
        raise PlainError("symbol: there is no data neuron, so nothing can enter the network; make one neuron data")
    if data.all():
        raise PlainError("symbol: there are only data neurons, so nothing is computed; add a neuron of another symbol")
    if (entered := data[columns.front]).any():
        i = int(entered.argmax())
        raise PlainError(f"front[{i}]: neuron {columns.front[i]} is a data neuron, and no connection may enter one")
    if (biased := data & (columns.bias != 0)).any():
        i = int(biased.argmax())
        raise PlainError(f"bias[{i}]: neuron {i} is a data neuron and has none; write 0 instead of {columns.bias[i]:g}")


def _check_ties(columns: Checked) -> None:
    if columns.tie.size == 0:
        return
    tied = np.flatnonzero(columns.tie >= 0)
    numbers = columns.tie[tied]
    first = np.empty(int(numbers.max()) + 1, np.int64)
    first[numbers[::-1]] = tied[::-1]  # written backwards, so that the first one stays
    if (differs := columns.weight[tied] != columns.weight[first[numbers]]).any():
        i = int(tied[differs.argmax()])
        j = int(first[columns.tie[i]])
        raise PlainError(
            f"weight[{i}]: {columns.weight[i]:g}, but connection {j} shares tie {columns.tie[i]} "
            f"and has {columns.weight[j]:g}; give both the same weight"
        )
