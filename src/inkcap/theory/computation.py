"""Computational graphs (Figure 3): vertices that compute, with weighted, ordered in-edges."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cached_property

from inkcap.structures import InkcapError
from inkcap.theory.graphs import Graph


class ComputationError(InkcapError):
    """A computational graph that cannot be built or evaluated."""


Arguments = tuple[float, ...]


@dataclass(frozen=True)
class Function:
    """What a vertex computes from its weighted arguments, and its partial derivatives."""

    arity: int | None
    value: Callable[[Arguments], float]
    partials: Callable[[Arguments], Arguments]
    neural: bool
    """Whether an activation of a weighted sum can be it: products and quotients cannot."""


def _product_partials(x: Arguments) -> Arguments:
    return tuple(math.prod(x[:i] + x[i + 1 :]) for i in range(len(x)))


def _sigmoid(x: float) -> float:
    return 1 / (1 + math.exp(-x)) if x >= 0 else math.exp(x) / (1 + math.exp(x))


FUNCTIONS: dict[str, Function] = {
    "+": Function(None, math.fsum, lambda x: (1.0,) * len(x), True),
    "−": Function(2, lambda x: x[0] - x[1], lambda x: (1.0, -1.0), True),
    "×": Function(None, math.prod, _product_partials, False),
    "/": Function(2, lambda x: x[0] / x[1], lambda x: (1 / x[1], -x[0] / x[1] ** 2), False),
    "sin": Function(1, lambda x: math.sin(x[0]), lambda x: (math.cos(x[0]),), True),
    "cos": Function(1, lambda x: math.cos(x[0]), lambda x: (-math.sin(x[0]),), True),
    "exp": Function(1, lambda x: math.exp(x[0]), lambda x: (math.exp(x[0]),), True),
    "tanh": Function(1, lambda x: math.tanh(x[0]), lambda x: (1 - math.tanh(x[0]) ** 2,), True),
    "sigmoid": Function(1, lambda x: _sigmoid(x[0]), lambda x: (_sigmoid(x[0]) * _sigmoid(-x[0]),), True),
    "relu": Function(1, lambda x: max(0.0, x[0]), lambda x: (1.0 if x[0] > 0 else 0.0,), True),
}


@dataclass(frozen=True)
class Vertex:
    """A vertex: its function and its in-edges in order, each a weight and the vertex it comes from."""

    name: str
    function: str
    arguments: tuple[tuple[float, str], ...]


@dataclass(frozen=True)
class ComputationalGraph:
    """Inputs and vertices; evaluation, derivatives, and the question whether it is a neural network."""

    inputs: tuple[str, ...]
    vertices: tuple[Vertex, ...]

    @cached_property
    def graph(self) -> Graph:
        """The directed graph behind it, checked: known functions, the right number of arguments, no cycle."""
        names = (*self.inputs, *(vertex.name for vertex in self.vertices))
        if len(set(names)) != len(names):
            raise ComputationError("two vertices have one name")
        for vertex in self.vertices:
            function = FUNCTIONS.get(vertex.function)
            if function is None:
                known = ", ".join(FUNCTIONS)
                raise ComputationError(f"{vertex.name}: there is no function {vertex.function!r}; there are {known}")
            if not vertex.arguments or (function.arity or len(vertex.arguments)) != len(vertex.arguments):
                wanted = function.arity or "one or more"
                raise ComputationError(
                    f"{vertex.name}: {vertex.function} takes {wanted} arguments, not {len(vertex.arguments)}"
                )
            for _, source in vertex.arguments:
                if source not in names:
                    raise ComputationError(f"{vertex.name}: its argument {source!r} is no vertex")
        graph = Graph.of(names, ((back, v.name) for v in self.vertices for _, back in v.arguments))
        if cycle := graph.cycle():
            raise ComputationError(f"the vertices {'→'.join((*cycle, cycle[0]))} form a cycle")
        return graph

    @cached_property
    def ordered(self) -> tuple[Vertex, ...]:
        """The vertices in an order in which they can be computed."""
        by_name = {vertex.name: vertex for vertex in self.vertices}
        return tuple(by_name[name] for name in self.graph.order if name in by_name)

    def evaluate(self, values: Mapping[str, float]) -> dict[str, float]:
        """Compute every vertex; a division by zero is reported with its vertex."""
        result: dict[str, float] = {}
        for name in self.inputs:
            if name not in values:
                raise ComputationError(f"the input {name} has no value")
            result[name] = float(values[name])
        for vertex in self.ordered:
            arguments = tuple(weight * result[back] for weight, back in vertex.arguments)
            try:
                result[vertex.name] = FUNCTIONS[vertex.function].value(arguments)
            except ZeroDivisionError:
                raise ComputationError(f"{vertex.name}: division by zero ({arguments[0]:g}/{arguments[1]:g})") from None
            except OverflowError:
                raise ComputationError(f"{vertex.name}: the value of {vertex.function} is too large") from None
        return result

    def gradient(self, output: str, values: Mapping[str, float]) -> dict[str, float]:
        """Differentiate one vertex by every vertex before it, backwards through the graph."""
        computed = self.evaluate(values)
        if output not in computed:
            raise ComputationError(f"there is no vertex {output!r} to differentiate")
        slope = dict.fromkeys(computed, 0.0)
        slope[output] = 1.0
        for vertex in reversed(self.ordered):
            arguments = tuple(weight * computed[back] for weight, back in vertex.arguments)
            partials = FUNCTIONS[vertex.function].partials(arguments)
            for (weight, back), partial in zip(vertex.arguments, partials, strict=True):
                slope[back] += slope[vertex.name] * partial * weight
        return slope

    def offenders(self) -> tuple[str, ...]:
        """Name the vertices that no neuron can be; a neural network has none."""
        return tuple(vertex.name for vertex in self.vertices if not FUNCTIONS[vertex.function].neural)

    @property
    def is_neural_network(self) -> bool:
        """Tell whether every vertex is an activation of a weighted sum."""
        return not self.offenders()
