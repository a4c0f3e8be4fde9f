"""Operators that change the layout: reshaping, transposing, concatenating, cutting."""

from __future__ import annotations

import math

import numpy as np

from inkcap.exchange.importing.errors import NoSymbol
from inkcap.exchange.importing.folding import axes_of, reshape_to, slice_of, squeezed, unsqueezed
from inkcap.exchange.importing.graph import BATCH, Array, Constant, Node, Sizes, ints
from inkcap.exchange.importing.translator import Handler, Translator
from inkcap.exchange.importing.values import Growing, Line, Value, along_line, apart_from_batch, natural

AXES = {1: ("channels",), 3: ("channels", "height", "width"), 4: ("channels", "depth", "height", "width")}


def reshape(t: Translator, node: Node) -> None:
    """The same numbers in another shape: a view, until something needs it drawn."""
    value = t.value(node)
    stated = node.at("shape")
    target = tuple(stated) if stated is not None else ints(t.constant(node, 1, "shape").array())
    shape = reshape_to(value.shape, target, t.graph.batch, bool(node.at("allowzero")))
    _check_batch(t, value, shape)
    t.view(node, shape, value.order)


def _check_batch(t: Translator, value: Value, shape: Sizes) -> None:
    """Refuse a reshaping across the batch, which would mix samples."""
    before, after = apart_from_batch(value.shape), apart_from_batch(shape)
    if after is None or before is None or math.prod(value.shape[: before[1]]) != math.prod(shape[: after[1]]):
        raise NoSymbol(f"it lays {t.show(value.shape)} out as {t.show(shape)}, across the batch")


def flatten(t: Translator, node: Node) -> None:
    """All axes from one on become one."""
    value = t.value(node)
    count = len(value.shape)
    first, last = node.at("axis", 1) % (count + 1), node.at("end", count - 1) % count
    if node.at("end") is not None:
        middle = math.prod(value.shape[first : last + 1])
        shape = (*value.shape[:first], middle, *value.shape[last + 1 :])
    else:
        shape = (math.prod(value.shape[:first]), math.prod(value.shape[first:]))
    _check_batch(t, value, shape)
    t.view(node, shape, value.order)


def squeeze(t: Translator, node: Node) -> None:
    """Axes of 1 go."""
    value = t.value(node)
    stored = t.constant(node, 1, "list of axes") if len(node.inputs) > 1 and node.inputs[1] else None
    t.view(node, squeezed(value.shape, axes_of(node, stored)), value.order)


def unsqueeze(t: Translator, node: Node) -> None:
    """Axes of 1 come."""
    value = t.value(node)
    stored = t.constant(node, 1, "list of axes") if len(node.inputs) > 1 and node.inputs[1] else None
    t.view(node, unsqueezed(value.shape, axes_of(node, stored) or ()), value.order)


def transpose(t: Translator, node: Node) -> None:
    """Axes in another order: a view, until something needs it drawn."""
    value = t.value(node)
    count = len(value.shape)
    order = tuple(axis % count for axis in (node.at("perm") or tuple(range(count))[::-1]))
    apart = apart_from_batch(value.shape)
    if sorted(order) != list(range(count)) or apart is None:
        raise NoSymbol(f"it lays the axes of {t.show(value.shape)} as {order}")
    _, place, fused = apart
    shape = tuple(value.shape[axis] for axis in order)
    # The axes of a sample: those of the tensor without the batch, or with what was multiplied into it.
    inner = tuple(axis - (axis > place and not fused) for axis in order if fused or axis != place)
    moved = [axis for axis in inner if value.sizes[axis] != 1]
    if moved == sorted(moved):
        t.view(node, shape, value.order)
        return
    drawn, full = _merged(value.sizes, inner)
    if drawn is None:
        raise NoSymbol(f"{t.show(value.shape)} has more than 4 axes beside the batch")
    of = value.of
    if value.order is not None and tuple(of.drawn[axis] for axis in value.order) == drawn:
        # An order of an order is an order.
        joined = tuple(value.order[axis] for axis in full)
        t.view(node, shape, None if joined == tuple(range(len(joined))) else joined)
        return
    if value.order is None and of.drawn == drawn:
        t.view(node, shape, full)
        return
    vertex = t.vertex(value, drawn)
    t.values[node.outputs[0]] = Value(shape, vertex, full, node.outputs[0])


def _merged(sizes: Sizes, order: Sizes) -> tuple[Sizes | None, Sizes]:
    """Give a structure and the order of its axes that stand for an order of axes; those that stay together are one."""
    drawn = natural(sizes)
    if drawn is not None:
        return drawn, (0, *(axis + 1 for axis in order)) if len(drawn) > len(sizes) else order
    runs: list[list[int]] = []
    for axis in order:
        if runs and runs[-1][-1] == axis - 1:
            runs[-1].append(axis)
        else:
            runs.append([axis])
    firsts = sorted(run[0] for run in runs)
    merged = tuple(math.prod(sizes[first:end]) for first, end in zip(firsts, (*firsts[1:], len(sizes)), strict=True))
    if len(merged) == len(sizes):
        return None, order
    return _merged(merged, tuple(firsts.index(run[0]) for run in runs))


