"""Drafts: a lowered program on its way to source, as steps alone, with what is asked of them.

Rewrites take a draft and give a draft. Layers are no special case here: a convolution or a matrix product that adds a
bias is a step of three arguments.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace

from inkcap.engine.rules import is_flat
from inkcap.operations import Step
from inkcap.program import Lowered, Program
from inkcap.structures import FLOATING, Shape


@dataclass(frozen=True)
class Draft:
    """Steps in an order in which each finds its arguments; values are known by their numbers."""

    program: Program
    steps: tuple[Step, ...]
    asked: frozenset[int]
    """Values that are asked for, or that a loss is computed from."""
    graded: frozenset[int]
    """Values whose gradient is asked for: each stays a value of its own."""
    losing: frozenset[int]
    """Values that a loss is computed from; they are among those that are asked for."""
    owners: Mapping[int, str]
    """The capsule to which the value of a step belongs."""
    aliases: Mapping[int, int] = field(default_factory=dict[int, int])
    """Values that are another value."""

    @property
    def free(self) -> int:
        """The first number that no value has."""
        return max([self.program.trace.count, *(step.target + 1 for step in self.steps)])

    @property
    def held(self) -> frozenset[int]:
        """Values that somebody outside sees, themselves or their gradient."""
        return self.asked | self.graded

    def real(self, number: int) -> int:
        """Give the value that a value is."""
        while number in self.aliases:
            number = self.aliases[number]
        return number

    def reached(self) -> set[int]:
        """Find the values on which a loss depends by gradients."""
        found = set(self.losing)
        for step in reversed(self.steps):
            if step.target in found and step.dtype in FLOATING and not is_flat(step):
                found.update(step.arguments)
        return found

    def users(self) -> dict[int, list[Step]]:
        """Give the steps that take a value, for every value that is taken; one that takes it twice is there twice."""
        found: dict[int, list[Step]] = {}
        for step in self.steps:
            for number in step.arguments:
                found.setdefault(number, []).append(step)
        return found

    def producers(self) -> dict[int, Step]:
        """Give every step by the value that it makes."""
        return {step.target: step for step in self.steps}

    def shapes(self) -> dict[int, Shape]:
        """Give the shape of every value, without the batch."""
        stored = {value.number: value.shape for value in self.program.trace.inputs}
        return stored | {step.target: step.shape for step in self.steps}

    def rewritten(self, instead: Mapping[int, Sequence[Step]], owners: Mapping[int, str] | None = None) -> Draft:
        """Put other steps in the place of some, by the value that these make; no steps take a step away."""
        steps = [other for step in self.steps for other in instead.get(step.target, (step,))]
        return replace(self, steps=tuple(steps), owners={**self.owners, **(owners or {})})


def draft_of(
    lowered: Lowered, steps: Sequence[Step], asked: Iterable[int], graded: Iterable[int], losing: Iterable[int]
) -> Draft:
    """Draft a lowered program: biases enter the layers that add them, and what is another value is that value."""
    program, nothing = lowered.program, frozenset[int]()
    first = Draft(program, (), nothing, nothing, nothing, program.owners, lowered.aliases)
    found: list[Step] = []
    for step in steps:
        if step.target in lowered.aliases:
            continue
        arguments = [first.real(number) for number in step.arguments]
        layer = lowered.layers.get(step.target)
        # Worn parts and slopes go step by step, each with its own product.
        if layer is not None and layer.kind not in ("part", "PReLU") and "bias" in layer.held:
            arguments.append(program.weights[layer.held["bias"]])
        found.append(replace(step, arguments=tuple(arguments)))
    started = frozenset(map(first.real, losing))
    return replace(
        first,
        steps=tuple(found),
        asked=started.union(map(first.real, asked)),
        graded=frozenset(map(first.real, graded)),
        losing=started,
    )
