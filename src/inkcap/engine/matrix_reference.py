"""Matrix capsules in plain NumPy, read beside Procedure 1 of Hinton, Sabour and Frosst (2018)."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

Array = NDArray[Any]
Attributes = Mapping[str, Any]


def _matrix_vote(x: Array, w: Array, at: Attributes) -> Array:
    (m, n), (s, t), (p, q) = at["kernel"], at["stride"], at["padding"]
    padded = np.pad(x, ((0, 0), (0, 0), (p, p), (q, q)))
    rows, columns = (padded.shape[2] - m) // s + 1, (padded.shape[3] - n) // t + 1
    children, parents = w.shape[:2]
    types = x.shape[1] // 17
    result = np.zeros((len(x), children, 16 * parents + 1, rows, columns), x.dtype)
    for child, i, j in np.ndindex(children, rows, columns):
        kind, row, column = child // (m * n), i * s + child // n % m, j * t + child % n
        pose = padded[:, 16 * kind : 16 * kind + 16, row, column].reshape(-1, 4, 4)
        for parent in range(parents):
            result[:, child, 16 * parent : 16 * parent + 16, i, j] = (pose @ w[child, parent]).reshape(-1, 16)
        result[:, child, -1, i, j] = padded[:, 16 * types + kind, row, column]
    return result


def _class_vote(x: Array, w: Array) -> Array:
    types, parents = w.shape[:2]
    _, _, rows, columns = x.shape
    result = np.zeros((len(x), types * rows * columns, 16 * parents + 1, 1), x.dtype)
    for child, (kind, row, column) in enumerate(np.ndindex(types, rows, columns)):
        pose = x[:, 16 * kind : 16 * kind + 16, row, column].reshape(-1, 4, 4)
        for parent in range(parents):
            vote = pose @ w[kind, parent]
            vote[:, 0, 3] += (row + 0.5) / rows
            vote[:, 1, 3] += (column + 0.5) / columns
            result[:, child, 16 * parent : 16 * parent + 16, 0] = vote.reshape(-1, 16)
        result[:, child, -1, 0] = x[:, 16 * types + kind, row, column]
    return result


def _maximise(u: Array, r: Array, beta_u: Array, beta_a: Array, inverse: float, epsilon: float) -> tuple[Array, ...]:
    votes, r = _votes(u, len(beta_u)), r * np.maximum(u[:, :, -1:], 0)
    total = np.maximum(r.sum(1), 1e-8)
    mean = np.einsum("bij...,bijh...->bjh...", r, votes) / total[:, :, None]
    spread = np.einsum("bij...,bijh...->bjh...", r, (votes - mean[:, None]) ** 2) / total[:, :, None] + epsilon
    each = (-1, *(1,) * (u.ndim - 2))
    cost = (beta_u.reshape(each) + np.log(np.sqrt(spread))) * total[:, :, None]
    return mean, spread, 1 / (1 + np.exp(-inverse * (beta_a.reshape(each[:-1]) - cost.sum(2))))


def _votes(u: Array, parents: int) -> Array:
    return u[:, :, :-1].reshape(*u.shape[:2], parents, -1, *u.shape[3:])


def _coefficients(u: Array, beta_u: Array, beta_a: Array, at: Attributes) -> Array:
    votes = _votes(u, len(beta_u))
    r = np.full_like(votes[:, :, :, 0], 1 / len(beta_u))
    for inverse in at["inverse_temperatures"]:
        mean, spread, a = _maximise(u, r, beta_u, beta_a, inverse, at["epsilon"])
        squares = (votes - mean[:, None]) ** 2 / (2 * spread[:, None]) + np.log(np.sqrt(2 * np.pi * spread))[:, None]
        # The largest is taken out first: a p of many numbers is too small for floating point.
        log_ap = np.log(a)[:, None] - squares.sum(3)
        ap = np.exp(log_ap - log_ap.max(2, keepdims=True))
        r = ap / ap.sum(2, keepdims=True)
    return r


def _parents(u: Array, r: Array, beta_u: Array, beta_a: Array, at: Attributes) -> Array:
    mean, _, a = _maximise(u, r, beta_u, beta_a, at["inverse_temperature"], at["epsilon"])
    return np.concatenate((mean.reshape(len(u), -1, *u.shape[3:]), a), 1)


MATRIX_REFERENCE: dict[str, Callable[[Sequence[Array], Attributes], Array]] = {
    "matrix_vote": lambda v, at: _matrix_vote(v[0], v[1], at),
    "class_vote": lambda v, at: _class_vote(v[0], v[1]),
    "em_coefficients": lambda v, at: _coefficients(v[0], v[1], v[2], at),
    "em_parents": lambda v, at: _parents(v[0], v[1], v[2], v[3], at),
}
