"""What is known before anything enters: shapes, small whole numbers, and views of stored tensors.

Nothing large is ever computed here: a stored tensor may be looked at in another shape or order, and arithmetic is done
on a few numbers only, so that no model can make the importer work or allocate for it.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING, Any

import numpy as np

from inkcap.exchange.importing.errors import ImportRefused, NoSymbol
from inkcap.exchange.importing.graph import BATCH, Array, Constant, Graph, Node, Sizes, ints, show
from inkcap.exchange.importing.limits import DIMENSIONS, FOLDED, STATED_BYTES

if TYPE_CHECKING:
    from inkcap.exchange.importing.translator import Translator

TWO: dict[str, Callable[[Array, Array], Array]] = {
    "Add": np.add,
    "Sub": np.subtract,
    "Mul": np.multiply,
    "Equal": np.equal,
    "Less": np.less,
    "Greater": np.greater,
    "And": np.logical_and,
    "Or": np.logical_or,
    "Min": np.minimum,
    "Max": np.maximum,
    "Pow": np.power,
}
ONE: dict[str, Callable[[Array], Array]] = {
    "Neg": np.negative,
    "Sqrt": np.sqrt,
    "Floor": np.floor,
    "Ceil": np.ceil,
    "Not": np.logical_not,
    "Abs": np.abs,
    "Exp": np.exp,
    "Reciprocal": lambda x: 1 / x,
}


def fold(translator: Translator, node: Node) -> bool:
    """Take a node's output for known where it is; tell whether it was."""
    known = translator.constants
    if node.operator == "Shape" and node.inputs[0] not in known:
        shape = translator.values[node.inputs[0]].shape
        first, last = node.at("start", 0), node.at("end", None)
        known[node.outputs[0]] = _held(np.array(shape, np.int64)[first:last], node)
        return True
    if node.operator == "CastLike" and node.inputs[0] in known and node.inputs[1] not in known:
        # What it is cast to is a value on its way through the model, of floating numbers.
        known[node.outputs[0]] = known[node.inputs[0]].changed("float", lambda x: np.asarray(x, np.float32))
        return True
    if not node.inputs or any(name and name not in known for name in node.inputs):
        return False
    given = [known[name] if name else None for name in node.inputs]
    made = _made(node, given, translator.graph.batch)
    if made is None:
        return False
    known[node.outputs[0]] = made
    return True


def fold_stored(graph: Graph, node: Node) -> bool:
    """Take a node's output for known where stored tensors tell it, before any shape is known."""
    if not node.inputs or len(node.outputs) != 1 or any(name and name not in graph.constants for name in node.inputs):
        return False
    made = _made(node, [graph.constants[name] if name else None for name in node.inputs], graph.batch)
    if made is not None:
        graph.constants[node.outputs[0]] = made
    return made is not None


def _made(node: Node, given: list[Constant | None], batch: int | None) -> Constant | None:
    try:
        return _view(node, given, batch) or _computed(node, given)
    except NoSymbol:
        return None
    except (ValueError, IndexError, TypeError, ZeroDivisionError, KeyError, AttributeError, OverflowError):
        raise ImportRefused(
            f"{node.place}: {node.operator}: its constants do not fit it "
            f"({', '.join(str(c.shape) for c in given if c)}); the model is damaged"
        ) from None


