"""What torch's operators are in the graph: each call becomes nodes with ONNX's names and meaning."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np

from inkcap.exchange.importing.graph import Constant, Node, Sizes


class NotRead(Exception):
    """A call whose form is not known."""


class Calling:
    """The graph as it is written down, call by call."""

    def __init__(self, sizes: Callable[[Any], Sizes]) -> None:
        self.sizes = sizes
        self.nodes: list[Node] = []
        self.constants: dict[str, Constant] = {}
        self.shapes: dict[str, tuple[Sizes, str]] = {}
        self.paths: dict[str, str] = {}
        self.scope: tuple[tuple[str, str], ...] = ()
        self._aliases: dict[str, str] = {}

    def name_of(self, name: str) -> str:
        """Give the value that a name stands for."""
        return self._aliases.get(name, name)

    def alias(self, name: str, other: str) -> None:
        """Say that two names are one value."""
        self._aliases[name] = self.name_of(other)

    def value(self, argument: Any) -> str:
        """Give the name of an argument; a number is stored under a name of its own."""
        if argument is None:
            return ""
        if hasattr(argument, "meta"):
            inner = argument.meta.get("val")
            if not hasattr(inner, "dtype"):
                return self.store(np.array(self.sizes([argument])[0], np.int64))
            return self.name_of(argument.name)
        if isinstance(argument, (bool, int, float)):
            return self.store(np.array(argument, np.float32))
        raise NotRead

    def store(self, array: Any) -> str:
        """Store numbers that a call states."""
        name = f"stated {len(self.constants)}"
        self.constants[name] = Constant.of(array, name)
        return name

    def add(self, node: Any, operator: str, inputs: tuple[str, ...], output: str = "", **attributes: Any) -> str:
        """Write a node down; its output is the call's unless it is named."""
        name = output or node.name
        self.nodes.append(Node(operator, inputs, (name,), attributes, node.name, self.scope))
        return name


Handler = Callable[[Calling, Any], None]


def at(node: Any, place: int, name: str, default: Any = None) -> Any:
    """Give an argument of a call, by its place or by its name."""
    return node.args[place] if place < len(node.args) else node.kwargs.get(name, default)


def _each(numbers: Any, count: int) -> tuple[Any, ...]:
    listed: tuple[Any, ...] = tuple(numbers) if isinstance(numbers, (list, tuple)) else (numbers,)  # pyright: ignore[reportUnknownArgumentType, reportUnknownVariableType]
    return listed * count if len(listed) == 1 else listed


def call_simple(operator: str) -> Handler:
    """Read a function of one value."""

    def handle(c: Calling, node: Any) -> None:
        c.add(node, operator, (c.value(node.args[0]),))

    return handle


def call_two(operator: str) -> Handler:
    """Read an operator of two values, or of a value and a number."""

    def handle(c: Calling, node: Any) -> None:
        if at(node, 2, "alpha", 1) != 1:
            raise NotRead
        c.add(node, operator, (c.value(node.args[0]), c.value(node.args[1])))

    return handle


def call_same(c: Calling, node: Any) -> None:
    """Read what changes nothing."""
    c.alias(node.name, node.args[0].name)


def call_convolution(axes: int) -> Handler:
    """Read a convolution over so many axes."""

    def handle(c: Calling, node: Any) -> None:
        weight, bias = node.args[1], at(node, 2, "bias")
        stride, padding, dilation = (
            at(node, i, name, d) for i, name, d in ((3, "stride", 1), (4, "padding", 0), (5, "dilation", 1))
        )
        attributes: dict[str, Any] = {
            "strides": _each(stride, axes),
            "dilations": _each(dilation, axes),
            "group": at(node, 6, "groups", 1),
        }
        if isinstance(padding, str):
            # torch puts the larger half of an odd padding behind, as SAME_UPPER does.
            attributes["auto_pad"] = "SAME_UPPER" if padding == "same" else "VALID"
        else:
            attributes["pads"] = _each(padding, axes) * 2
        c.add(node, "Conv", (c.value(node.args[0]), _weight(c, weight), c.value(bias)), **attributes)

    return handle


