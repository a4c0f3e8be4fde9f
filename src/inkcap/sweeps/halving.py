"""Successive halving: all begin for a few epochs, the better ones go on for a few times as many, until one is left.

All of a rung are compared when all have reached it, whoever came first, so that the same sweep keeps the same trials.
Optuna's pruner, which cannot let a trial wait, decides by the order of arrival; a run of Inkcap can wait and go on.
"""

from collections.abc import Iterable

from inkcap.sweeps.errors import SweepError


def rung_epochs(epochs: int, trials: int, factor: int) -> tuple[int, ...]:
    """Give the epochs at which trials are compared, the last all of them: 9 trials of 9 epochs by 3: 1, 3, 9."""
    if epochs < 1:
        raise SweepError(
            "halving: the recipe leaves the epochs open, and they are what is halved; give them, such as --epochs 9."
        )
    rungs = [epochs]
    left = trials
    while left >= factor and rungs[0] // factor >= 1:
        rungs.insert(0, rungs[0] // factor)
        left //= factor
    return tuple(rungs)


def promoted(reached: Iterable[tuple[int, float | None]], factor: int, *, highest: bool) -> tuple[int, ...]:
    """Give the numbers of the trials that go on, the best first: one of so many, and at least one.

    Among equals the earlier trial goes on; one without a value never does.
    """
    ranked = sorted(
        ((number, value) for number, value in reached if value is not None),
        key=lambda one: (-one[1] if highest else one[1], one[0]),
    )
    return tuple(number for number, _ in ranked[: max(1, len(ranked) // factor)])
