"""Looking again: a busy moment is no slowness, and slowness is no busy moment."""

from __future__ import annotations

import itertools
from collections.abc import Callable

from timing import LOOKS, least, times_longer


class Days:
    """A clock, and work that takes the seconds that are named, the last of them for ever."""

    def __init__(self) -> None:
        self.now = 0.0

    def __call__(self) -> float:
        return self.now

    def work(self, *taken: float) -> Callable[[], None]:
        left = itertools.chain(taken, itertools.repeat(taken[-1]))

        def one() -> None:
            self.now += next(left)

        return one


def test_one_busy_moment_is_no_slowness() -> None:
    days = Days()
    assert least(days.work(9.0, 7.0, 0.5), 1, days) == 0.5
    assert days() == 16.5, "what is short enough is not looked at again"


def test_what_is_slow_stays_slow() -> None:
    days = Days()
    assert least(days.work(2.0, 3.0), 1, days) == 2
    assert days() == 2 + 3 * (LOOKS - 1)


def test_work_is_compared_at_its_shortest() -> None:
    days = Days()
    assert times_longer(days.work(1.0), days.work(12.0, 3.0), 9, days) == 3
    assert times_longer(days.work(4.0, 1.0), days.work(12.0), 9, days) == 12, "one long look at the small work hides it"
    assert times_longer(days.work(1.0), days.work(9.5), 9, days) == 9.5
