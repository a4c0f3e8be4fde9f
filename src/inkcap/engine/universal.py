"""Universal backpropagation (Section 3.4, Equations 4 to 12), planned once for a network.

The plan decides which values are kept, which steps carry gradients and what is wanted of each, and is written as
straight-line source: forwards in topological order, the losses, and back in reverse. It runs without a tape, so it
can be traced and compiled as one piece.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from torch import Tensor

from inkcap.engine.draft import Draft, draft_of
from inkcap.engine.losses import LossWithGradient
from inkcap.engine.reading import blank, reads_of
from inkcap.engine.rewrites import REWRITES, rewrite_draft, rewrite_source
from inkcap.engine.rules import LIBRARY, RULES, Call, Page, Piece, Written, is_flat, rule_of
from inkcap.operations import Step
from inkcap.program import Identifiers, Lowered
from inkcap.structures import FLOATING

_NAME = re.compile(r"[A-Za-z_]\w*")
_SHAPE = re.compile(r"\b([A-Za-z_]\w*)\.shape\b")

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
    recomputed: Sequence[Collection[str]] = (),
) -> Plan:
    """Plan the backpropagation of a lowered program for the values and gradients that are wanted.

    A ``clock`` is called after each step, forwards and backwards, with the capsule that the step belongs to, and with
    nothing after what belongs to none. ``rewrites`` are names of ``REWRITES``: what changes the steps is applied in
    the order of the names, what changes the source comes after it.

    ``recomputed`` are sets of capsules: what is computed in one of them is let go after the way forward, but for what
    was drawn at random, and computed once more when the way back comes to it.
    """
    wanted, shown = list(gradients), list(values)
    taken = lowered.steps if steps is None else steps
    if recomputed:
        # What writes into memory that another step made cannot be done twice.
        rewrites = [name for name in rewrites if REWRITES[name].steps is None or not REWRITES[name].mutates]
    draft = rewrite_draft(draft_of(lowered, taken, shown, wanted, [seed.number for seed in seeds]), rewrites)
    planner = _Planner(draft, Page(training), clock, recomputed)
    planner.forward()
    planner.losses(seeds)
    planner.backward()
    found = _tuple(planner.slopes.get(draft.real(number), "None") for number in wanted)
    planner.page.write(f"return total, losses, {_tuple(map(planner.value, shown))}, {found}")
    lines = rewrite_source(_needed(planner.page.lines, planner.repeated), rewrites)
    source = "\n    ".join(["def run(inputs, weights, targets):", *_releasing(lines)]) + "\n"
    namespace: dict[str, Any] = {**LIBRARY, **planner.page.namespace}
    # Our own print, as in build: names come from checked identifiers, numbers from checked records.
    exec(compile(source, "<universal backpropagation>", "exec"), namespace)  # noqa: S102
    return Plan(source, namespace["run"])


def _releasing(lines: Sequence[str]) -> list[str]:
    """Let every value go after its last use, so that a large network holds no more than it needs.

    What is asked of a value later than its numbers is its shape, which is kept instead.
    """
    last: dict[str, int] = {}
    asked: dict[str, int] = {}
    for i, line in enumerate(lines):
        made, _, source = line.partition(" = ")
        if source in ("inputs", "weights"):
            continue  # the caller holds these anyway
        own = _NAME.findall(made)
        for name in _NAME.findall(_SHAPE.sub("", line)):
            if name in last or name in own:
                last[name] = i
        asked |= {name: i for name in _SHAPE.findall(line) if name in last}
    shapes = {name for name, place in asked.items() if place > last[name]}
    gone: dict[int, list[str]] = {}
    for name, place in last.items():
        gone.setdefault(place, []).append(name)
    released: list[str] = []
    for i, line in enumerate(lines):
        released.append(_SHAPE.sub(lambda found, i=i: _kept_shape(found, i, last, shapes), line))
        leaving = gone.get(i, []) if i < len(lines) - 1 else []
        released += [f"{name}_shape = {name}.shape" for name in leaving if name in shapes]
        released += [f"del {', '.join(leaving)}"] if leaving else []
    return released


def _kept_shape(found: re.Match[str], line: int, last: Mapping[str, int], shapes: Collection[str]) -> str:
    name = found[1]
    return f"{name}_shape" if name in shapes and line > last[name] else found[0]


def _needed(lines: Sequence[str], repeated: Collection[int]) -> list[str]:
    """Leave out the repeated lines whose results nothing reads."""
    read: set[str] = set()
    kept: list[str] = []
    for i in range(len(lines) - 1, -1, -1):
        made, _, source = lines[i].partition(" = ")
        if i in repeated and read.isdisjoint(_NAME.findall(made)):
            continue
        read.update(_NAME.findall(source or made))
        kept.append(lines[i])
    return kept[::-1]


def is_called(step: Step) -> bool:
    """Tell whether a step goes back by a call of its product, which reads what ``reads_of`` tells."""
    return not isinstance(step.operation, Written) and step.operation.name not in RULES


def _tuple(names: Iterable[str]) -> str:
    return f"({''.join(f'{name}, ' for name in names).rstrip()})"


class _Planner:
    """Writes the source; gradients are kept by the number of their value."""

    def __init__(
        self,
        draft: Draft,
        page: Page,
        clock: Callable[[str], None] | None,
        recomputed: Sequence[Collection[str]] = (),
    ) -> None:
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
        self.shapes = draft.shapes()
        self.dtypes = {value.number: value.dtype for value in self.program.trace.inputs}
        self.dtypes |= {step.target: step.dtype for step in draft.steps}
        self.fixed = {*self.program.weights.values(), *self.program.states.values()}
        """Values that have no batch axis."""
        for step in draft.steps:
            if self.fixed.issuperset(step.arguments):
                self.fixed.add(step.target)
        parts = {capsule: part for part, capsules in enumerate(recomputed) for capsule in capsules}
        self.parts = {
            step.target: parts[draft.owners[step.target]] for step in draft.steps if draft.owners[step.target] in parts
        }
        """The part that is computed twice, by the values in it."""
        self.repeated: set[int] = set()
        """The lines that compute something once more."""
        self.again: dict[int, dict[int, str]] = {}
        """By part: the names under which its values are there once more."""
        self.way_back = 0

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
            title = self.titles.get(step.target, f"V_{self.draft.owners[step.target]}")
            self._compute(step, title, self.names, self.saved)
            self._tick(self.draft.owners[step.target])

    def _compute(self, step: Step, title: str, names: dict[int, str], saved: dict[int, str]) -> None:
        """Write a step, whose arguments go by these names, and add the name of its result to them."""
        rule = rule_of(step)
        beside = saved[step.arguments[0]] if rule.beside else ""
        arguments = [names.get(n, self.names[n]) for n in map(self.draft.real, step.arguments)]
        text = rule.forward(self.page, Call(step, arguments, saved=beside))
        names[step.target] = name = self.identifiers.fresh(title)
        if rule.saves:
            saved[step.target] = self.identifiers.fresh(f"{title}_saved")
            name = f"{name}, {saved[step.target]}"
        self.page.write(f"{name} = {text}")

    def _repeat(self, part: int) -> None:
        """Write the steps of a part once more; what the way back of others has read is still there."""
        read = {name for line in self.page.lines[self.way_back :] for name in _NAME.findall(line)}
        names = self.again[part] = dict[int, str]()
        saved = dict[int, str]()
        first = len(self.page.lines)
        for step in self.draft.steps:
            if self.parts.get(step.target) != part or step.operation.drawn:
                continue
            there = self.names[step.target] in read
            self._compute(step, f"{self.names[step.target]}_again", names, saved)
            if there:
                names[step.target] = self.names[step.target]
        self.saved.update(saved)
        self.repeated.update(range(first, len(self.page.lines)))

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
        self.way_back = len(self.page.lines)
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
            part = self.parts.get(step.target)
            if part is not None and part not in self.again:
                self._repeat(part)
            seen = {**self.names, **self.again[part]} if part is not None else self.names
            names, result = self._read(step, seen, wanted, slope)
            call = Call(step, names, result, self.saved.get(step.target, ""), slope, wanted)
            for number, part in zip(step.arguments, rule_of(step).backward(self.page, call), strict=True):
                if isinstance(part, Piece):
                    self.pieces.setdefault(number, []).append(part)
                elif part is not None:
                    self._add(number, part)
            self._tick(self.draft.owners[step.target])

    def _read(self, step: Step, seen: Mapping[int, str], wanted: Sequence[bool], slope: str) -> tuple[list[str], str]:
        """Name what the way back of a step takes, with blanks for values of which it only asks the shape."""
        names = [seen[number] for number in step.arguments]
        if not is_called(step):
            return names, seen[step.target]
        reads = reads_of(step, wanted)
        for place, number in enumerate(step.arguments):
            if not reads.of(place) and number not in self.fixed and self.dtypes.get(number) == step.dtype:
                names[place] = f"{self.page.bind('blank', blank)}({slope}, {tuple(self.shapes[number])})"
        return names, seen[step.target] if reads.result else "None"

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
