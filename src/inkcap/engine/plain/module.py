"""A plain network as a torch module: the kernels compute it, torch's optimisers and losses train it."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, cast

import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from inkcap.engine.plain.columns import PlainColumns, PlainError
from inkcap.engine.plain.network import PlainNetwork


class PlainModule(nn.Module):
    """Called with samples (a row each, a column per data neuron), it gives the outputs (a column per output neuron).

    ``weight`` holds a parameter per connection in the drawing's order, tied connections once; ``bias`` one per neuron
    that computes.
    """

    def __init__(
        self,
        columns: PlainColumns | PlainNetwork,
        outputs: Sequence[int] | NDArray[Any] | None = None,
        *,
        dtype: torch.dtype = torch.float32,
        threads: int | None = None,
        contract: bool | None = None,
    ) -> None:
        super().__init__()
        self.network = columns if isinstance(columns, PlainNetwork) else PlainNetwork(columns, outputs)
        self.threads, self.contract = threads, contract
        self.weight = nn.Parameter(torch.tensor(self.network.weight, dtype=dtype))
        self.bias = nn.Parameter(torch.tensor(self.network.bias, dtype=dtype))

    def forward(self, x: Tensor) -> Tensor:
        """Compute the outputs."""
        return run_plain(self.network, x, self.weight, self.bias, self.threads, self.contract)


def run_plain(
    network: PlainNetwork,
    x: Tensor,
    weight: Tensor,
    bias: Tensor,
    threads: int | None = None,
    contract: bool | None = None,
) -> Tensor:
    """Compute the outputs from parameters that torch may follow back to where they come from."""
    if x.dtype != weight.dtype or x.device.type != "cpu" or weight.device.type != "cpu":
        raise PlainError(
            f"plain networks compute on the CPU in their weights' type, {weight.dtype}; "
            f"the samples are {x.dtype} on {x.device}"
        )
    if x.ndim != 2 or x.shape[1] != network.inputs.size:
        raise PlainError(f"x: has the shape {tuple(x.shape)}, the network needs (samples, {network.inputs.size})")
    function = _DenseFunction if network.contracts(x.shape[0], contract) else _SparseFunction
    apply = cast("Callable[..., Tensor]", function.apply)  # torch leaves its types open
    return apply(x, weight, bias, network, threads)


class _SparseFunction(torch.autograd.Function):
    @staticmethod
    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, network: PlainNetwork, threads: int | None
    ) -> Tensor:
        samples = x.detach().contiguous().numpy()
        packed = network.pack(weight.detach().numpy(), bias.detach().numpy(), samples.dtype)
        in_order, out_order, biases = network.arrange(packed)
        keep = any(ctx.needs_input_grad)
        out, kept = network.run(samples, in_order, biases, threads, keep)
        if keep:
            # Weights may be changed in place before the backward pass: these copies are the ones that were used.
            ctx.network, ctx.threads, ctx.out_order, ctx.kept = network, threads, out_order, kept
        return torch.from_numpy(out)

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, seed: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        by_x: bool = ctx.needs_input_grad[0]
        network: PlainNetwork = ctx.network
        gradient, data = network.differentiate(ctx.out_order, ctx.kept, seed.contiguous().numpy(), ctx.threads, by_x)
        by_weight, by_bias = network.unpack(gradient)
        return (
            torch.from_numpy(data) if by_x else None,
            torch.from_numpy(by_weight),
            torch.from_numpy(by_bias),
            None,
            None,
        )


class _DenseFunction(torch.autograd.Function):
    @staticmethod
    def forward(  # pyright: ignore[reportIncompatibleMethodOverride]
        ctx: Any, x: Tensor, weight: Tensor, bias: Tensor, network: PlainNetwork, threads: int | None
    ) -> Tensor:
        assert network.dense is not None
        values = network.dense.forward(x, weight, bias)
        out = network.dense.outputs(values)
        ctx.network = network
        ctx.save_for_backward(weight, *values)
        return out

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, seed: Tensor) -> tuple[Tensor | None, ...]:  # pyright: ignore[reportIncompatibleMethodOverride]
        dense = ctx.network.dense
        weight, *values = ctx.saved_tensors
        by_weight, by_bias = weight.new_empty(weight.shape), weight.new_empty(ctx.network.bias.shape)
        by_x = dense.backward(values, weight, seed, by_weight, by_bias, ctx.needs_input_grad[0])
        return by_x, by_weight, by_bias, None, None
