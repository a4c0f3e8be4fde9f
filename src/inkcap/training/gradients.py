"""Gradients by universal backpropagation: planned once for a run, then set on the parameters step by step."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass

import torch
from torch import Tensor

from inkcap.engine import named_states, named_weights
from inkcap.engine.universal import Seed, plan
from inkcap.network import Network
from inkcap.program import Lowered, Program, lower_to_layers, lower_to_steps
from inkcap.recipes import Recipe
from inkcap.training.facts import NetworkFacts
from inkcap.training.losses import explicit_loss, wanted_returns
from inkcap.training.recomputing import parts_in
from inkcap.training.session import Gradients


def seeds_of(lowered: Lowered, facts: NetworkFacts, recipe: Recipe) -> tuple[list[int], list[Seed]]:
    """Give the outputs whose losses count, by their places, and where the gradients of these losses start."""
    by_output = {loss.output: loss for loss in recipe.losses}
    specs = [by_output[output.name] for output in facts.outputs]
    # A loss of weight 0 is not computed at all, unless it is the only one.
    chosen = [i for i, spec in enumerate(specs) if spec.weight != 0 or len(specs) == 1]
    return chosen, [
        Seed(lowered.returned[i], explicit_loss(specs[i], facts.outputs[i]), specs[i].weight) for i in chosen
    ]


Run = Callable[
    [Sequence[Tensor], Sequence[Tensor], Sequence[Tensor]], tuple[Tensor, Sequence[Tensor], Sequence[Tensor | None]]
]


@dataclass(frozen=True)
class PlannedGradients:
    """Algorithm 2 planned for a module and a recipe.

    ``run(inputs, stored, targets)`` gives the loss, the states after the step and the gradients of what learns; a
    gradient is None where no loss depends on the weight. Call it under ``torch.no_grad()``.
    """

    program: Program
    learning: tuple[str, ...]
    run: Run


def plan_gradients(
    network: Network, module: torch.nn.Module, facts: NetworkFacts, recipe: Recipe, rewrites: tuple[str, ...] = ()
) -> PlannedGradients:
    """Plan Algorithm 2 for a built module and a completed recipe: what learns gets its gradient, nothing else."""
    program = lower_to_steps(network, training=True)
    lowered = lower_to_layers(program, dict(wanted_returns(facts, recipe)))
    chosen, seeds = seeds_of(lowered, facts, recipe)
    learning = tuple(name for name, weight in named_weights(module).items() if weight.requires_grad)
    planned = plan(
        lowered,
        seeds,
        # What moves a state is no step towards an output: all steps are taken where there are states.
        steps=program.trace.steps if program.moved else None,
        values=program.moved.values(),
        gradients=[program.weights[name] for name in learning],
        rewrites=rewrites,
        recomputed=parts_in(network.capsules, recipe.recompute),
    ).run
    whole = len(chosen) == len(facts.outputs)

    def run(
        inputs: Sequence[Tensor], stored: Sequence[Tensor], targets: Sequence[Tensor]
    ) -> tuple[Tensor, Sequence[Tensor], Sequence[Tensor | None]]:
        loss, _, moved, gradients = planned(inputs, stored, targets if whole else [targets[i] for i in chosen])
        return loss, moved, gradients

    return PlannedGradients(program, learning, run)


def by_universal(
    network: Network, module: torch.nn.Module, facts: NetworkFacts, recipe: Recipe, rewrites: tuple[str, ...] = ()
) -> Gradients:
    """Set the gradients of a module's parameters by universal backpropagation, as autograd would set them."""
    planned = plan_gradients(network, module, facts, recipe, rewrites)
    weights, states = named_weights(module), named_states(module)
    stored = [weights[name] for name in planned.program.weights]
    stored += [states[name] for name in planned.program.states]
    moved = [states[name] for name in planned.program.moved]
    learned = [weights[name] for name in planned.learning]

    @torch.no_grad()
    def backpropagate(inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        # What the last step left makes room before this one begins, as autograd's loop has it.
        for parameter in learned:
            parameter.grad = None
        loss, after, gradients = planned.run(inputs, stored, targets)
        for state, value in zip(moved, after, strict=True):
            state.copy_(value)
        for parameter, gradient in zip(learned, gradients, strict=True):
            # Fused optimisers walk weight and gradient side by side in memory, so both must lie alike.
            if gradient is not None and gradient.stride() != parameter.stride():
                gradient = torch.empty_like(parameter).copy_(gradient)
            parameter.grad = gradient
        return loss

    return backpropagate
