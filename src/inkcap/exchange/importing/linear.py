"""Operators that multiply by a stored matrix, and those that normalise."""

from __future__ import annotations

import math

import numpy as np

from inkcap.exchange.importing.errors import NoSymbol
from inkcap.exchange.importing.graph import Array, Constant, Node, Sizes
from inkcap.exchange.importing.numbers import plain
from inkcap.exchange.importing.translator import Handler, Translator
from inkcap.exchange.importing.values import Growing, Line, Stage, Value, Worn, along_line, natural, rank_of
from inkcap.exchange.importing.windows import module_name


def _full(t: Translator, node: Node, value: Value, weight: Constant, name: str) -> Growing:
    """Multiply every row of a value by a matrix of outputs × inputs."""
    if weight.shape[1] != value.shape[-1]:
        raise NoSymbol(f"a matrix of {weight.shape[0]}×{weight.shape[1]} does not take {t.show(value.shape)}")
    drawn = natural(value.sizes)
    if drawn is None or not value.sizes or len(drawn) > 3:
        raise NoSymbol(f"{t.show(value.shape)} has more axes than rows of a matrix array")
    attributes = {"height": weight.shape[0]}
    line = Line("full", t.vertex(value, drawn), attributes, {"weight": weight})
    grown = Growing(name, (*drawn[:-1], weight.shape[0]), [line], scope=node.scope)
    t.give(node, (*value.shape[:-1], weight.shape[0]), grown)
    return grown


def gemm(t: Translator, node: Node) -> None:
    """A matrix with its bias: a full connection."""
    value, weight = t.value(node), t.constant(node, 1, "matrix")
    if node.at("transA") or len(weight.shape) != 2:
        raise NoSymbol("it multiplies its input from the other side")
    alpha, beta = float(node.at("alpha", 1.0)), float(node.at("beta", 1.0))
    weight = weight if node.at("transB") else weight.permuted((1, 0))
    weight = weight if alpha == 1 else weight.changed(f"*{alpha}", lambda w: np.asarray(w * np.float32(alpha)))
    bias = t.constant(node, 2, "bias") if len(node.inputs) > 2 and node.inputs[2] else None
    if bias is not None and bias.count not in (1, weight.shape[0]):
        raise NoSymbol(f"its bias of {bias.shape} is not one number for each of {weight.shape[0]} outputs")
    grown = _full(t, node, value, weight, module_name(node))
    if bias is not None and beta:
        bias = _each(bias, weight.shape[0])
        grown.bias = bias if beta == 1 else bias.changed(f"*{beta}", lambda b: np.asarray(b * np.float32(beta)))
        grown.bias_kind = "item" if rank_of(grown.drawn) > 1 else "full"


def _each(constant: Constant, count: int) -> Constant:
    if constant.count == count:
        return constant.reshaped((count,))
    return Constant(f"{constant.key}/{count}", (count,), constant.dtype, lambda: np.full(count, constant.array()))


def matmul(t: Translator, node: Node) -> None:
    """A product with a stored matrix is a full connection; one of two values is a product of matrices."""
    if t.is_constant(node.inputs[0]):
        raise NoSymbol("it multiplies by a stored matrix from the left")
    if not t.is_constant(node.inputs[1]):
        multiply_matrices(t, node)
        return
    weight = t.constant(node, 1, "matrix")
    if len(weight.shape) < 2 or math.prod(weight.shape[:-2]) != 1:
        raise NoSymbol(f"it multiplies by several matrices, {weight.shape}")
    matrix = weight.reshaped(weight.shape[-2:]).permuted((1, 0))
    _full(t, node, t.value(node), matrix, module_name(node))


def multiply_matrices(t: Translator, node: Node) -> None:
    """A product of two values, matrix by matrix."""
    left, right = t.value(node, 0), t.value(node, 1)
    if len(left.sizes) != len(right.sizes) or len(left.sizes) not in (2, 3) or left.sizes[:-2] != right.sizes[:-2]:
        raise NoSymbol(f"it multiplies {t.show(left.shape)} by {t.show(right.shape)}")
    if left.sizes[-1] != right.sizes[-2]:
        raise NoSymbol(f"{t.show(left.shape)} does not fit before {t.show(right.shape)}")
    first: Sizes = natural(left.sizes) or (0,)
    second: Sizes = natural(right.sizes) or (0,)
    drawn = (*first[:-1], second[-1])
    grown = Growing(node.name or node.outputs[0], drawn, scope=node.scope)
    grown.symbol, grown.stage = "matrix-product", Stage.FUNCTION
    other = t.line(right, second)
    turned = _turned(t, right, second)
    if turned is not None:
        other, grown.attributes = turned, {"transposed": True}
    other.port = "by"
    grown.lines = [t.line(left, first), other]
    t.give(node, (*left.shape[:-1], right.shape[-1]), grown)


