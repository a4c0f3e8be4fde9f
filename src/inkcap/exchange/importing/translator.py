"""The translator: operator by operator, a graph becomes capsules that take up what belongs to them."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace

import numpy as np

from inkcap.exchange.importing.errors import ImportRefused, NoSymbol
from inkcap.exchange.importing.folding import fold
from inkcap.exchange.importing.graph import BATCH, Constant, Graph, Node, Sizes, show
from inkcap.exchange.importing.values import (
    Growing,
    Line,
    Stage,
    Value,
    along_line,
    apart_from_batch,
    natural,
    rank_of,
    with_batch,
)

Handler = Callable[["Translator", Node], None]
"""Turns a node into capsules, or raises NoSymbol before it has changed anything."""
VIEWS = ("Reshape", "Flatten", "Squeeze", "Unsqueeze", "Transpose", "Shape", "Identity")
"""Operators that may move the batch, or leave it where it is."""
LAST_AXIS: dict[str, int | None] = {
    **dict.fromkeys(("Softmax", "LogSoftmax", "LayerNormalization"), -1),
    **dict.fromkeys(("MatMul", "Gemm", "Mul", "Div", "Add", "Sum", "Sub", "Dropout", "Cast", "Pow", "Clip", "Neg")),
    **dict.fromkeys(("Relu", "Gelu", "Silu", "Tanh", "Sigmoid", "LeakyRelu", "Elu", "Sqrt", "Exp", "Expand")),
    **dict.fromkeys(("Gather", "Split", "Concat"), 0),
}
"""Operators that work along their last axes, on every number, or along a stated axis, wherever the batch stands."""
FLOATING = ("float16", "float32", "float64", "bfloat16")


@dataclass(frozen=True)
class Missing:
    """An operator that became an opaque capsule, and why."""

    node: str
    operator: str
    reason: str
    capsule: str = ""

    def __str__(self) -> str:
        return f"{self.node}: {self.operator}: {self.reason}"


def named(operator: str) -> str:
    """Give the name of an operator as a drawing can hold it."""
    return "".join(letter if letter.isprintable() else "?" for letter in operator)[:100] or "operator"


class Translator:
    """Walks a graph once and keeps what every value has become."""

    def __init__(self, graph: Graph, handlers: Mapping[str, Handler]) -> None:
        self.graph = graph
        self.handlers = handlers
        self.uses = graph.uses()
        self.constants = dict(graph.constants)
        self.values: dict[str, Value] = {}
        self.sealed: list[Growing] = []
        self.missing: list[tuple[Missing, Growing]] = []
        self._views: dict[tuple[int, tuple[int, ...] | None, Sizes], Growing] = {}
        self._shared: set[int] = set()

    def run(self) -> tuple[list[Growing], list[Growing]]:
        """Translate all; give every capsule in an order that works, and those that are the model's outputs."""
        for name, (shape, dtype) in self.graph.inputs.items():
            self._add_input(name, shape, dtype)
        for node in self.graph.nodes:
            self._translate(node)
        try:
            outputs = [self._output(name) for name in self.graph.outputs]
        except NoSymbol as reason:
            raise ImportRefused(f"an output of the model cannot be drawn: {reason}") from None
        return self.sealed, outputs

    def _add_input(self, name: str, shape: Sizes, dtype: str) -> None:
        sizes = shape[1:]
        drawn = natural(sizes)
        if not shape or drawn is None:
            raise ImportRefused(
                f"the input {name!r} has {len(shape)} axes; an input of a drawing has the batch and 0, 1, 2, 3 or 4 "
                "axes more. Give the model inputs of that kind"
            )
        readers = [node.operator for node in self.graph.nodes if name in node.inputs]
        if len(sizes) == 2 and any(reader in ("Conv", "ConvTranspose", "BatchNormalization") for reader in readers):
            drawn = along_line(sizes)
        # A drawing computes in float32, whatever floating numbers its weights were kept in.
        dtype = "float32" if dtype in FLOATING else dtype
        data = Growing(name, drawn, symbol="data", stage=Stage.AFTER, dtype=dtype)
        self.seal(data)
        self.values[name] = Value(shape, data, name=name)

    def _translate(self, node: Node) -> None:
        if fold(self, node):
            return
        handler = self.handlers.get(node.operator)
        try:
            if handler is None:
                raise NoSymbol("the catalogue has no symbol for it")
            moved = [name for name in node.inputs if name in self.values and not self.values[name].batched]
            if not moved or node.operator in VIEWS:
                handler(self, node)
            else:
                self._with_batch_first(node, handler)
        except NoSymbol as reason:
            self._opaque(node, str(reason))
        except (LookupError, TypeError, ValueError, ArithmeticError, AttributeError) as error:
            # What no schema tells of a model may still not fit together; a person gets the node and its operator.
            raise ImportRefused(
                f"{node.place}: {node.operator}: its inputs and attributes do not fit together "
                f"({type(error).__name__}); the model is damaged, or this use of it is not known here"
            ) from None

    def _with_batch_first(self, node: Node, handler: Handler) -> None:
        """Translate a node whose inputs have their batch elsewhere as if it stood first, and put it back behind."""
        names = {name for name in node.inputs if name in self.values}
        before = {name: self.values[name] for name in names}
        layouts = {apart[1:] if (apart := apart_from_batch(v.shape)) else None for v in before.values()}
        place, fused = next(iter(layouts)) or (0, False)
        axis = node.at("axis", LAST_AXIS.get(node.operator, ""))
        if len(layouts) != 1 or None in layouts or axis == "":
            shapes = ", ".join(self.show(value.shape) for value in before.values())
            raise NoSymbol(f"its input has the shape {shapes}: the batch is not first")
        count = max(len(value.sizes) for value in before.values())
        own = -1
        if axis is not None:
            own = axis % (count + 1 - fused)
            if own == place or (fused and own > place and own != count - 1):
                raise NoSymbol("it goes along the batch")
            # The axes before the batch move one to the right.
            own = own + 1 if own < place else own + fused
            node = replace(node, attributes={**node.attributes, "axis": own})
        for name, value in before.items():
            self.values[name] = Value((BATCH, *value.sizes), value.of, value.order, value.name)
        try:
            handler(self, node)
        finally:
            self.values |= before
        for output in node.outputs:
            if output in self.values:
                made = self.values[output]
                gone = len(made.sizes) < count and axis is not None and own <= place
                shape = with_batch(made.sizes, place - gone, fused)
                self.values[output] = replace(made, shape=shape)

    def _opaque(self, node: Node, reason: str) -> None:
        """Let a capsule stand for an operator that has no symbol: its name and the structure of what it gives."""
        entering = [name for name in node.inputs if name and name not in self.constants]
        if not entering:
            raise ImportRefused(
                f"{node.place}: {node.operator}: {reason}, and nothing that enters the model reaches it. "
                "Fold constants before the export (onnxsim, or torch.onnx with do_constant_folding)"
            )
        for output in node.outputs:
            if not output or (output not in self.uses):
                continue
            shape = self.graph.told_shape(output)
            apart = apart_from_batch(shape)
            if apart is None:
                told = f"the shape {self.show(shape)}" if shape else "no shape that the model tells"
                raise ImportRefused(
                    f"{node.place}: {node.operator}: {reason}, and what it gives has {told}, so that no capsule can "
                    "stand for it: it takes the batch in one axis. Cut the model before this node"
                )
            # What has more axes than a structure is drawn as a vector, and looked at as what it is.
            drawn = natural(apart[0]) or (math.prod(apart[0]),)
            grown = Growing(node.name or output, drawn, symbol="opaque", stage=Stage.AFTER, scope=node.scope)
            grown.attributes = {"operator": named(node.operator), "shape": drawn}
            grown.drawn, grown.label = (math.prod(drawn),), node.operator
            try:
                grown.lines = [line for name in entering for line in self._as_vector(self.values[name])]
            except NoSymbol:
                grown.lines = []
            if not grown.lines:
                raise ImportRefused(f"{node.place}: {node.operator}: {reason}, and nothing that it reads can be drawn")
            self.seal(grown)
            self.values[output] = Value(shape, grown, name=output)
            self.missing.append((Missing(node.place, node.operator, reason), grown))

    def _as_vector(self, value: Value) -> list[Line]:
        """Lead a value into an opaque capsule: as a vector of floating numbers; a single number is not drawn."""
        if not value.laid or not value.of.drawn:
            return []
        if value.of.dtype not in FLOATING:
            self.seal(value.of)
            turned = Growing(f"{value.name}-numbers", value.of.drawn, [Line("transfer", value.of, {"cast": "float32"})])
            self.seal(turned)
            value = Value(value.shape, turned, value.order, value.name)
        return [self.line(value, (math.prod(value.sizes),))]

    def _output(self, name: str) -> Growing:
        if name in self.constants:
            raise ImportRefused(f"the output {name!r} is a constant: nothing that enters the model reaches it")
        value = self.values[name]
        if not value.batched or natural(value.sizes) is None:
            raise ImportRefused(
                f"the output {name!r} has the shape {self.show(value.shape)}; a drawing gives the batch first and at "
                "most 4 axes more. Let the model give such an output"
            )
        vertex = self.vertex(value)
        if vertex.read or vertex.symbol == "data" or id(vertex) in self._shared:
            vertex = self.begin(value, natural(value.sizes) or (), name)
            self.seal(vertex)
        self._shared.add(id(vertex))
        return vertex

    # What handlers ask for.

    def is_constant(self, name: str) -> bool:
        """Tell whether a name is known before anything enters."""
        return name in self.constants

    def constant(self, node: Node, place: int, what: str) -> Constant:
        """Give an input that has to be stored in the model."""
        name = node.inputs[place] if place < len(node.inputs) else ""
        if name not in self.constants:
            raise NoSymbol(f"its {what} is computed, not stored")
        return self.constants[name]

    def value(self, node: Node, place: int = 0) -> Value:
        """Give an input that is computed from what enters."""
        name = node.inputs[place]
        if name in self.constants:
            raise NoSymbol("it works on a stored constant where it would take what enters")
        return self.values[name]

    def give(self, node: Node, shape: Sizes, grown: Growing, order: tuple[int, ...] | None = None) -> None:
        """Say what a node's output is."""
        self.values[node.outputs[0]] = Value(shape, grown, order, node.outputs[0])

    def alias(self, node: Node, place: int = 0) -> None:
        """Say that a node's output is its input."""
        name = node.inputs[place]
        self.values[node.outputs[0]] = self.values[name]
        if self.uses.get(name, 0) != 1 or self.uses.get(node.outputs[0], 0) != 1:
            self.seal(self.values[name].of)

    def alone(self, name: str) -> bool:
        """Tell whether a value is read once."""
        return self.uses.get(name, 0) == 1

    def line(self, value: Value, drawn: Sizes) -> Line:
        """Lead a value into a capsule in this structure: as it is, or laid out anew."""
        source = value.of
        self.seal(source)
        if value.order is None and source.drawn == drawn:
            return Line("transfer", source)
        if not source.drawn or not drawn:
            raise NoSymbol("a single number cannot be laid out as anything else")
        attributes: dict[str, object] = {} if value.order is None else {"order": value.order}
        if len(drawn) > 1:
            attributes["shape"] = drawn
        return Line("reshaping", source, attributes)

    def begin(self, value: Value, drawn: Sizes, name: str, scope: tuple[tuple[str, str], ...] | None = None) -> Growing:
        """Begin an identical capsule that a value enters."""
        around = next(s for s in (scope, value.scope, value.of.scope) if s is not None)
        return Growing(name, drawn, [self.line(value, drawn)], scope=around, dtype=value.of.dtype)

    def vertex(self, value: Value, drawn: Sizes | None = None) -> Growing:
        """Give a sealed capsule that gives a value in this structure."""
        drawn = self.structure(value) if drawn is None else drawn
        if value.order is None and value.of.drawn == drawn:
            self.seal(value.of)
            return value.of
        key = (id(value.of), value.order, drawn)
        if key not in self._views:
            self._views[key] = self.begin(value, drawn, value.name)
            self.seal(self._views[key])
        return self._views[key]

    def structure(self, value: Value) -> Sizes:
        """Give the structure in which a value is drawn: as it stands where that fits, else the natural one."""
        if value.order is None and value.of.drawn in (value.sizes, along_line(value.sizes), natural(value.sizes)):
            return value.of.drawn
        if value.of.drawn == (1,) and not value.sizes:
            return value.of.drawn
        drawn = natural(value.sizes)
        if drawn is None:
            raise NoSymbol(f"a structure {self.show(value.shape)} has more than 4 axes beside the batch")
        return drawn

    def grow(self, node: Node, most: Stage, drawn: Sizes | None = None, place: int = 0) -> Growing:
        """Give the capsule that takes a node up: its input's, if it has grown no further and nothing else reads it."""
        value = self.value(node, place)
        drawn = self.structure(value) if drawn is None else drawn
        of = value.of
        fits = value.order is None and of.drawn == drawn and of.stage <= most
        # What a block gives at last is not a part of the norm behind it, so that all blocks are drawn alike.
        foreign = most == Stage.SUM and _is_sum(of) and of.scope != node.scope[:-1]
        if fits and not foreign and not of.sealed and self.alone(node.inputs[place]):
            return of
        return self.begin(value, drawn, node.outputs[0], node.scope)

    def seal(self, grown: Growing) -> None:
        """Let a capsule be read: it takes up nothing more."""
        if grown.sealed:
            return
        grown.sealed = True
        for line in grown.lines:
            line.back.read += 1
        self.sealed.append(grown)

    def view(self, node: Node, shape: Sizes, order: tuple[int, ...] | None) -> None:
        """Say that a node's output is a view of its input's capsule."""
        value = self.values[node.inputs[0]]
        if apart_from_batch(shape) is None:
            raise NoSymbol(f"what it gives has the shape {self.show(shape)}: the batch is not one of its axes")
        if not self.alone(node.inputs[0]):
            self.seal(value.of)
        self.values[node.outputs[0]] = Value(shape, value.of, order, node.outputs[0], node.scope)

    @staticmethod
    def show(shape: Sizes) -> str:
        """Write a shape for a person."""
        return show(shape)


