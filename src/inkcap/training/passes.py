"""A pass that is watched: a batch forwards and backwards, with the Y, the δ and the gradients of everything."""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import cast

import torch
from torch import Tensor

from inkcap.engine import named_states, named_weights
from inkcap.engine.universal import plan
from inkcap.network import Network, structure_of
from inkcap.program import lower_to_layers, lower_to_steps
from inkcap.recipes import Recipe
from inkcap.structures import BYTES, FLOATING
from inkcap.training.facts import NetworkFacts
from inkcap.training.gradients import seeds_of
from inkcap.training.losses import wanted_returns

_SHARED = frozenset({"same", "reshape", "transpose", "repeat", "channels"})
"""Operations whose result lies where their argument lies."""


@dataclass(frozen=True)
class Passed:
    """What a pass found: Y of every capsule, δ of those of real numbers, the gradients of the weights that learn.

    δ and gradients are those of the batch's mean loss, and None where no loss depends on the value.
    """

    samples: int
    loss: float
    outputs: Mapping[str, Tensor]
    deltas: Mapping[str, Tensor | None]
    gradients: Mapping[str, Tensor | None]


class WatchedPass:
    """The planned pass of a module, as in evaluation; `clock` is told after each step whose it was."""

    def __init__(
        self,
        network: Network,
        module: torch.nn.Module,
        facts: NetworkFacts,
        recipe: Recipe,
        clock: Callable[[str], None] | None = None,
    ) -> None:
        """Plan once."""
        self._network = network
        self.program = lower_to_steps(network, apart=True)
        self._lowered = lower_to_layers(self.program, dict(wanted_returns(facts, recipe)))
        self._floating = [id for id, capsule in network.capsules.items() if structure_of(capsule).dtype in FLOATING]
        weights, states = named_weights(module), named_states(module)
        self.learning = {name: weight for name, weight in weights.items() if weight.requires_grad}
        self.stored: dict[str, Tensor] = {**weights, **states}
        self._chosen, seeds = seeds_of(self._lowered, facts, recipe)
        deltas = [self.program.total_inputs[id] for id in self._floating]
        self._run = plan(
            self._lowered,
            seeds,
            steps=self.program.trace.steps,
            values=self.program.outputs.values(),
            gradients=[*deltas, *(self.program.weights[name] for name in self.learning)],
            training=False,
            clock=clock,
        ).run
        names = (*self.program.weights, *self.program.states)
        self._stored = [self.stored[name] for name in names]
        self._bytes = self._count_bytes()

    @torch.no_grad()
    def run(self, inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> Passed:
        """Let a batch pass."""
        loss, _, outputs, slopes = self._run(inputs, self._stored, [targets[i] for i in self._chosen])
        count = len(self._floating)
        return Passed(
            samples=len(targets[0]),
            loss=float(loss),
            outputs=dict(zip(self.program.outputs, outputs, strict=True)),
            deltas=dict(zip(self._floating, slopes[:count], strict=True)),
            gradients=dict(zip(self.learning, slopes[count:], strict=True)),
        )

    def bytes_of(self, capsule: str, samples: int) -> int:
        """Tell what a capsule with what enters it takes of memory for a batch.

        These are the values that it makes, the weights, and beside each of them its gradient, where it has one.
        """
        each, held = self._bytes[capsule]
        return each * samples + held

    def _count_bytes(self) -> dict[str, tuple[int, int]]:
        """Count every capsule's bytes a sample, and those of its weights, tied ones where they come first."""
        each = dict.fromkeys(self._network.capsules, 0)
        for id in self.program.inputs:
            each[id] = structure_of(self._network.capsules[id]).bytes
        for step in self.program.trace.steps:
            if step.operation.name not in _SHARED and step.target not in self._lowered.aliases:
                size = math.prod(cast("tuple[int, ...]", step.shape)) * BYTES[step.dtype]
                each[self.program.owners[step.target]] += size * (1 + (step.dtype in FLOATING))
        held = dict.fromkeys(self._network.capsules, 0)
        seen: set[str] = set()
        for id, capsule in self._network.capsules.items():
            entering = (w for i in capsule.incoming for w in self._network.connections[i].weights.values())
            for weight in (*entering, *capsule.stored):
                if weight.name not in seen:
                    seen.add(weight.name)
                    held[id] += weight.structure.bytes * (1 + (weight.name in self.learning))
        return {id: (each[id], held[id]) for id in each}
