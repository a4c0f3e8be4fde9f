"""The layer of a frozen norm, printed into modules as it stands here: it names nothing but torch."""

from __future__ import annotations

import torch
from torch import Tensor, nn
from torch.nn import functional as F  # noqa: N812 - printed modules call it so


class FrozenBatchNorm(nn.Module):
    """Batch norm whose numbers stay as they are, in training too."""

    weight: Tensor
    bias: Tensor
    running_mean: Tensor
    running_var: Tensor

    def __init__(self, channels: int, eps: float = 1e-5, dtype: torch.dtype = torch.float32) -> None:
        """Start as the identity, but for ε."""
        super().__init__()
        self.eps = eps
        for name, number in (("weight", 1.0), ("bias", 0.0), ("running_mean", 0.0), ("running_var", 1.0)):
            self.register_buffer(name, torch.full((channels,), number, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        """Scale and shift every channel."""
        return F.batch_norm(x, self.running_mean, self.running_var, self.weight, self.bias, eps=self.eps)


LAYERS = {"FrozenBatchNorm": FrozenBatchNorm}
"""Layers that a printed module brings along."""
