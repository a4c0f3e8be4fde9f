"""Plain networks against their peers: ``python benchmarks/plain.py [--quick]``.

Needs the extra ``bench``. Every case runs its contenders in turn in one process; figures are medians with quartiles: of
billions of connections times samples per second, and of how many times longer a peer takes than Inkcap.
"""

from __future__ import annotations

import argparse
import json
import os
import warnings
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Any

os.environ.setdefault("OMP_WAIT_POLICY", "passive")

import numpy as np
import torch
from measure import Comparison, compare
from torch import nn

from inkcap.bench.plain_graphs import drawn_mlp, random_graph
from inkcap.bench.plain_peers import RATE, neat_forward, scipy_steps, torch_steps
from inkcap.engine.plain import PlainModule, PlainNetwork, PlainTrainer, UpdateRule

warnings.filterwarnings("ignore", message="Sparse CSR tensor support is in beta state")

Step = Callable[[], object]
OURS = "Inkcap"


class Report:
    """Prints a line for each contender, and keeps the figures."""

    def __init__(self) -> None:
        self.figures: list[dict[str, Any]] = []

    def add(self, comparison: Comparison, work: dict[str, float], per: dict[str, float]) -> None:
        """``work`` is what one call does, in connections times samples; ``per`` how many calls of ours one call is."""
        load = os.getloadavg()[0] if hasattr(os, "getloadavg") else float("nan")
        print(f"\n{comparison.case}   (load {load:.1f})")
        for name, timing in comparison.timings.items():
            ratio, share = comparison.ratios[name], per.get(name, 1.0)
            low, middle, high = (value / share for value in (ratio.low, ratio.median, ratio.high))
            speed = [work[name] / seconds / 1e9 for seconds in (timing.high, timing.median, timing.low)]
            print(
                f"  {name:<28}{speed[1]:>9.4f} G/s ({speed[0]:.4f} to {speed[2]:.4f})"
                f"{middle:>12.3g} × the time ({low:.3g} to {high:.3g})",
                flush=True,
            )
            self.figures.append(
                {"case": comparison.case, "who": name, "load": load, "giga": speed, "times": [low, middle, high]}
            )  # fmt: skip


def run(
    report: Report, case: str, contenders: dict[str, Step], amounts: dict[str, float], rounds: int, seconds: float
) -> None:
    """Compare contenders whose calls may do different amounts of work."""
    comparison = compare(case, contenders, OURS, rounds, seconds)
    report.add(comparison, amounts, {name: amount / amounts[OURS] for name, amount in amounts.items()})


def measure_graph(
    report: Report, neurons: int, degree: int, levels: int, batch: int, rounds: int, peers: bool, threads: int
) -> None:
    network = PlainNetwork(random_graph(neurons, degree, levels))
    rng = np.random.default_rng(1)
    x = rng.standard_normal((batch, network.inputs.size)).astype(np.float32)
    target = rng.standard_normal((batch, network.outputs.size)).astype(np.float32)
    trainer = PlainTrainer(network, "mean-squared-error", UpdateRule("sgd", RATE), batch=batch, threads=threads)
    forward: dict[str, Step] = {OURS: lambda: network.forward(x, threads=threads)}
    train: dict[str, Step] = {OURS: lambda: trainer.train_steps(x, target)}
    if peers:
        made = {"SciPy CSR by level": scipy_steps(network, x, target)}
        for how, name in (("sparse", "torch CSR by level"), ("gather", "torch gather by level")):
            made[name] = torch_steps(network, x, target, how)
        ours = network.forward(x, threads=threads)
        for name, (step, _) in made.items():
            np.testing.assert_allclose(np.asarray(step()), ours, rtol=1e-2, atol=1e-3, err_msg=name)
        forward |= {name: step for name, (step, _) in made.items()}
        train |= {name: step for name, (_, step) in made.items()}
        forward["neat-python, one sample"] = neat_forward(network, x)
    work = float(network.connections * batch)
    amounts = {name: network.connections if name.startswith("neat") else work for name in (*forward, *train)}
    case = f"{neurons} neurons, {network.connections} connections, {network.levels} levels, batch {batch}"
    size = 0.05 if work < 1e7 else 0.0
    run(report, f"forward: {case}", forward, {name: amounts[name] for name in forward}, rounds, size)
    run(report, f"training step: {case}", train, {name: amounts[name] for name in train}, rounds, size)


