"""What each rewrite is worth: a training step with all of them against one without it, in one interleaved run.

Run it as ``python benchmarks/rewrites.py``. Float32, batch 64, small pictures that lie channels last, momentum; eager,
without a compiler.
"""

from __future__ import annotations

import argparse
import os
import time
from collections.abc import Callable, Iterable
from dataclasses import dataclass

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import torch
from measure import Comparison, compare

from inkcap.drawing import Drawing
from inkcap.engine import build, initialise, named_states, named_weights
from inkcap.engine.rewrites import REWRITES, USUAL
from inkcap.engine.universal import plan
from inkcap.network import check, structure_of
from inkcap.program import lower_to_layers, lower_to_steps
from inkcap.recipes import DataSpec, OptimiserSpec, Recipe, complete_losses
from inkcap.training.engines.choice import CHANNELS_LAST
from inkcap.training.engines.steppers import lay_out
from inkcap.training.facts import facts_of
from inkcap.training.gradients import seeds_of
from inkcap.training.losses import wanted_returns
from inkcap.training.optimisers import make_optimiser
from inkcap.zoo import draw
from inkcap.zoo.alexnet import alexnet_torchvision
from inkcap.zoo.densenet import densenet
from inkcap.zoo.googlenet import googlenet

CASES: dict[str, Callable[[], Drawing]] = {
    "LeNet": lambda: draw("lenet"),
    "AlexNet": lambda: alexnet_torchvision(input=(64, 64, 3), classes=10),
    "GoogLeNet": lambda: googlenet(normalised=False, heads=False, input=(48, 48, 3), classes=10),
    "GoogLeNet, normalised": lambda: googlenet(normalised=True, heads=False, input=(32, 32, 3), classes=10),
    "DenseNet": lambda: densenet(121, input=(32, 32, 3), classes=10, growth=12),
    "ResNet": lambda: draw("resnet18", 10, (32, 32, 3)),
}
BATCH = 64
MOMENTUM = OptimiserSpec("momentum", 1e-4)


@dataclass(frozen=True)
class Step:
    """One training step, and the source by which it runs."""

    source: str
    run: Callable[[], object]


def training_step(drawing: Drawing, rewrites: Iterable[str], data: bool = False) -> Step:
    """One step, forwards, backwards and update; ``data`` asks for the gradient by the data, too."""
    network = check(drawing).network
    facts = facts_of(network)
    recipe = complete_losses(Recipe(DataSpec("any"), optimiser=MOMENTUM), {network.outputs[0]: "classes"})
    module = build(network, dict(wanted_returns(facts, recipe)))
    initialise(module, network, 0)
    lay_out(module, CHANNELS_LAST)
    program = lower_to_steps(network, training=True)
    lowered = lower_to_layers(program, dict(wanted_returns(facts, recipe)))
    weights, states = named_weights(module), named_states(module)
    planned = plan(
        lowered,
        seeds_of(lowered, facts, recipe)[1],
        steps=program.trace.steps,
        values=program.moved.values(),
        gradients=[*(program.weights[name] for name in weights), *(program.inputs.values() if data else ())],
        rewrites=tuple(rewrites),
    )
    stored = [*(weights[name] for name in program.weights), *(states[name] for name in program.states)]
    moved = [states[name] for name in program.moved]
    optimiser = make_optimiser(recipe.optimiser, list(weights.values()))
    generator = torch.Generator().manual_seed(0)
    x = torch.randn((BATCH, *structure_of(network.capsules[network.inputs[0]]).sizes), generator=generator)
    x = x.to(memory_format=torch.channels_last)
    y = torch.randint(0, 10, (BATCH,), generator=generator)

    @torch.no_grad()
    def step() -> object:
        loss, _, after, gradients = planned.run([x], stored, [y])
        for state, value in zip(moved, after, strict=True):
            state.copy_(value)
        for weight, gradient in zip(weights.values(), gradients, strict=False):
            weight.grad = gradient
        optimiser.step()
        return loss

    return Step(planned.source, step)


def measure_rewrites(case: str, rounds: int, clock: Callable[[], float]) -> Comparison:
    """Measure the usual rewrites, all but each of them that changes the case, none, and more than the usual."""
    drawing = CASES[case]()
    usual = training_step(drawing, USUAL)
    contenders = {"usual": usual.run}
    for name in REWRITES:
        # In the order of all, in which one that is unusual comes before the one that it stands for.
        chosen = [other for other in REWRITES if (other in USUAL) != (other == name)]
        changed = training_step(drawing, chosen)
        if changed.source != usual.source:
            contenders[f"without {name}" if name in USUAL else f"with {name}"] = changed.run
    contenders["with gradients by data"] = training_step(drawing, USUAL, data=True).run
    contenders["none"] = training_step(drawing, ()).run
    return compare(case, contenders, "usual", rounds, clock=clock)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("cases", nargs="*", default=list(CASES), help=f"of {', '.join(CASES)}")
    parser.add_argument("--rounds", type=int, default=21, help="paired rounds for each case")
    parser.add_argument("--threads", type=int, default=1, help="threads of torch; one is timed by its processor time")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    clock = time.process_time if arguments.threads == 1 else time.perf_counter
    print(f"torch {torch.__version__}, {arguments.threads} thread(s), {arguments.rounds} rounds")
    print("time of a step so / with the usual rewrites; without one, above 1: it pays")
    for case in arguments.cases:
        found = measure_rewrites(case, arguments.rounds, clock)
        print(f"\n{case}: {found.timings['usual'].median * 1e3:.1f} ms")
        for name, ratio in found.ratios.items():
            if name != "usual":
                print(f"  {name:<24} {ratio.median:.3f} ({ratio.low:.3f} to {ratio.high:.3f})", flush=True)


if __name__ == "__main__":
    main()
