"""The step as one program: forwards, losses, backwards, clipping and update, in one function of tensors.

Universal backpropagation is straight-line code without a tape, and so are the update rules: together they are traced
to one graph, which is compiled whole. Nothing moves where the loss is not finite, so that whoever looks for the
reason finds the weights that made it.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import torch
from torch import Tensor

from inkcap.engine import named_states, named_weights
from inkcap.network import Network
from inkcap.recipes import Recipe
from inkcap.training.engines.updates import RULES, Memory, counted, remember
from inkcap.training.facts import NetworkFacts
from inkcap.training.gradients import plan_gradients


@dataclass
class WholeStep:
    """One step of a run on the weights, states and memory that it was made for."""

    network: Network
    module: torch.nn.Module
    facts: NetworkFacts
    recipe: Recipe
    optimiser: torch.optim.Optimizer
    rewrites: tuple[str, ...] = ()
    stored: list[Tensor] = field(default_factory=list[Tensor], init=False)
    """Weights, then states, in the program's order."""
    shared: Memory = field(default_factory=dict[str, Tensor], init=False)
    own: list[Memory] = field(default_factory=list[Memory], init=False)

    def __post_init__(self) -> None:
        planned = plan_gradients(self.network, self.module, self.facts, self.recipe, self.rewrites)
        self._planned = planned
        weights, states = named_weights(self.module), named_states(self.module)
        program = planned.program
        self.stored = [weights[name].detach() for name in program.weights]
        self.stored += [states[name] for name in program.states]
        places = {name: place for place, name in enumerate((*program.weights, *program.states))}
        self._learning = [places[name] for name in planned.learning]
        self._moved = [places[name] for name in program.moved]
        spec = self.recipe.optimiser
        self.shared, remembered = remember(spec, self.optimiser)
        # The optimiser may hold the weights in an order of its own.
        optimised = [p for group in self.optimiser.param_groups for p in group["params"]]
        by_weight = {id(p): memory for p, memory in zip(optimised, remembered, strict=True)}
        self.own = [by_weight[id(weights[name])] for name in planned.learning]
        device = self.stored[0].device if self.stored else None
        self.rate = torch.zeros((), dtype=torch.float64, device=device)

    def set_rate(self) -> None:
        """Take over the rate of the schedule."""
        self.rate.fill_(self.optimiser.param_groups[0]["lr"])

    def values(self, inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> list[Tensor]:
        """Give all tensors that a step is a function of, in its order."""
        remembered = [value for memory in self.own for value in memory.values()]
        return [*inputs, *targets, *self.stored, *self.shared.values(), *remembered, self.rate]

    def function(self, inputs: int, targets: int) -> Callable[..., Tensor]:
        """Give the step as a function of these tensors: it changes weights, states and memory and gives the loss."""
        names = [tuple(memory) for memory in self.own]
        shared_names, stored_count = tuple(self.shared), len(self.stored)

        def step(*values: Tensor) -> Tensor:
            left = list(values)
            given, wanted = _take(left, inputs), _take(left, targets)
            stored = _take(left, stored_count)
            shared = dict(zip(shared_names, _take(left, len(shared_names)), strict=True))
            own = [dict(zip(keys, _take(left, len(keys)), strict=True)) for keys in names]
            return self._step(given, wanted, stored, shared, own, left[0])

        return step

    def _step(
        self,
        inputs: Sequence[Tensor],
        targets: Sequence[Tensor],
        stored: Sequence[Tensor],
        shared: Memory,
        own: Sequence[Memory],
        rate: Tensor,
    ) -> Tensor:
        loss, moved, gradients = self._planned.run(inputs, stored, targets)
        fine = torch.isfinite(loss)
        for place, value in zip(self._moved, moved, strict=True):
            _move(stored[place], value, fine)
        spec = self.recipe.optimiser
        now = counted(spec, shared)
        scale = _scale(gradients, self.recipe.clip)
        for place, gradient, memory in zip(self._learning, gradients, own, strict=True):
            if gradient is None:
                continue
            slope = gradient if scale is None else gradient * scale.to(gradient.dtype)
            weight = stored[place]
            new, remembered = RULES[spec.kind].update(weight, slope, {**memory, **now}, rate, spec.options)
            _move(weight, new, fine)
            for name, value in remembered.items():
                _move(memory[name], value, fine)
        for name, value in now.items():
            _move(shared[name], value, fine)
        return loss


def _take(values: list[Tensor], count: int) -> list[Tensor]:
    taken = values[:count]
    del values[:count]
    return taken


def _move(stored: Tensor, value: Tensor, fine: Tensor) -> None:
    stored.copy_(torch.where(fine, value.to(stored.dtype), stored))


def _scale(gradients: Sequence[Tensor | None], clip: float) -> Tensor | None:
    """Give what all gradients are multiplied by, as ``clip_grad_norm_`` does."""
    known = [gradient for gradient in gradients if gradient is not None]
    if not clip or not known:
        return None
    norm = torch.stack([gradient.square().sum() for gradient in known]).sum().sqrt()
    return (clip / (norm + 1e-6)).clamp(max=1.0)
