"""Preparation: fitted on the training part, the same numbers at prediction."""

import json
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hypothesis_numpy
from numpy.typing import NDArray

from inkcap.training.data import DataError, Dataset, Preparation


def table(values: NDArray[Any]) -> Dataset:
    """Make a table with a regression target."""
    return Dataset("table", {"x": values.astype(np.float32)}, {"y": np.arange(len(values), dtype=np.float32)[:, None]})


def pictures(values: NDArray[Any], ranges: dict[str, tuple[float, float]] | None = None) -> Dataset:
    """Make a set of images with two classes."""
    labels = (np.arange(len(values)) % 2).astype(np.int64)
    return Dataset("pictures", {"x": values}, {"y": labels}, ("a", "b"), kind="images", ranges=ranges or {})


def test_auto_by_kind() -> None:
    grey = pictures(np.array([0, 51, 255], np.uint8).reshape(3, 1, 1, 1))
    assert Preparation().fit(grey).apply(grey.inputs["x"]).reshape(-1).tolist() == [0.0, np.float32(0.2), 1.0]
    digits = pictures(np.array([0, 4, 16], np.uint8).reshape(3, 1, 1, 1), {"x": (0.0, 16.0)})
    assert Preparation().fit(digits).apply(digits.inputs["x"]).reshape(-1).tolist() == [0.0, 0.25, 1.0]
    rows = table(np.array([[1.0], [3.0]]))
    assert Preparation().fit(rows).apply(rows.inputs["x"]).tolist() == [[-1.0], [1.0]]
    toy = Dataset(
        "toy", {"x": np.array([[1.5, -2.0]] * 2, np.float32)}, {"y": np.array([0, 1])}, ("0", "1"), kind="toy"
    )
    assert Preparation().fit(toy).apply(toy.inputs["x"])[0].tolist() == [1.5, -2.0]


def test_only_the_training_part_decides() -> None:
    values = np.array([[1.0, 10.0], [3.0, 30.0], [1000.0, -5000.0]])
    whole = table(values)
    fitted = Preparation().fit(whole.subset([0, 1]))
    assert fitted.scaling_of().offset == (2.0, 20.0)
    assert fitted.scaling_of().scale == (1.0, 10.0)
    assert fitted.apply(whole.inputs["x"])[2].tolist() == [998.0, -502.0]
    assert Preparation().fit(whole).scaling_of().offset != fitted.scaling_of().offset


def test_standard_is_per_channel() -> None:
    generator = np.random.default_rng(0)
    images = generator.integers(0, 256, (3000, 3, 4, 5)).astype(np.uint8)
    images[:, 1] //= 4
    images[:, 2] = 9
    prepared = Preparation(normalise="standard").fit(pictures(images)).apply(images)
    assert prepared.dtype == np.float32
    np.testing.assert_allclose(prepared[:, :2].mean(axis=(0, 2, 3)), 0.0, atol=1e-5)
    np.testing.assert_allclose(prepared[:, :2].std(axis=(0, 2, 3)), 1.0, atol=1e-5)
    assert not prepared[:, 2].any()


@settings(max_examples=60, deadline=None)
@given(
    hypothesis_numpy.arrays(
        np.float32,
        st.tuples(st.integers(1, 6), st.integers(1, 4)),
        elements=st.floats(-(2.0**100), 2.0**100, width=32),
    ),
    st.sampled_from(["unit", "standard", "none"]),
)
def test_always_finite_even_for_constant_columns(values: NDArray[np.float32], method: str) -> None:
    values[:, 0] = values[0, 0]
    prepared = Preparation(normalise=method).fit(table(values)).apply(values)
    assert np.isfinite(prepared).all()
    if method != "none":
        assert not prepared[:, 0].any()


def test_resizing() -> None:
    images = np.zeros((2, 1, 4, 4), np.uint8)
    images[:, :, :, 2:] = 200
    preparation = Preparation(resize=(2, 2)).fit(pictures(images))
    small = preparation.resized(pictures(images))
    assert small.inputs["x"].dtype == np.uint8
    assert small.inputs["x"].shape == (2, 1, 2, 2)
    np.testing.assert_array_equal(preparation.apply(images), preparation.apply(small.inputs["x"]))
    assert preparation.apply(images)[0, 0, 0, 1] > preparation.apply(images)[0, 0, 0, 0]
    with pytest.raises(DataError, match="no images"):
        Preparation(resize=(2, 2)).fit(table(np.ones((2, 2))))


def test_wrong_shape_names_both() -> None:
    fitted = Preparation().fit(pictures(np.zeros((2, 1, 4, 6), np.uint8)))
    with pytest.raises(DataError, match=r"5×6×1.*fitted on 4×6×1.*--resize 4x6"):
        fitted.apply(np.zeros((1, 1, 5, 6), np.uint8))
    with pytest.raises(DataError, match="not been fitted"):
        Preparation().apply(np.zeros((1, 2)))


def test_targets_are_mapped_back() -> None:
    rows = table(np.ones((5, 2)))
    plain = Preparation().fit(rows)
    assert plain.apply_targets(rows.targets["y"]) is rows.targets["y"]
    fitted = Preparation(normalise_targets=True).fit(rows)
    scaled = fitted.apply_targets(rows.targets["y"])
    assert abs(float(scaled.mean())) < 1e-6
    np.testing.assert_allclose(fitted.restore_targets(scaled), rows.targets["y"], atol=1e-6)
    classes = Preparation(normalise_targets=True).fit(pictures(np.zeros((2, 1, 2, 2), np.uint8)))
    assert classes.apply_targets(np.array([0, 1])).tolist() == [0, 1]


def test_json_keeps_every_bit() -> None:
    generator = np.random.default_rng(1)
    rows = table(generator.normal(size=(50, 3)))
    fitted = Preparation(normalise_targets=True).fit(rows)
    back = Preparation.from_json(json.dumps(fitted.to_json()))
    assert back == fitted
    np.testing.assert_array_equal(back.apply(rows.inputs["x"]), fitted.apply(rows.inputs["x"]))


@pytest.mark.parametrize("text", ["{}", "[]", "null", "not json", '{"resize": null, "normalise": "odd"}'])
def test_damaged_json(text: str) -> None:
    with pytest.raises(DataError):
        Preparation.from_json(text)
    broken = Preparation().fit(table(np.ones((2, 1)))).to_json()
    broken["inputs"]["x"]["scale"] = [float("nan")]
    with pytest.raises(DataError, match="damaged"):
        Preparation.from_json(broken)


def test_unknown_normalisation() -> None:
    with pytest.raises(DataError, match="auto, none, unit, standard"):
        Preparation(normalise="minmax")


def test_a_constant_column_does_not_blow_up_new_values() -> None:
    # The rounded mean of equal values may miss them by a trifle, which must not become the divisor.
    values = np.full((1031, 1), 0.1)
    fitted = Preparation(normalise="standard").fit(table(values))
    assert fitted.scaling_of().scale == (1.0,)
    np.testing.assert_allclose(fitted.apply(np.array([[0.3]], np.float32)), 0.2, rtol=1e-5)
