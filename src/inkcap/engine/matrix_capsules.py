"""Matrix capsules on torch: votes, and routing by expectation-maximisation.

These functions compute, and their source is also what a printed module brings along: they use torch alone. A map of
matrix capsules has the 4×4 poses of all its types first, 16 channels each, and behind them one activation for each.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.nn import functional as F  # noqa: N812 - the name that printed modules have


def matrix_vote(
    x: Tensor, weight: Tensor, kernel: tuple[int, int], stride: tuple[int, int], padding: tuple[int, int]
) -> Tensor:
    """Multiply each pose under the kernel by a 4×4 matrix for every parent; the child's activation comes last."""
    types, parents = x.shape[1] // 17, weight.shape[1]
    rows, columns = ((n + 2 * p - k) // s + 1 for n, k, s, p in zip(x.shape[2:], kernel, stride, padding, strict=True))
    windows = F.unfold(x, kernel, stride=stride, padding=padding)
    poses, activations = windows[:, : 16 * len(weight)], windows[:, 16 * len(weight) :]
    poses = poses.reshape(x.shape[0], types, 4, 4, -1, rows * columns)
    matrices = weight.reshape(types, -1, parents, 4, 4)
    votes = torch.einsum("btijkl,tkpjm->btkpiml", poses, matrices).reshape(x.shape[0], len(weight), 16 * parents, -1)
    return torch.cat((votes, activations[:, :, None]), 2).reshape(x.shape[0], len(weight), -1, rows, columns)


def class_vote(x: Tensor, weight: Tensor) -> Tensor:
    """Multiply each pose of the map by the matrices of its type, and add its place to the vote's right column."""
    types, parents = weight.shape[:2]
    poses, activations = x[:, : 16 * types], x[:, 16 * types :]
    poses = poses.reshape(x.shape[0], types, 4, 4, *x.shape[2:])
    votes = torch.einsum("btijrc,tpjm->btrcpim", poses, weight)
    rows, columns = (torch.arange(n, dtype=x.dtype, device=x.device).add(0.5) / n for n in x.shape[2:])
    places = x.new_zeros(*x.shape[2:], 1, 4, 4)
    places[..., 0, 3], places[..., 1, 3] = rows[:, None, None], columns[:, None]
    votes = (votes + places).reshape(x.shape[0], -1, 16 * parents)
    return torch.cat((votes, activations.reshape(x.shape[0], -1, 1)), 2)[..., None]


def em_votes(u: Tensor, parents: int) -> tuple[Tensor, Tensor]:
    """Give votes as (batch, positions, parents, children, numbers), activations as (batch, positions, 1, children)."""
    u = u.flatten(3)
    votes = u[:, :, :-1].reshape(*u.shape[:2], parents, -1, u.shape[3]).permute(0, 4, 2, 1, 3)
    return votes.contiguous(), u[:, :, -1].permute(0, 2, 1)[:, :, None].clamp_min(0)


def em_maximise(
    votes: Tensor, share: Tensor, beta_u: Tensor, beta_a: Tensor, inverse_temperature: float, epsilon: float
) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Fit each parent to its share of the votes: mean, squared distances, variance, and its activation's logit."""
    total = share.sum(3, keepdim=True).clamp_min(1e-8)  # a parent without votes has no mean, but stays finite
    share = (share / total)[:, :, :, None]
    mean = share @ votes
    squares = (votes - mean).square()
    variance = share @ squares + epsilon
    cost = (votes.shape[4] * beta_u + variance.log().sum((3, 4)) / 2) * total[..., 0]
    return mean, squares, variance, inverse_temperature * (beta_a - cost)


def em_coefficients(
    u: Tensor, beta_u: Tensor, beta_a: Tensor, inverse_temperatures: tuple[float, ...], epsilon: float
) -> Tensor:
    """Give how much of each child every parent of its position takes, after as many rounds as there are numbers."""
    votes, activations = em_votes(u, len(beta_u))
    coefficients = votes.new_full(votes.shape[:4], 1 / len(beta_u))
    for inverse_temperature in inverse_temperatures:
        share = coefficients * activations
        _, squares, variance, logit = em_maximise(votes, share, beta_u, beta_a, inverse_temperature, epsilon)
        distances = (squares @ variance.reciprocal().transpose(3, 4))[..., 0]
        densities = (distances + (2 * torch.pi * variance).log().sum(4)) / -2
        coefficients = torch.softmax(F.logsigmoid(logit)[..., None] + densities, 2)
    return coefficients.permute(0, 3, 2, 1).reshape(*u.shape[:2], len(beta_u), *u.shape[3:])


def em_parents(
    u: Tensor, coefficients: Tensor, beta_u: Tensor, beta_a: Tensor, inverse_temperature: float, epsilon: float
) -> Tensor:
    """Give the poses of all parents, the means of their votes, and behind them their activations."""
    votes, activations = em_votes(u, len(beta_u))
    share = coefficients.flatten(3).permute(0, 3, 2, 1) * activations
    mean, _, _, logit = em_maximise(votes, share, beta_u, beta_a, inverse_temperature, epsilon)
    parents = torch.cat((mean.flatten(2), torch.sigmoid(logit)), 2)
    return parents.permute(0, 2, 1).reshape(u.shape[0], -1, *u.shape[3:])


Compute = Callable[[Sequence[Tensor], Mapping[str, Any]], Tensor]

FUSED: dict[str, Compute] = {
    "matrix_vote": lambda v, at: matrix_vote(v[0], v[1], at["kernel"], at["stride"], at["padding"]),
    "class_vote": lambda v, at: class_vote(v[0], v[1]),
    "em_coefficients": lambda v, at: em_coefficients(v[0], v[1], v[2], at["inverse_temperatures"], at["epsilon"]),
    "em_parents": lambda v, at: em_parents(v[0], v[1], v[2], v[3], at["inverse_temperature"], at["epsilon"]),
}
"""Operations that are one function of torch each."""

PRINTED: dict[str, tuple[Callable[..., Any], ...]] = {
    "matrix_vote": (matrix_vote,),
    "class_vote": (class_vote,),
    "em_coefficients": (em_votes, em_maximise, em_coefficients),
    "em_parents": (em_votes, em_maximise, em_parents),
}
"""The functions that the printed form of an operation calls, each after those that it calls itself."""


def recomputed(
    compute: Compute,
) -> Callable[[Sequence[Tensor], Tensor, Tensor, Mapping[str, Any]], tuple[Tensor, ...]]:
    """Make the product of a fused operation: it is computed anew, and autograd goes back through it alone.

    The gradient goes through every round of the routing. Nothing is kept from forward to backward but the arguments.
    """

    def product(v: Sequence[Tensor], result: Tensor, gradient: Tensor, at: Mapping[str, Any]) -> tuple[Tensor, ...]:
        with torch.enable_grad():
            leaves = [argument.detach().requires_grad_() for argument in v]
            made = compute(leaves, at)
            if not made.requires_grad:
                return tuple(torch.zeros_like(leaf) for leaf in leaves)
            found = torch.autograd.grad(made, leaves, gradient, materialize_grads=True)
        # Optimisers walk over weights and gradients side by side, so both must lie in memory alike.
        return tuple(part.contiguous() for part in found)

    return product
