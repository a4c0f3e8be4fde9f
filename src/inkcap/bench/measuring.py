"""Taking turns: one contender computes at a time, between two slots of the reference, round after round.

A ratio compares a slot with the mean of the reference's slots right before and right after it, so that what slows the
machine down for seconds slows both down. Where those two disagree, something else ran meanwhile: the round is noisy,
and is taken again up to a limit.
"""

from __future__ import annotations

import statistics
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

GROUP = 3
"""How many contenders run between two slots of the reference."""
DISAGREEMENT = 0.2
"""The reference's slots around a group may differ by this part before the group's round is noisy."""
SPREAD = 0.2
"""Quartiles of a figure may lie apart by this part of its median before the figure is noisy."""


class Slots(Protocol):
    """Someone who takes steps when it is his turn, and tells the seconds of one."""

    def slot(self, steps: int, case: int = 0) -> float:
        """Take so many steps."""
        ...


@dataclass(frozen=True)
class Quartiles:
    """A median with its quartiles."""

    low: float
    median: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Quartiles:
        """Compute them; a single value is all three."""
        if len(values) < 2:
            return cls(values[0], values[0], values[0])
        return cls(*statistics.quantiles(values, n=4, method="inclusive"))

    @property
    def spread(self) -> float:
        """The distance of the quartiles, as a part of the median."""
        return (self.high - self.low) / self.median


@dataclass(frozen=True)
class Sample:
    """One slot: the seconds of a step, how many times as fast as the reference it was, and whether it was disturbed."""

    seconds: float
    ratio: float
    disagreement: float

    @property
    def noisy(self) -> bool:
        """Tell whether the reference itself was not steady around it."""
        return self.disagreement > DISAGREEMENT


@dataclass
class Turns:
    """What was measured of one case."""

    samples: dict[str, list[Sample]] = field(default_factory=dict[str, list[Sample]])
    reference: list[float] = field(default_factory=list[float])
    lost: dict[str, str] = field(default_factory=dict[str, str])
    repeated: int = 0
    """How many groups were taken again."""


def take_turns(
    contenders: Mapping[str, Slots],
    reference: Slots,
    steps: Mapping[str, int],
    reference_steps: int,
    rounds: int,
    *,
    case: int = 0,
    most: int | None = None,
    lose: Callable[[str, Exception], str] | None = None,
    between: Callable[[], None] | None = None,
) -> Turns:
    """Let everyone take turns until every contender has so many quiet slots, or ``most`` rounds are over.

    ``lose`` makes one line of what a contender died of; he is left out from then on. ``between`` is called once a
    round.
    """
    turns = Turns({name: [] for name in contenders})
    names = list(contenders)
    groups = [names[at : at + GROUP] for at in range(0, len(names), GROUP)] or [[]]
    most = 2 * rounds if most is None else max(most, rounds)
    quiet = [0] * len(groups)
    for turn in range(most):
        waiting = [number for number in range(len(groups)) if quiet[number] < rounds]
        if not waiting:
            break
        if turn >= rounds:
            turns.repeated += len(waiting)
        if between is not None:
            between()
        before = reference.slot(reference_steps, case)
        turns.reference.append(before)
        for number in waiting if turn % 2 == 0 else reversed(waiting):
            group = [name for name in groups[number] if name not in turns.lost]
            seconds: dict[str, float] = {}
            for name in group if turn % 2 == 0 else reversed(group):
                try:
                    seconds[name] = contenders[name].slot(steps[name], case)
                except Exception as error:
                    if lose is None:
                        raise
                    turns.lost[name] = lose(name, error)
            after = reference.slot(reference_steps, case)
            turns.reference.append(after)
            disagreement = abs(before - after) / min(before, after)
            for name, taken in seconds.items():
                turns.samples[name].append(Sample(taken, (before + after) / 2 / taken, disagreement))
            quiet[number] += disagreement <= DISAGREEMENT
            before = after
    return turns


@dataclass(frozen=True)
class Figure:
    """A contender's figures in one case: times as fast as the reference, and seconds of a step."""

    ratio: Quartiles
    seconds: Quartiles
    noisy: bool


def figure_of(samples: Sequence[Sample], rounds: int) -> Figure:
    """Summarise the quietest slots; the figure is noisy when too few were quiet, or when they lie far apart."""
    chosen = sorted(samples, key=lambda sample: sample.disagreement)[:rounds]
    ratio = Quartiles.of([sample.ratio for sample in chosen])
    # Half the slots may be disturbed: a median does not see them.
    disturbed = sum(sample.noisy for sample in chosen) > len(chosen) / 2
    return Figure(ratio, Quartiles.of([sample.seconds for sample in chosen]), disturbed or ratio.spread > SPREAD)