def concatenate(t: Translator, node: Node) -> None:
    """Concatenation: the sum of injections; what is stored becomes a bias at its place."""
    names = [name for name in node.inputs if name]
    moving = [t.values[name] for name in names if not t.is_constant(name)]
    first = moving[0]
    axis: int = node.at("axis") % len(first.shape)
    shapes = [_shape_of(t, name, first, axis) for name in names]
    if axis == 0:
        raise NoSymbol("it joins along the batch")
    total = sum(shape[axis] for shape in shapes)
    shape = (*first.shape[:axis], total, *first.shape[axis + 1 :])
    drawn, place = _placed(first, shape, axis)
    if len(moving) == len(names) == 1:
        t.alias(node)
        return
    grown = Growing(node.name or node.outputs[0], drawn, scope=node.scope)
    offset = 0
    stored: list[tuple[int, Constant]] = []
    for name, own in zip(names, shapes, strict=True):
        part = (*drawn[:place], own[axis], *drawn[place + 1 :])
        if t.is_constant(name):
            stored.append((offset, t.constants[name].reshaped(part)))
        else:
            attributes: dict[str, object] = {} if place == 0 else {"axis": AXES[len(drawn)][place]}
            if stored or len(moving) == 1:
                attributes |= {"offset": offset, "size": total}
            grown.lines.append(Line("inject", t.vertex(t.values[name], part), attributes))
        offset += own[axis]
    if stored:
        for line, at in zip(grown.lines, _offsets(t, names, shapes, axis), strict=True):
            line.attributes |= {"offset": at, "size": total}
        grown.bias, grown.bias_kind = _laid(stored, drawn, place, node), "full"
    t.give(node, shape, grown)


def _offsets(t: Translator, names: list[str], shapes: list[Sizes], axis: int) -> list[int]:
    found: list[int] = []
    offset = 0
    for name, shape in zip(names, shapes, strict=True):
        if not t.is_constant(name):
            found.append(offset)
        offset += shape[axis]
    return found


def _shape_of(t: Translator, name: str, like: Value, axis: int) -> Sizes:
    shape = t.constants[name].shape if t.is_constant(name) else t.values[name].shape
    if t.is_constant(name) and len(shape) == len(like.shape) and shape[0] == 1:
        shape = (BATCH, *shape[1:])
    others = [(mine, theirs) for i, (mine, theirs) in enumerate(zip(shape, like.shape, strict=False)) if i != axis]
    if len(shape) != len(like.shape) or any(mine != theirs for mine, theirs in others):
        raise NoSymbol(f"{t.show(shape)} does not join {t.show(like.shape)}")
    return shape


def _placed(value: Value, shape: Sizes, axis: int) -> tuple[Sizes, int]:
    """Give the structure of what a value becomes by a change along an axis, and the axis in it."""
    sizes = shape[1:]
    if len(sizes) == 2 and value.order is None and value.of.drawn == along_line(value.sizes) and value.of.drawn[0] != 1:
        return along_line(sizes), 0 if axis == 1 else 2
    drawn = natural(sizes)
    if not drawn:
        raise NoSymbol("it joins or cuts a structure that cannot be drawn")
    return drawn, axis - 1 + len(drawn) - len(sizes)


def _laid(stored: list[tuple[int, Constant]], drawn: Sizes, place: int, node: Node) -> Constant:
    def read() -> Array:
        whole = np.zeros(drawn, np.float32)
        for offset, constant in stored:
            cut = [slice(None)] * len(drawn)
            cut[place] = slice(offset, offset + constant.shape[place])
            whole[tuple(cut)] = constant.array()
        return whole

    return Constant(f"laid at {node.outputs[0]}", drawn, "float32", read)


def _select(t: Translator, value: Value, axis: int, first: int, size: int, name: str) -> Value:
    """Cut a block out of a value along one axis."""
    if size == value.shape[axis]:
        return value
    if axis == 0:
        raise NoSymbol("it cuts the batch")
    shape = (*value.shape[:axis], size, *value.shape[axis + 1 :])
    back, place = _placed(value, value.shape, axis)
    attributes: dict[str, object] = {} if len(back) == 1 else {"axis": AXES[len(back)][place]}
    if first:
        attributes["offset"] = first
    drawn = (*back[:place], size, *back[place + 1 :])
    line = Line("select", t.vertex(value, back), {**attributes, "size": size})
    return Value(shape, Growing(name, drawn, [line], scope=value.of.scope, dtype=value.of.dtype), name=name)


def cut(t: Translator, node: Node) -> None:
    """A slice: one selection for each axis that is cut."""
    value = t.value(node)
    places = enumerate(node.inputs[1:], 1)
    arrays = [t.constant(node, place, "list of bounds").array() if name else None for place, name in places]
    starts, ends, axes, steps = slice_of(node, arrays)
    if steps and set(steps) != {1}:
        raise NoSymbol(f"it takes every {max(steps)}th only, or backwards")
    if len({axis % len(value.shape) for axis in axes}) != len(axes):
        raise NoSymbol(f"it cuts an axis twice: {axes}")
    made = value
    for number, (start, end) in enumerate(zip(starts, ends, strict=True)):
        axis = (axes[number] if axes else number) % len(value.shape)
        length = value.shape[axis]
        begin, finish, _ = slice(start, end).indices(length)
        if finish <= begin:
            raise NoSymbol("it leaves nothing")
        made = _select(t, made, axis, begin, finish - begin, node.outputs[0])
    if made is value:
        t.alias(node)
    else:
        t.values[node.outputs[0]] = made


