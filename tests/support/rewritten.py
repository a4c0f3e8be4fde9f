"""Plans with and without rewrites, run side by side on the same numbers."""

from __future__ import annotations

from collections.abc import Sequence

import torch
from training_alike import random_batch

from inkcap.engine.losses import half_squares
from inkcap.engine.universal import Plan, Results, Seed, plan
from inkcap.network import Network
from inkcap.program import lower_to_layers, lower_to_steps


def planned(
    network: Network, rewrites: Sequence[str] = (), values: Sequence[str] = (), graded: Sequence[str] = ()
) -> Plan:
    """Plan ½‖Y − T‖² of all outputs: states move, all weights learn; Y and δ of some capsules may be asked for."""
    program = lower_to_steps(network, training=True)
    lowered = lower_to_layers(program)
    floating = [n for name, n in program.weights.items() if network.weights[name].structure.dtype == "float64"]
    return plan(
        lowered,
        [Seed(number, half_squares("mean"), 0.5 + i) for i, number in enumerate(lowered.returned)],
        steps=program.trace.steps,
        values=[*lowered.returned, *program.moved.values(), *(program.outputs[id] for id in values)],
        gradients=[*floating, *(program.total_inputs[id] for id in graded)],
        rewrites=rewrites,
    )


def run_once(network: Network, planned: Plan, seed: int = 0, batch: int = 3) -> Results:
    """Run a plan on random weights, inputs and targets; masks are drawn from the seed, too."""
    generator = torch.Generator().manual_seed(seed)
    program = lower_to_steps(network, training=True)
    stored = {**network.weights, **network.states}
    weights = [
        torch.randn(stored[n].structure.sizes, generator=generator, dtype=torch.float64) / 2
        for n in (*program.weights, *program.states)
    ]
    inputs = list(random_batch(network, network.inputs, seed, batch).values())
    targets = list(random_batch(network, network.outputs, seed + 1, batch).values())
    kept = [[t.clone() for t in given] for given in (inputs, weights, targets)]
    torch.manual_seed(seed)
    with torch.no_grad():
        found = planned.run(inputs, weights, targets)
    for before, after in zip(kept, (inputs, weights, targets), strict=True):
        assert all(torch.equal(a, b) for a, b in zip(before, after, strict=True)), "a rewrite wrote into what was given"
    return found


def assert_same_results(
    network: Network, rewrites: Sequence[str], batch: int = 3, **asked: Sequence[str]
) -> tuple[str, str]:
    """Compare losses, values, moved states and gradients in float64; give the sources without and with rewrites."""
    plain, changed = planned(network, **asked), planned(network, rewrites, **asked)
    for seed in (0, 5):
        ours, theirs = run_once(network, changed, seed, batch), run_once(network, plain, seed, batch)
        torch.testing.assert_close(ours[0], theirs[0], rtol=1e-10, atol=1e-10, equal_nan=True)
        for mine, other in zip(ours[1:], theirs[1:], strict=True):
            for a, b in zip(mine, other, strict=True):
                assert (a is None) == (b is None)
                if a is not None:
                    scale = float(b.abs().nan_to_num(0, 0, 0).max()) if b.numel() else 1.0
                    torch.testing.assert_close(a, b, rtol=1e-9, atol=1e-11 * max(1.0, scale), equal_nan=True)
    return plain.source, changed.source
