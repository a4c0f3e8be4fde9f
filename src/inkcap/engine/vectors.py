"""Vectors along the last axis on torch: their lengths, squashing, votes and routing by agreement, and the ways back.

``vector_length``, ``squash_vectors`` and ``couple_votes`` are printed into modules as they stand here, so they name
nothing but torch and each other.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor


def vector_length(x: Tensor, dim: int | tuple[int, ...]) -> Tensor:
    """Length over some axes, which stay with one number each; neither huge nor tiny numbers are squared."""
    largest = x.detach().abs().amax(dim, keepdim=True).clamp_min(torch.finfo(x.dtype).tiny)
    return largest * torch.linalg.vector_norm(x / largest, dim=dim, keepdim=True)  # pyright: ignore


def squash_vectors(s: Tensor) -> Tensor:
    """Shorten every vector along the last axis from its length n to n²/(1+n²); zero stays zero, with slope zero."""
    n = vector_length(s, -1)
    h = torch.hypot(n, torch.ones_like(n))
    return s / h * (n / h)


def couple_votes(votes: Tensor, iterations: int, dim: int, bias: Tensor | float = 0.0) -> Tensor:
    """Coupling coefficients of votes (samples, children, parents, numbers) after some rounds of agreement."""
    logits = votes.new_zeros(votes.shape[:-1])
    for _ in range(iterations - 1):
        parents = squash_vectors(torch.einsum("zij,zijb->zjb", logits.softmax(dim), votes) + bias)
        logits = logits + torch.einsum("zijb,zjb->zij", votes, parents)
    return logits.softmax(dim)


PRINTED = {
    "norm": (vector_length,),
    "squash": (vector_length, squash_vectors),
    "couple": (vector_length, squash_vectors, couple_votes),
}
"""The functions that the printed form of an operation calls, each after those that it calls itself."""


def length_product(x: Tensor, gradient: Tensor, axes: tuple[int, ...]) -> Tensor:
    """Carry a gradient back through the lengths: along the unit vector, and nothing at zero."""
    return _unit(x, vector_length(x, axes)) * _spread(gradient, x, axes)


def _unit(x: Tensor, length: Tensor) -> Tensor:
    return x / torch.where(length > 0, length, torch.ones_like(length))


def _spread(lengths: Tensor, like: Tensor, axes: tuple[int, ...]) -> Tensor:
    kept = list(like.shape)
    for axis in axes:
        kept[axis] = 1
    return lengths.reshape(kept)


def squash_product(s: Tensor, gradient: Tensor) -> Tensor:
    """Carry a gradient back through squashing: n/(1+n²)·(g + (1−n²)/(1+n²)·u(u·g)) with the unit vector u = s/n."""
    n = vector_length(s, -1)
    h = torch.hypot(n, torch.ones_like(n))
    sine, cosine = n / h, 1 / h
    unit = _unit(s, n)
    along = (unit * gradient).sum(-1, keepdim=True)
    return sine * cosine * (gradient + (cosine - sine) * (cosine + sine) * along * unit)


def vote(weight: Tensor, x: Tensor) -> Tensor:
    """Compute the vote of every child for every parent."""
    return torch.einsum("ijba,zia->zijb", weight, x[:, 0])


def vote_product(weight: Tensor, x: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Carry a gradient back to the matrices, which children may share, and to the children."""
    by_weight = torch.einsum("zijb,zia->ijba", gradient, x[:, 0]).sum_to_size(weight.shape)
    return by_weight, torch.einsum("ijba,zijb->zia", weight, gradient)[:, None]


def combine(coefficients: Tensor, votes: Tensor) -> Tensor:
    """Sum the votes for every parent, each by its coefficient."""
    return torch.einsum("zij,zijb->zjb", coefficients, votes)[:, None]


def combine_product(coefficients: Tensor, votes: Tensor, gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Carry a gradient back to the coefficients and to the votes."""
    by_parent = gradient[:, 0]
    return torch.einsum("zijb,zjb->zij", votes, by_parent), coefficients[..., None] * by_parent[:, None]


def couple_product(
    v: Sequence[Tensor], result: Tensor, gradient: Tensor, iterations: int, dim: int
) -> tuple[Tensor, ...]:
    """Carry a gradient by the coefficients back to the votes, and to a bias, through all rounds of agreement."""
    votes, bias = v[0], v[1] if len(v) > 1 else torch.zeros_like(v[0][:1, :1])
    rounds: list[tuple[Tensor, Tensor]] = []
    logits = votes.new_zeros(votes.shape[:-1])
    for _ in range(iterations - 1):
        coefficients = logits.softmax(dim)
        total = combine(coefficients, votes) + bias
        rounds.append((coefficients, total))
        logits = logits + torch.einsum("zijb,zjb->zij", votes, squash_vectors(total[:, 0]))
    by_logits = _softmax_product(result, gradient, dim)
    by_votes, by_bias = torch.zeros_like(votes), torch.zeros_like(bias)
    for coefficients, total in reversed(rounds):
        by_votes.addcmul_(by_logits[..., None], squash_vectors(total))
        by_parents = torch.einsum("zij,zijb->zjb", by_logits, votes)[:, None]
        by_total = squash_product(total, by_parents)
        by_bias += by_total.sum_to_size(bias.shape)
        by_votes.addcmul_(coefficients[..., None], by_total)
        by_coefficients = torch.einsum("zijb,zjb->zij", votes, by_total[:, 0])
        by_logits = by_logits + _softmax_product(coefficients, by_coefficients, dim)
    return (by_votes, by_bias)[: len(v)]


def _softmax_product(result: Tensor, gradient: Tensor, dim: int) -> Tensor:
    return result * (gradient - (gradient * result).sum(dim, keepdim=True))


def otherwise(x: Tensor, y: Tensor) -> Tensor:
    """Choose x for a sample that has a number in it, else y."""
    return torch.where((x != 0).any(-1, keepdim=True), x, y)


def otherwise_product(v: Sequence[Tensor], gradient: Tensor) -> tuple[Tensor, Tensor]:
    """Carry a gradient back to the one that was chosen."""
    chosen = (v[0] != 0).any(-1, keepdim=True)
    return gradient * chosen, gradient * ~chosen
