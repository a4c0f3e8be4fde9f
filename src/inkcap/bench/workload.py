"""What a contender makes of a case: something that takes steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, eq=False)
class Workload:
    """Steps that can be taken, and how many numbers learn in them."""

    run: Callable[[int], object]
    """Take so many steps, and come back when they are done."""
    parameters: int | None = None
    """None where a contender does not count them as a drawing does."""


def repeated(step: Callable[[], Any], parameters: int | None = None) -> Workload:
    """Make a workload of a step that is done when its call is."""

    def run(steps: int) -> Any:
        last = None
        for _ in range(steps):
            last = step()
        return last

    return Workload(run, parameters)
