"""What slides over two or three axes, in plain NumPy: every position of a kernel or a window is visited."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import product
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Attributes = Mapping[str, Any]
Span = tuple[int, int]


def _convolve(x: Array, w: Array, at: Attributes) -> Array:
    stride, dilation = at["stride"], at["dilation"]
    padded = np.pad(x, ((0, 0), (0, 0), *((p, p) for p in at["padding"])))
    kernels, depth, *kernel = w.shape
    axes = zip(padded.shape[2:], kernel, stride, dilation, strict=True)
    counts = [(size - d * (m - 1) - 1) // s + 1 for size, m, s, d in axes]
    result = np.zeros((x.shape[0], kernels, *counts), x.dtype)
    for k in range(kernels):
        first = k // (kernels // at["groups"]) * depth
        for place in product(*map(range, counts)):
            under = tuple(
                slice(i * s, i * s + d * (m - 1) + 1, d)
                for i, s, d, m in zip(place, stride, dilation, kernel, strict=True)
            )
            block = padded[(slice(None), slice(first, first + depth), *under)]
            result[(slice(None), k, *place)] = (block * w[k]).sum(tuple(range(1, block.ndim)))
    return result


def _begins(size: int, window: int, stride: int, padding: int, edge: str) -> list[int]:
    """Give where windows begin, the data at 0."""
    end = size + padding
    begins = range(-padding, end, stride)
    whole = [begin for begin in begins if begin + window <= end]
    rest = [begin for begin in begins if begin + window > end and begin < size]
    # Where the whole windows leave something over, one more may begin inside.
    left = whole[-1] + window < end if whole else True
    return [*whole, *(rest[:1] if edge == "ceil" and left else [])]


def _windows(x: Array, at: Attributes) -> tuple[list[int], Iterator[tuple[tuple[int, ...], tuple[Span, ...]]]]:
    """Give the counts of windows, and each window's place with its spans, which may reach beyond the data."""
    begins = [
        _begins(size, m, s, p, at["edge"])
        for size, m, s, p in zip(x.shape[2:], at["window"], at["stride"], at["padding"], strict=True)
    ]
    counts = [len(axis) for axis in begins]
    places = product(*map(range, counts))
    spans = (tuple((b[i], b[i] + m) for b, i, m in zip(begins, p, at["window"], strict=True)) for p in places)
    return counts, zip(product(*map(range, counts)), spans, strict=True)


def _by_window(x: Array, at: Attributes, found: Callable[[Array, tuple[Span, ...]], Array]) -> Array:
    counts, windows = _windows(x, at)
    result = np.empty((*x.shape[:2], *counts), x.dtype)
    for place, spans in windows:
        result[(..., *place)] = found(_inside(x, spans), spans)
    return result


def _inside(x: Array, spans: Sequence[Span]) -> Array:
    return x[(..., *(slice(max(begin, 0), end) for begin, end in spans))]


def _over(block: Array) -> tuple[int, ...]:
    return tuple(range(2, block.ndim))


def _window_mean(x: Array, at: Attributes) -> Array:
    def mean(block: Array, spans: Sequence[Span]) -> Array:
        # A window that reaches beyond the padding counts only what lies in it.
        ends = zip(spans, x.shape[2:], at["padding"], strict=True)
        size = np.prod([min(end, length + p) - begin for (begin, end), length, p in ends])
        count = size if at["count_padding"] else np.prod(block.shape[2:])
        return block.sum(_over(block)) / count

    return _by_window(x, at, mean)


