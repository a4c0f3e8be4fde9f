"""What the machine can do at most: multiply-adds by a large matrix product, bytes by a triad over large arrays.

Both are measured by a process of their own, which has its slot in every round of the contenders.
"""

from __future__ import annotations

import statistics

from inkcap.bench.cases import Work
from inkcap.bench.contenders import Contender
from inkcap.bench.processes import Process
from inkcap.bench.workload import Workload, repeated

SIDE = 1536
"""Rows and columns of the matrices: they fill the caches, and a product takes some hundredths of a second."""
NUMBERS = 1 << 24
"""Numbers of each of the triad's three arrays: 64 MB, which no cache holds."""

OPERATIONS = 2.0 * SIDE**3
"""Floating-point operations of a product."""
BYTES = 3 * 4.0 * NUMBERS
"""Bytes that a triad reads and writes."""
STEPS = 3


class Limits:
    """The limits as they are found from one moment to another."""

    def __init__(self, threads: int) -> None:
        contender = Contender("limits", "the machine's limits", "inkcap.bench.limits:limit")
        self._process = Process(contender, ("product", "triad"), "training", threads, by_name=True)
        try:
            for _ in self._process.cases:
                self._process.ready()
        except BaseException:
            self._process.close()
            raise
        self._found: tuple[list[float], list[float]] = ([], [])

    def begin(self) -> None:
        """Forget what was found before."""
        for found in self._found:
            found.clear()

    def measure(self) -> None:
        """Take a slot of each."""
        for case, found in enumerate(self._found):
            found.append(self._process.slot(STEPS, case))

    def gigaflops(self) -> float:
        """The rate of the matrix product, in 10⁹ floating-point operations a second."""
        return OPERATIONS / statistics.median(self._found[0]) / 1e9

    def gigabytes(self) -> float:
        """The rate of the triad, in 10⁹ bytes a second."""
        return BYTES / statistics.median(self._found[1]) / 1e9

    def close(self) -> None:
        """End the process."""
        self._process.close()


def limit(name: str, work: Work) -> Workload:
    """Make the work that finds a limit: ``product`` or ``triad``."""
    import torch

    del work  # the limits are those of the machine
    if name == "product":
        a, b = torch.randn(2, SIDE, SIDE)
        out = torch.empty(SIDE, SIDE)
        return repeated(lambda: torch.mm(a, b, out=out))
    b, c = torch.ones(NUMBERS), torch.ones(NUMBERS)
    total = torch.empty(NUMBERS)
    return repeated(lambda: torch.add(b, c, alpha=0.5, out=total))
