"""What torch's operators are in the graph: each call becomes nodes with ONNX's names and meaning."""

from __future__ import annotations

import math
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

    def has(self, name: str) -> bool:
        """Tell whether a name is a value, not a size."""
        return name in self.shapes or name in self.constants or name in self._aliases or name not in self._sizes_only()

    def _sizes_only(self) -> frozenset[str]:
        return frozenset()

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


def _at(node: Any, place: int, name: str, default: Any = None) -> Any:
    return node.args[place] if place < len(node.args) else node.kwargs.get(name, default)


def _each(numbers: Any, count: int) -> tuple[int, ...]:
    listed = tuple(numbers) if isinstance(numbers, (list, tuple)) else (numbers,)
    return listed * count if len(listed) == 1 else listed


def _simple(operator: str) -> Handler:
    def handle(c: Calling, node: Any) -> None:
        c.add(node, operator, (c.value(node.args[0]),))

    return handle


def _two(operator: str) -> Handler:
    def handle(c: Calling, node: Any) -> None:
        if _at(node, 2, "alpha", 1) != 1:
            raise NotRead
        c.add(node, operator, (c.value(node.args[0]), c.value(node.args[1])))

    return handle


def _same(c: Calling, node: Any) -> None:
    c.alias(node.name, node.args[0].name)


