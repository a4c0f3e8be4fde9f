"""Checks before training."""

from dataclasses import replace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from inkcap.training.data import DataError, Dataset, fit_to, shape_text, validate


def images(count: int = 6, shape: tuple[int, int, int] = (1, 28, 28), classes: int = 3) -> Dataset:
    """Make blank images."""
    labels = (np.arange(count) % classes).astype(np.int64)
    names = tuple(str(number) for number in range(classes))
    return Dataset("pictures", {"x": np.zeros((count, *shape), np.uint8)}, {"y": labels}, names, kind="images")


def rows(values: NDArray[Any]) -> Dataset:
    """Make a regression table."""
    data = values.astype(np.float32)
    return Dataset("rows", {"x": data}, {"y": np.ones((len(data), 1), np.float32)}, manifest={"source": "rows.npz"})


def test_sound_data_pass() -> None:
    assert validate(images()) == []
    assert validate(rows(np.ones((3, 2)))) == []
    assert validate(images(2)) == ["No samples of 2 in the target y."]


@pytest.mark.parametrize("bad", [np.nan, np.inf, -np.inf])
def test_first_bad_number_is_named(bad: float) -> None:
    values = np.ones((9, 3))
    values[4, 1] = values[7, 0] = bad
    with pytest.raises(DataError, match=r"rows\.npz, sample 4, input x, value 2 of 3: .* \(2 samples in all\)"):
        validate(rows(values))
    with pytest.raises(DataError, match="sample 7"):
        validate(rows(values).subset([0, 7, 4]))
    dataset = rows(np.ones((3, 2)))
    dataset.targets["y"][1, 0] = bad
    with pytest.raises(DataError, match="sample 1, target y"):
        validate(dataset)


def test_structure_errors() -> None:
    with pytest.raises(DataError, match="1 sample; at least 2"):
        validate(images(1))
    whole = images()
    with pytest.raises(DataError, match="target y has 5 samples, but the input x has 6"):
        validate(replace(whole, targets={"y": whole.targets["y"][:5]}))
    with pytest.raises(DataError, match=r"sample 2: label 2 lies outside 0 to 1"):
        validate(replace(whole, classes=("a", "b")))
    with pytest.raises(DataError, match="only the class a"):
        validate(replace(whole, targets={"y": np.zeros(6, np.int64)}, classes=("a",)))
    with pytest.raises(DataError, match="no targets"):
        validate(replace(whole, targets={}))
    with pytest.raises(DataError, match="test set's inputs are x 8×8×1, but the training set's x 28×28×1"):
        validate(replace(whole, test=images(shape=(1, 8, 8))))


def test_fitting_network() -> None:
    fit = fit_to(images(), {"in": (1, 28, 28)}, {"h": 3})
    assert (fit.inputs, fit.outputs, fit.flattened, fit.notes) == ({"in": "x"}, {"h": "y"}, (), ())
    fit_to(images(), {"in": (1, 28, 28)}, {"h": (3,)})
    fit_to(images(classes=2), {"in": (1, 28, 28)}, {"h": 1})
    fit_to(rows(np.ones((3, 2))), {"in": (2,)}, {"h": 1})


def test_flattening_is_noted() -> None:
    fit = fit_to(images(), {"in": (784,)}, {"h": 3})
    assert fit.flattened == ("in",)
    assert "28×28×1" in fit.notes[0]
    assert "784 numbers" in fit.notes[0]


@pytest.mark.parametrize(
    ("dataset", "inputs", "outputs", "words"),
    [
        (images(shape=(1, 20, 30)), (1, 28, 26), 3, ["is 28×26×1", "has 20×30×1", "--resize 28x26"]),
        (images(shape=(3, 28, 28)), (1, 28, 28), 3, ["28×28×1", "28×28×3", "grey=yes"]),
        (images(), (100,), 3, ["is 100", "28×28×1", "784"]),
        (rows(np.ones((3, 2))), (1, 28, 28), 1, ["28×28×1", "has 2."]),
        (images(), (1, 28, 28), 10, ["output h has 10 dimensions, the data have 3 classes"]),
        (images(), (1, 28, 28), 1, ["output h has 1 dimension, the data have 3 classes"]),
        (images(), (1, 28, 28), 2, ["output h has 2 dimensions, the data have 3 classes"]),
        (rows(np.ones((3, 2))), (2,), 4, ["output h is 4", "is 1"]),
    ],
)
def test_misfits_name_both_sides(dataset: Dataset, inputs: tuple[int, ...], outputs: int, words: list[str]) -> None:
    with pytest.raises(DataError) as caught:
        fit_to(dataset, {"in": inputs}, {"h": outputs})
    for word in words:
        assert word in str(caught.value)


def test_several_inputs_are_matched_by_name() -> None:
    base = rows(np.ones((4, 2)))
    two = replace(base, inputs={"a": base.inputs["x"], "b": np.ones((4, 3), np.float32)})
    assert fit_to(two, {"b": (3,), "a": (2,)}, {"h": 1}).inputs == {"b": "b", "a": "a"}
    with pytest.raises(DataError, match=r"1 input \(in\), but rows has 2 inputs \(a, b\)"):
        fit_to(two, {"in": (2,)}, {"h": 1})


def test_shape_text() -> None:
    assert shape_text((1, 28, 20)) == "28×20×1"
    assert shape_text((5,)) == "5"