def split(t: Translator, node: Node) -> None:
    """A value in pieces: a selection each."""
    value = t.value(node)
    axis: int = node.at("axis", 0) % len(value.shape)
    stored = t.constant(node, 1, "sizes") if len(node.inputs) > 1 and node.inputs[1] else None
    pieces: Sizes = ints(stored.array()) if stored else tuple(node.at("split") or ())
    if not pieces:
        count = len(node.outputs)
        most = -(-int(value.shape[axis]) // count)
        pieces = tuple(min(most, value.shape[axis] - i * most) for i in range(count))
    if sum(pieces) != value.shape[axis] or min(pieces) < 1 or len(pieces) != len(node.outputs):
        raise NoSymbol(f"its pieces {pieces} are not the whole of {value.shape[axis]}")
    t.seal(value.of)
    offset = 0
    for name, size in zip(node.outputs, pieces, strict=True):
        if name in t.uses:
            t.values[name] = _select(t, value, axis, offset, size, name)
        offset += size


def gather(t: Translator, node: Node) -> None:
    """One place along an axis, stated in the model: a selection that drops the axis."""
    value, index = t.value(node), t.constant(node, 1, "index")
    axis: int = node.at("axis", 0) % len(value.shape)
    if index.count != 1 or axis == 0:
        raise NoSymbol("it takes several places, or samples of the batch")
    place = int(index.number())
    length = value.shape[axis]
    if not -length <= place < length:
        raise NoSymbol(f"the place {place} is outside of {length}")
    made = _select(t, value, axis, place % length, 1, node.outputs[0])
    if made is value:
        t.seal(value.of)
    dropped = made.shape if index.shape else (*made.shape[:axis], *made.shape[axis + 1 :])
    t.values[node.outputs[0]] = Value(dropped, made.of, made.order, node.outputs[0])


def expand(t: Translator, node: Node) -> None:
    """A value spread over a larger shape it already has."""
    value = t.value(node)
    target = tuple(node.at("shape") or ints(t.constant(node, 1, "shape").array()))
    if t.graph.batch is not None and len(target) == len(value.shape) and target[0] in (1, t.graph.batch):
        target = (BATCH, *target[1:])
    if tuple(int(s) for s in np.broadcast_shapes(value.shape, target)) != value.shape:
        raise NoSymbol(f"it spreads {t.show(value.shape)} over {t.show(target)}")
    t.alias(node)


def pad(t: Translator, node: Node) -> None:
    """Zeros around: injections into wider structures."""
    value = t.value(node)
    stored = t.constant(node, 1, "padding") if len(node.inputs) > 1 else None
    pads = ints(stored.array()) if stored else tuple(node.at("pads"))
    fill = t.constant(node, 2, "number").number() if len(node.inputs) > 2 and node.inputs[2] else node.at("value", 0.0)
    if node.at("mode", "constant") != "constant" or fill or any(p < 0 for p in pads):
        raise NoSymbol(f"it fills the border by {node.at('mode', 'constant')} {fill}, not by zeros")
    count = len(value.shape)
    if len(node.inputs) > 3 and node.inputs[3]:
        raise NoSymbol("it states its axes")
    before, after = pads[:count], pads[count:]
    if len(pads) != 2 * count or before[0] or after[0]:
        raise NoSymbol("it pads the batch")
    vertex = t.vertex(value)
    lead = len(vertex.drawn) - len(value.sizes)
    if lead == 1 and vertex.drawn != (1, *value.sizes):
        vertex, lead = t.vertex(value, (1, *value.sizes)), 1
    axes = AXES.get(len(vertex.drawn))
    if axes is None:
        raise NoSymbol("a single number has no border")
    for axis, (first, last) in enumerate(zip(before[1:], after[1:], strict=True)):
        if first or last:
            place = axis + lead
            size = vertex.drawn[place] + first + last
            drawn = (*vertex.drawn[:place], size, *vertex.drawn[place + 1 :])
            attributes = {"axis": axes[place], "offset": first, "size": size}
            vertex = Growing(node.outputs[0], drawn, [Line("inject", vertex, attributes)], scope=node.scope)
            t.seal(vertex)
    t.give(node, tuple(s + b + a for s, b, a in zip(value.shape, before, after, strict=True)), vertex)


HANDLERS: dict[str, Handler] = {
    "Reshape": reshape,
    "Flatten": flatten,
    "Squeeze": squeeze,
    "Unsqueeze": unsqueeze,
    "Transpose": transpose,
    "Concat": concatenate,
    "Slice": cut,
    "Split": split,
    "Gather": gather,
    "Expand": expand,
    "Pad": pad,
}