def _convolution(axes: int) -> Handler:
    def handle(c: Calling, node: Any) -> None:
        weight, bias = node.args[1], _at(node, 2, "bias")
        stride, padding, dilation = (
            _at(node, i, name, d) for i, name, d in ((3, "stride", 1), (4, "padding", 0), (5, "dilation", 1))
        )
        attributes: dict[str, Any] = {
            "strides": _each(stride, axes),
            "dilations": _each(dilation, axes),
            "group": _at(node, 6, "groups", 1),
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


def _transposed(axes: int) -> Handler:
    def handle(c: Calling, node: Any) -> None:
        names = (("bias", None), ("stride", 1), ("padding", 0), ("output_padding", 0), ("groups", 1), ("dilation", 1))
        bias, stride, padding, extra, groups, dilation = (_at(node, i, n, d) for i, (n, d) in enumerate(names, 2))
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


def _linear(c: Calling, node: Any) -> None:
    bias = _at(node, 2, "bias")
    x, weight = c.value(node.args[0]), _weight(c, node.args[1])
    if weight not in c.constants:
        raise NotRead
    c.add(node, "Gemm", (x, weight, c.value(bias)), transB=1)


def _addmm(c: Calling, node: Any) -> None:
    bias, x, weight = node.args[:3]
    c.add(node, "Gemm", (c.value(x), c.value(weight), c.value(bias)))


def _batch_norm(c: Calling, node: Any) -> None:
    x, scale, shift, mean, variance = node.args[:5]
    training, momentum, epsilon = node.args[5:8]
    if training or mean is None:
        raise NotRead
    count = c.constants[c.value(mean)].count
    numbers = (
        c.value(scale) or c.store(np.ones(count, np.float32)),
        c.value(shift) or c.store(np.zeros(count, np.float32)),
        c.value(mean),
        c.value(variance),
    )
    c.add(node, "BatchNormalization", (c.value(x), *numbers), epsilon=epsilon, momentum=1 - momentum)


def _layer_norm(c: Calling, node: Any) -> None:
    x, over = node.args[0], tuple(node.args[1])
    scale, shift, epsilon = _at(node, 2, "weight"), _at(node, 3, "bias"), _at(node, 4, "eps", 1e-5)
    inputs = (c.value(x), c.value(scale), c.value(shift))
    c.add(node, "LayerNormalization", inputs, axis=-len(over), epsilon=epsilon)


def _group_norm(c: Calling, node: Any) -> None:
    x, groups = node.args[0], node.args[1]
    scale, shift, epsilon = _at(node, 2, "weight"), _at(node, 3, "bias"), _at(node, 4, "eps", 1e-5)
    channels = c.sizes(x.meta["val"].shape)[1]
    numbers = (
        c.value(scale) or c.store(np.ones(channels, np.float32)),
        c.value(shift) or c.store(np.zeros(channels, np.float32)),
    )
    c.add(node, "GroupNormalization", (c.value(x), *numbers), num_groups=groups, epsilon=epsilon)


def _instance_norm(c: Calling, node: Any) -> None:
    x, scale, shift, mean = node.args[:4]
    if mean is not None or not node.args[5]:
        raise NotRead
    channels = c.sizes(x.meta["val"].shape)[1]
    numbers = (
        c.value(scale) or c.store(np.ones(channels, np.float32)),
        c.value(shift) or c.store(np.zeros(channels, np.float32)),
    )
    c.add(node, "InstanceNormalization", (c.value(x), *numbers), epsilon=node.args[7])


def _pool(operator: str, axes: int) -> Handler:
    def handle(c: Calling, node: Any) -> None:
        kernel = _each(node.args[1], axes)
        stride = _each(_at(node, 2, "stride") or kernel, axes)
        attributes: dict[str, Any] = {
            "kernel_shape": kernel,
            "strides": stride,
            "pads": _each(_at(node, 3, "padding", 0), axes) * 2,
        }
        if operator == "MaxPool":
            attributes["dilations"] = _each(_at(node, 4, "dilation", 1), axes)
            attributes["ceil_mode"] = int(_at(node, 5, "ceil_mode", False))
        else:
            attributes["ceil_mode"] = int(_at(node, 4, "ceil_mode", False))
            attributes["count_include_pad"] = int(_at(node, 5, "count_include_pad", True))
            if _at(node, 6, "divisor_override") is not None:
                raise NotRead
        c.add(node, operator, (c.value(node.args[0]),), _first(node), **attributes)

    return handle


def _first(node: Any) -> str:
    """Name the first of several outputs as ``getitem`` will ask for it."""
    return node.name if hasattr(node.meta["val"], "dtype") else f"{node.name}.0"


def _adaptive(kind: str, axes: int) -> Handler:
    def handle(c: Calling, node: Any) -> None:
        sizes = c.sizes(node.args[0].meta["val"].shape)[-axes:]
        bins = tuple(s if n is None else n for n, s in zip(_each(node.args[1], axes), sizes, strict=True))
        c.add(node, "AdaptivePool", (c.value(node.args[0]),), _first(node), kind=kind, bins=bins)

    return handle


def _reduction(operator: str) -> Handler:
    def handle(c: Calling, node: Any) -> None:
        axes = _at(node, 1, "dim")
        axes = None if axes is None or axes == [] else _each(axes, 1)
        c.add(node, operator, (c.value(node.args[0]),), axes=axes, keepdims=int(_at(node, 2, "keepdim", False)))

    return handle


def _norm(c: Calling, node: Any) -> None:
    if _at(node, 1, "ord", 2) != 2:
        raise NotRead
    axes = _each(_at(node, 2, "dim"), 1)
    c.add(node, "ReduceL2", (c.value(node.args[0]),), axes=axes, keepdims=int(_at(node, 3, "keepdim", False)))


def _view(c: Calling, node: Any) -> None:
    c.add(node, "Reshape", (c.value(node.args[0]),), shape=c.sizes(node.meta["val"].shape), allowzero=1)


def _permute(c: Calling, node: Any) -> None:
    c.add(node, "Transpose", (c.value(node.args[0]),), perm=tuple(node.args[1]))


def _transpose(c: Calling, node: Any) -> None:
    count = len(node.args[0].meta["val"].shape)
    order = list(range(count))
    one, other = (axis % count for axis in (node.args[1], node.args[2])) if len(node.args) > 2 else (0, count - 1)
    order[one], order[other] = order[other], order[one]
    c.add(node, "Transpose", (c.value(node.args[0]),), perm=tuple(order))


def _cat(c: Calling, node: Any) -> None:
    c.add(node, "Concat", tuple(c.value(value) for value in node.args[0]), axis=_at(node, 1, "dim", 0))


def _stack(c: Calling, node: Any) -> None:
    axis = _at(node, 1, "dim", 0) % len(node.meta["val"].shape)
    parts: list[str] = []
    for i, value in enumerate(node.args[0]):
        parts.append(c.add(node, "Unsqueeze", (c.value(value),), f"{node.name} {i}", axes=(axis,)))
    c.add(node, "Concat", tuple(parts), axis=axis)


def _slice(c: Calling, node: Any) -> None:
    axis, first, last, step = (
        _at(node, i, n, d) for i, n, d in ((1, "dim", 0), (2, "start", 0), (3, "end", None), (4, "step", 1))
    )
    bounds = c.sizes([first or 0, 2**40 if last is None else min(c.sizes([last])[0], 2**40)])
    if step != 1:
        raise NotRead
    if axis == 0 and bounds[0] == 0 and bounds[1] >= c.sizes(node.args[0].meta["val"].shape)[0]:
        _same(c, node)
        return
    c.add(node, "Slice", (c.value(node.args[0]),), starts=bounds[:1], ends=bounds[1:], axes=(axis,))


def _select(c: Calling, node: Any) -> None:
    index = c.store(np.array(node.args[2], np.int64))
    c.add(node, "Gather", (c.value(node.args[0]), index), axis=node.args[1])


def _split(c: Calling, node: Any) -> None:
    axis = _at(node, 2, "dim", 0)
    parts = [c.sizes(part.shape) for part in node.meta["val"]]
    outputs = tuple(f"{node.name}.{i}" for i in range(len(parts)))
    attributes = {"axis": axis, "split": tuple(part[axis] for part in parts)}
    c.nodes.append(Node("Split", (c.value(node.args[0]),), outputs, attributes, node.name, c.scope))


def _unbind(c: Calling, node: Any) -> None:
    axis = _at(node, 1, "dim", 0)
    for i in range(len(node.meta["val"])):
        index = c.store(np.array(i, np.int64))
        c.add(node, "Gather", (c.value(node.args[0]), index), f"{node.name}.{i}", axis=axis)


def _getitem(c: Calling, node: Any) -> None:
    source, place = node.args
    c.alias(node.name, f"{source.name}.{place}")


def _pad(c: Calling, node: Any) -> None:
    pads = list(node.args[1])
    fill = node.args[-1] if isinstance(node.args[-1], (int, float)) else 0
    mode = node.args[2] if len(node.args) > 2 and isinstance(node.args[2], str) else "constant"
    count = len(node.args[0].meta["val"].shape)
    before, after = [0] * count, [0] * count
    for i in range(len(pads) // 2):
        before[count - 1 - i], after[count - 1 - i] = pads[2 * i], pads[2 * i + 1]
    c.add(node, "Pad", (c.value(node.args[0]),), pads=tuple(before + after), value=float(fill), mode=mode)


def _upsample(mode: str) -> Handler:
    def handle(c: Calling, node: Any) -> None:
        sizes = c.sizes(node.meta["val"].shape)[2:]
        align = mode == "linear" and bool(_at(node, 2, "align_corners", False))
        how = "asymmetric" if mode == "nearest" else "align_corners" if align else "half_pixel"
        attributes = {"coordinate_transformation_mode": how, "nearest_mode": "floor"}
        c.add(node, "Resize", (c.value(node.args[0]),), mode=mode, size=sizes, **attributes)

    return handle


def _softmax(operator: str) -> Handler:
    def handle(c: Calling, node: Any) -> None:
        c.add(node, operator, (c.value(node.args[0]),), axis=_at(node, 1, "dim", -1))

    return handle


def _numbers(operator: str, *numbers: tuple[str, Any]) -> Handler:
    """A function with numbers behind its input."""

    def handle(c: Calling, node: Any) -> None:
        found = {name: _at(node, place, name, default) for place, (name, default) in enumerate(numbers, 1)}
        c.add(node, operator, (c.value(node.args[0]),), **found)

    return handle


def _softplus(c: Calling, node: Any) -> None:
    c.add(node, "Softplus", (c.value(node.args[0]),), beta=float(_at(node, 1, "beta", 1)))


def _elu(c: Calling, node: Any) -> None:
    if _at(node, 2, "scale", 1) != 1 or _at(node, 3, "input_scale", 1) != 1:
        raise NotRead
    c.add(node, "Elu", (c.value(node.args[0]),), alpha=float(_at(node, 1, "alpha", 1.0)))


def _gelu(c: Calling, node: Any) -> None:
    c.add(node, "Gelu", (c.value(node.args[0]),), approximate=node.kwargs.get("approximate", "none"))


def _prelu(c: Calling, node: Any) -> None:
    slope = c.constants[c.value(node.args[1])]
    count = len(node.args[0].meta["val"].shape)
    shape = (slope.count, *(1,) * (count - 2))
    name = f"{node.name} slope"
    c.constants[name] = slope.reshaped(shape)
    c.add(node, "PRelu", (c.value(node.args[0]), name))


def _dropout(part: str) -> Handler:
    def handle(c: Calling, node: Any) -> None:
        c.add(node, "Dropout", (c.value(node.args[0]),), ratio=float(node.args[1]), part=part)

    return handle


def _power(c: Calling, node: Any) -> None:
    c.add(node, "Pow", (c.value(node.args[0]), c.value(node.args[1])))


def _square(c: Calling, node: Any) -> None:
    c.add(node, "Pow", (c.value(node.args[0]), c.value(2.0)))


def _reversed(c: Calling, node: Any) -> None:
    if _at(node, 2, "alpha", 1) != 1:
        raise NotRead
    c.add(node, "Sub", (c.value(node.args[1]), c.value(node.args[0])))


def _reverse_root(c: Calling, node: Any) -> None:
    c.add(node, "Pow", (c.value(node.args[0]), c.value(-0.5)))


def _squeeze(c: Calling, node: Any) -> None:
    c.add(node, "Reshape", (c.value(node.args[0]),), shape=c.sizes(node.meta["val"].shape), allowzero=1)


def _cast(c: Calling, node: Any) -> None:
    kind = str(node.meta["val"].dtype).removeprefix("torch.")
    c.add(node, "Cast", (c.value(node.args[0]),), to=kind)


def _expand(c: Calling, node: Any) -> None:
    shape = c.store(np.array(c.sizes(node.meta["val"].shape), np.int64))
    c.add(node, "Expand", (c.value(node.args[0]), shape))


def _attention(c: Calling, node: Any) -> None:
    """softmax(Q·Kᵀ/√d)·V, written out."""
    query, key, value = node.args[:3]
    if _at(node, 3, "attn_mask") is not None or _at(node, 5, "is_causal", False) or _at(node, 4, "dropout_p", 0.0):
        raise NotRead
    size = c.sizes(query.meta["val"].shape)[-1]
    factor = node.kwargs.get("scale")
    factor = 1 / math.sqrt(size) if factor is None else float(factor)
    axes = len(key.meta["val"].shape)
    order = (*range(axes - 2), axes - 1, axes - 2)
    turned = c.add(node, "Transpose", (c.value(key),), f"{node.name} keys", perm=order)
    product = c.add(node, "MatMul", (c.value(query), turned), f"{node.name} scores")
    scaled = c.add(node, "Mul", (product, c.store(np.array(factor, np.float32))), f"{node.name} scaled")
    shares = c.add(node, "Softmax", (scaled,), f"{node.name} shares", axis=-1)
    c.add(node, "MatMul", (shares, c.value(value)))


def _targets() -> dict[str, Handler]:
    found: dict[str, Handler] = {
        "aten.linear.default": _linear,
        "aten.addmm.default": _addmm,
        "aten.batch_norm.default": _batch_norm,
        "aten.layer_norm.default": _layer_norm,
        "aten.group_norm.default": _group_norm,
        "aten.instance_norm.default": _instance_norm,
        "aten.mean.dim": _reduction("ReduceMean"),
        "aten.sum.dim_IntList": _reduction("ReduceSum"),
        "aten.amax.default": _reduction("ReduceMax"),
        "aten.linalg_vector_norm.default": _norm,
        "aten.permute.default": _permute,
        "aten.transpose.int": _transpose,
        "aten.t.default": _transpose,
        "aten.cat.default": _cat,
        "aten.stack.default": _stack,
        "aten.slice.Tensor": _slice,
        "aten.select.int": _select,
        "aten.unbind.int": _unbind,
        "getitem": _getitem,
        "aten.constant_pad_nd.default": _pad,
        "aten.pad.default": _pad,
        "aten.leaky_relu.default": _numbers("LeakyRelu", ("alpha", 0.01)),
        "aten.leaky_relu_.default": _numbers("LeakyRelu", ("alpha", 0.01)),
        "aten.hardtanh.default": _numbers("Clip", ("min", -1.0), ("max", 1.0)),
        "aten.hardtanh_.default": _numbers("Clip", ("min", -1.0), ("max", 1.0)),
        "aten.relu6.default": lambda c, node: c.add(node, "Clip", (c.value(node.args[0]),), min=0.0, max=6.0) and None,
        "aten.clamp.default": _numbers("Clip", ("min", None), ("max", None)),
        "aten.clamp_min.default": _numbers("Clip", ("min", None)),
        "aten.hardsigmoid.default": lambda c, node: (
            c.add(node, "HardSigmoid", (c.value(node.args[0]),), alpha=1 / 6, beta=0.5) and None
        ),
        "aten.softplus.default": _softplus,
        "aten.elu.default": _elu,
        "aten.elu_.default": _elu,
        "aten.gelu.default": _gelu,
        "aten.prelu.default": _prelu,
        "aten.dropout.default": _dropout("dropout"),
        "aten.dropout_.default": _dropout("dropout"),
        "aten.feature_dropout.default": _dropout("channel-dropout"),
        "aten.pow.Tensor_Scalar": _power,
        "aten.pow.Tensor_Tensor": _power,
        "aten.square.default": _square,
        "aten.rsub.Scalar": _reversed,
        "aten.rsqrt.default": _reverse_root,
        "aten.ge.Scalar": _two("GreaterOrEqual"),
        "aten.ge.Tensor": _two("GreaterOrEqual"),
        "aten.to.dtype": _cast,
        "aten._to_copy.default": _cast,
        "aten.expand.default": _expand,
        "aten.scaled_dot_product_attention.default": _attention,
        "aten.matmul.default": _two("MatMul"),
        "aten.mm.default": _two("MatMul"),
        "aten.bmm.default": _two("MatMul"),
    }
    for name in ("view", "reshape", "_unsafe_view"):
        found[f"aten.{name}.default"] = _view
    for name in (
        "flatten.using_ints",
        "unflatten.int",
        "squeeze.dim",
        "squeeze.dims",
        "squeeze.default",
        "unsqueeze.default",
    ):
        found[f"aten.{name}"] = _squeeze
    for name in ("clone", "contiguous", "detach", "detach_", "alias", "lift_fresh_copy", "identity", "alpha_dropout"):
        found[f"aten.{name}.default"] = _same
    for name in ("split.Tensor", "split_with_sizes.default", "chunk.default", "split.sizes"):
        found[f"aten.{name}"] = _split
    for name, operator in (
        ("softmax.int", "Softmax"),
        ("_softmax.default", "Softmax"),
        ("log_softmax.int", "LogSoftmax"),
    ):
        found[f"aten.{name}"] = _softmax(operator)
    simple = {
        "relu": "Relu", "sigmoid": "Sigmoid", "tanh": "Tanh", "silu": "Silu", "hardswish": "HardSwish",
        "selu": "Selu", "mish": "Mish", "exp": "Exp", "log": "Log", "sqrt": "Sqrt", "abs": "Abs", "neg": "Neg",
        "sin": "Sin", "cos": "Cos", "atan": "Atan", "sign": "Sign", "reciprocal": "Reciprocal", "erf": "Erf",
    }  # fmt: skip
    for name, operator in simple.items():
        found[f"aten.{name}.default"] = found[f"aten.{name}_.default"] = _simple(operator)
    for name, operator in (("add", "Add"), ("sub", "Sub"), ("mul", "Mul"), ("div", "Div")):
        for form in (f"{name}.Tensor", f"{name}_.Tensor", f"{name}.Scalar"):
            found[f"aten.{form}"] = _two(operator)
    for axes in (1, 2, 3):
        for form in ("default", "padding"):
            found[f"aten.conv{axes}d.{form}"] = _convolution(axes)
        found[f"aten.conv_transpose{axes}d.{'input' if axes > 1 else 'default'}"] = _transposed(axes)
        found[f"aten.max_pool{axes}d.default"] = _pool("MaxPool", axes)
        found[f"aten.max_pool{axes}d_with_indices.default"] = _pool("MaxPool", axes)
        found[f"aten.avg_pool{axes}d.default"] = _pool("AveragePool", axes)
        found[f"aten.adaptive_avg_pool{axes}d.default"] = _adaptive("average", axes)
        found[f"aten.adaptive_max_pool{axes}d.default"] = _adaptive("max", axes)
        for form in ("vec", "default"):
            found[f"aten.upsample_nearest{axes}d.{form}"] = _upsample("nearest")
    for name in ("upsample_bilinear2d", "upsample_trilinear3d", "upsample_linear1d"):
        for form in ("vec", "default"):
            found[f"aten.{name}.{form}"] = _upsample("linear")
    return found


TARGETS = _targets()
