"""Augmentation: the same for a sample whatever the batch."""

from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.typing import NDArray

from inkcap.training.data import Augmentation, DataError, Dataset, Preparation, prepare_batch
from inkcap.training.data.augmentation import rotated

EVERYTHING = "crop=1,flip=both,shift=2,rotate=20,noise=0.05"
GOLDEN_NOISE = np.float32([0.7126889, -1.2407727])
"""Of sample 4 in epoch 2 of seed 9."""


def pictures(count: int = 30, shape: tuple[int, int, int] = (2, 8, 7)) -> Dataset:
    """Make random images."""
    images = np.random.default_rng(3).integers(0, 256, (count, *shape)).astype(np.uint8)
    return Dataset("pictures", {"x": images}, {"y": np.arange(count) % 2}, ("a", "b"), kind="images")


@settings(max_examples=40, deadline=None)
@given(order=st.permutations(list(range(30))), size=st.integers(1, 30), epoch=st.integers(0, 5))
def test_batches_and_order_do_not_matter(order: list[int], size: int, epoch: int) -> None:
    dataset, augmentation = pictures(), Augmentation.parse(EVERYTHING)
    preparation = Preparation().fit(dataset)
    whole = prepare_batch(dataset, np.arange(30), preparation, augmentation, epoch=epoch, seed=9)["x"]
    for start in range(0, 30, size):
        chosen = order[start : start + size]
        batch = prepare_batch(dataset, chosen, preparation, augmentation, epoch=epoch, seed=9)["x"]
        np.testing.assert_array_equal(batch, whole[chosen])


def test_pieces_do_not_matter_for_large_batches() -> None:
    dataset, augmentation = pictures(600, (1, 4, 4)), Augmentation.parse("shift=1,noise=0.1")
    preparation = Preparation().fit(dataset)
    whole = prepare_batch(dataset, np.arange(600), preparation, augmentation)["x"]
    part = prepare_batch(dataset, np.arange(500, 520), preparation, augmentation)["x"]
    np.testing.assert_array_equal(part, whole[500:520])


def test_epoch_seed_and_sample_matter() -> None:
    image = pictures(1).inputs["x"]
    same = np.repeat(image, 40, axis=0)
    augmentation = Augmentation.parse(EVERYTHING)
    first = augmentation.apply(same, np.arange(40), 0, 0)
    assert len({sample.tobytes() for sample in first}) > 35
    assert not np.array_equal(first, augmentation.apply(same, np.arange(40), 1, 0))
    assert not np.array_equal(first, augmentation.apply(same, np.arange(40), 0, 1))


def test_flip_happens_half_of_the_time_and_mirrors() -> None:
    image = np.arange(6, dtype=np.uint8).reshape(1, 1, 2, 3)
    many = np.repeat(image, 2000, axis=0)
    for text, mirrored in (("flip=horizontal", image[..., ::-1]), ("flip=vertical", image[:, :, ::-1])):
        flipped = Augmentation.parse(text).apply(many, np.arange(2000), 0, 0)
        changed = (flipped == mirrored).all(axis=(1, 2, 3))
        assert (changed | (flipped == image).all(axis=(1, 2, 3))).all()
        assert 850 < changed.sum() < 1150