def _turned(t: Translator, value: Value, drawn: Sizes) -> Line | None:
    """Lead a value whose matrices are only turned by its order without turning them, where that is simpler."""
    if value.order is None or len(drawn) != 3 or len(value.of.drawn) != 3:
        return None
    d, m, n = drawn
    turned = (value.order[0], value.order[2], value.order[1])
    of = value.of.drawn
    if tuple(of[axis] for axis in value.order) != drawn:
        return None
    order = None if turned == (0, 1, 2) else turned
    return t.line(Value((value.shape[0], d, n, m), value.of, order), (d, n, m))


def batch_norm(t: Translator, node: Node) -> None:
    """Batch norm by running numbers: the capsule wears it."""
    value = t.value(node)
    if node.at("training_mode"):
        raise NoSymbol("it normalises by the batch that it sees (training_mode)")
    if len(value.sizes) < 1 or len(value.sizes) > 4:
        raise NoSymbol(f"it normalises {t.show(value.shape)}")
    names = ("scale", "shift", "mean", "variance")
    stored = {name: t.constant(node, place, name) for place, name in enumerate(names, 1)}
    if any(constant.count != value.sizes[0] for constant in stored.values()):
        raise NoSymbol(f"its numbers are not one for each of {value.sizes[0]} channels")
    grown = t.grow(node, Stage.SUM, along_line(value.sizes))
    momentum = plain(1 - float(node.at("momentum", 0.9)))
    attributes = {"epsilon": plain(node.at("epsilon", 1e-5)), "momentum": momentum}
    held = {name: constant.reshaped((value.sizes[0],)) for name, constant in stored.items()}
    _wear(grown, Worn("batch-norm", _usual(attributes), held))
    t.give(node, value.shape, grown)


def _usual(attributes: dict[str, float]) -> dict[str, float]:
    defaults = {"epsilon": 1e-5, "momentum": 0.1}
    return {name: value for name, value in attributes.items() if not math.isclose(value, defaults[name], rel_tol=1e-6)}


def _wear(grown: Growing, worn: Worn) -> None:
    grown.worn.append(worn)
    grown.stage = Stage.NORM


def layer_norm(t: Translator, node: Node) -> None:
    """Layer norm over the whole sample, or over every row."""
    value = t.value(node)
    count = len(value.shape)
    axis = node.at("axis", -1) % count
    scale = t.constant(node, 1, "scale") if len(node.inputs) > 1 and node.inputs[1] else None
    shift = t.constant(node, 2, "shift") if len(node.inputs) > 2 and node.inputs[2] else None
    if len(node.outputs) > 1 and any(name in t.uses for name in node.outputs[1:]):
        raise NoSymbol("it also gives the mean and the deviation")
    over = value.shape[axis:]
    if axis == 1:
        part, drawn = "layer-norm", t.structure(value)
        stored = drawn
    elif axis == count - 1 and len(value.sizes) in (2, 3):
        part, drawn = "row-norm", natural(value.sizes) or ()
        stored = over
    else:
        raise NoSymbol(f"it goes over the axes from {axis} on of {t.show(value.shape)}")
    if math.prod(over) == 1:
        raise NoSymbol("there is a single number to normalise, which becomes 0")
    if any(c is not None and c.shape != over for c in (scale, shift)):
        raise NoSymbol(f"its scale is not of the structure {over}")
    weights: dict[str, Constant] = {}
    if scale is not None or shift is not None:
        weights = {
            "scale": (scale or _filled(over, 1.0)).reshaped(stored),
            "shift": (shift or _filled(over, 0.0)).reshaped(stored),
        }
    grown = t.grow(node, Stage.SUM, drawn)
    attributes: dict[str, object] = dict(_usual({"epsilon": plain(node.at("epsilon", 1e-5))}))
    if not weights:
        attributes["affine"] = False
    _wear(grown, Worn(part, attributes, weights))
    t.give(node, value.shape, grown)


