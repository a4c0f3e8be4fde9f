"""Traces: what a symbol's forward function does, written down step by step."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from inkcap.structures import Shape, Size, show_shape


class ShapeError(Exception):
    """Shapes that an operation cannot take; the message says which and why."""


@dataclass(frozen=True)
class Operation:
    """One name of the closed vocabulary.

    ``shape`` maps the shapes of the arguments and the attributes to the shape of the result, for one sample:
    the batch axis is never seen here. It is written with ``+ − * //`` alone, so that it works on formulae too.
    """

    name: str
    meaning: str
    shape: Callable[..., Shape]
    multiply_adds: Callable[..., Size] | None = None
    elementwise: bool = False
    moded: bool = False
    """Whether it differs between training and evaluation: its steps carry the mode as the attribute ``training``."""
    mixed: bool = False
    """Whether its arguments may have different data types: the result has the first one's."""
    drawn: bool = False
    """Whether its value is drawn at random: it has no slope, and stays as it is where slopes are compared."""
    still: bool = False
    """Whether no gradient passes it though its value moves with its arguments: it stays too where slopes are met."""

    def __call__(self, *arguments: Traced, **attributes: Any) -> Traced:
        """Record one step in the trace of the arguments."""
        trace = arguments[0].trace
        shapes = [argument.shape for argument in arguments]
        if self.name == "cast":
            dtype = str(attributes["dtype"])
        else:
            dtype = arguments[0].dtype
            for argument in arguments[1:]:
                if argument.dtype != dtype and not self.mixed:
                    raise ShapeError(f"{self.name} takes one data type, but got {dtype} and {argument.dtype}")
        if self.moded:
            attributes["training"] = trace.training
        shape = self.shape(*shapes, **attributes)
        cost = self.multiply_adds(*shapes, **attributes) if self.multiply_adds else 0
        return trace.record(self, arguments, attributes, shape, dtype, cost)


@dataclass(frozen=True)
class Step:
    """One application of an operation: which values it takes and which it makes."""

    target: int
    operation: Operation
    arguments: tuple[int, ...]
    attributes: Mapping[str, Any]
    shape: Shape
    dtype: str
    multiply_adds: Size


@dataclass(frozen=True, eq=False)
class Traced:
    """A value of a trace: known by its number, its shape (without the batch) and its data type."""

    trace: Trace = field(repr=False)
    number: int
    shape: Shape
    dtype: str

    def __str__(self) -> str:
        return f"value {self.number}: {show_shape(self.shape)} {self.dtype}"


@dataclass
class Trace:
    """The values that come in and the steps that follow, in order."""

    inputs: list[Traced] = field(default_factory=list[Traced])
    steps: list[Step] = field(default_factory=list[Step])
    count: int = 0
    training: bool = False
    """The mode: what is random or looks at the batch does so in training alone."""

    def value(self, shape: Shape, dtype: str) -> Traced:
        """Add a value that comes from outside."""
        traced = Traced(self, self.count, tuple(shape), dtype)
        self.count += 1
        self.inputs.append(traced)
        return traced

    def record(
        self,
        operation: Operation,
        arguments: tuple[Traced, ...],
        attributes: Mapping[str, Any],
        shape: Shape,
        dtype: str,
        multiply_adds: Size,
    ) -> Traced:
        """Add a step and give the value that it makes."""
        numbers = tuple(argument.number for argument in arguments)
        self.steps.append(Step(self.count, operation, numbers, attributes, shape, dtype, multiply_adds))
        traced = Traced(self, self.count, shape, dtype)
        self.count += 1
        return traced

    def multiply_adds(self) -> Size:
        """Sum the multiply-adds of all steps."""
        total: Size = 0
        for step in self.steps:
            total = total + step.multiply_adds
        return total
