"""The graph of a foreign model: operators with ONNX's names and meaning, whatever it was read from."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.exchange.importing.errors import NoSymbol

Array = NDArray[Any]
Sizes = tuple[int, ...]

MOST_INTS = 65_536
"""A shape, a list of axes or of pieces has no more numbers; a tensor of weights in its place has millions."""
BATCH = 1_000_003
"""Stands for the size of the batch: a prime, so that sizes stay whole numbers and a multiple of it shows itself."""


@dataclass(frozen=True)
class Constant:
    """Numbers that are stored in the model; they are read when they are asked for."""

    key: str
    """What was done to which stored tensor: equal keys are equal numbers, so that shared weights are found."""
    shape: Sizes
    dtype: str
    read: Callable[[], Array] = field(compare=False)

    @staticmethod
    def of(array: Array, key: str) -> Constant:
        """Hold an array."""
        return Constant(key, tuple(array.shape), str(array.dtype), lambda: array)

    @property
    def count(self) -> int:
        """How many numbers it has."""
        return math.prod(self.shape)

    def array(self) -> Array:
        """Read the numbers."""
        return self.read().reshape(self.shape)

    def number(self) -> float:
        """Give the only number."""
        return float(self.array().reshape(-1)[0])

    def reshaped(self, shape: Sizes) -> Constant:
        """Give the same numbers in another shape."""
        if shape == self.shape:
            return self
        if math.prod(shape) != self.count:
            raise NoSymbol(f"{self.count} stored numbers are not the {math.prod(shape)} that it needs")
        return replace(self, shape=shape)

    def permuted(self, order: Sequence[int]) -> Constant:
        """Give the numbers with their axes in another order."""
        order = tuple(order)
        if order == tuple(range(len(self.shape))):
            return self
        shape = tuple(self.shape[axis] for axis in order)
        return Constant(f"{self.key}/{order}", shape, self.dtype, lambda: self.array().transpose(order))

    def changed(self, how: str, change: Callable[[Array], Array]) -> Constant:
        """Give numbers of the same shape that are computed from these when they are read."""
        return replace(self, key=f"{self.key}/{how}", read=lambda: change(self.array()))


@dataclass(frozen=True)
class Node:
    """One operator with its inputs and outputs by name; an input that is left out is an empty name."""

    operator: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any] = field(default_factory=dict[str, Any])
    name: str = ""
    scope: tuple[tuple[str, str], ...] = ()
    """The modules around it from the outside in, each by its path and its class, where they are known."""

    def at(self, name: str, default: Any = None) -> Any:
        """Give an attribute."""
        return self.attributes.get(name, default)

    @property
    def place(self) -> str:
        """Name it for a person."""
        return f"node {self.name or (self.outputs[0] if self.outputs else '')!r}"


@dataclass
class Graph:
    """A model: what enters, what is computed in an order that works, what leaves, and what is stored."""

    name: str
    nodes: list[Node]
    inputs: dict[str, tuple[Sizes, str]]
    """Shape, the batch first, and data type by name."""
    outputs: tuple[str, ...]
    constants: dict[str, Constant]
    shapes: dict[str, tuple[Sizes, str]] = field(default_factory=dict[str, tuple[Sizes, str]])
    """What the model itself says of values: for operators whose shape nobody here can tell."""
    infer: Callable[[], dict[str, tuple[Sizes, str]]] | None = None
    """Finds such shapes, where they cost something to find."""
    batch: int | None = None
    """The batch that the model was made for, where it says one."""
    kind: str = "ONNX"

    def told_shape(self, name: str) -> Sizes:
        """Give the shape that the model tells of a value; nothing where it tells none."""
        if name not in self.shapes and self.infer is not None:
            self.shapes |= self.infer()
            self.infer = None
        return self.shapes.get(name, ((), ""))[0]

    def without_idle_nodes(self) -> None:
        """Drop the nodes on which no output depends, and the inputs that none of the others reads."""
        wanted = set(self.outputs)
        kept: list[Node] = []
        for node in reversed(self.nodes):
            if wanted.intersection(node.outputs):
                kept.append(node)
                wanted.update(node.inputs)
        self.nodes = kept[::-1]
        self.inputs = {name: about for name, about in self.inputs.items() if name in wanted}

    def uses(self) -> dict[str, int]:
        """Count how often each value is read; an output of the model is read from outside once more."""
        count = dict.fromkeys(self.outputs, 1)
        for node in self.nodes:
            for name in node.inputs:
                count[name] = count.get(name, 0) + 1
        return count


def ints(array: Array) -> Sizes:
    """Give an array of whole numbers, such as a shape or a list of axes, as a tuple."""
    flat = np.asarray(array).reshape(-1)
    if flat.size > MOST_INTS:
        raise NoSymbol(f"{flat.size} whole numbers stand where at most {MOST_INTS} may")
    if not np.issubdtype(flat.dtype, np.integer) and not bool(np.isfinite(flat).all()):
        raise NoSymbol("NaN or infinity stands where a whole number should")
    return tuple(int(number) for number in flat)


def show(shape: Sizes) -> str:
    """Write a shape for a person, the batch as N."""
    return "×".join(map(_with_n, shape)) or "a single number"


def _with_n(size: int) -> str:
    count, rest = divmod(size, BATCH)
    return str(size) if rest or not count else "N" if count == 1 else f"{count}N"
