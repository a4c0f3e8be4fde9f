"""Every operation in plain NumPy: slow, short, and read beside the formula. The suite holds torch against it."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from inkcap.engine.detection import BOX_REFERENCE
from inkcap.engine.functions import FUNCTIONS_REFERENCE
from inkcap.engine.matrix_reference import MATRIX_REFERENCE
from inkcap.engine.regions import REGION_REFERENCE
from inkcap.engine.rows import ROWS_REFERENCE
from inkcap.engine.window_reference import WINDOW_REFERENCE

Array = NDArray[Any]
Attributes = Mapping[str, Any]


def _spread(w: Array, rank: int, per: str) -> Array:
    return w.reshape(-1, *(1,) * (rank - 2)) if per == "channel" else w


def _place(x: Array, at: Attributes) -> Array:
    result = np.zeros((*x.shape[:-1], at["size"]), x.dtype)
    for number, place in enumerate(at["index"]):
        result[..., place] += x[..., number]
    return result


def _softmax(x: Array, axis: int) -> Array:
    powers = np.exp(x - x.max(axis, keepdims=True))
    return powers / powers.sum(axis, keepdims=True)


def _repeat(x: Array, at: Attributes) -> Array:
    before, after = at["before"], at["after"]
    thin = x.reshape(x.shape[0], *(1,) * len(before), *x.shape[1:], *(1,) * len(after))
    return np.tile(thin, (1, *before, *(1,) * (x.ndim - 1), *after))


def _standard(x: Array, epsilon: float, axes: tuple[int, ...]) -> Array:
    mean = x.mean(axes, keepdims=True)
    return (x - mean) / np.sqrt(((x - mean) ** 2).mean(axes, keepdims=True) + epsilon)


def _normalise_batch(x: Array, mean: Array, variance: Array, at: Attributes) -> Array:
    if at["training"]:
        return _standard(x, at["epsilon"], _over_batch(x))
    return (x - _spread(mean, x.ndim, "channel")) / np.sqrt(_spread(variance, x.ndim, "channel") + at["epsilon"])


def _over_batch(x: Array) -> tuple[int, ...]:
    return (0, *range(2, x.ndim))


def _move(v: Sequence[Array], at: Attributes, found: Callable[[Array], Array]) -> Array:
    return (1 - at["momentum"]) * v[0] + at["momentum"] * found(v[1]) if at["training"] else v[0]


def _random_mask(x: Array, at: Attributes) -> Array:
    p = at["probability"]
    if not at["training"]:
        return np.full_like(x, 1 if at["inverted"] else 1 - p)
    shape = (*x.shape[:2], *(1,) * (x.ndim - 2)) if at["per"] == "channel" else x.shape
    kept = np.broadcast_to(np.random.default_rng().random(shape) >= p, x.shape)
    return kept / (1 - p if at["inverted"] else 1) * np.ones_like(x)


def _squash(s: Array) -> Array:
    length = np.sqrt((s**2).sum(-1, keepdims=True))
    return s * length / (1 + length**2)


def _couple(votes: Array, at: Attributes, bias: Array | float = 0.0) -> Array:
    logits = np.zeros(votes.shape[:-1], votes.dtype)
    for _ in range(at["iterations"] - 1):
        parents = _squash(np.einsum("zij,zijb->zjb", _softmax(logits, at["axis"]), votes) + bias)
        logits = logits + np.einsum("zijb,zjb->zij", votes, parents)
    return _softmax(logits, at["axis"])


REFERENCE: dict[str, Callable[[Sequence[Array], Attributes], Array]] = {
    "add": lambda v, at: v[0] + v[1],
    "bias": lambda v, at: v[0] + _spread(v[1], v[0].ndim, at["per"]),
    "scale": lambda v, at: v[0] * _spread(v[1], v[0].ndim, at["per"]),
    "matmul": lambda v, at: np.einsum("mn,...n->...m", v[0], v[1]),
    "flip": lambda v, at: np.flip(v[0], tuple(range(-at["axes"], 0))),
    "reshape": lambda v, at: v[0].reshape(v[0].shape[0], *at["shape"]),
    "take": lambda v, at: np.take(v[0], np.array(at["index"], np.int64), -1),
    "place": lambda v, at: _place(v[0], at),
    "relu": lambda v, at: np.maximum(v[0], 0),
    "sigmoid": lambda v, at: 1 / (1 + np.exp(-v[0])),
    "tanh": lambda v, at: np.tanh(v[0]),
    "step": lambda v, at: (v[0] >= at["threshold"]).astype(v[0].dtype),
    "softmax": lambda v, at: _softmax(v[0], at["axis"]),
    "same": lambda v, at: v[0],
    "cast": lambda v, at: v[0].astype(at["dtype"]),
    "multiply": lambda v, at: v[0] * v[1],
    "concatenate": lambda v, at: np.concatenate(v, 1 + at["axis"]),
    "repeat": lambda v, at: _repeat(v[0], at),
    "largest": lambda v, at: np.eye(v[0].shape[1], dtype=v[0].dtype)[v[0].argmax(1)],
    "normalise": lambda v, at: _standard(v[0].reshape(v[0].shape[0], at["groups"], -1), at["epsilon"], (2,)).reshape(
        v[0].shape
    ),
    "normalise_batch": lambda v, at: _normalise_batch(v[0], v[1], v[2], at),
    "move_mean": lambda v, at: _move(v, at, lambda x: x.mean(_over_batch(x))),
    "move_variance": lambda v, at: _move(v, at, lambda x: x.var(_over_batch(x), ddof=1)),
    "random_mask": lambda v, at: _random_mask(v[0], at),
    "transpose": lambda v, at: np.swapaxes(v[0], -1, -2),
    "norm": lambda v, at: np.sqrt((v[0] ** 2).sum(at["axes"])),
    "squash": lambda v, at: _squash(v[0]),
    "vote": lambda v, at: np.einsum(
        "ijba,zia->zijb", np.broadcast_to(v[0], (v[1].shape[2], *v[0].shape[1:])), v[1][:, 0]
    ),
    "couple": lambda v, at: _couple(v[0], at, *v[1:]),
    "combine": lambda v, at: np.einsum("zij,zijb->zjb", v[0], v[1])[:, None],
    "otherwise": lambda v, at: np.where((v[0] != 0).any(-1, keepdims=True), v[0], v[1]),
    "channels": lambda v, at: v[0][:, at["first"] : at["first"] + at["count"]],
    **FUNCTIONS_REFERENCE,
    **ROWS_REFERENCE,
    **BOX_REFERENCE,
    **REGION_REFERENCE,
    **WINDOW_REFERENCE,
    **MATRIX_REFERENCE,
}
