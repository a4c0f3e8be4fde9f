"""What slides over two or three axes, on torch: convolutions and windows, and the ways back.

``root`` and ``convolve_local`` are printed into modules as they stand here, so they name nothing but torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

from inkcap.engine.matrix_capsules import recomputed

Attributes = Mapping[str, Any]
Compute = Callable[[Sequence[Tensor], Attributes], Tensor]
Product = Callable[[Sequence[Tensor], Tensor, Tensor, Attributes], tuple[Tensor, ...]]

_aten = torch.ops.aten


def root(x: Tensor) -> Tensor:
    """Square root; where x is zero its slope is zero too, not infinite."""
    positive = x > 0
    return torch.where(positive, x, 1).sqrt() * positive


def _root_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    return (torch.where(y > 0, g / (2 * torch.where(y > 0, y, 1)), 0),)


def _convolve(v: Sequence[Tensor], at: Attributes) -> Tensor:
    call = functional.conv3d if v[0].ndim == 5 else functional.conv2d
    return call(v[0], v[1], None, at["stride"], at["padding"], at["dilation"], at["groups"])


def _convolve_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    stride, padding, dilation = (list(at[name]) for name in ("stride", "padding", "dilation"))
    geometry = (stride, padding, dilation, False, [0] * len(stride), at["groups"])
    by_x, by_w, _ = _aten.convolution_backward(g, v[0], v[1], None, *geometry, [True, True, False])
    return by_x, by_w


def _deconvolve(v: Sequence[Tensor], at: Attributes) -> Tensor:
    call = functional.conv_transpose3d if v[0].ndim == 5 else functional.conv_transpose2d
    return call(v[0], v[1], None, at["stride"], at["padding"], at["output_padding"], at["groups"], at["dilation"])


def _deconvolve_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    stride, padding, dilation, back = (list(at[name]) for name in ("stride", "padding", "dilation", "output_padding"))
    geometry = (stride, padding, dilation, True, back, at["groups"])
    by_x, by_w, _ = _aten.convolution_backward(g, v[0], v[1], None, *geometry, [True, True, False])
    return by_x, by_w


def convolve_local(
    x: Tensor, weight: Tensor, stride: tuple[int, int], padding: tuple[int, int], dilation: tuple[int, int]
) -> Tensor:
    """Weigh every position by its own kernel; the weight goes kernel, channel, row, column, position."""
    kernel, positions = weight.shape[2:4], weight.shape[4:]
    patches = torch.nn.functional.unfold(x, kernel, dilation, padding, stride)
    made = torch.einsum("bcl,kcl->bkl", patches, weight.flatten(1, 3).flatten(2))
    return made.reshape(x.shape[0], -1, *positions)


def _local(v: Sequence[Tensor], at: Attributes) -> Tensor:
    return convolve_local(v[0], v[1], at["stride"], at["padding"], at["dilation"])


def _resample(v: Sequence[Tensor], at: Attributes) -> Tensor:
    if at["mode"] == "nearest":
        return functional.interpolate(v[0], at["size"], mode="nearest")
    mode = "trilinear" if v[0].ndim == 5 else "bilinear"
    return functional.interpolate(v[0], at["size"], mode=mode, align_corners=at["align"])


def _axes(order: Sequence[int]) -> list[int]:
    return [0, *(axis + 1 for axis in order)]


def _permute_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    order = _axes(at["order"])
    return (g.permute([order.index(axis) for axis in range(len(order))]),)


def _max(x: Tensor, at: Attributes) -> tuple[Tensor, Tensor]:
    call = functional.max_pool3d_with_indices if x.ndim == 5 else functional.max_pool2d_with_indices
    made: tuple[Tensor, Tensor] = call(x, at["window"], at["stride"], at["padding"], ceil_mode=at["edge"] == "ceil")
    return made


def _bins_max(x: Tensor, at: Attributes) -> tuple[Tensor, Tensor]:
    call = functional.adaptive_max_pool3d_with_indices if x.ndim == 5 else functional.adaptive_max_pool2d_with_indices
    made: tuple[Tensor, Tensor] = call(x, at["bins"])
    return made


def _to_chosen(x: Tensor, chosen: Tensor, gradient: Tensor) -> tuple[Tensor, ...]:
    flat = torch.zeros_like(x).flatten(2)
    return (flat.scatter_add(2, chosen.flatten(2), gradient.flatten(2)).reshape(x.shape),)


def _mean_places(at: Attributes) -> tuple[Any, ...]:
    # Without the attribute it is a sum: the mean whose divisor is one.
    window, stride, padding = (list(at[name]) for name in ("window", "stride", "padding"))
    counts = at.get("count_padding", True)
    return window, stride, padding, at["edge"] == "ceil", counts, None if "count_padding" in at else 1


def _mean(v: Sequence[Tensor], at: Attributes) -> Tensor:
    call = functional.avg_pool3d if v[0].ndim == 5 else functional.avg_pool2d
    return call(v[0], *_mean_places(at))


def _mean_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    call = _aten.avg_pool3d_backward if v[0].ndim == 5 else _aten.avg_pool2d_backward
    return (call(g.contiguous(), v[0], *_mean_places(at)),)


def _bins_mean(v: Sequence[Tensor], at: Attributes) -> Tensor:
    call = functional.adaptive_avg_pool3d if v[0].ndim == 5 else functional.adaptive_avg_pool2d
    return call(v[0], at["bins"])


def _bins_mean_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    call = _aten._adaptive_avg_pool3d_backward if v[0].ndim == 5 else _aten._adaptive_avg_pool2d_backward
    return (call(g.contiguous(), v[0]),)


def _spans(at: Attributes) -> tuple[slice, ...]:
    axes = zip(at["first"], at["sizes"], strict=True)
    return (slice(None), *(slice(None) if size is None else slice(first, first + size) for first, size in axes))


def _block_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    by_x = torch.zeros_like(v[0])
    by_x[_spans(at)] = g
    return (by_x,)


def _pad(x: Tensor, at: Attributes) -> Tensor:
    # torch pads the last axis first.
    borders = reversed(list(zip(at["before"], at["after"], strict=True)))
    return functional.pad(x, [border for pair in borders for border in pair])


def _pad_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    return (g[_spans({"first": at["before"], "sizes": v[0].shape[1:]})],)


def _place_kernels(w: Tensor, at: Attributes) -> Tensor:
    kernels, channels = at["kernels"], at["channels"]
    index = torch.tensor(at["index"], dtype=torch.int64, device=w.device)
    whole = w.new_zeros((kernels * channels, *w.shape[1:])).index_copy(0, index, w)
    return whole.reshape(kernels, channels, *w.shape[1:])


def _difference_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    axis: int = at["axis"]
    by_x = torch.zeros_like(v[0])
    by_x.narrow(axis, at["apart"], g.shape[axis]).copy_(g)
    by_x.narrow(axis, 0, g.shape[axis]).sub_(g)
    return (by_x,)


def _difference(x: Tensor, at: Attributes) -> Tensor:
    axis: int = at["axis"]
    apart: int = at["apart"]
    count = x.shape[axis] - apart
    return x.narrow(axis, apart, count) - x.narrow(axis, 0, count)


PRINTED: dict[str, tuple[Callable[..., Tensor], ...]] = {"root": (root,), "convolve_local": (convolve_local,)}
"""The functions that the printed form of an operation calls."""

CALLS: dict[str, tuple[Compute, Product]] = {
    "convolve": (_convolve, _convolve_product),
    "deconvolve": (_deconvolve, _deconvolve_product),
    "convolve_local": (_local, recomputed(_local)),
    "resample": (_resample, recomputed(_resample)),
    "permute": (lambda v, at: v[0].permute(_axes(at["order"])), _permute_product),
    "window_max": (lambda v, at: _max(v[0], at)[0], lambda v, y, g, at: _to_chosen(v[0], _max(v[0], at)[1], g)),
    "window_sum": (_mean, _mean_product),
    "window_mean": (_mean, _mean_product),
    "bins_max": (
        lambda v, at: _bins_max(v[0], at)[0],
        lambda v, y, g, at: _to_chosen(v[0], _bins_max(v[0], at)[1], g),
    ),
    "bins_mean": (_bins_mean, _bins_mean_product),
    "block": (lambda v, at: v[0][_spans(at)], _block_product),
    "pad": (lambda v, at: _pad(v[0], at), _pad_product),
    "place_kernels": (
        lambda v, at: _place_kernels(v[0], at),
        lambda v, y, g, at: (g.flatten(0, 1)[list(at["index"])],),
    ),
    "difference": (lambda v, at: _difference(v[0], at), _difference_product),
    "root": (lambda v, at: root(v[0]), _root_product),
}
"""The call of each operation, and its vector-Jacobian product."""
