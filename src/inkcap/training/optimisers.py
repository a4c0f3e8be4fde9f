"""The optimisers of a recipe, from torch.optim."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

import torch
from torch import Tensor, optim

from inkcap.recipes import OPTIMISERS, OptimiserSpec
from inkcap.recipes.fields import Scalar

Options = Mapping[str, Any]


def _betas(given: Mapping[str, Scalar]) -> dict[str, Any]:
    return {
        "betas": (float(given["beta1"]), float(given["beta2"])),
        "eps": given["eps"],
        "weight_decay": given["weight_decay"],
    }


def _adagrad(given: Mapping[str, Scalar]) -> dict[str, Any]:
    return {"lr_decay": given["rate_decay"], "eps": given["eps"], "weight_decay": given["weight_decay"]}


def _rmsprop(given: Mapping[str, Scalar]) -> dict[str, Any]:
    return {**{key: value for key, value in given.items() if key != "centred"}, "centered": given["centred"]}


_add_to_all: Any = vars(torch)["_foreach_add_"]


class PlainDescent(optim.SGD):
    """Gradient descent without momentum or decay: W ← W − ηΔW for all weights in one call."""

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take one step; there is no closure here, and no hooks."""
        for group in self.param_groups:
            learning = [p for p in group["params"] if p.grad is not None]
            if learning:
                _add_to_all(learning, [p.grad for p in learning], alpha=-group["lr"])

    # torch wraps a step for its profiler and its hooks, which costs more than the step of a small network.
    step.hooked = True  # type: ignore[attr-defined]  # pyright: ignore[reportFunctionMemberAccess]


_descend_all: Any = vars(torch)["_fused_sgd_"]


class MomentumDescent(optim.SGD):
    """Descent with momentum: one pass over all weights, as they lie in memory.

    It remembers what torch's own does. That one turns every gradient that lies channels last into another layout before
    it uses it.
    """

    @torch.no_grad()
    def step(self, closure: Any = None) -> None:  # pyright: ignore[reportIncompatibleMethodOverride]
        """Take one step; there is no closure here."""
        for group in self.param_groups:
            chosen = {name: group[name] for name in ("weight_decay", "momentum", "lr", "dampening", "nesterov")}
            by_type: dict[torch.dtype, tuple[list[Tensor], list[Tensor], list[Tensor]]] = {}
            for weight in group["params"]:
                slope = weight.grad
                if slope is None:
                    continue
                held = self.state[weight]
                if held.get("momentum_buffer") is None:
                    held["momentum_buffer"] = torch.zeros_like(weight, memory_format=torch.preserve_format)
                if slope.stride() != weight.stride():
                    slope = torch.empty_like(weight).copy_(slope)
                together = by_type.setdefault(weight.dtype, ([], [], []))
                for values, value in zip(together, (weight, slope, held["momentum_buffer"]), strict=True):
                    values.append(_as_it_lies(value))
            for weights, slopes, moving in by_type.values():
                _descend_all(weights, slopes, moving, **chosen, maximize=False, is_first_step=False)


def _as_it_lies(value: Tensor) -> Tensor:
    """Give the numbers of a tensor that fills its memory, in the order in which they lie there."""
    return value if value.is_contiguous() else value.as_strided((value.numel(),), (1,))


_MAKERS: Mapping[str, tuple[Callable[..., optim.Optimizer], Callable[[Mapping[str, Scalar]], dict[str, Any]]]] = {
    "sgd": (optim.SGD, dict),
    "momentum": (MomentumDescent, dict),
    "nesterov": (MomentumDescent, lambda given: {**given, "nesterov": float(given["momentum"]) > 0}),
    "adagrad": (optim.Adagrad, _adagrad),
    "adadelta": (optim.Adadelta, dict),
    "rmsprop": (optim.RMSprop, _rmsprop),
    "adam": (optim.Adam, _betas),
    "adamax": (optim.Adamax, _betas),
    "nadam": (optim.NAdam, lambda given: {**_betas(given), "momentum_decay": given["momentum_decay"]}),
    "amsgrad": (optim.Adam, lambda given: {**_betas(given), "amsgrad": True}),
    "adamw": (optim.AdamW, _betas),
}


_FUSED = (optim.SGD, MomentumDescent, optim.Adagrad, optim.Adam, optim.AdamW)


NARROW = (torch.float16, torch.bfloat16)


def _with_wide_copies(spec: OptimiserSpec, parameters: Sequence[torch.nn.Parameter]) -> optim.Optimizer:
    """Make an optimiser that works on float32 copies of narrow weights.

    Squares of small gradients are 0 in float16, and a small step is lost beside its weight.
    """
    copies = [torch.nn.Parameter(p.detach().float()) if p.dtype in NARROW else p for p in parameters]
    pairs = [(p, copy) for p, copy in zip(parameters, copies, strict=True) if copy is not p]
    optimiser = _made(spec, copies)

    def before(*_: Any) -> None:
        for parameter, copy in pairs:
            copy.grad = None if parameter.grad is None else parameter.grad.float()
            parameter.grad = None

    @torch.no_grad()
    def after(*_: Any) -> None:
        for parameter, copy in pairs:
            parameter.copy_(copy)

    optimiser.register_step_pre_hook(before)
    optimiser.register_step_post_hook(after)
    return optimiser


def make_optimiser(spec: OptimiserSpec, parameters: Sequence[torch.nn.Parameter]) -> optim.Optimizer:
    """Make the optimiser of a recipe for these parameters."""
    if any(p.dtype in NARROW for p in parameters):
        return _with_wide_copies(spec, parameters)
    if spec.kind == "sgd" and not spec.options["weight_decay"]:
        return PlainDescent(parameters, lr=_rate(spec))
    return _made(spec, parameters)


def _made(spec: OptimiserSpec, parameters: Sequence[torch.nn.Parameter]) -> optim.Optimizer:
    """Make an optimiser whose steps can be hooked."""
    make, options = _MAKERS[spec.kind]
    chosen = options(spec.options)
    # One pass over the weights instead of one an operation; torch has it for these, in full precision.
    if make in _FUSED and all(p.dtype in (torch.float32, torch.float64) for p in parameters):
        chosen["fused"] = True
    return make(parameters, lr=_rate(spec), **chosen)


def _rate(spec: OptimiserSpec) -> float:
    return spec.rate or OPTIMISERS[spec.kind].usual_rate
