"""Signals: one batch through universal backpropagation shows where they vanish, explode or die."""

import torch
from torch import Tensor

from inkcap.engine import named_states, named_weights
from inkcap.engine.universal import plan
from inkcap.network import Network, structure_of
from inkcap.program import lower_to_layers, lower_to_steps
from inkcap.recipes import Recipe, Signal
from inkcap.structures import FLOATING
from inkcap.training.batches import Batches
from inkcap.training.errors import TrainingError
from inkcap.training.facts import NetworkFacts
from inkcap.training.gradients import seeds_of
from inkcap.training.losses import wanted_returns


class SignalWatch:
    """Measures every capsule on the first batch of the training part, always the same one."""

    def __init__(
        self, network: Network, module: torch.nn.Module, facts: NetworkFacts, recipe: Recipe, batches: Batches
    ) -> None:
        """Plan once; a measurement is one pass forwards and backwards."""
        if network.plain is not None:
            raise TrainingError(
                "recipe.signals: neurons run in columns, which give no signals of single ones; draw capsules, "
                "'inkcap contract' makes them."
            )
        program = lower_to_steps(network, apart=True)
        lowered = lower_to_layers(program, dict(wanted_returns(facts, recipe)))
        self.network, self.batches = network, batches
        self.floating = [id for id, capsule in network.capsules.items() if structure_of(capsule).dtype in FLOATING]
        self.chosen, seeds = seeds_of(lowered, facts, recipe)
        self.run = plan(
            lowered,
            seeds,
            steps=program.trace.steps,
            values=program.outputs.values(),
            gradients=[program.total_inputs[id] for id in self.floating],
            training=False,
        ).run
        weights = named_weights(module)
        states = named_states(module)
        self.weights = [*(weights[name] for name in program.weights), *(states[name] for name in program.states)]

    @torch.no_grad()
    def measure(self) -> dict[str, Signal]:
        """Measure once."""
        inputs, targets = next(self.batches.in_order())
        _, _, outputs, slopes = self.run(inputs, self.weights, [targets[i] for i in self.chosen])
        samples = len(targets[0])
        deltas = dict(zip(self.floating, slopes, strict=True))
        found: dict[str, Signal] = {}
        for id, output in zip(self.network.capsules, outputs, strict=True):
            slope = deltas.get(id)
            # The loss is a mean over the batch: a sample's own δ is as many times larger as there are samples.
            delta = (0.0 if slope is None else _norm(slope) * samples) if id in deltas else None
            dead = None if id in self.network.inputs else _dead(output)
            found[id] = Signal(_norm(output), delta, dead)
        return found


def _norm(values: Tensor) -> float:
    """Give the root mean square over the samples of a sample's norm."""
    return float(values.double().square().sum() / len(values)) ** 0.5


def _dead(output: Tensor) -> float:
    """Give the share of units that are 0 for every sample."""
    return float((output == 0).all(0).double().mean())