def _by_bins(x: Array, bins: Sequence[int], found: Callable[[Array], Array]) -> Array:
    result = np.empty((*x.shape[:2], *bins), x.dtype)
    for place in product(*map(range, bins)):
        axes = zip(place, bins, x.shape[2:], strict=True)
        result[(..., *place)] = found(_inside(x, [(i * a // n, -(-(i + 1) * a // n)) for i, n, a in axes]))
    return result


def _block(x: Array, at: Attributes) -> Array:
    axes = zip(x.shape[1:], at["first"], at["sizes"], strict=True)
    return x[(slice(None), *(slice(first, length if size is None else first + size) for length, first, size in axes))]


def _deconvolve(x: Array, w: Array, at: Attributes) -> Array:
    _, each, *kernel = w.shape
    groups, stride, dilation = at["groups"], at["stride"], at["dilation"]
    axes = zip(x.shape[2:], kernel, stride, dilation, at["output_padding"], strict=True)
    wide = [(size - 1) * s + d * (m - 1) + o + 1 for size, m, s, d, o in axes]
    result = np.zeros((x.shape[0], each * groups, *wide), x.dtype)
    for c, place in product(range(x.shape[1]), product(*map(range, x.shape[2:]))):
        first = c // (x.shape[1] // groups) * each
        under = tuple(
            slice(i * s, i * s + d * (m - 1) + 1, d) for i, s, d, m in zip(place, stride, dilation, kernel, strict=True)
        )
        number = x[(slice(None), c, *place)].reshape(-1, *(1,) * (1 + len(kernel)))
        result[(slice(None), slice(first, first + each), *under)] += number * w[c]
    inner = (slice(p, size - p) for p, size in zip(at["padding"], wide, strict=True))
    return result[(..., *inner)]


def _local(x: Array, w: Array, at: Attributes) -> Array:
    result = np.zeros((x.shape[0], w.shape[0], *w.shape[4:]), x.dtype)
    for place in product(*map(range, w.shape[4:])):
        result[(..., *place)] = _convolve(x, w[(..., *place)], {**at, "groups": 1})[(..., *place)]
    return result


def _resample(x: Array, at: Attributes) -> Array:
    for axis, count in enumerate(at["size"], start=2):
        x = _along(x, axis, int(count), at)
    return x


def _along(x: Array, axis: int, count: int, at: Attributes) -> Array:
    size = int(x.shape[axis])
    i: Array = np.arange(count)
    if at["mode"] == "nearest":
        return np.take(x, i * size // count, axis)
    place: Array = i * (size - 1) / max(count - 1, 1) if at["align"] else (i + 0.5) * size / count - 0.5
    place = np.clip(place, 0, size - 1)
    low: Array = np.floor(place).astype(int)
    share = (place - low).reshape(-1, *(1,) * (x.ndim - axis - 1))
    return np.take(x, low, axis) * (1 - share) + np.take(x, np.minimum(low + 1, size - 1), axis) * share


def _place_kernels(w: Array, at: Attributes) -> Array:
    result = np.zeros((at["kernels"], at["channels"], *w.shape[1:]), w.dtype)
    for kernel, pair in zip(w, at["index"], strict=True):
        result[divmod(pair, at["channels"])] = kernel
    return result


def _difference(x: Array, axis: int, apart: int) -> Array:
    places: Array = np.arange(int(x.shape[axis]) - apart)
    return np.take(x, places + apart, axis) - np.take(x, places, axis)


WINDOW_REFERENCE: dict[str, Callable[[Sequence[Array], Attributes], Array]] = {
    "convolve": lambda v, at: _convolve(v[0], v[1], at),
    "deconvolve": lambda v, at: _deconvolve(v[0], v[1], at),
    "convolve_local": lambda v, at: _local(v[0], v[1], at),
    "resample": lambda v, at: _resample(v[0], at),
    "permute": lambda v, at: v[0].transpose(0, *(axis + 1 for axis in at["order"])),
    "window_max": lambda v, at: _by_window(v[0], at, lambda block, _: block.max(_over(block))),
    "window_sum": lambda v, at: _by_window(v[0], at, lambda block, _: block.sum(_over(block))),
    "window_mean": lambda v, at: _window_mean(v[0], at),
    "bins_max": lambda v, at: _by_bins(v[0], at["bins"], lambda block: block.max(_over(block))),
    "bins_mean": lambda v, at: _by_bins(v[0], at["bins"], lambda block: block.mean(_over(block))),
    "block": lambda v, at: _block(v[0], at),
    "pad": lambda v, at: np.pad(v[0], ((0, 0), *zip(at["before"], at["after"], strict=True))),
    "place_kernels": lambda v, at: _place_kernels(v[0], at),
    "difference": lambda v, at: _difference(v[0], at["axis"], at["apart"]),
    "root": lambda v, at: np.sqrt(v[0]),
}
