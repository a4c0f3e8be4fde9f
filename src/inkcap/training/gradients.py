"""Gradients by universal backpropagation: planned once for a run, then set on the parameters step by step."""

from collections.abc import Sequence

import torch
from torch import Tensor

from inkcap.engine import named_states, named_weights
from inkcap.engine.universal import Seed, plan
from inkcap.network import Network
from inkcap.program import Lowered, lower_to_layers, lower_to_steps
from inkcap.recipes import Recipe
from inkcap.training.facts import NetworkFacts
from inkcap.training.losses import explicit_loss, wanted_returns
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


def by_universal(network: Network, module: torch.nn.Module, facts: NetworkFacts, recipe: Recipe) -> Gradients:
    """Plan Algorithm 2 for a built module and a completed recipe: what learns gets its gradient, nothing else.

    A gradient stays None where no loss depends on the weight, as autograd leaves it.
    """
    returns = wanted_returns(facts, recipe)
    program = lower_to_steps(network, training=True)
    lowered = lower_to_layers(program, dict(returns))
    chosen, seeds = seeds_of(lowered, facts, recipe)
    weights = named_weights(module)
    learning = [name for name, weight in weights.items() if weight.requires_grad]
    states = named_states(module)
    moved = [states[name] for name in program.moved]
    # What moves a state is no step towards an output: all steps are taken where there are states.
    steps = program.trace.steps if moved else None
    run = plan(
        lowered,
        seeds,
        steps=steps,
        values=program.moved.values(),
        gradients=[program.weights[name] for name in learning],
    ).run
    stored = [*(weights[name] for name in program.weights), *(states[name] for name in program.states)]
    learned = [weights[name] for name in learning]
    whole = len(chosen) == len(facts.outputs)

    @torch.no_grad()
    def backpropagate(inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Tensor:
        wanted = targets if whole else [targets[i] for i in chosen]
        loss, _, after, gradients = run(inputs, stored, wanted)
        for state, value in zip(moved, after, strict=True):
            state.copy_(value)
        for parameter, gradient in zip(learned, gradients, strict=True):
            # Fused optimisers walk weight and gradient side by side in memory, so both must lie alike.
            if gradient is not None and gradient.stride() != parameter.stride():
                gradient = gradient.contiguous()
            parameter.grad = gradient
        return loss

    return backpropagate
