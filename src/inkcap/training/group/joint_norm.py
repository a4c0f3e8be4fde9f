"""Batch normalisation over the batches of all members together: what one process would compute on the whole batch."""

from __future__ import annotations

from typing import Any, cast

import torch
import torch.distributed as dist
from torch import Tensor, nn
from torch.nn.modules.batchnorm import _BatchNorm as BatchNorm  # pyright: ignore[reportPrivateUsage]

from inkcap.training.group.parts import Parts


class _Joint(BatchNorm):
    """A normalisation whose mean and variance are those of all parts; torch's own does that on GPUs alone."""

    parts: Parts

    def _check_input_dim(self, input: Tensor) -> None:
        """Take what the layer that this was has taken."""

    def forward(self, input: Tensor) -> Tensor:
        """Normalise, and move the running mean as over the whole batch."""
        if not self.training:
            return super().forward(input)
        axes = [axis for axis in range(input.ndim) if axis != 1]
        each = input.numel() // max(1, input.shape[0] * input.shape[1])
        # A sample that only stands in has no part in the mean.
        counts = float(self.parts.own > 0)
        total = float(self.parts.whole * each)
        shape = [1, -1, *[1] * (input.ndim - 2)]
        mean = _summed(input.sum(axes) * counts) / total
        centred = input - mean.view(shape)
        variance = _summed(centred.square().sum(axes) * counts) / total
        self._move(mean, variance, total)
        made = centred * torch.rsqrt(variance + self.eps).view(shape)
        return made * self.weight.view(shape) + self.bias.view(shape) if self.affine else made

    @torch.no_grad()
    def _move(self, mean: Tensor, variance: Tensor, total: float) -> None:
        if self.running_mean is None or self.running_var is None:
            return
        steps = self.num_batches_tracked
        if steps is not None:
            steps.add_(1)
        share = self.momentum if self.momentum is not None or steps is None else 1 / int(steps)
        assert share is not None
        self.running_mean.lerp_(mean.to(self.running_mean.dtype), share)
        unbiased = variance * (total / max(1.0, total - 1))
        self.running_var.lerp_(unbiased.to(self.running_var.dtype), share)


class _Summed(torch.autograd.Function):
    """The sum over all members; its gradient is the sum of theirs."""

    @staticmethod
    def forward(ctx: Any, value: Tensor) -> Tensor:
        made = value.clone(memory_format=torch.contiguous_format)
        dist.all_reduce(made)
        return made

    @staticmethod
    def backward(ctx: Any, *gradients: Tensor) -> Tensor:
        return _Summed.forward(ctx, gradients[0])


def _summed(value: Tensor) -> Tensor:
    return cast("Any", _Summed).apply(value)


def join_norms(module: nn.Module, parts: Parts) -> int:
    """Let the batch normalisations of a module see all parts of a batch; give how many there are."""
    found = 0
    for layer in module.modules():
        if isinstance(layer, BatchNorm):
            # The layer stays, with its weights, its states and its name; only what it does is another.
            layer.__class__ = type(f"Joint{type(layer).__name__}", (_Joint,), {})
            cast("_Joint", layer).parts = parts
            found += 1
    return found
