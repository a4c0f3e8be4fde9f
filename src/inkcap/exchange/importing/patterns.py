"""Patterns: several operators that together are one, found before they are translated."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from inkcap.exchange.bins import shares_of_bins
from inkcap.exchange.importing.errors import NoSymbol
from inkcap.exchange.importing.folding import fold_stored
from inkcap.exchange.importing.graph import Graph, Node, ints
from inkcap.exchange.importing.limits import FOLDED

Match = tuple[str, tuple[str, ...], dict[str, object]]
"""An operator, its inputs and its attributes."""


def find_patterns(graph: Graph) -> None:
    """Put one operator in the place of those that spell it out."""
    graph.nodes = [node for node in graph.nodes if not fold_stored(graph, node)]
    finder = _Finder(graph)
    for place, node in enumerate(graph.nodes):
        for pattern in PATTERNS.get(node.operator, ()):
            try:
                found = pattern(finder, node)
            except (IndexError, NoSymbol):
                # Too few inputs, or odd ones: what is wrong with the node is told where it is translated.
                found = None
            if found is not None:
                operator, inputs, attributes = found
                node = replace(node, operator=operator, inputs=inputs, attributes=attributes)
                graph.nodes[place] = node
                finder.made[node.outputs[0]] = node
                break


class _Finder:
    """Looks backwards from a node."""

    def __init__(self, graph: Graph) -> None:
        self.graph = graph
        self.made: dict[str, Node] = {name: node for node in graph.nodes for name in node.outputs}

    def swap(self, old: Node, new: Node) -> None:
        """Put one node in the place of another that gives the same names."""
        self.graph.nodes[self.graph.nodes.index(old)] = new
        self.made |= dict.fromkeys(new.outputs, new)

    def source(self, name: str, *operators: str) -> Node | None:
        """Give the node that gives a value, if it is one of these."""
        node = self.made.get(name)
        return node if node is not None and (not operators or node.operator in operators) else None

    def target(self, node: Node | None) -> tuple[int, ...] | None:
        """Give the shape that a reshaping leads to, as far as it is stored."""
        if node is None or node.at("shape") is not None:
            return None if node is None else tuple(node.at("shape"))
        constant = self.graph.constants.get(node.inputs[1]) if len(node.inputs) > 1 else None
        return None if constant is None else ints(constant.array())

    def number(self, name: str) -> float | None:
        """Give a stored single number."""
        constant = self.graph.constants.get(name)
        return constant.number() if constant is not None and constant.count == 1 else None

    def with_number(self, node: Node | None) -> tuple[str, float] | None:
        """Give a value and the number that a node of two inputs joins with it."""
        if node is None or len(node.inputs) != 2:
            return None
        for value, other in (node.inputs, node.inputs[::-1]):
            number = self.number(other)
            if number is not None:
                return value, number
        return None

    def factors(self, name: str) -> tuple[list[str], float]:
        """Take a product apart: the values in it, and the number that all stored factors make."""
        values: list[str] = []
        factor = 1.0
        stack = [name]
        for _ in range(16):
            if not stack:
                break
            current = stack.pop()
            number = self.number(current)
            node = self.source(current, "Mul", "Div")
            if number is not None:
                factor *= number
            elif node is not None and node.operator == "Mul" and node.inputs[0] != node.inputs[1]:
                stack += node.inputs
            elif node is not None and node.operator == "Div" and self.number(node.inputs[1]):
                factor /= self.number(node.inputs[1]) or 1.0
                stack.append(node.inputs[0])
            else:
                values.append(current)
        return values + stack, factor


def _near(one: float | None, other: float) -> bool:
    return one is not None and math.isclose(one, other, rel_tol=1e-4, abs_tol=1e-9)


def _gated(finder: _Finder, node: Node) -> Match | None:
    """SiLU, hard swish and GELU: a value times a function of itself."""
    values, factor = finder.factors(node.outputs[0])
    if len(values) != 2:
        return None
    for x, gate in (values, values[::-1]):
        if finder.source(gate, "Sigmoid") and finder.made[gate].inputs[0] == x and factor == 1:
            return "Silu", (x,), {}
        if finder.source(gate, "HardSigmoid") and finder.made[gate].inputs[0] == x and factor == 1:
            alpha, beta = finder.made[gate].at("alpha", 0.2), finder.made[gate].at("beta", 0.5)
            if _near(alpha, 1 / 6) and beta == 0.5:
                return "HardSwish", (x,), {}
        if _near(factor, 1 / 6) and _six(finder, gate) == x:
            return "HardSwish", (x,), {}
        plus = finder.with_number(finder.source(gate, "Add"))
        if plus is None or plus[1] != 1 or not _near(factor, 0.5):
            continue
        inner = finder.source(plus[0], "Erf", "Tanh")
        if inner is None:
            continue
        if inner.operator == "Erf":
            under, scale = finder.factors(inner.inputs[0])
            if under == [x] and _near(scale, math.sqrt(0.5)):
                return "Gelu", (x,), {}
        elif _cubic(finder, inner.inputs[0]) == x:
            return "Gelu", (x,), {"approximate": "tanh"}
    return None


def _cubic(finder: _Finder, name: str) -> str | None:
    """Give the x of √(2/π)·(x + 0.044715·x³)."""
    values, factor = finder.factors(name)
    total = finder.source(values[0], "Add") if len(values) == 1 else None
    if total is None or not _near(factor, math.sqrt(2 / math.pi)):
        return None
    for x, cube in (total.inputs, total.inputs[::-1]):
        parts, share = finder.factors(cube)
        power = finder.source(parts[0], "Pow") if len(parts) == 1 else None
        if _near(share, 0.044715) and power and power.inputs[0] == x and finder.number(power.inputs[1]) == 3:
            return x
    return None


def _six(finder: _Finder, name: str) -> str | None:
    """Give the x of min(max(x + 3, 0), 6)."""
    clip = finder.source(name, "Clip")
    if clip is None:
        return None
    bounds = [clip.at("min"), clip.at("max")]
    for place in (1, 2):
        if place < len(clip.inputs) and clip.inputs[place]:
            bounds[place - 1] = finder.number(clip.inputs[place])
    plus = finder.with_number(finder.source(clip.inputs[0], "Add"))
    return plus[0] if plus and plus[1] == 3 and bounds == [0, 6] else None


def _hard_sigmoid(finder: _Finder, node: Node) -> Match | None:
    if finder.number(node.inputs[1]) != 6:
        return None
    x = _six(finder, node.inputs[0])
    return None if x is None else ("HardSigmoid", (x,), {"alpha": 1 / 6, "beta": 0.5})


def _layer_norm(finder: _Finder, node: Node) -> Match | None:
    """(x − mean)/√(variance + ε), over the last axis."""
    centred, spread = finder.source(node.inputs[0], "Sub"), finder.source(node.inputs[1], "Sqrt")
    if centred is None or spread is None:
        return None
    x, mean = centred.inputs[0], finder.source(centred.inputs[1], "ReduceMean")
    plus = finder.with_number(finder.source(spread.inputs[0], "Add"))
    variance = finder.source(plus[0], "ReduceMean") if plus else None
    if plus is None or mean is None or variance is None or mean.inputs[0] != x:
        return None
    square = finder.source(variance.inputs[0], "Pow", "Mul")
    if square is None or square.inputs[0] != centred.outputs[0]:
        return None
    powered = finder.number(square.inputs[1]) == 2 if square.operator == "Pow" else square.inputs[0] == square.inputs[1]
    if not powered or _axes(finder, mean) != (-1,) or _axes(finder, variance) != (-1,):
        return None
    return "LayerNormalization", (x,), {"axis": -1, "epsilon": plus[1]}


def _axes(finder: _Finder, node: Node) -> tuple[int, ...] | None:
    if len(node.inputs) > 1 and node.inputs[1] in finder.graph.constants:
        return ints(finder.graph.constants[node.inputs[1]].array())
    stated = node.at("axes")
    return None if stated is None else tuple(stated)


def _unit(finder: _Finder, node: Node) -> Match | None:
    """A value divided by its length along an axis."""
    x, below = node.inputs
    for _ in range(3):
        source = finder.source(below, "Clip", "Max", "Expand")
        if source is None:
            break
        below = source.inputs[0]
    length = finder.source(below, "ReduceL2")
    axes = _axes(finder, length) if length is not None else None
    if length is None or length.inputs[0] != x or axes is None or len(axes) != 1 or not length.at("keepdims", 1):
        return None
    return "LpNormalization", (x,), {"axis": axes[0], "p": 2}


def _local_response(finder: _Finder, node: Node) -> Match | None:
    """x/(k + α·mean of x² over near channels or positions)^β."""
    x, power = node.inputs[0], finder.source(node.inputs[1], "Pow")
    beta = finder.number(power.inputs[1]) if power else None
    plus = finder.with_number(finder.source(power.inputs[0], "Add")) if power else None
    if beta is None or plus is None:
        return None
    values, alpha = finder.factors(plus[0])
    inner = values[0] if len(values) == 1 else ""
    pools: list[Node] = []
    for _ in range(8):
        source = finder.source(inner, "Reshape", "Unsqueeze", "Squeeze", "Pad", "AveragePool", "Identity")
        if source is None:
            break
        pools += [source] if source.operator == "AveragePool" else []
        inner = source.inputs[0]
    square = finder.source(inner, "Mul", "Pow")
    if len(pools) != 1 or square is None or square.inputs[0] != x:
        return None
    if not (square.inputs[1] == x if square.operator == "Mul" else finder.number(square.inputs[1]) == 2):
        return None
    kernel = tuple(pools[0].at("kernel_shape"))
    found: dict[str, object] = {"size": kernel[0], "alpha": alpha, "beta": beta, "bias": plus[1]}
    if any(step != 1 for step in pools[0].at("strides") or (1,)) or not pools[0].at("count_include_pad", 0):
        return None
    if len(kernel) == 2 and kernel[0] == kernel[1] > 1:
        return "LRN", (x,), {**found, "over": "positions"}
    return ("LRN", (x,), found) if set(kernel[1:]) == {1} else None


def _step(finder: _Finder, node: Node) -> Match | None:
    """One where a value reaches a threshold."""
    test = finder.source(node.inputs[0], "GreaterOrEqual")
    threshold = finder.number(test.inputs[1]) if test is not None else None
    if test is None or threshold is None or not str(node.at("to", "")).startswith("float"):
        return None
    return "Step", (test.inputs[0],), {"threshold": threshold}


def _group_norm(finder: _Finder, node: Node) -> Match | None:
    """Groups of channels that were laid out as channels, normalised, and laid back."""
    norm = finder.source(node.inputs[0], "InstanceNormalization")
    before = finder.source(norm.inputs[0], "Reshape") if norm is not None else None
    if norm is None or before is None:
        return None
    stored = [finder.graph.constants.get(name) for name in norm.inputs[1:3]]
    if any(constant is None for constant in stored):
        return None
    groups = stored[0].count if stored[0] else 0
    plain = all(
        constant is not None and constant.count <= 4096 and (constant.array() == number).all()
        for constant, number in zip(stored, (1, 0), strict=True)
    )
    if not plain:
        return None
    return "GroupsOnly", (before.inputs[0],), {"num_groups": groups, "epsilon": norm.at("epsilon", 1e-5)}


def _rows_through(finder: _Finder, node: Node) -> Match | None:
    """All rows of all samples laid in a row, multiplied by a matrix, and laid back: the matrix alone."""
    matrix = finder.source(node.inputs[0], "Gemm")
    before = finder.source(matrix.inputs[0], "Reshape") if matrix is not None else None
    weight = finder.graph.constants.get(matrix.inputs[1]) if matrix is not None else None
    target, laid = (finder.target(reshaping) for reshaping in (node, before))
    if matrix is None or before is None or weight is None or target is None or laid is None or len(weight.shape) != 2:
        return None
    given, width = weight.shape if matrix.at("transB") else weight.shape[::-1]
    if len(target) < 3 or target[-1] != given or len(laid) != 2:
        return None
    finder.swap(before, replace(before, inputs=before.inputs[:1], attributes={"shape": (*target[:-1], width)}))
    return "Identity", (matrix.outputs[0],), {}


def _means_of_bins(finder: _Finder, node: Node) -> Match | None:
    """Maps between two matrices that take means over bins of rows and of columns."""
    inner = finder.source(node.inputs[0], "MatMul")
    down = finder.graph.constants.get(inner.inputs[0]) if inner is not None else None
    across = finder.graph.constants.get(node.inputs[1])
    if inner is None or inner.inputs[1] in finder.graph.constants or down is None or across is None:
        return None
    matrices = (down, across.permuted((1, 0)) if len(across.shape) == 2 else across)
    if any(len(m.shape) != 2 or m.count > FOLDED or not 0 < m.shape[0] <= m.shape[1] for m in matrices):
        return None
    if not all(np.allclose(m.array(), shares_of_bins(m.shape[1], m.shape[0]), atol=1e-6) for m in matrices):
        return None
    return "AdaptivePool", (inner.inputs[1],), {"kind": "average", "bins": (down.shape[0], across.shape[1])}


PATTERNS: dict[str, tuple[Callable[[_Finder, Node], Match | None], ...]] = {
    "Mul": (_gated,),
    "Div": (_gated, _hard_sigmoid, _layer_norm, _local_response, _unit),
    "Cast": (_step,),
    "Reshape": (_group_norm, _rows_through),
    "MatMul": (_means_of_bins,),
}
