"""Every operation on torch: its call and its vector-Jacobian product.

Values that depend on data have a batch axis in front; weights have none. A product is given the arguments, the
result and the gradient of the loss by the result, and gives the gradient by every argument.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional

Attributes = Mapping[str, Any]
Compute = Callable[[Sequence[Tensor], Attributes], Tensor]
Product = Callable[[Sequence[Tensor], Tensor, Tensor, Attributes], tuple[Tensor, ...]]


@dataclass(frozen=True)
class TorchOperation:
    """How torch computes an operation, and how its gradient goes back."""

    compute: Compute
    product: Product


def _spread(weight: Tensor, rank: int, per: str) -> Tensor:
    return weight.reshape(-1, *(1,) * (rank - 2)) if per == "channel" else weight


def _reduce(gradient: Tensor, per: str) -> Tensor:
    # A shared number sums over all that share it: the batch, and the positions or elements.
    if per == "channel":
        return gradient.sum((0, *range(2, gradient.ndim)))
    return gradient.sum() if per == "one" else gradient.sum(0)


def _convolve(v: Sequence[Tensor], at: Attributes) -> Tensor:
    return functional.conv2d(v[0], v[1], None, at["stride"], at["padding"], at["dilation"], at["groups"])


def _convolve_product(v: Sequence[Tensor], result: Tensor, gradient: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    geometry = (list(at["stride"]), list(at["padding"]), list(at["dilation"]), False, [0, 0], at["groups"])
    by_x, by_w, _ = torch.ops.aten.convolution_backward(gradient, v[0], v[1], None, *geometry, [True, True, False])
    return by_x, by_w


def _pool(x: Tensor, at: Attributes) -> tuple[Tensor, Tensor]:
    pooled: tuple[Tensor, Tensor] = functional.max_pool2d_with_indices(
        x, at["window"], at["stride"], at["padding"], ceil_mode=at["edge"] == "ceil"
    )
    return pooled


def _window_max_product(v: Sequence[Tensor], result: Tensor, gradient: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    x = v[0]
    _, chosen = _pool(x, at)
    flat = torch.zeros_like(x).flatten(2)
    return (flat.scatter_add(2, chosen.flatten(2), gradient.flatten(2)).reshape(x.shape),)


def _softmax_product(v: Sequence[Tensor], result: Tensor, gradient: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    return (result * (gradient - (gradient * result).sum(at["axis"], keepdim=True)),)


def _flip(x: Tensor, axes: int) -> Tensor:
    return x.flip(tuple(range(-axes, 0)))


def _index(at: Attributes, like: Tensor) -> Tensor:
    return torch.tensor(at["index"], dtype=torch.int64, device=like.device)


def _place(x: Tensor, index: Tensor, size: int) -> Tensor:
    return x.new_zeros((*x.shape[:-1], size)).index_add(-1, index, x)


def torch_dtype(name: str) -> torch.dtype:
    """Give torch's own data type of a name."""
    return getattr(torch, name)


TORCH: dict[str, TorchOperation] = {
    "add": TorchOperation(lambda v, at: v[0] + v[1], lambda v, y, g, at: (g, g)),
    "bias": TorchOperation(
        lambda v, at: v[0] + _spread(v[1], v[0].ndim, at["per"]),
        lambda v, y, g, at: (g, _reduce(g, at["per"])),
    ),
    "scale": TorchOperation(
        lambda v, at: v[0] * _spread(v[1], v[0].ndim, at["per"]),
        lambda v, y, g, at: (g * _spread(v[1], v[0].ndim, at["per"]), _reduce(g * v[0], at["per"])),
    ),
    "matmul": TorchOperation(lambda v, at: functional.linear(v[1], v[0]), lambda v, y, g, at: (g.T @ v[1], g @ v[0])),
    "convolve": TorchOperation(_convolve, _convolve_product),
    "flip": TorchOperation(lambda v, at: _flip(v[0], at["axes"]), lambda v, y, g, at: (_flip(g, at["axes"]),)),
    "window_max": TorchOperation(lambda v, at: _pool(v[0], at)[0], _window_max_product),
    "reshape": TorchOperation(
        lambda v, at: v[0].reshape(v[0].shape[0], *at["shape"]), lambda v, y, g, at: (g.reshape(v[0].shape),)
    ),
    "take": TorchOperation(
        lambda v, at: v[0][..., _index(at, v[0])],
        lambda v, y, g, at: (_place(g, _index(at, g), v[0].shape[-1]),),
    ),
    "place": TorchOperation(
        lambda v, at: _place(v[0], _index(at, v[0]), at["size"]),
        lambda v, y, g, at: (g[..., _index(at, g)],),
    ),
    "relu": TorchOperation(lambda v, at: functional.relu(v[0]), lambda v, y, g, at: (g * (v[0] > 0),)),
    "sigmoid": TorchOperation(lambda v, at: torch.sigmoid(v[0]), lambda v, y, g, at: (g * y * (1 - y),)),
    "tanh": TorchOperation(lambda v, at: torch.tanh(v[0]), lambda v, y, g, at: (g * (1 - y * y),)),
    "step": TorchOperation(lambda v, at: (v[0] >= 0).to(v[0].dtype), lambda v, y, g, at: (torch.zeros_like(g),)),
    "softmax": TorchOperation(lambda v, at: functional.softmax(v[0], dim=at["axis"]), _softmax_product),
    "same": TorchOperation(lambda v, at: v[0], lambda v, y, g, at: (g,)),
    "cast": TorchOperation(lambda v, at: v[0].to(torch_dtype(at["dtype"])), lambda v, y, g, at: (g.to(v[0].dtype),)),
}