def reshape_to(shape: Sizes, target: Sizes, batch: int | None, zeros: bool = False) -> Sizes:
    """Give the shape that a reshape leads to; a stated batch counts as the batch."""
    choices = [target]
    if target and batch is not None and target[0] > 0 and target[0] % batch == 0:
        choices.insert(0, (target[0] // batch * BATCH, *target[1:]))
    count = math.prod(shape)
    found: list[Sizes] = []
    for choice in choices:
        if not zeros:
            choice = tuple(shape[i] if size == 0 and i < len(shape) else size for i, size in enumerate(choice))
        rest = math.prod(size for size in choice if size != -1)
        if choice.count(-1) == 1 and rest > 0 and count % rest == 0:
            choice = tuple(count // rest if size == -1 else size for size in choice)
        if -1 not in choice and math.prod(choice) == count:
            found.append(choice)
    if not found:
        raise NoSymbol(f"{show(shape)} cannot become {show(target)}")
    return next((choice for choice in found if choice and choice[0] % BATCH == 0), found[0])


def unsqueezed(shape: Sizes, axes: Sizes) -> Sizes:
    """Give a shape with axes of 1 put in."""
    count = len(shape) + len(axes)
    places = {axis % count for axis in axes}
    if len(places) != len(axes):
        raise NoSymbol(f"the axes {axes[:8]} put one axis in twice")
    rest = iter(shape)
    return tuple(1 if i in places else next(rest) for i in range(count))


def squeezed(shape: Sizes, axes: Sizes | None) -> Sizes:
    """Give a shape without some axes of 1, or without any."""
    places = {axis % len(shape) for axis in axes} if axes else {i for i, size in enumerate(shape) if size == 1}
    if any(shape[i] != 1 for i in places):
        raise NoSymbol(f"an axis of {show(shape)} that is not 1 cannot be left out")
    return tuple(size for i, size in enumerate(shape) if i not in places)


def axes_of(node: Node, given: Constant | None) -> Sizes | None:
    """Give the axes of a node: an attribute, or an input that is stored."""
    stated = node.at("axes")
    return tuple(stated) if stated is not None else None if given is None else ints(given.array())


def _view(node: Node, given: list[Constant | None], batch: int | None) -> Constant | None:
    """Look at a stored tensor in another way."""
    x = given[0]
    if x is None:
        return None
    second = given[1] if len(given) > 1 else None
    operator = node.operator
    if operator in ("Identity", "Dropout") or (operator == "CastLike" and second is None):
        return x
    if operator == "Shape":
        return _held(np.array(x.shape, np.int64)[node.at("start", 0) : node.at("end", None)], node)
    if operator == "Reshape":
        target = ints(second.array()) if second else tuple(node.at("shape"))
        return x.reshaped(reshape_to(x.shape, target, None, bool(node.at("allowzero"))))
    if operator == "Flatten":
        axis = node.at("axis", 1)
        return x.reshaped((math.prod(x.shape[:axis]), math.prod(x.shape[axis:])))
    if operator == "Unsqueeze":
        return x.reshaped(unsqueezed(x.shape, axes_of(node, second) or ()))
    if operator == "Squeeze":
        return x.reshaped(squeezed(x.shape, axes_of(node, second)))
    if operator == "Transpose":
        return x.permuted(node.at("perm") or tuple(range(len(x.shape)))[::-1])
    if operator == "ConstantOfShape":
        return _filled(node, ints(x.array()))
    if operator == "Expand" and second is not None:
        wide = np.broadcast_shapes(x.shape, ints(second.array()))
        if batch is not None and len(wide) == len(x.shape) > 1 and x.shape[0] == 1 and wide[0] == batch:
            wide = (BATCH, *wide[1:])
        return _expanded(x, wide, node)
    return None


def _filled(node: Node, shape: Sizes) -> Constant:
    count = math.prod(shape)
    value: Array = np.asarray(node.at("value", np.zeros(1, np.float32))).reshape(-1)[:1]
    if count > DIMENSIONS or count * value.itemsize > STATED_BYTES or any(size < 0 for size in shape):
        raise ImportRefused(
            f"{node.place}: {node.operator} asks for {count} numbers; {STATED_BYTES // 2**30} GiB are allowed"
        )
    return Constant(f"{node.outputs[0]}", shape, str(value.dtype), lambda: np.broadcast_to(value, shape))


def _expanded(x: Constant, shape: Sizes, node: Node) -> Constant:
    # With the batch in it there is nothing to spread yet: what meets it does so itself.
    wanted = tuple(1 if size == BATCH else size for size in shape)
    if math.prod(wanted) > DIMENSIONS:
        raise ImportRefused(f"{node.place}: {node.operator} asks for {math.prod(wanted)} numbers")
    return Constant(f"{x.key}/{shape}", wanted, x.dtype, lambda: np.broadcast_to(x.array(), wanted))


def _held(array: Array, node: Node) -> Constant:
    return Constant.of(array, f"{node.outputs[0]} of {node.name}")


def _computed(node: Node, given: list[Constant | None]) -> Constant | None:
    """Compute on a few numbers."""
    there = [constant for constant in given if constant is not None]
    if not there or sum(constant.count for constant in there) > FOLDED:
        return None
    arrays: list[Any] = [None if constant is None else constant.array() for constant in given]
    made = _few(node, arrays)
    return None if made is None or made.size > FOLDED else _held(np.asarray(made), node)


def _few(node: Node, arrays: list[Any]) -> Array | None:
    operator, x = node.operator, arrays[0]
    if operator in ONE:
        return ONE[operator](x)
    if operator in TWO:
        return TWO[operator](x, arrays[1])
    if operator == "Div":
        return x / arrays[1] if x.dtype.kind == "f" else _whole_quotient(x, arrays[1])
    if operator == "Mod":
        return np.fmod(x, arrays[1]) if node.at("fmod", 0) else np.mod(x, arrays[1])
    if operator == "Size":
        return np.array(x.size, np.int64)
    if operator == "Cast":
        return x.astype(node.at("to"))
    if operator == "CastLike":
        return x.astype(arrays[1].dtype)
    if operator == "Sign":
        return np.sign(x)
    if operator in ("ReduceSum", "ReduceMax"):
        axes: Any = node.at("axes") if len(arrays) < 2 else ints(arrays[1])
        kept = bool(node.at("keepdims", 1))
        return np.asarray(np.sum(x, axes, keepdims=kept) if operator == "ReduceSum" else np.max(x, axes, keepdims=kept))
    if operator == "Gather":
        return np.take(x, arrays[1], axis=node.at("axis", 0))
    if operator == "Concat":
        joined: Any = np.concatenate(arrays, axis=node.at("axis"))
        return joined
    if operator == "Where":
        return np.asarray(np.where(x, arrays[1], arrays[2]))  # pyright: ignore[reportUnknownArgumentType]
    if operator == "ReduceProd":
        return np.asarray(np.prod(x, keepdims=bool(node.at("keepdims", 1))))
    if operator == "Range":
        count = (float(arrays[1]) - float(x)) / float(arrays[2])
        return np.arange(x, arrays[1], arrays[2], dtype=x.dtype) if count <= FOLDED else None
    if operator == "Slice":
        return _sliced(node, arrays)
    return None


def _whole_quotient(x: Array, y: Array) -> Array:
    """Divide whole numbers as ONNX does, which cuts off towards zero."""
    if not np.all(y):
        raise ZeroDivisionError
    return np.asarray(np.abs(x) // np.abs(y) * np.sign(x) * np.sign(y)).astype(x.dtype)


def _sliced(node: Node, arrays: list[Any]) -> Array:
    x = arrays[0]
    starts, ends, axes, steps = slice_of(node, arrays[1:])
    cut = [slice(None)] * x.ndim
    for place, start in enumerate(starts):
        cut[axes[place] if axes else place] = slice(start, ends[place], steps[place] if steps else 1)
    return x[tuple(cut)]


def slice_of(node: Node, arrays: list[Any]) -> tuple[Sizes, Sizes, Sizes, Sizes]:
    """Give starts, ends, axes and steps of a Slice, as inputs or as attributes."""
    if not arrays:
        return tuple(node.at("starts")), tuple(node.at("ends")), tuple(node.at("axes") or ()), ()
    read = [() if array is None else ints(array) for array in (*arrays, None, None)[:4]]
    return read[0], read[1], read[2], read[3]
