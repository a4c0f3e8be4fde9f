"""Samples in memory, given out batch by batch."""

import math
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass

import torch
from torch import Tensor

from inkcap.training.scores import Batch

Finish = Callable[[tuple[Tensor, ...], Tensor, int], tuple[Tensor, ...]]
"""What is still to be done to the inputs, or the targets, of a batch, given its samples' numbers and the epoch."""

_VALUES_TOGETHER = 1 << 18
_MOST_TOGETHER = 64
"""Batches are made so many at a time at most, and only small ones: what is made lies in the processor's cache."""
_ALIGNED = 64
"""Bytes: torch's kernels may sum in another order where a tensor begins at another place."""


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
        if self.finish is not None or self.move is not None:
            yield from self._given(torch.arange(self.samples), 0)
            return
        for start in range(0, self.samples, self.batch):
            part = slice(start, start + self.batch)
            yield self._placed([v[part] for v in self.inputs]), self._placed([v[part] for v in self.targets])

    def shuffled(self, order: Tensor, epoch: int, skip: int = 0) -> Iterator[Batch]:
        """Give the samples in an order, for training; a part of the order is a batch.

        Batches that are skipped are not made at all.
        """
        rest = len(order) % self.batch
        end = len(order) - (rest if rest < self.least else 0) if self.batch >= self.least else 0
        yield from self._given(order[skip * self.batch : end], epoch)

    def _given(self, numbers: Tensor, epoch: int) -> Iterator[Batch]:
        """Give the batches of these samples, made several at a time."""
        step = self.batch * self.together
        groups = (numbers[start : start + step] for start in range(0, len(numbers), step))
        made = self._ahead(groups, epoch) if self.workers else (self._made(group, epoch) for group in groups)
        for batches in made:
            yield from batches

    @property
    def together(self) -> int:
        """How many batches are made at a time: what is done to many small ones costs hardly more than to one."""
        values = self.batch * sum(math.prod(tensor.shape[1:]) for tensor in (*self.inputs, *self.targets))
        return max(1, min(_MOST_TOGETHER, _VALUES_TOGETHER // max(1, values)))

    def _ahead(self, groups: Iterator[Tensor], epoch: int) -> Iterator[list[Batch]]:
        """Make batches in their order while threads make the next ones; numpy works without the interpreter's lock."""
        pool = ThreadPoolExecutor(self.workers, "inkcap-batches")
        coming: deque[Future[list[Batch]]] = deque()
        try:
            for group in groups:
                coming.append(pool.submit(self._made, group, epoch))
                if len(coming) > self.workers:
                    yield coming.popleft().result()
            while coming:
                yield coming.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _made(self, numbers: Tensor, epoch: int) -> list[Batch]:
        """Pick and finish the samples of some batches at once, and part them."""
        inputs = tuple(values.index_select(0, numbers) for values in self.inputs)
        targets = tuple(values.index_select(0, numbers) for values in self.targets)
        if self.finish is not None:
            inputs = self.finish(inputs, numbers, epoch)
        if self.move is not None:
            targets = self.move(targets, numbers, epoch)
        inputs, targets = self._placed(inputs), self._placed(targets)
        if len(numbers) <= self.batch:
            return [(tuple(map(aligned, inputs)), tuple(map(aligned, targets)))]
        return list(zip(_parted(inputs, self.batch), _parted(targets, self.batch), strict=True))

    def _placed(self, tensors: Sequence[Tensor]) -> tuple[Tensor, ...]:
        if self.device.type == "cpu":
            return tuple(tensors)
        return tuple(values.to(self.device) for values in tensors)


def _parted(tensors: Sequence[Tensor], size: int) -> list[tuple[Tensor, ...]]:
    """Part tensors into batches that begin where tensors of their own would."""
    starts = range(0, len(tensors[0]), size)
    columns = [[aligned(tensor[start : start + size]) for start in starts] for tensor in tensors]
    return list(zip(*columns, strict=True))


def aligned(values: Tensor) -> Tensor:
    """Give values that begin where those of a new tensor do; numpy's may begin anywhere."""
    return values if values.data_ptr() % _ALIGNED == 0 else values.clone()
