"""What a worker reaches in training, by a few eager steps of a drawing on random numbers."""

from __future__ import annotations

import time
from statistics import median

from inkcap.bench.live_bytes import trained
from inkcap.drawing import Drawing
from inkcap.engine import build, initialise
from inkcap.training.facts import facts_of
from inkcap.training.losses import total_loss, wanted_returns
from inkcap.training.optimisers import make_optimiser
from inkcap.training.scores import outputs_of

WARM, LEAST, MOST = 2, 5, 200
"""Steps that are not counted, and how many are at least and at most."""
SECONDS = 2.0
"""After so long no step more is begun."""


def step_seconds(drawing: Drawing, batch: int, optimiser: str = "adam") -> float:
    """Give the median time of a step: forwards, back, and the optimiser."""
    case = trained(drawing, batch, optimiser)
    network, recipe = case.report.network, case.recipe
    facts = facts_of(network)
    module = build(network, dict(wanted_returns(facts, recipe)))
    initialise(module, network, 0)
    learning = [parameter for parameter in module.parameters() if parameter.requires_grad]
    made, loss_of = make_optimiser(recipe.optimiser, learning), total_loss(facts, recipe)

    def step() -> float:
        began = time.perf_counter()
        made.zero_grad(set_to_none=True)
        loss_of(outputs_of(module(*case.inputs)), case.targets).backward()
        made.step()
        return time.perf_counter() - began

    for _ in range(WARM):
        step()
    taken: list[float] = []
    while len(taken) < LEAST or (sum(taken) < SECONDS and len(taken) < MOST):
        taken.append(step())
    return median(taken)
