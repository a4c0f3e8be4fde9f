"""Universal backpropagation (Section 3.4, Equations 4 to 12), planned once for a network.

The plan decides which values are kept, which steps carry gradients and what is wanted of each, and is written as
straight-line source: forwards in topological order, the losses, and back in reverse. It runs without a tape, so it
can be traced and compiled as one piece.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from inkcap.engine.losses import LossWithGradient
from inkcap.engine.rules import FLAT, LIBRARY, Call, Page, convolved, geometry, items, rule_of
from inkcap.operations import Step
from inkcap.program import Identifiers, Layer, Lowered
from inkcap.structures import FLOATING

_NAME = re.compile(r"[A-Za-z_]\w*")

Results = tuple[Tensor, tuple[Tensor, ...], tuple[Tensor, ...], tuple[Tensor | None, ...]]


@dataclass(frozen=True)
class Seed:
    """Where a gradient starts: the value that a loss is computed from, and the weight of the loss in the total."""

    number: int
    loss: LossWithGradient
    weight: float = 1.0


@dataclass(frozen=True)
class Plan:
    """A planned backpropagation: its source, and the function that the source is.

    ``run(inputs, weights, targets)`` gives the total loss, the losses, and the values and gradients that were asked
    for; a gradient is None where the losses do not depend on the value. Inputs and weights, with the states after
    them, stand in the program's order, targets in the seeds'. Call it under ``torch.no_grad()``.
    """

    source: str
    run: Callable[[Sequence[Tensor], Sequence[Tensor], Sequence[Tensor]], Results]


def plan(
    lowered: Lowered,
    seeds: Sequence[Seed],
    *,
    steps: Sequence[Step] | None = None,
    values: Iterable[int] = (),
    gradients: Iterable[int] = (),
    training: bool = True,
    clock: Callable[[str], None] | None = None,
) -> Plan:
    """Plan the backpropagation of a lowered program for the values and gradients that are wanted.

    A ``clock`` is called after each step, forwards and backwards, with the capsule that the step belongs to, and with
    nothing after what belongs to none.
    """
    wanted = list(gradients)
    planner = _Planner(lowered, lowered.steps if steps is None else steps, wanted, Page(training), clock)
    planner.forward()
    planner.losses(seeds)
    planner.backward()
    asked = _tuple(planner.value(number) for number in values)
    found = _tuple(planner.slopes.get(planner.real(number), "None") for number in wanted)
    planner.page.write(f"return total, losses, {asked}, {found}")
    source = "\n    ".join(["def run(inputs, weights, targets):", *_releasing(planner.page.lines)]) + "\n"
    namespace: dict[str, Any] = {**LIBRARY, **planner.page.namespace}
    # Our own print, as in build: names come from checked identifiers, numbers from checked records.
    exec(compile(source, "<universal backpropagation>", "exec"), namespace)  # noqa: S102
    return Plan(source, namespace["run"])


def _releasing(lines: Sequence[str]) -> list[str]:
    """Let every value go after its last use, so that a large network holds no more than it needs."""
    last: dict[str, int] = {}
    for i, line in enumerate(lines):
        made, _, source = line.partition(" = ")
        if source in ("inputs", "weights"):
            continue  # the caller holds these anyway
        for name in _NAME.findall(line):
            if name in last or name in _NAME.findall(made):
                last[name] = i
    released: list[str] = []
    for i, line in enumerate(lines):
        released.append(line)
        gone = [name for name, place in last.items() if place == i and i < len(lines) - 1]
        released += [f"del {', '.join(gone)}"] if gone else []
    return released


def _tuple(names: Iterable[str]) -> str:
    return f"({''.join(f'{name}, ' for name in names).rstrip()})"


class _Planner:
    """Writes the source; gradients are kept by the number of their value."""

    def __init__(
        self,
        lowered: Lowered,
        steps: Sequence[Step],
        wanted: Sequence[int],
        page: Page,
        clock: Callable[[str], None] | None,
    ) -> None:
        self.lowered, self.steps, self.program, self.page = lowered, steps, lowered.program, page
        self.clock = page.bind("clock", clock) if clock is not None else ""
        self.identifiers = Identifiers()
        self.names: dict[int, str] = {}
        self.saved: dict[int, str] = {}
        self.slopes: dict[int, str] = {}
        self.titles: dict[int, str] = {}
        for id, number in self.program.outputs.items():
            self.titles.setdefault(number, f"Y_{id}")
        for id, number in self.program.total_inputs.items():
            self.titles.setdefault(self.real(number), f"U_{id}")
        self.carrying = self._carrying(wanted)

    def real(self, number: int) -> int:
        """Give the value that a value is: a sum whose bias a layer has added is the sum with its bias."""
        while number in self.lowered.aliases:
            number = self.lowered.aliases[number]
        return number

    def value(self, number: int) -> str:
        """Give the name of a value."""
        return self.names[self.real(number)]

    def _carrying(self, wanted: Sequence[int]) -> set[int]:
        """Find the values whose gradient is wanted, or needed on the way to one that is."""
        carrying = {self.real(number) for number in wanted}
        for step in self.steps:
            if step.dtype not in FLOATING or step.operation.name in FLAT:
                continue
            if any(self.real(number) in carrying for number in self._arguments(step)):
                carrying.add(self.real(step.target))
        return carrying

    def _layer_of(self, step: Step) -> Layer | None:
        """Give the layer that a step is; worn parts and slopes go step by step, each with its own product."""
        layer = self.lowered.layers.get(step.target)
        return None if layer is None or layer.kind in ("part", "PReLU") else layer

    def _arguments(self, step: Step) -> tuple[int, ...]:
        layer = self._layer_of(step)
        bias = layer.held.get("bias") if layer else None
        return (*step.arguments, self.program.weights[bias]) if bias else step.arguments

    def _name(self, number: int, title: str) -> str:
        self.names[number] = self.identifiers.fresh(title)
        return self.names[number]

    def forward(self) -> None:
        """Write Equation 4 for every capsule."""
        inputs = [self._name(number, f"X_{id}") for id, number in self.program.inputs.items()]
        self.page.write(f"{_tuple(inputs)} = inputs")
        stored = {**self.program.weights, **self.program.states}
        weights = [self._name(number, f"W_{name}") for name, number in stored.items()]
        self.page.write(f"{_tuple(weights)} = weights")
        for step in self.steps:
            if step.target in self.lowered.aliases:
                continue
            rule, call = rule_of(step), Call(step, [self.value(number) for number in step.arguments])
            layer = self._layer_of(step)
            text = rule.forward(self.page, call) if layer is None else self._layer(layer, call)
            title = self.titles.get(step.target, f"V_{self.program.owners[step.target]}")
            name = self._name(step.target, title)
            if layer is None and rule.saves:
                self.saved[step.target] = self.identifiers.fresh(f"{title}_saved")
                name = f"{name}, {self.saved[step.target]}"
            self.page.write(f"{name} = {text}")
            self._tick(self.program.owners[step.target])

    def _tick(self, capsule: str) -> None:
        if self.clock:
            self.page.write(f"_ = {self.clock}({self.page.bind(f'{self.clock}_{len(self.page.namespace)}', capsule)})")

    def _layer(self, layer: Layer, call: Call) -> str:
        bias = self.value(self.program.weights[layer.held["bias"]]) if "bias" in layer.held else "None"
        if layer.kind == "Linear":
            weight, x = call.arguments
            return f"linear({x}, {weight}, {bias})"
        x, weight = call.arguments
        return convolved(call, x, weight, bias)

    def losses(self, seeds: Sequence[Seed]) -> None:
        """Write Equations 5 and 6, and start the gradients at the outputs."""
        names: list[str] = []
        for i, seed in enumerate(seeds):
            loss = self.page.bind(f"loss_{i}", seed.loss)
            value, slope = self.identifiers.fresh(f"L_{i}"), self.identifiers.fresh(f"d_L_{i}")
            self.page.write(f"{value}, {slope} = {loss}({self.value(seed.number)}, targets[{i}])")
            if seed.weight != 1.0:
                self.page.write(f"{value}, {slope} = {value} * {seed.weight!r}, {slope} * {seed.weight!r}")
            names.append(value)
            if self.real(seed.number) in self.carrying:
                self._add(self.real(seed.number), slope)
        self.page.write(f"losses = {_tuple(names)}")
        self.page.write(f"total = {' + '.join(names)}")
        self._tick("")

    def backward(self) -> None:
        """Write Equations 7 and 8 in reverse topological order."""
        for step in reversed(self.steps):
            slope = self.slopes.get(step.target)
            if slope is None or step.target in self.lowered.aliases or step.operation.name in FLAT:
                continue
            arguments = self._arguments(step)
            wanted = [self.real(number) in self.carrying for number in arguments]
            if not any(wanted):
                continue
            names = [self.value(number) for number in step.arguments]
            call = Call(step, names, self.value(step.target), self.saved.get(step.target, ""), slope, wanted)
            layer = self._layer_of(step)
            parts = rule_of(step).backward(self.page, call) if layer is None else self._layer_back(layer, call)
            for number, part in zip(arguments, parts, strict=True):
                if part is not None:
                    self._add(self.real(number), part)
            self._tick(self.program.owners[step.target])

    def _layer_back(self, layer: Layer, call: Call) -> Sequence[str | None]:
        """Write the gradients by a layer's weight, its input and its bias; a convolution gives them in one call."""
        slope, wanted = call.gradient, call.wanted
        if layer.kind == "Linear":
            parts = rule_of(call.step).backward(self.page, call)
            return (*parts, *([f"{items(slope, call)}.sum(0)" if wanted[2] else None] if "bias" in layer.held else ()))
        x, weight = call.arguments
        made = f"p_{slope}"
        sizes, mask = [call.step.shape[0]], [*wanted[:2], "bias" in layer.held and wanted[2]]
        self.page.write(
            f"{made} = convolution_backward({slope}, {x}, {weight}, {sizes}, {geometry(call.step)}, {mask})"
        )
        return [f"{made}[{i}]" if want else None for i, want in enumerate(wanted)]

    def _add(self, number: int, part: str) -> None:
        """Let a part of a gradient reach its value; what several steps use gets the sum."""
        name = self.slopes.get(number)
        if name is None:
            self.slopes[number] = self.identifiers.fresh(f"d_{self.names[number]}")
            self.page.write(f"{self.slopes[number]} = {part}")
        else:
            self.page.write(f"{name} = {name} + {part}")