def _weight(c: Calling, argument: Any) -> str:
    """Give a stored weight under the path of its module, by which capsules are called."""
    name = c.value(argument)
    path = c.paths.get(name)
    if path is not None and path not in c.constants:
        c.constants[path] = c.constants[name]
    return path or name


def call_transposed(axes: int) -> Handler:
    """Read a transposed convolution over so many axes."""

    def handle(c: Calling, node: Any) -> None:
        names = (("bias", None), ("stride", 1), ("padding", 0), ("output_padding", 0), ("groups", 1), ("dilation", 1))
        bias, stride, padding, extra, groups, dilation = (at(node, i, n, d) for i, (n, d) in enumerate(names, 2))
        c.add(
            node,
            "ConvTranspose",
            (c.value(node.args[0]), _weight(c, node.args[1]), c.value(bias)),
            strides=_each(stride, axes),
            pads=_each(padding, axes) * 2,
            output_padding=_each(extra, axes),
            group=groups,
            dilations=_each(dilation, axes),
        )

    return handle


def call_linear(c: Calling, node: Any) -> None:
    """Read a matrix with a bias."""
    bias = at(node, 2, "bias")
    x, weight = c.value(node.args[0]), _weight(c, node.args[1])
    if weight not in c.constants:
        raise NotRead
    c.add(node, "Gemm", (x, weight, c.value(bias)), transB=1)


def call_addmm(c: Calling, node: Any) -> None:
    """Read a bias, a value and a matrix."""
    bias, x, weight = node.args[:3]
    c.add(node, "Gemm", (c.value(x), c.value(weight), c.value(bias)))


def call_pool(operator: str, axes: int) -> Handler:
    """Read pooling by windows."""

    def handle(c: Calling, node: Any) -> None:
        kernel = _each(node.args[1], axes)
        stride = _each(at(node, 2, "stride") or kernel, axes)
        attributes: dict[str, Any] = {
            "kernel_shape": kernel,
            "strides": stride,
            "pads": _each(at(node, 3, "padding", 0), axes) * 2,
        }
        if operator == "MaxPool":
            attributes["dilations"] = _each(at(node, 4, "dilation", 1), axes)
            attributes["ceil_mode"] = int(at(node, 5, "ceil_mode", False))
        else:
            attributes["ceil_mode"] = int(at(node, 4, "ceil_mode", False))
            attributes["count_include_pad"] = int(at(node, 5, "count_include_pad", True))
            if at(node, 6, "divisor_override") is not None:
                raise NotRead
        c.add(node, operator, (c.value(node.args[0]),), _first(node), **attributes)

    return handle


def _first(node: Any) -> str:
    """Name the first of several outputs as ``getitem`` will ask for it."""
    return node.name if hasattr(node.meta["val"], "dtype") else f"{node.name}.0"


def call_adaptive(kind: str, axes: int) -> Handler:
    """Read pooling into bins."""

    def handle(c: Calling, node: Any) -> None:
        sizes = c.sizes(node.args[0].meta["val"].shape)[-axes:]
        bins = tuple(s if n is None else n for n, s in zip(_each(node.args[1], axes), sizes, strict=True))
        c.add(node, "AdaptivePool", (c.value(node.args[0]),), _first(node), kind=kind, bins=bins)

    return handle


def call_reduction(operator: str) -> Handler:
    """Read what goes over axes."""

    def handle(c: Calling, node: Any) -> None:
        stated: Any = at(node, 1, "dim")
        axes = _each(stated, 1) if stated not in (None, []) else None
        c.add(node, operator, (c.value(node.args[0]),), axes=axes, keepdims=int(at(node, 2, "keepdim", False)))

    return handle


def call_norm(c: Calling, node: Any) -> None:
    """Read the length along axes."""
    if at(node, 1, "ord", 2) != 2:
        raise NotRead
    axes = _each(at(node, 2, "dim"), 1)
    c.add(node, "ReduceL2", (c.value(node.args[0]),), axes=axes, keepdims=int(at(node, 3, "keepdim", False)))


