"""The learning rate of each step, as a share of the recipe's rate; plain arithmetic, so that it can be drawn too."""

import math
from collections.abc import Mapping

from inkcap.recipes.fields import Scalar


def warm_up_steps(options: Mapping[str, Scalar], steps_per_epoch: int) -> int:
    """Give the number of steps in which the rate rises to its start."""
    return round(float(options.get("warm_up", 0.0)) * steps_per_epoch)


def rate_factor(kind: str, options: Mapping[str, Scalar], step: int, steps_per_epoch: int, epochs: int) -> float:
    """Give the share of the recipe's rate at a step counted from 0 over the whole run.

    A warm-up of n steps gives (step + 1) / n of what the schedule would give; the schedule itself runs beside it
    from step 0. A plateau depends on what was measured, so only its warm-up is here.
    """
    warm = warm_up_steps(options, steps_per_epoch)
    rise = min(1.0, (step + 1) / warm) if warm else 1.0
    return rise * _plain_factor(kind, options, step, steps_per_epoch, epochs)


def _plain_factor(kind: str, options: Mapping[str, Scalar], step: int, steps_per_epoch: int, epochs: int) -> float:
    epoch = step // steps_per_epoch
    total = steps_per_epoch * epochs
    if kind == "step":
        return float(options["factor"]) ** (epoch // int(options["every"]))
    if kind == "exponential":
        return float(options["factor"]) ** epoch
    if kind == "cosine":
        floor = float(options["floor"])
        return floor + (1.0 - floor) * _half_cosine(min(step, total) / total)
    if kind == "one-cycle":
        start, end = float(options["start"]), float(options["end"])
        top = float(options["rise"]) * total - 1.0
        if step <= top:
            return 1.0 + (start - 1.0) * _half_cosine(step / top if top > 0 else 1.0)
        last = max(total - 1.0, 1.0)
        return end + (1.0 - end) * _half_cosine(min(1.0, (step - top) / (last - top)) if last > top else 1.0)
    return 1.0


def _half_cosine(part: float) -> float:
    """1 at the start, 0 at the end, level at both."""
    return (1.0 + math.cos(math.pi * part)) / 2.0
