"""A member's part of every batch: together the parts are the batch, and over an epoch every sample comes once."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from typing import TypeVar

import torch
from torch import Tensor

from inkcap.training.batches import Batches
from inkcap.training.group.membership import Group
from inkcap.training.scores import Batch

T = TypeVar("T")


@dataclass
class Parts:
    """What one member of a group takes of batches that all share; `own` and `whole` are of the part in hand."""

    group: Group
    own: int = field(default=0, init=False)
    """Its samples; none where the batch has fewer samples than the group members, and one stands in that never counts.
    """
    whole: int = field(default=0, init=False)
    """The samples of the whole batch."""

    @property
    def rank(self) -> int:
        """Which member it is."""
        return self.group.rank

    @property
    def share(self) -> float:
        """The part of the batch that is this member's."""
        return self.own / self.whole if self.whole else 0.0

    def place(self, samples: int) -> tuple[int, int]:
        """Give where this member's part of so many samples begins, and how many they are."""
        each, more = divmod(samples, self.group.world)
        rank = self.group.rank
        return rank * each + min(rank, more), each + (rank < more)

    def of(self, batches: Batches, order: Tensor, epoch: int, skip: int = 0) -> Iterator[Batch]:
        """Give the part of each batch in the epoch's order."""
        size, count = batches.batch, len(order)
        rest = count % size
        end = count - (rest if rest < batches.least else 0) if size >= batches.least else 0
        pieces: list[Tensor] = []
        sizes: list[tuple[int, int]] = []
        for start in range(skip * size, end, size):
            whole = min(size, end - start)
            first, own = self.place(whole)
            # Whoever has none takes one all the same: every member must take part in every step.
            pieces.append(order[start + first : start + first + max(own, 1)] if own else order[start : start + 1])
            sizes.append((own, whole))
        if not pieces:
            return
        mine = replace(batches, batch=max(1, self.place(size)[1]), least=1)
        for batch, (self.own, self.whole) in zip(mine.shuffled(torch.cat(pieces), epoch), sizes, strict=True):
            yield batch

    def in_order(self, batches: Batches) -> Iterator[Batch]:
        """Give the part of each batch as the samples lie, for measuring."""
        return self.of(replace(batches, least=1), torch.arange(batches.samples), 0)

    def gathered(self, value: T) -> list[T]:
        """Give what each member has."""
        return self.group.gather(value)
