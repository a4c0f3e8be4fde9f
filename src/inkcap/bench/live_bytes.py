"""How many bytes live at once while torch computes, counted storage by storage.

Every result of an operation is looked at as torch dispatches it, and every storage is counted once, until it is gone.
The figure is the same on every machine and at every time, which neither a process's resident memory nor a profiler's
marks are. What a kernel asks for and gives back inside of one call is not in it.
"""

from __future__ import annotations

import weakref
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from typing import Any, cast

import torch
from torch import Tensor
from torch.utils._python_dispatch import TorchDispatchMode

from inkcap.drawing import Drawing
from inkcap.engine import build, initialise
from inkcap.engine.torch_operations import torch_dtype
from inkcap.network import Network, Report, check, structure_of
from inkcap.recipes import DataSpec, LossSpec, OptimiserSpec, Recipe
from inkcap.structures import FLOATING, Structure
from inkcap.training.facts import facts_of
from inkcap.training.gradients import by_universal
from inkcap.training.losses import total_loss, wanted_returns
from inkcap.training.needs import estimate_before
from inkcap.training.optimisers import make_optimiser
from inkcap.training.recomputing import with_places
from inkcap.training.scores import outputs_of


class LiveBytes(TorchDispatchMode):
    """Counts while it is entered; ``held`` are tensors that were there before, which count as long as they live."""

    def __init__(self, held: Iterable[Tensor] = ()) -> None:
        super().__init__()
        self.now = self.peak = 0
        self._known: dict[int, Any] = {}
        for tensor in held:
            self._see(tensor)

    def __torch_dispatch__(
        self, func: Any, types: Any, args: tuple[Any, ...] = (), kwargs: Mapping[str, Any] | None = None
    ) -> Any:
        """Compute, and count what came out."""
        result = func(*args, **(kwargs or {}))
        self._look(result)
        return result

    def _look(self, result: object) -> None:
        if isinstance(result, Tensor):
            self._see(result)
        elif isinstance(result, (list, tuple)):
            for part in cast("list[object] | tuple[object, ...]", result):
                self._look(part)

    def _see(self, tensor: Tensor) -> None:
        storage = tensor.untyped_storage()
        key = storage._cdata  # pyright: ignore[reportPrivateUsage]
        if key in self._known:
            return
        size = storage.nbytes()

        def gone(_: Any) -> None:
            self._known.pop(key, None)
            self.now -= size

        self._known[key] = weakref.ref(storage, gone)
        self.now += size
        self.peak = max(self.peak, self.now)


@dataclass(frozen=True)
class Trained:
    """A network with a recipe whose losses are chosen, and one batch of random numbers for it."""

    report: Report
    recipe: Recipe
    inputs: list[Tensor]
    targets: list[Tensor]

    @property
    def estimate(self) -> int:
        """The bytes that a training is said to need before it starts."""
        return estimate_before(self.report, self.recipe).total


def trained(drawing: Drawing, batch: int, optimiser: str = "adam", recompute: tuple[str, ...] = ()) -> Trained:
    """Choose the usual losses of a drawing, classes for outputs that tell them and else numbers, and draw a batch."""
    report = check(drawing)
    network, generator = report.network, torch.Generator().manual_seed(0)
    losses = [_loss(id, network) for id in network.outputs]
    spec = OptimiserSpec(optimiser, 1e-4)
    recipe = Recipe(DataSpec("any"), losses=tuple(losses), optimiser=spec, batch=batch, recompute=recompute)
    inputs = [_numbers(structure_of(network.capsules[id]), batch, generator) for id in network.inputs]
    targets: list[Tensor] = []
    for loss in losses:
        output = structure_of(network.capsules[loss.output])
        if loss.kind == "cross-entropy":
            facts = facts_of(network).output(loss.output)
            targets.append(torch.randint(0, facts.classes, (batch, *facts.positions), generator=generator))
        else:
            targets.append(_numbers(output, batch, generator))
    return Trained(report, recipe, inputs, targets)


def peak_of(case: Trained, engine: str = "eager", rewrites: tuple[str, ...] = (), steps: int = 2) -> int:
    """Take some steps as an engine does, and give the most bytes that lived at once."""
    recipe = with_places(replace(case.recipe, engine="auto"), case.report.drawn or case.report.drawing)
    network = case.report.network
    facts = facts_of(network)
    module = build(network, dict(wanted_returns(facts, recipe)))
    initialise(module, network, 0)
    learning = [parameter for parameter in module.parameters() if parameter.requires_grad]
    optimiser, loss_of = make_optimiser(recipe.optimiser, learning), total_loss(facts, recipe)
    planned = by_universal(network, module, facts, recipe, rewrites) if engine == "explicit" else None
    remembered = [value for memory in optimiser.state.values() for value in memory.values()]
    held = [*module.parameters(), *module.buffers(), *case.inputs, *case.targets, *remembered]
    live = LiveBytes(value for value in held if isinstance(value, Tensor))
    with live:
        for _ in range(steps):
            if planned is not None:
                planned(case.inputs, case.targets)
            else:
                optimiser.zero_grad(set_to_none=True)
                loss_of(outputs_of(module(*case.inputs)), case.targets).backward()
            optimiser.step()
    return live.peak


def _loss(id: str, network: Network) -> LossSpec:
    tells = network.capsules[id].record.loss_from_input == "cross-entropy"
    return LossSpec(id, "cross-entropy" if tells else "mean-squared-error")


def _numbers(structure: Structure, batch: int, generator: torch.Generator) -> Tensor:
    shape, dtype = (batch, *structure.sizes), torch_dtype(structure.dtype)
    if structure.dtype in FLOATING:
        return torch.randn(shape, generator=generator, dtype=dtype)
    # Whole numbers pick rows of a table.
    return torch.randint(0, 3, shape, generator=generator, dtype=dtype)
