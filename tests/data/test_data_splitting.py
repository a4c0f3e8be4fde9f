"""Splitting, the order of epochs, and the stateless numbers beneath them."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from inkcap.training.data import DataError, Dataset, epoch_order, split
from inkcap.training.data import counter as stateless


def labelled(labels: list[int]) -> Dataset:
    """Make a table with the given labels."""
    names = tuple(str(number) for number in range(max(labels) + 1))
    return Dataset("t", {"x": np.ones((len(labels), 1), np.float32)}, {"y": np.array(labels, np.int64)}, names)


GOLDEN_ORDER = [2, 1, 8, 9, 7, 4, 5, 0, 3, 6]
GOLDEN_BITS = [4214331976847517258, 15952774876297864908]
WORD = 2**64


def mixed(value: int) -> int:
    """Scramble a number as SplitMix64 does, with plain integers."""
    value = (value ^ (value >> 30)) * 0xBF58476D1CE4E5B9 % WORD
    value = (value ^ (value >> 27)) * 0x94D049BB133111EB % WORD
    return value ^ (value >> 31)


@given(st.integers(0, 2**64 - 1), st.integers(0, 2**62), st.integers(1, 5))
def test_bits_agree_with_plain_integers(key: int, index: int, count: int) -> None:
    golden = 0x9E3779B97F4A7C15
    start = mixed((index * golden + key) % WORD)
    expected = [mixed((start + place * golden) % WORD) for place in range(1, count + 1)]
    assert stateless.bits(np.uint64(key), [index], count)[0].tolist() == expected


@settings(max_examples=80, deadline=None)
@given(
    st.lists(st.integers(0, 4), min_size=10, max_size=80),
    st.floats(0.0, 0.9),
    st.integers(0, 2**40),
)
def test_parts_are_disjoint_whole_and_stratified(labels: list[int], share: float, seed: int) -> None:
    dataset = labelled(labels)
    train, held_out = split(dataset, share, seed)
    assert sorted([*train.tolist(), *held_out.tolist()]) == list(range(len(labels)))
    assert len(held_out) <= max(round(len(labels) * share), 1)
    wanted = len(held_out) / len(labels)
    for label in set(labels):
        count = labels.count(label)
        held = int((dataset.targets["y"][held_out] == label).sum())
        assert count - held >= 1
        if share <= 0.5 and min(labels.count(other) for other in set(labels)) >= 4:
            assert abs(held - count * wanted) <= 1.0
    again = split(dataset, share, seed)
    assert again[0].tolist() == train.tolist()


def test_shares_are_exact_when_they_can_be() -> None:
    dataset = labelled([0] * 80 + [1] * 20)
    train, held_out = split(dataset, 0.25, 0)
    assert dataset.subset(held_out).histogram("y") == {"0": 20, "1": 5}
    assert len(train) == 75
    others = [split(dataset, 0.25, seed)[1].tolist() for seed in range(5)]
    assert len({tuple(indices) for indices in others}) == 5


def test_without_stratification_and_for_regression() -> None:
    dataset = Dataset("r", {"x": np.ones((10, 1), np.float32)}, {"y": np.ones((10, 1), np.float32)})
    train, held_out = split(dataset, 0.3, 0)
    assert (len(train), len(held_out)) == (7, 3)
    assert len(split(labelled([0] * 5 + [1] * 5), 0.3, 0, stratify=False)[1]) == 3
    assert len(split(dataset, 0.0, 0)[1]) == 0


@pytest.mark.parametrize("share", [-0.1, 1.0, float("nan")])
def test_bad_shares(share: float) -> None:
    with pytest.raises(DataError, match="validation share"):
        split(labelled([0, 1, 0, 1]), share, 0)


def test_classes_of_one_sample_cannot_be_held_out() -> None:
    with pytest.raises(DataError, match="no class with more than one sample"):
        split(labelled([0, 1, 2]), 0.4, 0)


@settings(max_examples=40, deadline=None)
@given(st.integers(0, 300), st.integers(0, 2**63), st.integers(0, 1000))
def test_order_is_a_permutation_without_state(n: int, seed: int, epoch: int) -> None:
    first = epoch_order(n, seed, epoch)
    np.random.default_rng(0).random(10)
    assert sorted(first.tolist()) == list(range(n))
    assert first.tolist() == epoch_order(n, seed, epoch).tolist()


def test_orders_differ_and_stay_what_they_are() -> None:
    assert len({tuple(epoch_order(10, seed, epoch).tolist()) for seed in range(5) for epoch in range(5)}) == 25
    # Golden values: a run that is continued, perhaps with another version, must see the same order.
    assert epoch_order(10, 0, 0).tolist() == GOLDEN_ORDER
    assert [int(value) for value in stateless.bits(stateless.key_of(1, "a"), [0, 5], 1)[:, 0]] == GOLDEN_BITS


def test_numbers_are_even() -> None:
    key = stateless.key_of(7, "test")
    numbers = stateless.uniforms(key, np.arange(20_000), 4)
    assert numbers.min() >= 0.0
    assert numbers.max() < 1.0
    np.testing.assert_allclose(numbers.mean(axis=0), 0.5, atol=0.01)
    correlation = np.corrcoef(numbers.T)
    assert np.abs(correlation - np.eye(4)).max() < 0.03
    assert abs(np.corrcoef(numbers[:-1, 0], numbers[1:, 0])[0, 1]) < 0.03
    counts = np.bincount(stateless.integers(key, np.arange(9000), 1, -1, 1)[:, 0] + 1)
    assert counts.min() > 2800
    normal = stateless.normals(key, np.arange(5000), 3)
    np.testing.assert_allclose(normal.std(axis=0), 1.0, atol=0.05)
    assert np.isfinite(normal).all()
