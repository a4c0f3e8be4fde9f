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

from inkcap.engine import detection, regions, rows, vectors, windows
from inkcap.engine.functions import FUNCTIONS
from inkcap.engine.matrix_capsules import FUSED, recomputed

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
    if per == "item":
        return gradient.flatten(0, -2).sum(0)
    return gradient.sum() if per == "one" else gradient.sum(0)


def _softmax_product(v: Sequence[Tensor], result: Tensor, gradient: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    return (result * (gradient - (gradient * result).sum(at["axis"], keepdim=True)),)


def _flip(x: Tensor, axes: int) -> Tensor:
    return x.flip(tuple(range(-axes, 0)))


def _index(at: Attributes, like: Tensor) -> Tensor:
    return torch.tensor(at["index"], dtype=torch.int64, device=like.device)


def _place(x: Tensor, index: Tensor, size: int) -> Tensor:
    return x.new_zeros((*x.shape[:-1], size)).index_add(-1, index, x)


def _repeat(x: Tensor, at: Attributes) -> Tensor:
    before, after = at["before"], at["after"]
    thin = x.reshape(x.shape[0], *(1,) * len(before), *x.shape[1:], *(1,) * len(after))
    return thin.expand(x.shape[0], *before, *x.shape[1:], *after)


def _repeat_product(v: Sequence[Tensor], result: Tensor, gradient: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    first, last = len(at["before"]), len(at["after"])
    axes = (*range(1, 1 + first), *range(gradient.ndim - last, gradient.ndim))
    return (gradient.sum(axes) if axes else gradient,)


def _largest(x: Tensor) -> Tensor:
    return functional.one_hot(x.argmax(1), x.shape[1]).to(x.dtype)


def _centred(gradient: Tensor, result: Tensor, axes: tuple[int, ...]) -> Tensor:
    # What is standardised over some axes keeps its mean and its length there: changes along the two do not count.
    along = (gradient * result).mean(axes, keepdim=True)
    return gradient - gradient.mean(axes, keepdim=True) - result * along


def _normalise_product(v: Sequence[Tensor], result: Tensor, gradient: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    grouped = [t.reshape(t.shape[0], at["groups"], -1) for t in (v[0], result, gradient)]
    spread = (grouped[0].var(2, correction=0, keepdim=True) + at["epsilon"]).rsqrt()
    return ((spread * _centred(grouped[2], grouped[1], (2,))).reshape(v[0].shape),)


def _over_batch(x: Tensor) -> tuple[int, ...]:
    return (0, *range(2, x.ndim))


def _normalise_batch(v: Sequence[Tensor], at: Attributes) -> Tensor:
    x, mean, variance = v
    if at["training"]:
        return functional.batch_norm(x, None, None, training=True, eps=at["epsilon"])
    mean, variance = _spread(mean, x.ndim, "channel"), _spread(variance, x.ndim, "channel")
    return (x - mean) * (variance + at["epsilon"]).rsqrt()


def _normalise_batch_product(
    v: Sequence[Tensor], result: Tensor, gradient: Tensor, at: Attributes
) -> tuple[Tensor, ...]:
    x, mean, variance = v
    if at["training"]:
        spread = (x.var(_over_batch(x), correction=0, keepdim=True) + at["epsilon"]).rsqrt()
        centred = _centred(gradient, result, _over_batch(x))
        return spread * centred, torch.zeros_like(mean), torch.zeros_like(variance)
    spread = (variance + at["epsilon"]).rsqrt()
    by_x = gradient * _spread(spread, x.ndim, "channel")
    by_variance = -_reduce(gradient * result, "channel") / 2 * spread**2
    return by_x, -_reduce(by_x, "channel"), by_variance


def _moved(v: Sequence[Tensor], at: Attributes, found: Callable[[Tensor], Tensor]) -> Tensor:
    return (1 - at["momentum"]) * v[0] + at["momentum"] * found(v[1]) if at["training"] else v[0]


def _move_mean_product(v: Sequence[Tensor], result: Tensor, gradient: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    state, x = v
    if not at["training"]:
        return gradient, torch.zeros_like(x)
    share = at["momentum"] * state.numel() / x.numel()
    return (1 - at["momentum"]) * gradient, _spread(gradient * share, x.ndim, "channel").expand_as(x)


def _move_variance_product(v: Sequence[Tensor], result: Tensor, gradient: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    state, x = v
    if not at["training"]:
        return gradient, torch.zeros_like(x)
    share = 2 * at["momentum"] / (x.numel() / state.numel() - 1)
    by_x = _spread(gradient * share, x.ndim, "channel") * (x - x.mean(_over_batch(x), keepdim=True))
    return (1 - at["momentum"]) * gradient, by_x


def _random_mask(x: Tensor, at: Attributes) -> Tensor:
    # Drawn by torch's own dropout of ones, so that steps and printed modules draw the same masks from the same seed.
    drop = torch.feature_dropout if at["per"] == "channel" else functional.dropout
    mask = drop(torch.ones_like(x), at["probability"], at["training"])
    return mask if at["inverted"] else mask * (1 - at["probability"])


def _channels_product(v: Sequence[Tensor], result: Tensor, gradient: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    by_x = torch.zeros_like(v[0])
    by_x.narrow(1, at["first"], at["count"]).copy_(gradient)
    return (by_x,)


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
    "matmul": TorchOperation(
        lambda v, at: functional.linear(v[1], v[0]),
        lambda v, y, g, at: (g.flatten(0, -2).T @ v[1].flatten(0, -2), g @ v[0]),
    ),
    "flip": TorchOperation(lambda v, at: _flip(v[0], at["axes"]), lambda v, y, g, at: (_flip(g, at["axes"]),)),
    **{name: TorchOperation(*calls) for name, calls in windows.CALLS.items()},
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
    "step": TorchOperation(
        lambda v, at: (v[0] >= at["threshold"]).to(v[0].dtype), lambda v, y, g, at: (torch.zeros_like(g),)
    ),
    "softmax": TorchOperation(lambda v, at: functional.softmax(v[0], dim=at["axis"]), _softmax_product),
    "same": TorchOperation(lambda v, at: v[0], lambda v, y, g, at: (g,)),
    "cast": TorchOperation(lambda v, at: v[0].to(torch_dtype(at["dtype"])), lambda v, y, g, at: (g.to(v[0].dtype),)),
    "multiply": TorchOperation(lambda v, at: v[0] * v[1], lambda v, y, g, at: (g * v[1], g * v[0])),
    "concatenate": TorchOperation(
        lambda v, at: torch.cat(list(v), 1 + at["axis"]),
        lambda v, y, g, at: torch.split(g, [part.shape[1 + at["axis"]] for part in v], 1 + at["axis"]),
    ),
    "repeat": TorchOperation(lambda v, at: _repeat(v[0], at), _repeat_product),
    "largest": TorchOperation(lambda v, at: _largest(v[0]), lambda v, y, g, at: (torch.zeros_like(v[0]),)),
    "normalise": TorchOperation(
        lambda v, at: functional.group_norm(v[0], at["groups"], eps=at["epsilon"]), _normalise_product
    ),
    "normalise_batch": TorchOperation(_normalise_batch, _normalise_batch_product),
    "move_mean": TorchOperation(lambda v, at: _moved(v, at, lambda x: x.mean(_over_batch(x))), _move_mean_product),
    "move_variance": TorchOperation(
        lambda v, at: _moved(v, at, lambda x: x.var(_over_batch(x))), _move_variance_product
    ),
    "random_mask": TorchOperation(lambda v, at: _random_mask(v[0], at), lambda v, y, g, at: (torch.zeros_like(v[0]),)),
    "transpose": TorchOperation(lambda v, at: v[0].mT, lambda v, y, g, at: (g.mT,)),
    "norm": TorchOperation(
        lambda v, at: vectors.vector_length(v[0], at["axes"]).squeeze(at["axes"]),
        lambda v, y, g, at: (vectors.length_product(v[0], g, at["axes"]),),
    ),
    "squash": TorchOperation(
        lambda v, at: vectors.squash_vectors(v[0]), lambda v, y, g, at: (vectors.squash_product(v[0], g),)
    ),
    "vote": TorchOperation(lambda v, at: vectors.vote(*v), lambda v, y, g, at: vectors.vote_product(v[0], v[1], g)),
    "couple": TorchOperation(
        lambda v, at: vectors.couple_votes(v[0], at["iterations"], at["axis"], *(bias[0] for bias in v[1:])),
        lambda v, y, g, at: vectors.couple_product(v, y, g, at["iterations"], at["axis"]),
    ),
    "combine": TorchOperation(
        lambda v, at: vectors.combine(*v), lambda v, y, g, at: vectors.combine_product(v[0], v[1], g)
    ),
    "otherwise": TorchOperation(
        lambda v, at: vectors.otherwise(*v), lambda v, y, g, at: vectors.otherwise_product(v, g)
    ),
    "channels": TorchOperation(
        lambda v, at: v[0].narrow(1, at["first"], at["count"]),
        _channels_product,
    ),
    **{
        name: TorchOperation(*both)
        for calls in (FUNCTIONS, rows.CALLS, detection.CALLS, regions.CALLS)
        for name, both in calls.items()
    },
    **{name: TorchOperation(compute, recomputed(compute)) for name, compute in FUSED.items()},
}