def linear_step(
    layers: nn.Module, make: Callable[..., torch.optim.Optimizer], x: torch.Tensor, y: torch.Tensor
) -> Step:
    """One step of the loop that everyone writes, which takes its batch by numbers as ours does."""
    rows = torch.arange(len(x))
    optimiser, criterion = make(layers.parameters()), nn.CrossEntropyLoss()

    def step() -> None:
        optimiser.zero_grad(set_to_none=True)
        criterion(layers(x[rows]), y[rows]).backward()
        optimiser.step()

    return step


def stack(sizes: tuple[int, ...]) -> nn.Sequential:
    layers: list[nn.Module] = []
    for a, b in pairwise(sizes):
        layers += [nn.Linear(a, b), nn.ReLU()]
    return nn.Sequential(*layers[:-1])


def measure_mlp(report: Report, sizes: tuple[int, ...], batch: int, rounds: int, calls: int) -> None:
    """A layered network against ``nn.Linear``, with the same update rule; one call of ours takes so many steps."""
    network = PlainNetwork(drawn_mlp(sizes))
    rng = np.random.default_rng(1)
    x = rng.standard_normal((batch, sizes[0])).astype(np.float32)
    y = rng.integers(0, sizes[-1], batch)
    order = np.tile(np.arange(batch), calls)
    samples, classes = torch.from_numpy(x), torch.from_numpy(y)
    rules: dict[str, Callable[..., torch.optim.Optimizer]] = {
        "sgd": lambda p: torch.optim.SGD(p, 1e-3),
        "adam": lambda p: torch.optim.Adam(p, 1e-3),
        "adam, fused": lambda p: torch.optim.Adam(p, 1e-3, fused=True),
    }
    name = "-".join(map(str, sizes))
    for rule, make in rules.items():
        trainer = PlainTrainer(network, "cross-entropy", UpdateRule(rule.split(",")[0], 1e-3), batch=batch)  # pyright: ignore
        contenders: dict[str, Step] = {
            OURS: lambda trainer=trainer: trainer.train_steps(x, y, order),
            "PlainModule": linear_step(PlainModule(network), make, samples, classes),
            "nn.Linear": linear_step(stack(sizes), make, samples, classes),
        }
        work = float(network.connections * batch)
        amounts = {OURS: work * calls, "PlainModule": work, "nn.Linear": work}
        run(report, f"training step: MLP {name}, batch {batch}, {rule}", contenders, amounts, rounds, 0.05)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--quick", action="store_true", help="the cases of the targets only")
    parser.add_argument("--rounds", type=int, help="interleaved rounds of every case")
    parser.add_argument("--threads", type=int, default=torch.get_num_threads(), help="threads of all contenders")
    parser.add_argument("--json", type=Path, help="write the figures to this file too")
    arguments = parser.parse_args()
    torch.set_num_threads(arguments.threads)
    rounds = arguments.rounds or (7 if arguments.quick else 15)
    print(
        f"torch {torch.__version__}, {arguments.threads} thread(s), {rounds} rounds; G/s: 10⁹ connections times samples"
    )
    report = Report()
    graphs = [(10_000, 10, 10, 256), (10_000, 10, 3000, 256)]
    if not arguments.quick:
        kinds = [(1000, 10, 10), (1000, 10, 800), (1000, 100, 10), (10_000, 10, 10), (10_000, 10, 3000)]
        graphs = [(*kind, batch) for kind in kinds for batch in (1, 32, 256)]
        graphs += [(10_000, 100, 10, 32), (10_000, 100, 10, 256), (100_000, 10, 10, 32), (100_000, 10, 10, 256)]
    for neurons, degree, levels, batch in graphs:
        slow = neurons * degree * batch > 1e8 or levels > 1000
        measure_graph(
            report, neurons, degree, levels, batch, max(3, rounds // 3) if slow else rounds, True, arguments.threads
        )
    if not arguments.quick:  # where the versions by level would take minutes a step, or all of the memory
        measure_graph(report, 100_000, 10, 3000, 256, rounds, False, arguments.threads)
        measure_graph(report, 100_000, 100, 10, 32, rounds, False, arguments.threads)
    for batch in (64, 256):
        measure_mlp(report, (784, 512, 512, 10), batch, 2 * rounds, 4)
    for batch in (16, 64):
        measure_mlp(report, (2, 6, 4, 2), batch, 2 * rounds, 200)
    if arguments.json:
        arguments.json.write_text(json.dumps(report.figures, indent=1) + "\n")


if __name__ == "__main__":
    main()
