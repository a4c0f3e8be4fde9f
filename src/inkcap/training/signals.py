"""Signals: one batch through universal backpropagation shows where they vanish, explode or die, and what they cost.

Nothing here changes what a training comes to: no random number is drawn, no weight is touched.
"""

import time
from collections.abc import Iterable, Mapping, Sequence

import torch
from torch import Tensor

from inkcap.network import Network
from inkcap.recipes import EpochSignals, Recipe, Signal, Weighing
from inkcap.training.batches import Batches
from inkcap.training.errors import TrainingError
from inkcap.training.facts import NetworkFacts
from inkcap.training.passes import Passed, WatchedPass

_PASSES = 4
_SHARE = 0.01
"""The share of the time since the last measurement that may go into timing the batch again."""

Squares = dict[str, tuple[float, float]]
"""For every weight by name the squares of |ΔW| and of |W| before it."""


class SignalWatch:
    """Measures every capsule and connection on the first batch of the training part, always the same one."""

    def __init__(
        self, network: Network, module: torch.nn.Module, facts: NetworkFacts, recipe: Recipe, batches: Batches
    ) -> None:
        """Plan once; a measurement is one pass forwards and backwards."""
        if network.plain is not None:
            raise TrainingError(
                "recipe.signals: neurons run in columns, which give no signals of single ones; draw capsules, "
                "'inkcap contract' makes them."
            )
        self.network, self.batches, self._clock = network, batches, Stopwatch(batches.device)
        self._pass = WatchedPass(network, module, facts, recipe, self._clock)
        self._before: dict[str, Tensor] = {}
        self._measured = 0.0
        self.steps: Squares = {}
        """What the last step of the epoch has changed."""

    @torch.no_grad()
    def before_last_step(self) -> None:
        """Remember the weights before the last step of an epoch."""
        self._before = {name: weight.detach().clone() for name, weight in self._pass.learning.items()}

    @torch.no_grad()
    def after_last_step(self) -> None:
        """Measure what the last step of an epoch has changed."""
        now = self._pass.learning
        self.steps = {name: (_square(now[name] - was), _square(was)) for name, was in self._before.items()}
        self._before = {}

    @torch.no_grad()
    def measure(self, epoch: int) -> EpochSignals:
        """Measure once."""
        inputs, targets = next(self.batches.in_order())
        passed, spent = self._timed(inputs, targets)
        samples = passed.samples
        capsules: dict[str, Signal] = {}
        for id, capsule in self.network.capsules.items():
            own = self._weighing([w.name for w in capsule.stored if not w.state], passed)
            capsules[id] = Signal(
                output=sample_norm(passed.outputs[id]),
                # The loss is a mean over the batch: a sample's own δ is as many times larger as there are samples.
                delta=delta_norm(passed.deltas[id], samples) if id in passed.deltas else None,
                # Rows of a list that is not full are 0, and data may be; neither has units that could die.
                dead=None if id in self.network.inputs or capsule.record.items else dead_share(passed.outputs[id]),
                milliseconds=1000 * spent.get(id, 0.0),
                megabytes=self._pass.bytes_of(id, samples) / 1e6,
                weight=own.weight,
                update=own.update,
                gradient=own.gradient,
            )
        connections = {
            id: self._weighing([weight.name for weight in connection.weights.values()], passed)
            for id, connection in self.network.connections.items()
            if connection.weights
        }
        return EpochSignals(epoch, capsules, connections)

    def _timed(self, inputs: Sequence[Tensor], targets: Sequence[Tensor]) -> tuple[Passed, dict[str, float]]:
        """Let the batch pass, the first time twice, and more often where that takes next to nothing of the run's time.

        The quickest time counts: whatever else the machine does, and what a library sets up when it first sees a
        shape, can make a step slower, but never quicker.
        """
        begun = time.perf_counter()
        self._clock.start()
        passed, best = self._pass.run(inputs, targets), self._clock.spent
        for again in range(1, _PASSES):
            spent = time.perf_counter() - begun
            first = not self._measured and again == 1
            if not first and spent * (again + 1) / again > _SHARE * (begun - (self._measured or begun)):
                break
            self._clock.start()
            self._pass.run(inputs, targets)
            best = {id: min(seconds, best[id]) for id, seconds in self._clock.spent.items()}
        self._measured = time.perf_counter()
        return passed, best

    def _weighing(self, names: Sequence[str], passed: Passed) -> Weighing:
        """Take the weights together that a capsule or a connection has."""
        weights, gradients = self._pass.stored, passed.gradients
        if not names:
            return Weighing()
        found = [gradients[name] for name in names if gradients.get(name) is not None]
        return Weighing(
            weight=sum(_square(weights[name]) for name in names) ** 0.5,
            update=update_ratio(self.steps, names),
            gradient=sum(_square(value) for value in found if value is not None) ** 0.5 if found else None,
        )


def update_ratio(steps: Mapping[str, tuple[float, float]], names: Iterable[str]) -> float | None:
    """Give |ΔW|/|W| of some weights together; None before a step, or where all of them were 0."""
    known = [steps[name] for name in names if name in steps]
    size = sum(before for _, before in known)
    return (sum(change for change, _ in known) / size) ** 0.5 if size else None


class Stopwatch:
    """Adds the seconds up between two looks, by the capsule to which they belong."""

    def __init__(self, device: torch.device) -> None:
        """Measure on a device; one that works on its own is waited for."""
        self._device = device
        self._last = 0.0
        self.spent: dict[str, float] = {}

    def start(self) -> None:
        """Begin anew."""
        self.spent = {}
        self._last = self._now()

    def __call__(self, capsule: str) -> None:
        """Count what passed since the last look for a capsule."""
        now = self._now()
        self.spent[capsule] = self.spent.get(capsule, 0.0) + now - self._last
        self._last = now

    def _now(self) -> float:
        if self._device.type == "cuda":
            torch.cuda.synchronize(self._device)
        return time.perf_counter()


def sample_norm(values: Tensor) -> float:
    """Give the root mean square over the samples of a sample's norm."""
    return (_square(values) / len(values)) ** 0.5


def delta_norm(slope: Tensor | None, samples: int) -> float:
    """Give the same of a sample's own δ; no loss depends on what has no slope."""
    return 0.0 if slope is None else sample_norm(slope) * samples


def dead_share(output: Tensor) -> float:
    """Give the share of units that are 0 for every sample."""
    return float((output.abs().amax(0) == 0).double().mean())


def _square(values: Tensor) -> float:
    return float(torch.linalg.vector_norm(values, dtype=torch.float64)) ** 2  # pyright: ignore[reportUnknownMemberType, reportUnknownArgumentType]
