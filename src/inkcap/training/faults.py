"""Where a loss that is no number comes from: the batch once more, with a look at every capsule."""

from collections.abc import Sequence

import torch
from torch import Tensor

from inkcap.engine import named_states, named_weights
from inkcap.engine.universal import plan
from inkcap.network import Network, structure_of
from inkcap.program import lower_to_layers, lower_to_steps
from inkcap.structures import FLOATING
from inkcap.training.facts import NetworkFacts
from inkcap.training.gradients import seeds_of
from inkcap.training.losses import wanted_returns
from inkcap.training.material import Material
from inkcap.training.session import Explain

_NAMED = 8


def explainer(network: Network, module: torch.nn.Module, facts: NetworkFacts, material: Material) -> Explain:
    """Give a function that says which capsule and which samples a loss that is not finite comes from."""

    def explain(inputs: Sequence[Tensor], targets: Sequence[Tensor], order: Tensor, batches: int) -> str:
        size = material.recipe.batch
        now = order[batches * size : (batches + 1) * size]
        broken = [name for name, weight in named_weights(module).items() if not _finite(weight)]
        if broken:
            # Gradients go from the outputs back, so the weight next to them was the first to break.
            before = order[(batches - 1) * size : batches * size] if batches else order[:0]
            whose = f" on {_samples(material, before)}" if len(before) else ""
            return f"the step before{whose} gave the weight {broken[-1]} a gradient that is not finite; "
        found = _first_capsule(network, module, facts, material, (inputs, targets))
        return f"{found}the batch was {_samples(material, now)}; "

    return explain


def _finite(value: Tensor) -> bool:
    return bool(torch.isfinite(value).all())


def _samples(material: Material, numbers: Tensor) -> str:
    part = material.training
    if part.world is not None:
        return f"{len(numbers)} moves that were played"
    places = [int(number) for number in numbers]
    named = [place if part.positions is None else int(part.positions[place]) for place in places]
    more = f" … ({len(named)} in all)" if len(named) > _NAMED else ""
    word = part.position_word if len(named) == 1 else f"{part.position_word}s"
    return f"{word} {', '.join(map(str, named[:_NAMED]))}{more}"


@torch.no_grad()
def _first_capsule(
    network: Network,
    module: torch.nn.Module,
    facts: NetworkFacts,
    material: Material,
    batch: tuple[Sequence[Tensor], Sequence[Tensor]],
) -> str:
    """Name the first capsule whose output is not finite, or else the first, from the outputs on, whose gradient is."""
    if network.plain is not None:
        # Neurons in columns give no single ones to look at.
        return ""
    program = lower_to_steps(network, training=True, apart=True)
    lowered = lower_to_layers(program, dict(wanted_returns(facts, material.recipe)))
    chosen, seeds = seeds_of(lowered, facts, material.recipe)
    floating = [id for id, capsule in network.capsules.items() if structure_of(capsule).dtype in FLOATING]
    run = plan(
        lowered,
        seeds,
        steps=program.trace.steps,
        values=[program.outputs[id] for id in floating],
        gradients=[program.total_inputs[id] for id in floating],
    ).run
    weights, states = named_weights(module), named_states(module)
    stored = [*(weights[name] for name in program.weights), *(states[name] for name in program.states)]
    inputs, targets = batch
    try:
        _, _, outputs, slopes = run(inputs, stored, [targets[i] for i in chosen])
    except RuntimeError:
        return ""
    for id, output in zip(floating, outputs, strict=True):
        if not _finite(output):
            return f"the output of the capsule {id} is the first that is not finite; "
    for id, slope in reversed(list(zip(floating, slopes, strict=True))):
        if slope is not None and not _finite(slope):
            return f"the gradient of the capsule {id} is the first that is not finite; "
    return "the loss itself is not finite; "