def _is_sum(grown: Growing) -> bool:
    return len(grown.lines) > 1 and grown.lines[0].symbol != "inject"


def spread(value: Value, drawn: Sizes, constant: Constant) -> tuple[str, Constant]:
    """Tell how a constant spreads over a value: one number, one a channel, one an element of an item, or all."""
    aligned = (1,) * (len(value.shape) - len(constant.shape)) + constant.shape
    if len(aligned) > len(value.shape) or aligned[0] not in (1, BATCH):
        raise NoSymbol(f"a constant of {constant.shape} is larger than what it meets")
    sizes = aligned[1:]
    if any(mine not in (1, theirs) for mine, theirs in zip(sizes, value.sizes, strict=True)):
        raise NoSymbol(f"a constant of {constant.shape} would spread what it meets, {value.sizes}")
    wide = [axis for axis, size in enumerate(sizes) if size > 1]
    if not wide:
        return "one", constant.reshaped(())
    by_channel = len(value.sizes) != 2 or drawn == along_line(value.sizes)
    if wide == [0] and by_channel:
        return ("channel" if rank_of(drawn) > 1 else "full"), constant.reshaped((sizes[0],))
    if wide == [len(sizes) - 1] and rank_of(drawn) > 1 and drawn[-1] == sizes[-1]:
        return "item", constant.reshaped((sizes[-1],))
    return "full", _widened(constant, sizes, value.sizes).reshaped(drawn)


def _widened(constant: Constant, sizes: Sizes, to: Sizes) -> Constant:
    if sizes == to:
        return constant.reshaped(sizes)
    held = constant.reshaped(sizes)
    return Constant(f"{held.key}/{to}", to, held.dtype, lambda: np.broadcast_to(held.array(), to))
