"""Samples in memory, given out batch by batch."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor

from inkcap.training.scores import Batch

Finish = Callable[[tuple[Tensor, ...], Tensor, int], tuple[Tensor, ...]]
"""What is still to be done to the inputs, or the targets, of a batch, given its samples' numbers and the epoch."""


@dataclass(frozen=True)
class Batches:
    """Inputs and targets of one part of the data.

    `finish` does to a batch what was too large to do once for
    all samples, or what differs from epoch to epoch; without it a batch is only picked out of what is ready.
    """

    inputs: tuple[Tensor, ...]
    targets: tuple[Tensor, ...]
    batch: int
    device: torch.device
    finish: Finish | None = None
    move: Finish | None = None
    """What tells places of a picture is moved with the picture."""
    least: int = 1
    """A last training batch of fewer samples is left out: a normalisation over the batch could not work on it."""
    workers: int = 0
    """So many threads finish the next batches while a step computes; whatever their number, batches are the same."""

    @property
    def samples(self) -> int:
        """The number of samples."""
        return int(self.targets[0].shape[0])

    @property
    def steps(self) -> int:
        """The number of training batches; the last one may be smaller."""
        whole, rest = divmod(self.samples, self.batch)
        return whole + (rest >= self.least and rest > 0)

    def in_order(self) -> Iterator[Batch]:
        """Give the samples as they lie, for measuring."""
        for start in range(0, self.samples, self.batch):
            part = slice(start, start + self.batch)
            inputs = tuple(values[part] for values in self.inputs)
            if self.finish is not None:
                inputs = self.finish(inputs, torch.arange(start, start + len(inputs[0])), 0)
            targets = tuple(values[part] for values in self.targets)
            if self.move is not None:
                targets = self.move(targets, torch.arange(start, start + len(inputs[0])), 0)
            yield self._placed(inputs), self._placed(targets)

    def shuffled(self, order: Tensor, epoch: int, skip: int = 0) -> Iterator[Batch]:
        """Give the samples in an order, for training; a part of the order is a batch.

        Batches that are skipped are not made at all.
        """
        parts = (order[start : start + self.batch] for start in range(skip * self.batch, len(order), self.batch))
        numbers = (part for part in parts if len(part) >= self.least)
        if self.workers and self.finish is not None:
            yield from self._ahead(numbers, epoch)
        else:
            yield from (self._picked(part, epoch) for part in numbers)

    def _ahead(self, numbers: Iterator[Tensor], epoch: int) -> Iterator[Batch]:
        """Give batches in their order while threads make the next ones; numpy works without the interpreter's lock."""
        pool = ThreadPoolExecutor(self.workers, "inkcap-batches")
        coming: deque[Future[Batch]] = deque()
        try:
            for part in numbers:
                coming.append(pool.submit(self._picked, part, epoch))
                if len(coming) > self.workers:
                    yield coming.popleft().result()
            while coming:
                yield coming.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _picked(self, numbers: Tensor, epoch: int) -> Batch:
        inputs = tuple(values[numbers] for values in self.inputs)
        if self.finish is not None:
            inputs = self.finish(inputs, numbers, epoch)
        targets = tuple(values[numbers] for values in self.targets)
        if self.move is not None:
            targets = self.move(targets, numbers, epoch)
        return self._placed(inputs), self._placed(targets)

    def _placed(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        if self.device.type == "cpu":
            return tuple(tensors)
        return tuple(values.to(self.device) for values in tensors)
