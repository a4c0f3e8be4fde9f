"""Kernels: what the source of a frozen program calls where torch's own call is not the fastest on a processor.

Maps come with all channels of a position together (channels-last), and go so.
"""

from __future__ import annotations

from collections.abc import Sequence

import torch
from torch import Tensor
from torch.nn import functional

from inkcap.engine.vectors import squash_vectors

MOST_COLUMNS = 4 * 2**20
"""Numbers that are unrolled at a time: they should stay near the processor."""


def unrolled(x: Tensor, weight: Tensor, bias: Tensor, kernel: Sequence[int], places: Sequence[Sequence[int]]) -> Tensor:
    """Convolve by a matrix product of what lies under the kernel; ``places`` are stride, padding and dilation.

    The weight goes (row, column, channel) by kernels.
    """
    (down, right), (above, left), (apart, aside) = places
    maps = x.movedim(1, -1)
    if above or left:
        maps = functional.pad(maps, (0, 0, left, left, above, above))
    rows = (maps.shape[1] - apart * (kernel[0] - 1) - 1) // down + 1
    columns = (maps.shape[2] - aside * (kernel[1] - 1) - 1) // right + 1
    sample, row, column, channel = maps.stride()
    sizes = (rows, columns, kernel[0], kernel[1], maps.shape[3])
    steps = (sample, down * row, right * column, apart * row, aside * column, channel)
    each = rows * columns * weight.shape[0]
    made = maps.new_empty((maps.shape[0], rows, columns, weight.shape[1]))
    flat, count = made.view(-1, weight.shape[1]), max(1, MOST_COLUMNS // each)
    for first in range(0, maps.shape[0], count):
        some = maps[first : first + count]
        under = some.as_strided((some.shape[0], *sizes), steps, some.storage_offset()).reshape(-1, weight.shape[0])
        torch.addmm(bias, under, weight, out=flat[first * rows * columns : (first + count) * rows * columns])
    return made.movedim(-1, 1)


def halved(x: Tensor) -> Tensor:
    """Give the largest of every two by two positions; what is left over at an edge is left out."""
    rows, columns = x.shape[2] // 2 * 2, x.shape[3] // 2 * 2
    tall = torch.maximum(x[:, :, 0:rows:2], x[:, :, 1:rows:2])
    return torch.maximum(tall[..., 0:columns:2], tall[..., 1:columns:2])


def voted(weight: Tensor, x: Tensor, parents: int) -> Tensor:
    """Compute the votes of all children, laid out (samples, parents, children, numbers).

    The weight goes child by child, or once for all, (numbers of a child) by (parents · their numbers).
    """
    made = torch.bmm(x[:, 0].transpose(0, 1), weight.expand(x.shape[2], -1, -1))
    return made.view(*made.shape[:2], parents, -1).permute(1, 2, 0, 3).contiguous()


def coupled(votes: Tensor, iterations: int, dim: int, bias: Tensor | float = 0.0) -> Tensor:
    """Compute coupling coefficients (samples, parents, children) as ``couple_votes`` does; ``dim`` is 1 or 2."""
    logits = votes.new_zeros(votes.shape[:-1])
    for _ in range(iterations - 1):
        parents = squash_vectors(combined(logits.softmax(dim), votes) + bias)
        logits = torch.matmul(votes, parents[..., None]).squeeze(-1).add_(logits)
    return logits.softmax(dim)


def combined(coefficients: Tensor, votes: Tensor) -> Tensor:
    """Sum the votes for every parent, each by its coefficient: (samples, parents, numbers)."""
    return torch.matmul(coefficients.unsqueeze(2), votes).squeeze(2)


KERNELS = {
    "unrolled": unrolled,
    "halved": halved,
    "voted": voted,
    "coupled": coupled,
    "combined": combined,
}
"""The functions that a source names."""
