"""How the cost of a training step grows with width, depth and batch: small sweeps, and the exponents that fit them."""

from __future__ import annotations

import math
import statistics
from collections.abc import Callable, Mapping, Sequence

from inkcap.bench.contenders import CONTENDERS, Contender
from inkcap.bench.processes import Lost, Process
from inkcap.bench.records import Growth, Options

SWEEPS: Mapping[str, tuple[tuple[int, ...], Callable[[int], str]]] = {
    "width of an MLP": ((256, 512, 1024, 2048), lambda n: f"mlp-{n}-{n}-{n}-10@64"),
    "depth of an MLP": ((4, 8, 16, 32), lambda n: f"mlp-{'-'.join(['256'] * n)}-10@64"),
    "batch of an MLP": ((64, 128, 256, 512), lambda n: f"mlp-784-512-512-10@{n}"),
    "channels of convolutions": ((16, 32, 64, 128), lambda n: f"chain-{n}x4@16"),
}
"""What is varied, in which sizes, and the case of a size."""
WHO = ("eager", "inkcap")


def measure_growth(options: Options, threads: int, say: Callable[[str], None]) -> tuple[Growth, ...]:
    """Measure every sweep; the sizes of a sweep and the contenders take turns."""
    found: list[Growth] = []
    for what, (sizes, name) in SWEEPS.items():
        chosen = sizes[:2] if options.quick else sizes
        for growth in _sweep(what, chosen, [name(size) for size in chosen], options, threads):
            found.append(growth)
            say(f"{growth.what}, {CONTENDERS[growth.contender].title}: time grows as its power {growth.exponent:.2f}")
    return tuple(found)


def _sweep(what: str, sizes: Sequence[int], cases: Sequence[str], options: Options, threads: int) -> list[Growth]:
    who: list[Contender] = [CONTENDERS[name] for name in WHO]
    processes = [Process(contender, cases, "training", threads) for contender in who]
    try:
        ready = [[process.ready() for _ in cases] for process in processes]
        slots: dict[tuple[int, int], list[float]] = {}
        for _ in range(max(3, options.rounds // 2)):
            for case in range(len(cases)):
                for number, process in enumerate(processes):
                    steps = max(1, round(options.seconds / 2 / ready[number][case].step))
                    slots.setdefault((number, case), []).append(process.slot(steps, case))
    except Lost:
        return []
    finally:
        for process in processes:
            process.close()
    grown: list[Growth] = []
    for number, contender in enumerate(who):
        # What else runs makes a slot longer and never shorter: the shortest is nearest to the cost itself.
        seconds = tuple(min(slots[number, case]) for case in range(len(cases)))
        grown.append(Growth(what, contender.name, tuple(sizes), seconds, fitted_exponent(sizes, seconds)))
    return grown


def fitted_exponent(sizes: Sequence[int], seconds: Sequence[float]) -> float:
    """Fit a power of the size to the seconds, by least squares of the logarithms."""
    fit = statistics.linear_regression([math.log(size) for size in sizes], [math.log(time) for time in seconds])
    return fit.slope