def call_upsample(mode: str) -> Handler:
    """Read resizing."""

    def handle(c: Calling, node: Any) -> None:
        sizes = c.sizes(node.meta["val"].shape)[2:]
        align = mode == "linear" and bool(at(node, 2, "align_corners", False))
        how = "asymmetric" if mode == "nearest" else "align_corners" if align else "half_pixel"
        attributes = {"coordinate_transformation_mode": how, "nearest_mode": "floor"}
        c.add(node, "Resize", (c.value(node.args[0]),), mode=mode, size=sizes, **attributes)

    return handle


def call_softmax(operator: str) -> Handler:
    """Read a softmax."""

    def handle(c: Calling, node: Any) -> None:
        c.add(node, operator, (c.value(node.args[0]),), axis=at(node, 1, "dim", -1))

    return handle


def call_numbers(operator: str, *numbers: tuple[str, Any]) -> Handler:
    """A function with numbers behind its input."""

    def handle(c: Calling, node: Any) -> None:
        found = {name: at(node, place, name, default) for place, (name, default) in enumerate(numbers, 1)}
        c.add(node, operator, (c.value(node.args[0]),), **found)

    return handle


def call_softplus(c: Calling, node: Any) -> None:
    """Read softplus."""
    c.add(node, "Softplus", (c.value(node.args[0]),), beta=float(at(node, 1, "beta", 1)))


def call_elu(c: Calling, node: Any) -> None:
    """Read ELU."""
    if at(node, 2, "scale", 1) != 1 or at(node, 3, "input_scale", 1) != 1:
        raise NotRead
    c.add(node, "Elu", (c.value(node.args[0]),), alpha=float(at(node, 1, "alpha", 1.0)))


def call_gelu(c: Calling, node: Any) -> None:
    """Read GELU."""
    c.add(node, "Gelu", (c.value(node.args[0]),), approximate=node.kwargs.get("approximate", "none"))


def call_prelu(c: Calling, node: Any) -> None:
    """Read PReLU."""
    slope = c.constants[c.value(node.args[1])]
    count = len(node.args[0].meta["val"].shape)
    shape = (slope.count, *(1,) * (count - 2))
    name = f"{node.name} slope"
    c.constants[name] = slope.reshaped(shape)
    c.add(node, "PRelu", (c.value(node.args[0]), name))


def call_dropout(part: str) -> Handler:
    """Read dropout."""

    def handle(c: Calling, node: Any) -> None:
        c.add(node, "Dropout", (c.value(node.args[0]),), ratio=float(node.args[1]), part=part)

    return handle


def call_power(c: Calling, node: Any) -> None:
    """Read a power."""
    c.add(node, "Pow", (c.value(node.args[0]), c.value(node.args[1])))


def call_square(c: Calling, node: Any) -> None:
    """Read a square."""
    c.add(node, "Pow", (c.value(node.args[0]), c.value(2.0)))


def call_reversed(c: Calling, node: Any) -> None:
    """Read a number minus a value."""
    if at(node, 2, "alpha", 1) != 1:
        raise NotRead
    c.add(node, "Sub", (c.value(node.args[1]), c.value(node.args[0])))


def call_reverse_root(c: Calling, node: Any) -> None:
    """Read one over a root."""
    c.add(node, "Pow", (c.value(node.args[0]), c.value(-0.5)))


def call_cast(c: Calling, node: Any) -> None:
    """Read a change of data type."""
    kind = str(node.meta["val"].dtype).removeprefix("torch.")
    c.add(node, "Cast", (c.value(node.args[0]),), to=kind)


def call_relu6(c: Calling, node: Any) -> None:
    """Read a ReLU up to 6."""
    c.add(node, "Clip", (c.value(node.args[0]),), min=0.0, max=6.0)


def call_hard_sigmoid(c: Calling, node: Any) -> None:
    """Read a straight line between 0 and 1."""
    c.add(node, "HardSigmoid", (c.value(node.args[0]),), alpha=1 / 6, beta=0.5)
