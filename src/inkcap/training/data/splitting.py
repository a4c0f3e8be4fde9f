"""Dividing the samples into parts, and the order in which an epoch visits them."""

import numpy as np
from numpy.typing import NDArray

from inkcap.training.data import counter
from inkcap.training.data.dataset import Dataset
from inkcap.training.data.errors import DataError

Indices = NDArray[np.int64]


def split(dataset: Dataset, validation: float, seed: int, stratify: bool = True) -> tuple[Indices, Indices]:
    """Divide the samples into training and validation indices, both sorted.

    With classes, each keeps its share in both parts; the choice depends on the seed, the number of samples and their
    labels only. Every class keeps at least one training sample.
    """
    count = len(dataset)
    if not 0.0 <= validation < 1.0:
        raise DataError(
            f"The validation share {validation:g} must be at least 0 and less than 1. Give for example 0.2."
        )
    if count < 2 and validation > 0.0:
        raise DataError(f"{dataset.name} has {count} samples; splitting needs at least 2. Give more data.")
    wanted = 0 if validation == 0.0 else min(max(round(count * validation), 1), count - 1)
    order = counter.permutation(counter.key_of(seed, "split", count), count)
    labels = _labels(dataset) if stratify else None
    if labels is None:
        return np.sort(order[wanted:]), np.sort(order[:wanted])
    held_out = np.zeros(count, dtype=np.bool_)
    shares = _shares(np.bincount(labels), wanted)
    for label, share in enumerate(shares):
        held_out[order[labels[order] == label][:share]] = True
    if wanted and not held_out.any():
        raise DataError(
            f"{dataset.name} has no class with more than one sample, so none can be held out. Give more data, or a "
            f"validation share of 0."
        )
    return np.flatnonzero(~held_out).astype(np.int64), np.flatnonzero(held_out).astype(np.int64)


def _labels(dataset: Dataset) -> NDArray[np.int64] | None:
    """Give the labels of the first class target, or None when no target has one class a sample."""
    for name, values in dataset.targets.items():
        if dataset.classes_of(name) and values.ndim == 1:
            return values.astype(np.int64)
    return None


def _shares(counts: NDArray[np.int64], wanted: int) -> NDArray[np.int64]:
    """Share the wanted number among the classes by largest remainders, leaving each class one sample or more."""
    most = np.maximum(counts - 1, 0)
    ideal = counts * (wanted / max(int(counts.sum()), 1))
    shares = np.minimum(np.floor(ideal).astype(np.int64), most)
    # Ties go to the class that comes first, by the stable sort.
    by_remainder = np.argsort(-(ideal - np.floor(ideal)), kind="stable")
    missing = wanted - int(shares.sum())
    while missing > 0 and bool((shares < most).any()):
        for label in by_remainder:
            if missing > 0 and shares[label] < most[label]:
                shares[label] += 1
                missing -= 1
    return shares


def epoch_order(n: int, seed: int, epoch: int) -> Indices:
    """Give the order in which an epoch visits n samples; it depends on nothing but the three numbers."""
    return epoch_orders(n, seed, range(epoch, epoch + 1))[0]


def epoch_orders(n: int, seed: int, epochs: range) -> Indices:
    """Give the orders of several epochs, as an array (epochs, n): those of few samples cost hardly more than one."""
    if n < 0 or epochs.start < 0:
        raise DataError(f"An order needs n ≥ 0 and epoch ≥ 0, not n={n}, epoch={epochs.start}.")
    return counter.permutations([counter.key_of(seed, "order", n, epoch) for epoch in epochs], n)
