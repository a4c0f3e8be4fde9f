"""Many steps in one call: small networks on the kernels of plain neurons, where a call costs more than a step."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor

from inkcap.engine import named_weights
from inkcap.engine.plain import LOSSES, RULES, PlainTrainer, UpdateRule
from inkcap.engine.plain.carried import CarriedNeurons, carry_neurons
from inkcap.network import Network
from inkcap.recipes import Recipe
from inkcap.training.engines.updates import remember
from inkcap.training.facts import NetworkFacts
from inkcap.training.losses import returned

if TYPE_CHECKING:
    from inkcap.training.session import Course

FEW_CONNECTIONS = 4_000
"""Up to so many connections a call costs more than what it computes, whatever the layout."""

Array = NDArray[Any]


def neurons_of(network: Network, facts: NetworkFacts, course: Course) -> CarriedNeurons | None:
    """Give the neurons of a network that can be trained many steps in a call; None for any other."""
    recipe, training = course.recipe, course.training
    spec = recipe.optimiser
    if (
        len(recipe.losses) != 1
        or recipe.losses[0].kind not in LOSSES
        or recipe.losses[0].weight != 1
        or recipe.losses[0].options.get("label_smoothing")
        or spec.kind not in RULES
        or spec.options["weight_decay"]
        or recipe.clip
        or training.finish is not None
        or training.move is not None
        or course.play is not None
        or training.device.type != "cpu"
        or len(course.parameters) != len(named_weights(course.module))
        or (network.plain is None and sum(p.numel() for p in course.parameters) > 2 * FEW_CONNECTIONS)
        or {parameter.dtype for parameter in course.parameters} - {torch.float32, torch.float64}
    ):
        return None
    (target,) = training.targets
    kind, wanted = recipe.losses[0].kind, 1 if recipe.losses[0].kind == "cross-entropy" else 2
    if target.ndim != wanted or (kind == "cross-entropy" and target.is_floating_point()):
        return None
    # A sigmoid that binary cross-entropy takes before its function is left to the kernels, which know it.
    before = kind == "cross-entropy" and returned(facts.outputs[0], kind) == "U"
    carried = carry_neurons(network, course.module, before)
    few = network.plain is not None or carried is None or carried.network.connections <= FEW_CONNECTIONS
    return carried if few else None


class ManySteps:
    """Takes many steps in one call, and gives module and optimiser back what they come to."""

    def __init__(self, neurons: CarriedNeurons, course: Course, optimiser: torch.optim.Optimizer) -> None:
        recipe: Recipe = course.recipe
        self._neurons, self._course, self._optimiser = neurons, course, optimiser
        self._weights = named_weights(course.module)
        self._shared, own = remember(recipe.optimiser, optimiser)
        dtype = next(iter(self._weights.values())).dtype
        rule: Any = {name: value for name, value in recipe.optimiser.options.items() if name != "weight_decay"}
        self._trainer = PlainTrainer(
            neurons.network,
            recipe.losses[0].kind,
            UpdateRule(recipe.optimiser.kind, **rule),  # pyright: ignore[reportArgumentType]
            batch=course.training.batch,
            dtype=np.float64 if dtype == torch.float64 else np.float32,
            contract=False,
        )
        optimised = [p for group in optimiser.param_groups for p in group["params"]]
        names = {id(weight): name for name, weight in self._weights.items()}
        self._remembered = [
            {names[id(p)]: memory[kept] for p, memory in zip(optimised, own, strict=True)}
            for kept in (own[0] if own else ())
        ]
        (x,), (target,) = course.training.inputs, course.training.targets
        self._samples = self._trainer.checked(x.flatten(1).numpy(), target.numpy())

    def load(self) -> None:
        """Go on from what module and optimiser hold."""
        gather = self._neurons.gather
        remembered = [gather(values) for values in self._remembered]
        time = int(self._shared["step"].item()) if "step" in self._shared else 0
        self._trainer.load(*gather(self._weights), remembered, time)

    def take(self, rows: Tensor) -> Array:
        """Take the steps of these samples, batch by batch, at the rate of the schedule; give their losses."""
        self._trainer.set_rate(self._optimiser.param_groups[0]["lr"])
        return self._trainer.go_on(*self._samples, rows.numpy())

    @torch.no_grad()
    def store(self, steps: int) -> None:
        """Give module and optimiser what the steps since the last load, so many, have come to."""
        self._neurons.scatter((self._trainer.weight, self._trainer.bias), self._weights)
        for numbers, values in zip(self._trainer.remembered(), self._remembered, strict=True):
            self._neurons.scatter(numbers, values)
        if "step" in self._shared:
            self._shared["step"].add_(steps)