def _filled(shape: Sizes, number: float) -> Constant:
    def read() -> Array:
        return np.full(shape, number, np.float32)

    return Constant(f"{number}", shape, "float32", read)


def group_norm(t: Translator, node: Node) -> None:
    """Group norm and instance norm."""
    value = t.value(node)
    if len(value.sizes) < 1 or (len(value.sizes) < 3 and node.operator == "InstanceNormalization"):
        raise NoSymbol(f"it normalises {t.show(value.shape)}")
    channels, groups = value.sizes[0], node.at("num_groups", 1)
    groups = channels if node.operator == "InstanceNormalization" else groups
    if groups < 1 or channels % groups or math.prod(value.sizes) == groups:
        raise NoSymbol(f"its {channels} channels do not divide into {groups} groups")
    stored = {name: t.constant(node, place, name) for place, name in ((1, "scale"), (2, "shift"))}
    if any(constant.count != channels for constant in stored.values()):
        raise NoSymbol(f"its numbers are not one for each of {channels} channels")
    grown = t.grow(node, Stage.SUM, along_line(value.sizes))
    attributes: dict[str, object] = dict(_usual({"epsilon": plain(node.at("epsilon", 1e-5))}))
    if node.operator == "GroupNormalization":
        attributes["groups"] = node.at("num_groups")
    part = "group-norm" if node.operator == "GroupNormalization" else "instance-norm"
    held = {name: constant.reshaped((channels,)) for name, constant in stored.items()}
    _wear(grown, Worn(part, attributes, held))
    t.give(node, value.shape, grown)


def groups_only(t: Translator, node: Node) -> None:
    """Group norm whose scale and shift, if any, follow."""
    value = t.value(node)
    grown = t.grow(node, Stage.SUM, along_line(value.sizes))
    channels = value.sizes[0]
    attributes: dict[str, object] = {"groups": node.at("num_groups")}
    attributes |= _usual({"epsilon": plain(node.at("epsilon", 1e-5))})
    held = {"scale": _filled((channels,), 1.0), "shift": _filled((channels,), 0.0)}
    _wear(grown, Worn("group-norm", attributes, held))
    t.give(node, value.shape, grown)


def local_response(t: Translator, node: Node) -> None:
    """Local response normalisation across channels."""
    value = t.value(node)
    if len(value.sizes) != 3:
        raise NoSymbol(f"it normalises {t.show(value.shape)}, not maps of height and width")
    size = node.at("size")
    if size % 2 == 0:
        raise NoSymbol(f"its window of {size} channels is even")
    grown = t.begin(value, value.sizes, node.outputs[0], node.scope)
    grown.symbol, grown.stage = "local-response", Stage.FUNCTION
    usual = {"size": 5, "alpha": 1e-4, "beta": 0.75, "k": 1}
    found = {
        "size": size,
        "alpha": plain(node.at("alpha", 1e-4)),
        "beta": plain(node.at("beta", 0.75)),
        "k": plain(node.at("bias", 1.0)),
    }
    grown.attributes = {name: number for name, number in found.items() if number != usual[name]}
    if node.at("over"):
        grown.attributes["over"] = node.at("over")
    t.give(node, value.shape, grown)


def unit(t: Translator, node: Node) -> None:
    """L2 normalisation of a vector, or of the channels at every position."""
    value = t.value(node)
    axis = node.at("axis", -1) % len(value.shape)
    if node.at("p", 2) != 2 or axis != 1 or len(value.sizes) == 2:
        raise NoSymbol(f"it normalises along axis {axis} of {t.show(value.shape)}")
    grown = t.begin(value, value.sizes, node.outputs[0], node.scope)
    grown.symbol, grown.stage = "l2-normalisation", Stage.FUNCTION
    t.give(node, value.shape, grown)


HANDLERS: dict[str, Handler] = {
    "Gemm": gemm,
    "MatMul": matmul,
    "BatchNormalization": batch_norm,
    "LayerNormalization": layer_norm,
    "GroupNormalization": group_norm,
    "InstanceNormalization": group_norm,
    "GroupsOnly": groups_only,
    "LRN": local_response,
    "LpNormalization": unit,
}
