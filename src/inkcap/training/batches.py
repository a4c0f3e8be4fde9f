"""Samples in memory, given out batch by batch."""

import math
from collections import deque
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from functools import cached_property
from itertools import chain
from typing import Generic, TypeVar

import torch
from torch import Tensor

from inkcap.training.scores import Batch

T = TypeVar("T")

Finish = Callable[[tuple[Tensor, ...], Tensor, int], tuple[Tensor, ...]]
"""What is still to be done to the inputs, or the targets, of a batch, given its samples' numbers and the epoch."""

_VALUES_TOGETHER = 1 << 18
_MOST_TOGETHER = 64
"""Batches are made so many at a time at most, and only small ones: what is made lies in the processor's cache."""
_EPOCHS_TOGETHER = 64
_EPOCHS_AT_LEAST = 16
_VALUES_AHEAD = 1 << 18
"""Small sets are made for so many epochs at a time at most, and so many values."""
_ALIGNED = 64
"""Bytes: torch's kernels may sum in another order where a tensor begins at another place."""


class EpochsAhead(Generic[T]):
    """What every epoch needs, made for several of them at a time: of a small set that costs hardly more than for one.

    What is made depends on the epoch alone, so that a run that goes on in the middle finds the same.
    """

    def __init__(self, make: Callable[[range], Sequence[T]], values: int, last: int) -> None:
        """Make what has so many values an epoch; after the last epoch nothing is made unless it is asked for."""
        self._make = make
        self._together = max(1, min(_EPOCHS_TOGETHER, _VALUES_AHEAD // max(1, values)))
        self._last = last
        self._made: tuple[int, Sequence[T]] = (0, ())

    def __call__(self, epoch: int) -> T:
        """Give what an epoch needs."""
        first, made = self._made
        if not first <= epoch < first + len(made):
            count = max(1, min(self._together, self._last - epoch + 1))
            first, made = self._made = epoch, self._make(range(epoch, epoch + count))
        return made[epoch - first]


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
    several: Callable[[range], tuple[Tensor, ...]] | None = None
    """Gives the inputs of all samples as `finish` makes them for some epochs, one epoch behind the other."""
    move: Finish | None = None
    """What tells places of a picture is moved with the picture."""
    least: int = 1
    """A last training batch of fewer samples is left out: a normalisation over the batch could not work on it."""
    loaders: int = 0
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
            yield self._placed(tuple(v[part] for v in self.inputs)), self._placed(tuple(v[part] for v in self.targets))

    def shuffled(self, order: Tensor, epoch: int, skip: int = 0) -> Iterator[Batch]:
        """Give the samples in an order, for training; a part of the order is a batch.

        Batches that are skipped are not made at all.
        """
        count = len(order)
        rest = count % self.batch
        end = count - (rest if rest < self.least else 0) if self.batch >= self.least else 0
        # Nothing is made before the first batch is asked for: whoever counts the time counts from there.
        yield from self._given(order if skip == 0 and end == count else order[skip * self.batch : end], epoch)

    def _given(self, numbers: Tensor, epoch: int) -> Iterable[Batch]:
        """Give the batches of these samples, made several at a time."""
        step, count = self.batch * self.together, len(numbers)
        if count <= step:
            # Small sets, of which each call would be felt.
            return self._made(numbers, epoch) if count else ()
        groups = (numbers[start : start + step] for start in range(0, count, step))
        made = self._ahead(groups, epoch) if self.loaders else (self._made(group, epoch) for group in groups)
        return chain.from_iterable(made)

    @cached_property
    def together(self) -> int:
        """How many batches are made at a time: what is done to many small ones costs hardly more than to one."""
        values = self.batch * sum(math.prod(tensor.shape[1:]) for tensor in (*self.inputs, *self.targets))
        return max(1, min(_MOST_TOGETHER, _VALUES_TOGETHER // max(1, values)))

    def _ahead(self, groups: Iterator[Tensor], epoch: int) -> Iterator[list[Batch]]:
        """Make batches in their order while threads make the next ones; numpy works without the interpreter's lock."""
        pool = ThreadPoolExecutor(self.loaders, "inkcap-batches")
        coming: deque[Future[list[Batch]]] = deque()
        try:
            for group in groups:
                coming.append(pool.submit(self._made, group, epoch))
                if len(coming) > self.loaders:
                    yield coming.popleft().result()
            while coming:
                yield coming.popleft().result()
        finally:
            pool.shutdown(cancel_futures=True)

    def _made(self, numbers: Tensor, epoch: int) -> list[Batch]:
        """Pick and finish the samples of some batches at once, and part them."""
        inputs = tuple([values.index_select(0, numbers) for values in self.inputs])
        targets = tuple([values.index_select(0, numbers) for values in self.targets])
        if self.finish is not None:
            inputs = self.finish(inputs, numbers, epoch)
        if self.move is not None:
            targets = self.move(targets, numbers, epoch)
        inputs, targets = self._placed(inputs), self._placed(targets)
        count, size = len(numbers), self.batch
        if count <= size:
            return [(tuple(map(aligned, inputs)), tuple(map(aligned, targets)))]
        sizes = self._sizes(count)
        return list(zip(_parted(inputs, sizes), _parted(targets, sizes), strict=True))

    def _sizes(self, count: int) -> list[int]:
        whole, rest = divmod(count, self.batch)
        return [self.batch] * whole + [rest] * (rest > 0)

    @property
    def values(self) -> int:
        """The numbers that an epoch takes."""
        return sum(values.numel() for values in (*self.inputs, *self.targets))

    @property
    def small(self) -> bool:
        """Whether the calls that make the batches of an epoch take longer than what they do."""
        done = self.finish is None or self.several is not None
        return done and self.move is None and _EPOCHS_AT_LEAST * self.values <= _VALUES_AHEAD

    def of_epochs(self, orders: Tensor, epochs: range) -> list[list[Batch]]:
        """Make the batches of several epochs of a small set at once; those of each are what `shuffled` gives."""
        steps, size, samples = self.steps, self.batch, orders.shape[1]
        used = min(samples, steps * size)
        if not used:
            return [[] for _ in epochs]
        # Every epoch is filled up to whole batches, so that the next one begins where a batch may begin.
        orders = orders[:, torch.arange(steps * size) % used]
        rows = orders
        if self.several is not None:
            rows = orders + torch.arange(len(epochs))[:, None] * samples
        numbers, ready = orders.reshape(-1), self.inputs if self.several is None else self.several(epochs)
        inputs = self._placed(tuple(values.index_select(0, rows.reshape(-1)) for values in ready))
        targets = self._placed(tuple(values.index_select(0, numbers) for values in self.targets))
        filled = [steps * size - used] * (steps * size > used)
        sizes = [*self._sizes(used), *filled] * len(epochs)
        made = list(zip(_parted(inputs, sizes), _parted(targets, sizes), strict=True))
        each = steps + len(filled)
        return [made[first : first + steps] for first in range(0, len(made), each)]

    def _placed(self, tensors: tuple[Tensor, ...]) -> tuple[Tensor, ...]:
        if self.device.type == "cpu":
            return tensors
        return tuple(values.to(self.device) for values in tensors)


def _parted(tensors: Sequence[Tensor], sizes: list[int]) -> Iterable[tuple[Tensor, ...]]:
    """Part tensors into batches that begin where tensors of their own would."""
    return zip(*[_pieces(values, sizes) for values in tensors], strict=True)


def _pieces(values: Tensor, sizes: list[int]) -> Sequence[Tensor]:
    pieces = values.split_with_sizes(sizes)
    # Where whole batches fill whole lines, one look tells where all of them begin.
    lines = sizes[0] * values.stride(0) * values.element_size() % _ALIGNED == 0
    return pieces if lines and values.data_ptr() % _ALIGNED == 0 else [aligned(piece) for piece in pieces]


def aligned(values: Tensor) -> Tensor:
    """Give values that begin where those of a new tensor do; numpy's may begin anywhere."""
    return values if values.data_ptr() % _ALIGNED == 0 else values.clone()
