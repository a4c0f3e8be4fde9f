"""Operators that slide a window: convolutions, pooling, means and maxima over axes, resizing, padding."""

from __future__ import annotations

from typing import Any

from inkcap.exchange.importing.errors import NoSymbol
from inkcap.exchange.importing.graph import Constant, Node, Sizes, ints
from inkcap.exchange.importing.translator import Handler, Translator
from inkcap.exchange.importing.values import Growing, Line, Stage, Value, along_line

NOT_NEGATIVE = {"relu", "sigmoid", "softmax", "softplus"}


def _axes(value: Value, numbers: Any, default: int) -> Sizes:
    """Give a number for each axis that is drawn: a line is drawn as a matrix of one row."""
    given = tuple(numbers) if numbers else (default,) * (len(value.sizes) - 1)
    if len(given) != len(value.sizes) - 1:
        raise NoSymbol(f"it has {len(given)} numbers for {len(value.sizes) - 1} axes")
    return (default, *given) if len(value.sizes) == 2 else given


def _same(numbers: Sizes) -> Any:
    """Write one number for all axes where they are alike."""
    return numbers[0] if len(set(numbers)) == 1 else numbers


def _pads(value: Value, node: Node, kernel: Sizes, stride: Sizes, dilation: Sizes) -> tuple[Sizes, Sizes]:
    """Give what is added before and behind each drawn axis."""
    sizes = along_line(value.sizes)[1:]
    rule = node.at("auto_pad", "NOTSET")
    if rule in ("SAME_UPPER", "SAME_LOWER"):
        wanted = [
            max((-(-size // s) - 1) * s + d * (m - 1) + 1 - size, 0)
            for size, m, s, d in zip(sizes, kernel, stride, dilation, strict=True)
        ]
        less, more = tuple(w // 2 for w in wanted), tuple(w - w // 2 for w in wanted)
        return (less, more) if rule == "SAME_UPPER" else (more, less)
    pads = tuple(node.at("pads") or (0,) * (2 * (len(value.sizes) - 1)))
    half = len(pads) // 2
    if any(pad < 0 for pad in pads):
        raise NoSymbol(f"its padding {pads} is negative")
    return _axes(value, pads[:half], 0), _axes(value, pads[half:], 0)


def _padded(t: Translator, vertex: Growing, before: Sizes, after: Sizes, name: str) -> Growing:
    """Lay a capsule's output into a wider one, zero at the border, an axis after the other."""
    names = ("depth", "height", "width")[-len(before) :]
    for axis, (first, last) in enumerate(zip(before, after, strict=True)):
        if first or last:
            size = vertex.drawn[axis + 1] + first + last
            drawn = (*vertex.drawn[: axis + 1], size, *vertex.drawn[axis + 2 :])
            line = Line("inject", vertex, {"axis": names[axis], "offset": first, "size": size})
            vertex = Growing(f"{name}-border", drawn, [line], scope=vertex.scope, dtype=vertex.dtype)
            t.seal(vertex)
    return vertex


def _window_shape(value: Value, channels: int, counts: Sizes) -> Sizes:
    return (value.shape[0], channels, *(counts[1:] if len(value.sizes) == 2 else counts))


def _stated(**attributes: tuple[Sizes, int]) -> dict[str, Any]:
    """Write those numbers that differ from their defaults."""
    return {name: _same(numbers) for name, (numbers, usual) in attributes.items() if set(numbers) != {usual}}


def module_name(node: Node, place: int = 1) -> str:
    """Name a capsule after the stored weight that enters it, else after its node."""
    weight = node.inputs[place] if place < len(node.inputs) else ""
    stem, _, end = weight.rpartition(".")
    return stem if end == "weight" and stem else node.name or node.outputs[0]


def convolve(t: Translator, node: Node) -> None:
    """A convolution: a connection into a capsule that may take up its norm and its function."""
    value, weight = t.value(node), t.constant(node, 1, "kernel")
    if len(value.sizes) < 2 or len(weight.shape) != len(value.shape):
        raise NoSymbol(f"a kernel of {weight.shape} does not slide over {t.show(value.shape)}")
    back = along_line(value.sizes)
    kernel = along_line((1, *weight.shape[2:]))[1:] if len(value.sizes) == 2 else weight.shape[2:]
    kernels, groups = weight.shape[0], node.at("group", 1)
    stride, dilation = _axes(value, node.at("strides"), 1), _axes(value, node.at("dilations"), 1)
    before, after = _pads(value, node, kernel, stride, dilation)
    if weight.shape[1] * groups != value.sizes[0]:
        raise NoSymbol(f"{groups} groups of kernels for {weight.shape[1]} channels meet {value.sizes[0]} channels")
    padding = before
    vertex = t.vertex(value, back)
    if before != after:
        vertex, padding = _padded(t, vertex, before, after, node.outputs[0]), (0,) * len(before)
    counts = tuple(
        (size + 2 * p - d * (m - 1) - 1) // s + 1
        for size, m, s, p, d in zip(vertex.drawn[1:], kernel, stride, padding, dilation, strict=True)
    )
    if min(counts) < 1:
        raise NoSymbol(f"a kernel of {kernel} is larger than {vertex.drawn[1:]}")
    attributes = {"kernels": kernels, "kernel": _same(kernel)}
    attributes |= _stated(stride=(stride, 1), padding=(padding, 0), dilation=(dilation, 1))
    if groups > 1:
        attributes["groups"] = groups
    shape = (kernels, weight.shape[1], *kernel)
    line = Line("convolution", vertex, attributes, {"weight": weight.reshaped(shape)})
    grown = Growing(module_name(node), (kernels, *counts), [line], scope=node.scope)
    _add_bias(t, node, grown)
    t.give(node, _window_shape(value, kernels, counts), grown)


def _add_bias(t: Translator, node: Node, grown: Growing) -> None:
    if len(node.inputs) > 2 and node.inputs[2]:
        grown.bias, grown.bias_kind = t.constant(node, 2, "bias").reshaped((grown.drawn[0],)), "channel"


def deconvolve(t: Translator, node: Node) -> None:
    """A transposed convolution."""
    value, weight = t.value(node), t.constant(node, 1, "kernel")
    if len(value.sizes) < 2 or len(weight.shape) != len(value.shape):
        raise NoSymbol(f"a kernel of {weight.shape} does not slide over {t.show(value.shape)}")
    kernel = along_line((1, *weight.shape[2:]))[1:] if len(value.sizes) == 2 else weight.shape[2:]
    stride, dilation = _axes(value, node.at("strides"), 1), _axes(value, node.at("dilations"), 1)
    extra = _axes(value, node.at("output_padding"), 0)
    if any(o >= max(s, d) for o, s, d in zip(extra, stride, dilation, strict=True)):
        raise NoSymbol(f"its output_padding {extra} is not less than its stride {stride}: nothing reaches beyond")
    if node.at("output_shape") or node.at("auto_pad", "NOTSET") not in ("NOTSET", "VALID"):
        raise NoSymbol("its padding is told by the size that it gives")
    before, after = _pads(value, node, kernel, stride, dilation)
    if before != after:
        raise NoSymbol(f"it takes off {before} at one end and {after} at the other")
    groups = node.at("group", 1)
    kernels = weight.shape[1] * groups
    if weight.shape[0] != value.sizes[0] or groups < 1 or value.sizes[0] % groups:
        raise NoSymbol(f"kernels for {weight.shape[0]} channels in {groups} groups meet {value.sizes[0]} channels")
    vertex = t.vertex(value, along_line(value.sizes))
    counts = tuple(
        (size - 1) * s - 2 * p + d * (m - 1) + o + 1
        for size, m, s, p, d, o in zip(vertex.drawn[1:], kernel, stride, before, dilation, extra, strict=True)
    )
    attributes = {"kernels": kernels, "kernel": _same(kernel)}
    attributes |= _stated(stride=(stride, 1), padding=(before, 0), output_padding=(extra, 0), dilation=(dilation, 1))
    if groups > 1:
        attributes["groups"] = groups
    held = weight.reshaped((weight.shape[0], weight.shape[1], *kernel))
    line = Line("transposed-convolution", vertex, attributes, {"weight": held})
    grown = Growing(module_name(node), (kernels, *counts), [line], scope=node.scope)
    _add_bias(t, node, grown)
    t.give(node, _window_shape(value, kernels, counts), grown)


def _pooled(
    t: Translator, node: Node, value: Value, vertex: Growing, attributes: dict[str, Any], counts: Sizes
) -> None:
    drawn = (vertex.drawn[0], *counts)
    grown = Growing(node.name or node.outputs[0], drawn, [Line("transfer", vertex)], scope=node.scope)
    grown.symbol, grown.attributes, grown.stage = "downsampling", attributes, Stage.FUNCTION
    t.give(node, _window_shape(value, drawn[0], counts), grown)


def pool(t: Translator, node: Node) -> None:
    """Pooling by windows: the largest, the mean, or the root of squares."""
    value = t.value(node)
    if len(node.outputs) > 1 and node.outputs[1] in t.uses:
        raise NoSymbol("it also gives the places of the largest")
    if len(value.sizes) < 2:
        raise NoSymbol(f"a window does not slide over {t.show(value.shape)}")
    kind = {"MaxPool": "max", "AveragePool": "average", "LpPool": "L2"}[node.operator]
    if kind == "L2" and node.at("p", 2) != 2:
        raise NoSymbol(f"the power {node.at('p')} of its norm is not 2")
    window, stride = _axes(value, node.at("kernel_shape"), 1), _axes(value, node.at("strides"), 1)
    if set(_axes(value, node.at("dilations"), 1)) != {1}:
        raise NoSymbol("its windows have gaps (dilation)")
    before, after = _pads(value, node, window, stride, (1,) * len(window))
    ceil = bool(node.at("ceil_mode"))
    vertex = t.vertex(value, along_line(value.sizes))
    counted = kind == "L2" or (kind == "average" and bool(node.at("count_include_pad", 0)))
    if not counted and _covers_all(vertex.drawn[1:], window, before, after):
        attributes = {} if kind == "max" else {"kind": kind}
        _pooled(t, node, value, vertex, {**attributes, "bins": 1}, (1,) * len(window))
        return
    if before != after:
        vertex, before, ceil = _uneven(t, node, kind, vertex, (window, stride, before, after), ceil)
    if any(2 * p > m for m, p in zip(window, before, strict=True)) or min(*window, *stride) < 1:
        raise NoSymbol(f"a window of {window} by steps of {stride} could lie in the padding {before} alone")
    counts: list[int] = []
    edge = "error"
    for size, m, s, p in zip(vertex.drawn[1:], window, stride, before, strict=True):
        room = size + 2 * p - m
        if room < 0:
            raise NoSymbol(f"a window of {m} is larger than {size}")
        counts.append(room // s + 1)
        if room % s:
            edge = "ceil" if ceil else "floor"
            # The last window must begin inside.
            counts[-1] += ceil and counts[-1] * s < size + p
    attributes: dict[str, Any] = {} if kind == "max" else {"kind": kind}
    attributes["window"] = _same(window)
    if stride != window:
        attributes["stride"] = _same(stride)
    attributes |= _stated(padding=(before, 0))
    if edge != "error":
        attributes["edge"] = edge
    if kind == "average" and not node.at("count_include_pad", 0) and (any(before) or edge == "ceil"):
        attributes["count_padding"] = False
    _pooled(t, node, value, vertex, attributes, tuple(counts))


def _covers_all(sizes: Sizes, window: Sizes, before: Sizes, after: Sizes) -> bool:
    """Tell whether there is one window, which holds all and some of the border."""
    places = zip(sizes, window, before, after, strict=True)
    return any((*before, *after)) and all(m == size + b + e for size, m, b, e in places)


def _uneven(
    t: Translator, node: Node, kind: str, vertex: Growing, places: tuple[Sizes, Sizes, Sizes, Sizes], ceil: bool
) -> tuple[Growing, Sizes, bool]:
    """Find a form for a border that is wider at one end: a smaller last window, or zeros where they count as such."""
    window, stride, before, after = places
    nothing = (0,) * len(window)
    counted = kind == "L2" or (kind == "average" and bool(node.at("count_include_pad", 0)))
    if not counted and not ceil:
        ends = tuple(
            (size + b + e - m) // s + 1
            for size, m, s, b, e in zip(vertex.drawn[1:], window, stride, before, after, strict=True)
        )
        if _smaller_last(vertex.drawn[1:], window, stride, before) == ends:
            return vertex, before, True
    if counted or (vertex.symbol in NOT_NEGATIVE and kind == "max"):
        return _padded(t, vertex, before, after, node.outputs[0]), nothing, ceil
    raise NoSymbol(f"it adds {before} before and {after} behind, which are not zeros for it")


def _smaller_last(sizes: Sizes, window: Sizes, stride: Sizes, padding: Sizes) -> Sizes:
    counts: list[int] = []
    for size, m, s, p in zip(sizes, window, stride, padding, strict=True):
        room = size + 2 * p - m
        count = room // s + 1
        counts.append(count + (room % s > 0 and count * s < size + p))
    return tuple(counts)


def pool_all(t: Translator, node: Node) -> None:
    """Pooling over the whole map, or into so many bins."""
    value = t.value(node)
    if len(value.sizes) < 2:
        raise NoSymbol(f"{t.show(value.shape)} has no positions")
    kind = {"GlobalMaxPool": "max", "GlobalAveragePool": "average", "GlobalLpPool": "L2"}.get(node.operator)
    kind = kind or node.at("kind")
    bins = _axes(value, node.at("bins"), 1)
    vertex = t.vertex(value, along_line(value.sizes))
    if any(n > size for n, size in zip(bins, vertex.drawn[1:], strict=True)):
        raise NoSymbol(f"{vertex.drawn[1:]} does not divide into {bins} bins")
    attributes = {} if kind == "max" else {"kind": kind}
    _pooled(t, node, value, vertex, {**attributes, "bins": _same(bins)}, bins)


REDUCED = {"ReduceMean": "average", "ReduceMax": "max", "ReduceSum": "sum", "ReduceL2": "L2"}


def reduce(t: Translator, node: Node) -> None:
    """A mean, maximum, sum or root of squares over axes: one window as large as they are."""
    value = t.value(node)
    stored = t.constant(node, 1, "list of axes") if len(node.inputs) > 1 and node.inputs[1] else None
    stated = node.at("axes") if stored is None else ints(stored.array())
    count = len(value.shape)
    axes = sorted({axis % count for axis in stated}) if stated else list(range(count))
    if not axes or 0 in axes:
        raise NoSymbol("it goes over the whole batch")
    kept = tuple(1 if i in axes else size for i, size in enumerate(value.shape))
    shape = kept if node.at("keepdims", 1) else tuple(size for i, size in enumerate(value.shape) if i not in axes)
    drawn, window = _reduced(value, axes)
    vertex = t.vertex(value, drawn)
    grown = Growing(node.name or node.outputs[0], (), [Line("transfer", vertex)], scope=node.scope)
    counts = tuple(size // m for size, m in zip(drawn[1:], window, strict=True))
    grown.drawn = (drawn[0], *counts)
    grown.symbol, grown.stage = "downsampling", Stage.FUNCTION
    kind = REDUCED[node.operator]
    grown.attributes = {} if kind == "max" else {"kind": kind}
    whole = all(m == size for m, size in zip(window, drawn[1:], strict=True))
    grown.attributes |= {"bins": 1} if whole else {"window": _same(window)}
    t.give(node, shape, grown)


def _reduced(value: Value, axes: list[int]) -> tuple[Sizes, Sizes]:
    """Give the structure and the window over its positions that stand for axes which lie in a row."""
    sizes = value.sizes
    first, last = axes[0] - 1, axes[-1] - 1
    if axes != list(range(axes[0], axes[-1] + 1)):
        raise NoSymbol(f"its axes {axes} do not lie side by side")
    if first == 1 and last == len(sizes) - 1 and len(sizes) > 2:
        return sizes, sizes[1:]
    before = after = middle = 1
    for i, size in enumerate(sizes):
        before, middle, after = (
            (before * size, middle, after)
            if i < first
            else (before, middle * size, after)
            if i <= last
            else (before, middle, after * size)
        )
    return (before, middle, after), (middle, 1)


def resize(t: Translator, node: Node) -> None:
    """Resizing: the nearest number, or one between neighbours."""
    value = t.value(node)
    sizes = node.at("size")
    if sizes is None:
        sizes = _sizes_of(t, node, value)
    if len(value.sizes) not in (3, 4) or len(sizes) != len(value.sizes) - 1:
        raise NoSymbol("it resizes other axes than positions")
    mode = {"nearest": "nearest", "linear": "linear"}.get(node.at("mode", "nearest"))
    if mode is None or node.at("antialias") or node.at("cubic"):
        raise NoSymbol(f"its mode {node.at('mode')!r} has no symbol")
    how = node.at("coordinate_transformation_mode", "half_pixel")
    attributes: dict[str, Any] = {}
    if mode == "nearest":
        whole = all(new % old == 0 for new, old in zip(sizes, value.sizes[1:], strict=True))
        floored = how == "asymmetric" and node.at("nearest_mode", "round_prefer_floor") == "floor"
        if not floored and not (whole and how in ("half_pixel", "pytorch_half_pixel", "asymmetric")):
            raise NoSymbol(f"the nearest number is found by {how}")
        if how == "asymmetric" and not floored:
            raise NoSymbol("the nearest number is rounded")
    else:
        attributes["mode"] = "linear"
        if how == "align_corners":
            attributes["align"] = True
        elif how not in ("half_pixel", "pytorch_half_pixel"):
            raise NoSymbol(f"places between neighbours are found by {how}")
    vertex = t.vertex(value, value.sizes)
    line = Line("resampling", vertex, {**attributes, "size": _same(tuple(sizes))})
    grown = Growing(node.outputs[0], (value.sizes[0], *sizes), [line], scope=node.scope)
    t.give(node, (value.shape[0], value.sizes[0], *sizes), grown)


def _sizes_of(t: Translator, node: Node, value: Value) -> Sizes:
    """Give the positions that a Resize (scales or sizes, behind a region of interest) or an Upsample states."""
    places = (1,) if node.operator == "Upsample" else (2, 3)
    for place in places:
        if place < len(node.inputs) and node.inputs[place]:
            stored: Constant = t.constant(node, place, "size")
            if not stored.count:
                continue
            array = stored.array()
            stated = node.at("axes")
            if stated or stored.count != len(value.shape):
                raise NoSymbol("it resizes some axes only")
            new = (
                ints(array) if place == 3 else tuple(int(s * float(f)) for s, f in zip(value.shape, array, strict=True))
            )
            if new[1] != value.sizes[0]:
                raise NoSymbol("it resizes the channels")
            return new[2:]
    if node.at("scales"):
        return tuple(int(s * f) for s, f in zip(value.shape, node.at("scales"), strict=True))[2:]
    raise NoSymbol("it states no size")


HANDLERS: dict[str, Handler] = {
    "Conv": convolve,
    "ConvTranspose": deconvolve,
    "MaxPool": pool,
    "AveragePool": pool,
    "LpPool": pool,
    "GlobalAveragePool": pool_all,
    "GlobalMaxPool": pool_all,
    "GlobalLpPool": pool_all,
    "AdaptivePool": pool_all,
    **dict.fromkeys(REDUCED, reduce),
    "Resize": resize,
    "Upsample": resize,
}
