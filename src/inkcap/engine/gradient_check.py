"""Checking gradients: universal backpropagation against autograd and against central differences, in float64.

Weights, inputs and targets are random. Of each gradient some numbers are compared with differences, each by two more
passes forwards. Where a difference would step over a kink (a ReLU that opens, another maximum that wins) it is taken
again in smaller steps, and left out if the kink stays inside.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from inkcap.engine.backpropagation import Backpropagator
from inkcap.engine.curves import chosen_side
from inkcap.engine.rules import FLAT
from inkcap.engine.torch_operations import TORCH
from inkcap.network import Network
from inkcap.operations import Step
from inkcap.structures import FLOATING
from inkcap.symbols import MAIN_PORT, socket

AUTOGRAD_TOLERANCE = 1e-9
DIFFERENCE_TOLERANCE = 1e-5
_STEPS = (1e-5, 1e-6, 1e-7)
_KINKED = frozenset(
    {"relu", "step", "window_max", "bins_max", "curve", "prelu", "piece_max", "maximum", "indicate", "largest"}
    | {"region_max"}
)
_SMALLEST = 1e-8
_ROUNDING = 16 * torch.finfo(torch.float64).eps
"""How far two losses may be apart by rounding, for losses of size 1: a difference cannot tell less."""


@dataclass(frozen=True)
class SymbolCheck:
    """The worst relative errors of one symbol: how many numbers were compared, and how many lay at a kink."""

    symbol: str
    compared: int
    left_out: int
    autograd: float
    differences: float

    @property
    def passed(self) -> bool:
        """Whether both errors are within their tolerances; an error that is no number is not."""
        return self.autograd <= AUTOGRAD_TOLERANCE and self.differences <= DIFFERENCE_TOLERANCE

    def to_json(self) -> dict[str, Any]:
        """Describe it for JSON."""
        return {
            "symbol": self.symbol,
            "compared": self.compared,
            "left_out": self.left_out,
            "autograd": self.autograd,
            "differences": self.differences,
            "passed": self.passed,
        }


def check_gradients(network: Network, seed: int = 0, numbers: int = 8, batch: int = 2) -> list[SymbolCheck]:
    """Compare δ of every capsule and ΔW, ΔB of every weight; give the worst error of each symbol."""
    return _Checker(network, seed, numbers, batch).check()


class _Checker:
    def __init__(self, network: Network, seed: int, numbers: int, batch: int) -> None:
        self.network, self.numbers = network, numbers
        self.planned = Backpropagator(network, wide=True)
        self.program = self.planned.program
        self.generator = torch.Generator().manual_seed(seed)
        self.weights = {name: self._random(w.structure.sizes) / max(w.fan_in, 1) ** 0.5 for name, w in self._records()}
        self.inputs = {id: self._data(id, batch) for id in network.inputs}
        sizes = {id: (batch, *_sizes(network, id)) for id in network.outputs}
        self.targets = {id: self._random(shape) for id, shape in sizes.items()}
        program = self.program
        self.values = {program.inputs[id]: value for id, value in self.inputs.items()}
        self.values |= {program.weights[name]: value for name, value in self.weights.items()}
        self.values |= {program.states[name]: value for name, value in self._states().items()}
        self.values, self.pattern = self._run({})

    def _records(self) -> Iterator[tuple[str, Any]]:
        yield from self.network.weights.items()

    def _states(self) -> dict[str, Tensor]:
        """Give running numbers that are neither 0 nor 1, so that mistaking them would be seen."""
        return {
            name: torch.full(state.structure.sizes, 0.5 if state.initialiser == "zeros" else 1.5, dtype=torch.float64)
            for name, state in self.network.states.items()
        }

    def _random(self, shape: tuple[int, ...]) -> Tensor:
        return torch.randn(shape, generator=self.generator, dtype=torch.float64)

    def _data(self, id: str, batch: int) -> Tensor:
        capsule = self.network.capsules[id]
        assert capsule.output is not None
        shape = (batch, *capsule.output.sizes)
        if capsule.output.dtype in FLOATING:
            return self._random(shape)
        return torch.randint(0, 2, shape, generator=self.generator).to(getattr(torch, capsule.output.dtype))

    def check(self) -> list[SymbolCheck]:
        """Go over everything that has a gradient."""
        found = self.planned({**self.weights, **self._states()}, self.inputs, self.targets)
        owners = self._owners()
        ours = {self.program.total_inputs[id]: delta for id, delta in found.delta.items()}
        ours |= {self.program.weights[name]: update for name, update in found.updates.items()}
        theirs = self._by_autograd(list(ours))
        # A gradient that is 0 by cancellation, as that of a bias of keys, is left with the rounding of what cancels.
        rounding = _ROUNDING * max((float(slope.abs().max()) for slope in theirs.values() if slope.numel()), default=0)
        worst: dict[str, list[float]] = {}
        for number, mine in ours.items():
            symbol = owners[number]
            entry = worst.setdefault(symbol, [0, 0, 0.0, 0.0])
            # Against the largest of its kind: a number that is 0 by cancellation has no digits of its own.
            scale = max(float(theirs[number].abs().max()) if mine.numel() else 0.0, _SMALLEST)
            apart = float((mine - theirs[number]).abs().max())
            entry[2] = _worse(entry[2], apart / max(scale, rounding / AUTOGRAD_TOLERANCE))
            for place in self._places(mine.numel()):
                met = self._difference(number, place)
                entry[0 if met is not None else 1] += 1
                if met is not None:
                    slope, blur = met
                    apart = abs(slope - float(mine.flatten()[place]))
                    # Not max(0, …): an error that is no number must stay one.
                    entry[3] = _worse(entry[3], (0.0 if apart <= blur else apart - blur) / scale)
        return [SymbolCheck(s, int(a), int(b), c, d) for s, (a, b, c, d) in worst.items()]

    def _owners(self) -> dict[int, str]:
        """Name the symbol of every gradient: δ and ΔB belong to a capsule, ΔW to a connection."""
        owners: dict[int, str] = {}
        for id, capsule in self.network.capsules.items():
            for port in (MAIN_PORT, *capsule.ports):
                owners[self.program.total_inputs[socket(id, port)]] = capsule.symbol
            for stored in (*((capsule.bias,) if capsule.bias else ()), *capsule.parameters.values()):
                owners[self.program.weights[stored.name]] = capsule.symbol
            for part in capsule.parts:
                for name in (weight.name for weight in part.weights.values() if not weight.state):
                    owners[self.program.weights[name]] = part.part
        for connection in self.network.connections.values():
            for weight in connection.weights.values():
                owners[self.program.weights[weight.name]] = connection.symbol
        return owners

    def _places(self, count: int) -> list[int]:
        if count <= self.numbers:
            return list(range(count))
        return [int(place) for place in torch.randint(0, count, (self.numbers,), generator=self.generator)]

    def _run(self, moved: Mapping[int, Tensor]) -> tuple[dict[int, Tensor], dict[int, Tensor]]:
        """Go forwards with something added to some values; what they do not reach is not computed again.

        Give the values, and by step what was chosen at its kinks.
        """
        computed = {**self.values, **{n: value + moved[n] for n, value in self.values.items() if n in moved}}
        changed, pattern = set(moved), dict[int, Tensor]()
        for step in self.program.trace.steps:
            if step.target in self.values and step.target not in moved and changed.isdisjoint(step.arguments):
                continue
            if step.operation.still and step.target in self.values:
                continue
            arguments = [computed[number] for number in step.arguments]
            made = TORCH[step.operation.name].compute(arguments, step.attributes)
            computed[step.target] = made + moved[step.target] if step.target in moved else made
            changed.add(step.target)
            if step.operation.name in _KINKED:
                pattern[step.target] = _chosen(step, arguments)
        return computed, pattern

    def _loss(self, computed: Mapping[int, Tensor]) -> Tensor:
        outputs = self.program.outputs
        parts = [(computed[outputs[id]] - self.targets[id]).square().sum() / 2 for id in self.network.outputs]
        return torch.stack(parts).sum()

    def _by_autograd(self, numbers: list[int]) -> dict[int, Tensor]:
        # A zero added to each value is a leaf of its own, and its gradient is the value's.
        leaves = {number: torch.zeros_like(self.values[number]).requires_grad_() for number in numbers}
        with torch.enable_grad():
            loss = self._loss(self._run(leaves)[0])
            if not loss.requires_grad:
                return {number: leaf.detach() for number, leaf in leaves.items()}
            found = torch.autograd.grad(loss, list(leaves.values()), materialize_grads=True)
        return dict(zip(numbers, found, strict=True))

    @torch.no_grad()
    def _difference(self, number: int, place: int) -> tuple[float, float] | None:
        """Give one number of a gradient by a central difference, and how far rounding blurs it.

        None where a kink lies inside every step.
        """
        for step in _STEPS:
            shift = torch.zeros_like(self.values[number], memory_format=torch.contiguous_format)
            shift.view(-1)[place] = step
            (up, above), (down, below) = (self._run({number: sign * shift}) for sign in (1, -1))
            # The middle too: a kink right at the point has the same pattern on neither side, or on both.
            if all(torch.equal(above[n], below[n]) and torch.equal(above[n], self.pattern[n]) for n in above):
                high, low = float(self._loss(up)), float(self._loss(down))
                return (high - low) / (2 * step), _ROUNDING * max(abs(high), abs(low), 1.0) / step
        return None


def _sizes(network: Network, id: str) -> tuple[int, ...]:
    output = network.capsules[id].output
    assert output is not None
    return output.sizes


def _chosen(step: Step, arguments: Sequence[Tensor]) -> Tensor:
    """Tell on which side of its kinks an operation works: the open ReLUs, the places of the maxima."""
    x, name, at = arguments[0], step.operation.name, step.attributes
    if name == "curve":
        return chosen_side(x, at)
    if name == "maximum":
        return x >= arguments[1]
    if name in ("step", "relu", "prelu"):
        return x >= at["threshold"] if name == "step" else x > 0
    made = TORCH[name].compute(arguments, at)
    return made if name in FLAT else TORCH[name].product(arguments, made, torch.ones_like(made), at)[0]


def _worse(old: float, new: float) -> float:
    # Not max(): it would lose a NaN.
    return new if not new <= old else old
