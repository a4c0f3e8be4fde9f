"""How much of a training's time goes by waiting for data: measured around every step, told by the epoch."""

import time
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from inkcap.training.scores import Batch

MUCH = 0.03
"""A share of the time that is worth a word: below it, more loaders would gain nothing that is felt."""
_SECONDS = 1.0
"""A wait that is shorter in all is no loss, whatever its share."""
_REMEMBERED = 100
"""So many of the last epochs are told one by one."""


@dataclass
class Pace:
    """The time that steps have waited for their batches, and the time they took in all; of this process alone.

    It is not among the metrics: those of two runs with the same seed are the same, and this never is.
    """

    waited: float = 0.0
    seconds: float = 0.0
    epochs: deque[tuple[int, float]] = field(default_factory=lambda: deque[tuple[int, float]](maxlen=_REMEMBERED))
    """The last epochs with the share that each has waited."""

    def over(self, batches: Iterator[Batch], epoch: int) -> Iterator[Batch]:
        """Hand batches on, and count the time until each is there."""
        clock = time.perf_counter
        waited, begun = 0.0, clock()
        before = begun
        try:
            for batch in batches:
                waited += clock() - before
                yield batch
                before = clock()
        finally:
            seconds = clock() - begun
            self.waited, self.seconds = self.waited + waited, self.seconds + seconds
            self.epochs.append((epoch, waited / seconds if seconds > 0 else 0.0))

    @property
    def share(self) -> float:
        """The share of the time that was waited for data."""
        return self.waited / self.seconds if self.seconds > 0 else 0.0

    @property
    def last(self) -> float:
        """The share of the last epoch."""
        return self.epochs[-1][1] if self.epochs else 0.0

    @property
    def much(self) -> bool:
        """Whether so much was waited that it is worth a word."""
        return self.share > MUCH and self.waited >= _SECONDS

    def advice(self, loaders: int) -> str:
        """Say how much was waited and what helps, or nothing where it was little."""
        if not self.much:
            return ""
        more = f"more than {loaders} loaders" if loaders else "loaders"
        return f"{self.share:.0%} of the time was spent waiting for data; {more} prepare batches beside the steps."

    def to_json(self) -> dict[str, Any]:
        """Give it as plain values."""
        return {
            "data_wait": round(self.share, 4),
            "much": self.much,
            "epochs": [[epoch, round(share, 4)] for epoch, share in self.epochs],
        }