def shifts_of(text: str) -> set[tuple[int, int]]:
    """Find by how much a single bright pixel is moved."""
    image = np.zeros((1500, 1, 9, 9), np.uint8)
    image[:, :, 4, 4] = 200
    moved = Augmentation.parse(text).apply(image, np.arange(1500), 0, 0)
    assert (moved.sum(axis=(1, 2, 3)) == 200).all()
    return {(int(place) // 9 - 4, int(place) % 9 - 4) for place in moved.reshape(1500, -1).argmax(axis=1)}


@pytest.mark.parametrize("kind", ["shift", "crop"])
def test_moves_cover_their_reach_and_no_more(kind: str) -> None:
    assert shifts_of(f"{kind}=2") == {(row, column) for row in range(-2, 3) for column in range(-2, 3)}


def test_what_is_moved_in_is_zero() -> None:
    full = np.full((200, 1, 5, 5), 9, np.uint8)
    moved = Augmentation.parse("shift=3").apply(full, np.arange(200), 0, 0)
    assert set(np.unique(moved).tolist()) == {0, 9}
    assert (moved[:, 0].sum(axis=(1, 2)) >= 9 * 2 * 2).all()


def test_rotation_by_quarter_turns_is_exact() -> None:
    images: NDArray[Any] = np.random.default_rng(0).integers(0, 256, (4, 3, 7, 7)).astype(np.uint8)
    for turns in range(4):
        expected = np.rot90(images, turns, axes=(2, 3))
        np.testing.assert_array_equal(rotated(images, np.full(4, 90.0 * turns)), expected)


def test_rotation_is_bilinear_with_zeros_outside() -> None:
    full = np.full((1, 1, 5, 5), 100.0, np.float32)
    turned = rotated(full, np.array([45.0]))[0, 0]
    np.testing.assert_allclose(turned[1:4, 1:4], 100.0, rtol=1e-5)
    # The corner lies 2·√2 from the middle, so its row comes from 2·√2 - 2 beyond the edge: that much is lost.
    np.testing.assert_allclose(turned[0, 0], 100.0 * (3.0 - 2.0 * np.sqrt(2.0)), rtol=1e-4)


def test_noise_has_its_deviation_and_comes_after_normalising() -> None:
    augmentation = Augmentation.parse("noise=0.05")
    quiet = np.zeros((2000, 1, 4, 5), np.float32)
    noisy = augmentation.add_noise(quiet, np.arange(2000), 0, 0)
    assert abs(float(noisy.mean())) < 0.001
    assert abs(float(noisy.std()) - 0.05) < 0.001
    assert abs(float((noisy**4).mean()) / 0.05**4 - 3.0) < 0.15
    images = pictures().inputs["x"]
    assert augmentation.apply(images, np.arange(30), 0, 0) is images
    assert not np.array_equal(noisy, augmentation.add_noise(quiet, np.arange(2000), 0, 0, "other"))


@pytest.mark.parametrize("shape", [(3,), (1, 2, 3), (4, 40, 30)])
def test_noise_of_several_epochs_is_that_of_each(shape: tuple[int, ...]) -> None:
    augmentation = Augmentation.parse("noise=0.5")
    values = np.random.default_rng(0).normal(size=(7, *shape)).astype(np.float32)
    chosen = [5, 3, 8, 0, 1, 2, 20]
    several = augmentation.add_noises(values, chosen, range(3, 6), 11, "x")
    assert several.shape == (3, 7, *shape)
    for epoch, found in zip(range(3, 6), several, strict=True):
        np.testing.assert_array_equal(found, augmentation.add_noise(values, chosen, epoch, 11, "x"))
    # The bits of today are those of runs that go on tomorrow.
    expected = np.float32([0.5, 1.5]) + np.float32(0.5) * GOLDEN_NOISE
    np.testing.assert_allclose(augmentation.add_noise(np.float32([[0.5, 1.5]]), [4], 2, 9), [expected], rtol=1e-6)


def test_text_and_json() -> None:
    augmentation = Augmentation.parse(" shift=2, rotate=10.5,flip=horizontal ,noise=0.05")
    assert augmentation == Augmentation(0, "horizontal", 2, 10.5, 0.05)
    assert Augmentation.parse(str(augmentation)) == augmentation
    assert Augmentation.from_json(augmentation.to_json()) == augmentation
    assert not Augmentation.parse("")


@pytest.mark.parametrize(
    ("text", "word"),
    [
        ("shft=2", "Did you mean shift"),
        ("shift", "no value"),
        ("shift=1.5", "whole number"),
        ("shift=-1", "from 0 to 1024"),
        ("rotate=200", "from 0 to 180"),
        ("noise=nan", "from 0 to 100"),
        ("flip=sideways", "horizontal, vertical, both"),
        ("crop=1,crop=2", "twice"),
    ],
)
def test_bad_texts(text: str, word: str) -> None:
    with pytest.raises(DataError, match=word):
        Augmentation.parse(text)


def test_check_against_the_data() -> None:
    rows = Dataset("rows", {"x": np.ones((3, 4), np.float32)}, {"y": np.ones((3, 1), np.float32)})
    with pytest.raises(DataError, match="rows holds no images"):
        Augmentation.parse("shift=1").check(rows)
    Augmentation.parse("noise=0.1").check(rows)
    with pytest.raises(DataError, match=r"reach 7 pixels.*8×7×2"):
        Augmentation.parse("shift=4,crop=3").check(pictures())
