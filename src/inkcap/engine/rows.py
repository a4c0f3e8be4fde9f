"""Rows on torch: picked from a table, laid before others, numbered, attended to; with products, references and forms.

``lay_before``, ``add_positions`` and ``attend`` are printed into modules as they stand here, so they name nothing but
torch.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - printed modules call it so

from inkcap.engine.printed import Printed
from inkcap.operations import Step

Array = NDArray[Any]
Attributes = Mapping[str, Any]
Compute = Callable[[Sequence[Tensor], Attributes], Tensor]
Product = Callable[[Sequence[Tensor], Tensor, Tensor, Attributes], tuple[Tensor, ...]]


def lay_before(x: Tensor, rows: Tensor) -> Tensor:
    """Lay the same rows before those of every sample."""
    return torch.cat((rows.expand(x.shape[0], -1, -1, -1), x), 2)


def add_positions(x: Tensor, base: float) -> Tensor:
    """Add to every row sines and cosines of its number, in waves from 2π to almost 2π·base."""
    wide = torch.promote_types(x.dtype, torch.float32)
    rows, numbers = (torch.arange(size, dtype=wide, device=x.device) for size in x.shape[-2:])
    angles = rows[:, None] * base ** (-(numbers - numbers % 2) / x.shape[-1])
    return x + torch.where(numbers % 2 == 0, angles.sin(), angles.cos()).to(x.dtype)


def attend(q: Tensor, k: Tensor, v: Tensor, heads: int, causal: bool) -> Tensor:
    """Mix the rows of v for every row of q, by how much it meets those of k, head by head."""
    q, k, v = (x.reshape(x.shape[0], x.shape[2], heads, -1).transpose(1, 2) for x in (q, k, v))
    return F.scaled_dot_product_attention(q, k, v, is_causal=causal).transpose(1, 2).flatten(2)[:, None]


PRINTED = {"lay_before": (lay_before,), "add_positions": (add_positions,), "attend": (attend,)}
"""The functions that the printed form of an operation calls."""


def _embed_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    table, chosen = v
    by_table = torch.zeros_like(table).index_add(0, chosen.flatten(), g.flatten(0, -2))
    return by_table, torch.zeros_like(chosen)


def _lay_before_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    count = v[1].shape[1]
    return g[:, :, count:], g[:, :, :count].sum(0)


def _split(x: Tensor, heads: int) -> Tensor:
    return x.reshape(x.shape[0], x.shape[2], heads, -1).transpose(1, 2)


def _joined(x: Tensor) -> Tensor:
    return x.transpose(1, 2).flatten(2)[:, None]


def _attend_product(v: Sequence[Tensor], y: Tensor, g: Tensor, at: Attributes) -> tuple[Tensor, ...]:
    q, k, values, made, slope = (_split(x, at["heads"]) for x in (*v, y, g))
    scale = q.shape[-1] ** -0.5
    shares = (q @ k.mT).mul_(scale)
    if at["causal"]:
        hidden = torch.ones(shares.shape[-2:], dtype=torch.bool, device=g.device).triu(1)
        shares = shares.masked_fill_(hidden, -torch.inf)
    shares = shares.softmax(-1)
    # Σ ∂L/∂share · share over a row is what the slope and the result of the row have in common.
    common = (slope * made).sum(-1, keepdim=True)
    by_scores = (slope @ values.mT).sub_(common).mul_(shares).mul_(scale)
    return _joined(by_scores @ k), _joined(by_scores.mT @ q), _joined(shares.mT @ slope)


CALLS: dict[str, tuple[Compute, Product]] = {
    "embed": (lambda v, at: F.embedding(v[1], v[0]), _embed_product),
    "lay_before": (lambda v, at: lay_before(*v), _lay_before_product),
    "add_positions": (lambda v, at: add_positions(v[0], at["base"]), lambda v, y, g, at: (g,)),
    "attend": (lambda v, at: attend(v[0], v[1], v[2], at["heads"], at["causal"]), _attend_product),
}
"""How torch computes each operation, and how its gradient goes back."""


def _reference_attend(v: Sequence[Array], at: Attributes) -> Array:
    heads = [np.split(x[:, 0], at["heads"], axis=-1) for x in v]
    made: list[Array] = []
    for q, k, values in zip(*heads, strict=True):
        scores = np.einsum("zid,zjd->zij", q, k) / np.sqrt(q.shape[-1])
        if at["causal"]:
            scores = np.where(np.tri(*scores.shape[1:], dtype=bool), scores, -np.inf)
        shares = np.exp(scores - scores.max(-1, keepdims=True))
        made.append(np.einsum("zij,zjd->zid", shares / shares.sum(-1, keepdims=True), values))
    return np.concatenate(made, -1)[:, None]


def _reference_positions(v: Sequence[Array], at: Attributes) -> Array:
    (x,), base = v, float(at["base"])
    waves = np.zeros(x.shape[-2:])
    for row, column in np.ndindex(*waves.shape):
        angle = row / base ** (2 * (column // 2) / x.shape[-1])
        waves[row, column] = np.cos(angle) if column % 2 else np.sin(angle)
    return x + waves


ROWS_REFERENCE: dict[str, Callable[[Sequence[Array], Attributes], Array]] = {
    "embed": lambda v, at: v[0][v[1]],
    "lay_before": lambda v, at: np.concatenate([np.broadcast_to(v[1], (len(v[0]), *v[1].shape)), v[0]], 2),
    "add_positions": _reference_positions,
    "attend": _reference_attend,
}


def _print_attend(step: Step, v: Sequence[Printed]) -> Printed:
    at = step.attributes
    return Printed(f"attend({', '.join(x.text for x in v)}, heads={at['heads']}, causal={at['causal']})")


ROWS_FORMS: dict[str, Callable[[Step, Sequence[Printed]], Printed]] = {
    "embed": lambda step, v: Printed(f"F.embedding({v[1].text}, {v[0].text})"),
    "lay_before": lambda step, v: Printed(f"lay_before({v[0].text}, {v[1].text})"),
    "add_positions": lambda step, v: Printed(f"add_positions({v[0].text}, base={step.attributes['base']!r})"),
    "attend": _print_attend,
}
