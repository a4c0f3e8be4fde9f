"""How long something takes, apart from what a busy machine adds: it is looked at again before it is called slow.

Nothing makes work seem shorter than it is, so the shortest of some looks tells most. What is slow stays slow.
"""

import math
import time
from collections.abc import Callable

LOOKS = 12
Clock = Callable[[], float]


def least(work: Callable[[], object], enough: float, clock: Clock = time.process_time) -> float:
    """Give the fewest seconds that work took, looked at again as long as that is not below what is enough."""
    found = math.inf
    for _ in range(LOOKS):
        found = min(found, seconds(work, clock))
        if found < enough:
            break
    return found


def times_longer(
    small: Callable[[], object], large: Callable[[], object], enough: float, clock: Clock = time.process_time
) -> float:
    """Give how many times as long the large work takes, each at its shortest; both are looked at in turn."""
    few = many = math.inf
    for look in range(LOOKS):
        few, many = min(few, seconds(small, clock)), min(many, seconds(large, clock))
        # A small work that took long by chance would hide how much longer the large one takes: both are seen twice.
        if look and many < enough * few:
            break
    return many / few


def seconds(work: Callable[[], object], clock: Clock) -> float:
    """Give the seconds of a clock that work takes."""
    start = clock()
    work()
    return clock() - start
