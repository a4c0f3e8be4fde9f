"""The update rules of the optimisers, written out, so that a whole step can be traced and compiled as one program.

Each gives the new weight, and the new value of all that it remembers, from the old ones: nothing is changed in place.
What is remembered has the names that ``torch.optim`` gives it, so that a run can be kept, and gone on with, the same
way whoever computed its steps.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

import torch
from torch import Tensor

from inkcap.recipes import OptimiserSpec

Options = Mapping[str, Any]
Memory = dict[str, Tensor]
Update = Callable[[Tensor, Tensor, Memory, Tensor, Options], tuple[Tensor, Memory]]
"""From a weight, its gradient, what is remembered of it, the rate and the options."""


@dataclass(frozen=True)
class Rule:
    """An update rule, and what it remembers: tensors like the weight, and numbers that all weights share."""

    update: Update
    remembered: Callable[[Options], tuple[str, ...]] = lambda options: ()
    shared: Mapping[str, float] = field(default_factory=dict[str, float])
    """What is shared, with the number that it starts from; ``step`` counts the steps."""


def _decayed(weight: Tensor, gradient: Tensor, options: Options) -> Tensor:
    decay = options["weight_decay"]
    return gradient + decay * weight if decay else gradient


def _descend(w: Tensor, g: Tensor, memory: Memory, rate: Tensor, o: Options) -> tuple[Tensor, Memory]:
    g = _decayed(w, g, o)
    if not o.get("momentum"):
        return w - rate * g, {}
    moving = memory["momentum_buffer"] * o["momentum"] + g
    return w - rate * (g + o["momentum"] * moving if o.get("nesterov") else moving), {"momentum_buffer": moving}


def _nesterov(w: Tensor, g: Tensor, memory: Memory, rate: Tensor, o: Options) -> tuple[Tensor, Memory]:
    return _descend(w, g, memory, rate, {**o, "nesterov": True})


def _adagrad(w: Tensor, g: Tensor, memory: Memory, rate: Tensor, o: Options) -> tuple[Tensor, Memory]:
    g = _decayed(w, g, o)
    total = memory["sum"] + g * g
    slower = rate / (1 + (memory["step"] - 1) * o["rate_decay"])
    return w - slower * g / (total.sqrt() + o["eps"]), {"sum": total}


def _adadelta(w: Tensor, g: Tensor, memory: Memory, rate: Tensor, o: Options) -> tuple[Tensor, Memory]:
    g, rho, eps = _decayed(w, g, o), o["rho"], o["eps"]
    square = memory["square_avg"] * rho + (1 - rho) * g * g
    delta = (memory["acc_delta"] + eps).sqrt() / (square + eps).sqrt() * g
    moved = memory["acc_delta"] * rho + (1 - rho) * delta * delta
    return w - rate * delta, {"square_avg": square, "acc_delta": moved}


def _rmsprop(w: Tensor, g: Tensor, memory: Memory, rate: Tensor, o: Options) -> tuple[Tensor, Memory]:
    g, alpha = _decayed(w, g, o), o["alpha"]
    made = {"square_avg": memory["square_avg"] * alpha + (1 - alpha) * g * g}
    spread = made["square_avg"]
    if o["centred"]:
        made["grad_avg"] = memory["grad_avg"] * alpha + (1 - alpha) * g
        spread = spread - made["grad_avg"] * made["grad_avg"]
    way = g / (spread.sqrt() + o["eps"])
    if o["momentum"]:
        way = made["momentum_buffer"] = memory["momentum_buffer"] * o["momentum"] + way
    return w - rate * way, made


def _moments(g: Tensor, memory: Memory, o: Options) -> tuple[Tensor, Tensor]:
    first, second = o["beta1"], o["beta2"]
    mean = memory["exp_avg"] * first + (1 - first) * g
    return mean, memory["exp_avg_sq"] * second + (1 - second) * g * g


def _adam(w: Tensor, g: Tensor, memory: Memory, rate: Tensor, o: Options) -> tuple[Tensor, Memory]:
    mean, square = _moments(_decayed(w, g, o), memory, o)
    made, widest = {"exp_avg": mean, "exp_avg_sq": square}, square
    if "max_exp_avg_sq" in memory:
        widest = made["max_exp_avg_sq"] = torch.maximum(memory["max_exp_avg_sq"], square)
    step = memory["step"]
    by_mean, by_square = 1 - o["beta1"] ** step, 1 - o["beta2"] ** step
    return w - rate / by_mean * mean / (widest.sqrt() / by_square.sqrt() + o["eps"]), made


def _adamw(w: Tensor, g: Tensor, memory: Memory, rate: Tensor, o: Options) -> tuple[Tensor, Memory]:
    shrunk = w * (1 - rate * o["weight_decay"])
    return _adam(shrunk, g, memory, rate, {**o, "weight_decay": 0})


def _adamax(w: Tensor, g: Tensor, memory: Memory, rate: Tensor, o: Options) -> tuple[Tensor, Memory]:
    g = _decayed(w, g, o)
    mean = memory["exp_avg"] * o["beta1"] + (1 - o["beta1"]) * g
    widest = torch.maximum(memory["exp_inf"] * o["beta2"], g.abs() + o["eps"])
    return w - rate / (1 - o["beta1"] ** memory["step"]) * mean / widest, {"exp_avg": mean, "exp_inf": widest}


def _nadam(w: Tensor, g: Tensor, memory: Memory, rate: Tensor, o: Options) -> tuple[Tensor, Memory]:
    g = _decayed(w, g, o)
    mean, square = _moments(g, memory, o)
    step, first = memory["step"], o["beta1"]
    now, then = (first * (1 - 0.5 * 0.96 ** ((step + ahead) * o["momentum_decay"])) for ahead in (0, 1))
    # `mu_product` is that of the step in hand: the whole step multiplies it before the weights are updated.
    product = memory["mu_product"]
    root = (square / (1 - o["beta2"] ** step)).sqrt() + o["eps"]
    way = rate * (1 - now) / (1 - product) * g + rate * then / (1 - product * then) * mean
    return w - way / root, {"exp_avg": mean, "exp_avg_sq": square}


def _names(*names: str) -> Callable[[Options], tuple[str, ...]]:
    return lambda options: names


def _of_rmsprop(options: Options) -> tuple[str, ...]:
    asked = (("momentum_buffer", options["momentum"]), ("grad_avg", options["centred"]))
    return ("square_avg", *(name for name, wanted in asked if wanted))


def _of_momentum(options: Options) -> tuple[str, ...]:
    return ("momentum_buffer",) if options.get("momentum") else ()


_COUNT = {"step": 0.0}
_BOTH = _names("exp_avg", "exp_avg_sq")

RULES: dict[str, Rule] = {
    "sgd": Rule(_descend),
    "momentum": Rule(_descend, _of_momentum),
    "nesterov": Rule(_nesterov, _of_momentum),
    "adagrad": Rule(_adagrad, _names("sum"), _COUNT),
    "adadelta": Rule(_adadelta, _names("square_avg", "acc_delta"), _COUNT),
    "rmsprop": Rule(_rmsprop, _of_rmsprop, _COUNT),
    "adam": Rule(_adam, _BOTH, _COUNT),
    "amsgrad": Rule(_adam, _names("exp_avg", "exp_avg_sq", "max_exp_avg_sq"), _COUNT),
    "adamw": Rule(_adamw, _BOTH, _COUNT),
    "adamax": Rule(_adamax, _names("exp_avg", "exp_inf"), _COUNT),
    "nadam": Rule(_nadam, _BOTH, {"step": 0.0, "mu_product": 1.0}),
}


def counted(spec: OptimiserSpec, shared: Memory) -> Memory:
    """Give what all weights share, for the step in hand; powers near 1 are taken in double precision."""
    made: Memory = {}
    if "step" in shared:
        made["step"] = shared["step"].double() + 1
    if "mu_product" in shared:
        o: Options = spec.options
        now = o["beta1"] * (1 - 0.5 * 0.96 ** (made["step"] * o["momentum_decay"]))
        made["mu_product"] = shared["mu_product"].double() * now
    return made


def part(optimiser: torch.optim.Optimizer) -> None:
    """Give every weight its own copy of what is shared: optimisers of torch count the steps of each for itself."""
    seen: set[int] = set()
    for held in optimiser.state.values():
        for name, value in held.items():
            if isinstance(value, Tensor):
                held[name] = value.clone() if id(value) in seen else value
                seen.add(id(value))


def remember(spec: OptimiserSpec, optimiser: torch.optim.Optimizer) -> tuple[Memory, list[Memory]]:
    """Give what an optimiser remembers, made where it remembers nothing yet: what is shared, and each weight's own.

    The tensors are the optimiser's own, so that a checkpoint holds them; what is shared is one tensor for all.
    """
    rule, state = RULES[spec.kind], optimiser.state
    parameters = [p for group in optimiser.param_groups for p in group["params"]]
    shared: Memory = {}
    for name, start in rule.shared.items():
        known = next((state[p][name] for p in parameters if name in state.get(p, {})), None)
        device = parameters[0].device if parameters else None
        shared[name] = torch.tensor(start, device=device) if known is None else known.detach().clone().to(device)
    own: list[Memory] = []
    for parameter in parameters:
        held = state[parameter]
        for name in rule.remembered(spec.options):
            if held.get(name) is None:
                held[name] = torch.zeros_like(parameter, memory_format=torch.preserve_format)
        held.update(shared)
        own.append({name: held[name] for name in rule.remembered(spec.options)})
    return shared, own
