"""NumPy archives."""

import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

from inkcap.training.data import DataError, load
from inkcap.training.data.archives import read_archive, read_npy


def saved(folder: Path, **arrays: NDArray[Any]) -> str:
    """Save arrays and give the file's name."""
    np.savez_compressed(folder / "data.npz", allow_pickle=True, **arrays)
    return "data.npz"


X = np.arange(24, dtype=np.uint8).reshape(4, 2, 3)
Y = np.array([0, 1, 2, 1])


def test_grey_images(tmp_path: Path) -> None:
    dataset = load(saved(tmp_path, x=X, y=Y), {}, tmp_path)
    assert dataset.inputs["x"].shape == (4, 1, 2, 3)
    assert dataset.inputs["x"].dtype == np.uint8
    assert dataset.targets["y"].dtype == np.int64
    assert dataset.classes == ("0", "1", "2")
    assert dataset.kind == "images"


def test_channels_last_are_moved(tmp_path: Path) -> None:
    images = np.arange(4 * 5 * 6 * 3, dtype=np.uint8).reshape(4, 5, 6, 3)
    moved = load(saved(tmp_path, x=images, y=Y), {}, tmp_path)
    np.testing.assert_array_equal(moved.inputs["x"], np.moveaxis(images, 3, 1))
    assert "moved first" in moved.description
    with pytest.raises(DataError, match="channels=first or channels=last"):
        load(saved(tmp_path, x=np.zeros((4, 1, 6, 3)), y=Y), {}, tmp_path)


def test_training_and_test_parts_share_their_classes(tmp_path: Path) -> None:
    name = saved(tmp_path, x_train=X, y_train=np.array([5, 7, 5, 9]), x_test=X[:2], y_test=np.array([9, 7]))
    dataset = load(name, {}, tmp_path)
    assert dataset.test is not None
    assert dataset.classes == dataset.test.classes == ("5", "7", "9")
    assert dataset.targets["y"].tolist() == [0, 1, 0, 2]
    assert dataset.test.targets["y"].tolist() == [2, 1]
    name = saved(tmp_path, x_train=X, y_train=Y, x_test=X[:2], y_test=np.array([0, 6]))
    with pytest.raises(DataError, match="sample 1: the class 6 does not occur"):
        load(name, {}, tmp_path)


def test_named_keys_and_several_inputs(tmp_path: Path) -> None:
    name = saved(tmp_path, left=X, right=X.astype(np.float64)[:, 0], price=np.array([1.5, 2, 3, 4]), kind=Y)
    dataset = load(name, {"inputs": "left;right", "targets": "price;kind"}, tmp_path)
    assert {key: values.shape for key, values in dataset.inputs.items()} == {"left": (4, 1, 2, 3), "right": (4, 3)}
    assert dataset.targets["price"].shape == (4, 1)
    assert dataset.classes_of("kind") == ("0", "1", "2")
    assert dataset.classes_of("price") == ()
    with pytest.raises(DataError, match=r"no array lef.* Did you mean left"):
        load(name, {"inputs": "lef", "targets": "kind"}, tmp_path)
    with pytest.raises(DataError, match="neither x and y"):
        load(name, {}, tmp_path)


def test_texts_are_class_names_and_floats_are_regression(tmp_path: Path) -> None:
    words = load(saved(tmp_path, x=X, y=np.array(["b", "a", "b", "c"])), {}, tmp_path)
    assert (words.classes, words.targets["y"].tolist()) == (("a", "b", "c"), [1, 0, 1, 2])
    assert load(saved(tmp_path, x=X, y=Y * 0.5), {}, tmp_path).targets["y"].shape == (4, 1)
    assert load(saved(tmp_path, x=X, y=Y), {"task": "regression"}, tmp_path).classes == ()


def test_object_arrays_are_refused(tmp_path: Path) -> None:
    with pytest.raises(DataError, match="holds object"):
        load(saved(tmp_path, x=X, y=np.array([{}, 1, "a", None], dtype=object)), {}, tmp_path)


def test_counts_must_agree(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"array x has 4 samples but .*array y has 3"):
        load(saved(tmp_path, x=X, y=Y[:3]), {}, tmp_path)


def test_damaged_and_foreign_files(tmp_path: Path) -> None:
    path = tmp_path / saved(tmp_path, x=X, y=Y)
    whole = path.read_bytes()
    for content in (b"", whole[:-30], whole[: len(whole) // 2], b"no archive at all"):
        path.write_bytes(content)
        with pytest.raises(DataError, match=r"not a whole \.npz"):
            read_archive(path)
    damaged = bytearray(whole)
    damaged[60] ^= 0xFF
    path.write_bytes(bytes(damaged))
    with pytest.raises(DataError):
        read_archive(path)
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("notes.txt", "hello")
    with pytest.raises(DataError, match=r"notes\.txt is not an array"):
        read_archive(path)


def test_bombs_are_refused(tmp_path: Path) -> None:
    path = tmp_path / "bomb.npz"
    with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as archive:
        archive.writestr("x.npy", bytes(8 << 20))
    with pytest.raises(DataError, match="more than 1000 times"):
        read_archive(path)
    # A header that promises far more than follows must not make the reader reserve that much.
    header = io.BytesIO()
    np.lib.format.write_array_header_1_0(header, {"descr": "<f8", "fortran_order": False, "shape": (1 << 40,)})
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("x.npy", header.getvalue() + b"12345678")
    with pytest.raises(DataError, match=r"should have 8796093022208 bytes .* but has 8"):
        read_archive(path)


def test_npy_orders(tmp_path: Path) -> None:
    array = np.asfortranarray(np.arange(6, dtype=">i4").reshape(2, 3))
    np.save(tmp_path / "a.npy", array)
    back = read_npy(tmp_path / "a.npy")
    np.testing.assert_array_equal(back, array)
    assert back.dtype.isnative
