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

from inkcap.engine.draft import Draft, draft_of
from inkcap.engine.losses import LossWithGradient
from inkcap.engine.rewrites import rewrite_draft, rewrite_source
from inkcap.engine.rules import LIBRARY, Call, Page, Piece, is_flat, rule_of
from inkcap.operations import Step
from inkcap.program import Identifiers, Lowered
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
    rewrites: Sequence[str] = (),
) -> Plan:
    """Plan the backpropagation of a lowered program for the values and gradients that are wanted.

    A ``clock`` is called after each step, forwards and backwards, with the capsule that the step belongs to, and with
    nothing after what belongs to none. ``rewrites`` are names of ``REWRITES``: what changes the steps is applied in
    the order of the names, what changes the source comes after it.
    """
    wanted, shown = list(gradients), list(values)
    taken = lowered.steps if steps is None else steps
    draft = rewrite_draft(draft_of(lowered, taken, shown, wanted, [seed.number for seed in seeds]), rewrites)
    planner = _Planner(draft, Page(training), clock)
    planner.forward()
    planner.losses(seeds)
    planner.backward()
    found = _tuple(planner.slopes.get(draft.real(number), "None") for number in wanted)
    planner.page.write(f"return total, losses, {_tuple(map(planner.value, shown))}, {found}")
    lines = rewrite_source(planner.page.lines, rewrites)
    source = "\n    ".join(["def run(inputs, weights, targets):", *_releasing(lines)]) + "\n"
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

    def __init__(self, draft: Draft, page: Page, clock: Callable[[str], None] | None) -> None:
        self.draft, self.program, self.page = draft, draft.program, page
        self.clock = page.bind("clock", clock) if clock is not None else ""
        self.identifiers = Identifiers()
        self.names: dict[int, str] = {}
        self.saved: dict[int, str] = {}
        self.slopes: dict[int, str] = {}
        self.pieces: dict[int, list[Piece]] = {}
        self.titles: dict[int, str] = {}
        for id, number in self.program.outputs.items():
            self.titles.setdefault(number, f"Y_{id}")
        for id, number in self.program.total_inputs.items():
            self.titles.setdefault(draft.real(number), f"U_{id}")
        self.carrying = self._carrying()

    def value(self, number: int) -> str:
        """Give the name of a value."""
        return self.names[self.draft.real(number)]

    def _carrying(self) -> set[int]:
        """Find the values whose gradient is wanted, or needed on the way to one that is."""
        carrying = set(self.draft.graded)
        for step in self.draft.steps:
            if step.dtype not in FLOATING or is_flat(step):
                continue
            if any(number in carrying for number in step.arguments):
                carrying.add(step.target)
        return carrying

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
        for step in self.draft.steps:
            rule = rule_of(step)
            beside = self.saved[step.arguments[0]] if rule.beside else ""
            text = rule.forward(self.page, Call(step, [*map(self.value, step.arguments)], saved=beside))
            title = self.titles.get(step.target, f"V_{self.draft.owners[step.target]}")
            name = self._name(step.target, title)
            if rule.saves:
                self.saved[step.target] = self.identifiers.fresh(f"{title}_saved")
                name = f"{name}, {self.saved[step.target]}"
            self.page.write(f"{name} = {text}")
            self._tick(self.draft.owners[step.target])

    def _tick(self, capsule: str) -> None:
        if self.clock:
            self.page.write(f"_ = {self.clock}({self.page.bind(f'{self.clock}_{len(self.page.namespace)}', capsule)})")

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
            if self.draft.real(seed.number) in self.carrying:
                self._add(self.draft.real(seed.number), slope)
        self.page.write(f"losses = {_tuple(names)}")
        self.page.write(f"total = {' + '.join(names)}")
        self._tick("")

    def backward(self) -> None:
        """Write Equations 7 and 8 in reverse topological order."""
        for step in reversed(self.draft.steps):
            self._gather(step.target)
            slope = self.slopes.get(step.target)
            if slope is None or is_flat(step):
                continue
            wanted = [number in self.carrying for number in step.arguments]
            if not any(wanted):
                continue
            names, result = [*map(self.value, step.arguments)], self.value(step.target)
            call = Call(step, names, result, self.saved.get(step.target, ""), slope, wanted)
            for number, part in zip(step.arguments, rule_of(step).backward(self.page, call), strict=True):
                if isinstance(part, Piece):
                    self.pieces.setdefault(number, []).append(part)
                elif part is not None:
                    self._add(number, part)
            self._tick(self.draft.owners[step.target])

    def _add(self, number: int, part: str) -> None:
        """Let a part of a gradient reach its value; what several steps use gets the sum."""
        name = self.slopes.get(number)
        if name is None:
            self.slopes[number] = self.identifiers.fresh(f"d_{self.names[number]}")
            self.page.write(f"{self.slopes[number]} = {part}")
        else:
            self.page.write(f"{name} = {name} + {part}")

    def _gather(self, number: int) -> None:
        """Lay the gradients of the pieces of a value one behind another; all of them are reached, or none."""
        pieces = sorted(self.pieces.pop(number, ()), key=lambda piece: piece.start)
        if pieces:
            self._add(number, f"torch.cat(({', '.join(piece.text for piece in pieces)},), {pieces[0].axis})")
